"""What commands are given: text, sentences with tags, dependency trees, and models by kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentext.base.files.opening import OnError, expand, raise_or_tell
from eigentext.base.registry import NO_MODEL, wrong_kind
from eigentext.cli.command import TUNING, Flags, flag
from eigentext.errors import DataError, EigentextError, ModelFileError
from eigentext.language.formats.registry import format_of, names_of, the_format

if TYPE_CHECKING:
    from eigentext.counting.raw_text import TypedToken
    from eigentext.language.formats.conllu import ConlluBlock
    from eigentext.language.trees.dependency import DependencyTree
    from eigentext.tagging.sequence.reading import TagItem

Field = Annotated[
    str | None,
    typer.Option(
        "--field",
        help='The field of JSON Lines, or the column of Parquet, that holds the text; "text" '
        "by default.  A file named otherwise is then read as JSON Lines.",
        show_default=False,
        rich_help_panel=TUNING,
    ),
]

Column = Annotated[
    Literal["upos", "xpos"], typer.Option("--column", help="Tag column of CoNLL-U.")
]

Tokeniser = Annotated[
    str,
    typer.Option(
        "--tokeniser", help="For raw text: ptb, ud-en, french, arabic, generic, whitespace."
    ),
]


@dataclass(kw_only=True)
class RawText(Flags):
    """Where the text stands, and how raw text is cut into sentences and tokens."""

    tokeniser: Tokeniser = "ptb"
    newlines: Literal["auto", "end", "join"] = flag(
        "For raw text: does the end of a line end a sentence? end: always, join: never, "
        "auto: unless the text is wrapped there.",
        "auto",
        rich_help_panel=TUNING,
    )
    field: Field = None


@dataclass(kw_only=True)
class TextInput(RawText):
    """Text, raw or one tokenised sentence a line, in text files or in files of records."""

    raw: bool = flag(
        "Input is raw text, or one tokenised sentence a line.", False, "--raw/--tokens"
    )

    def __post_init__(self) -> None:
        """How raw text is cut means nothing where text is cut already."""
        if not self.raw:
            self.refuse("is for raw text", but=("--field",))

    def sentences(self, files: list[str], on_error: OnError | None = None) -> Iterator[list[str]]:
        """Token lists in the order of the files; an empty line of tokenised text is an empty list.

        Of a file named .conllu, compressed or not, the words of its sentences; of a file of
        records the texts in their field, a record after the other.
        """
        from eigentext.counting.raw_text import read_tokenised
        from eigentext.language.formats.text import read_sentences
        from eigentext.tagging.sequence.reading import format_of, read_items

        for source in expand(files):
            if self.raw:
                yield from read_tokenised(
                    source,
                    self.tokeniser,
                    newlines=self.newlines,
                    field=self.field,
                    on_error=on_error,
                )
            elif self.field is None and source != "-" and format_of(source) == "conllu":
                yield from (list(item.tokens) for item in read_items(source, on_error=on_error))
            else:
                yield from read_sentences(source, self.field, on_error=on_error)

    def typed(
        self, files: list[str], on_error: OnError | None = None
    ) -> Iterator[list[TypedToken]]:
        """The same with each token as it was typed, for commands that write tokens out."""
        from eigentext.counting.raw_text import TypedToken, read_typed

        if not self.raw:
            for tokens in self.sentences(files, on_error):
                yield [TypedToken(token, token) for token in tokens]
            return
        for source in expand(files):
            yield from read_typed(
                source, self.tokeniser, newlines=self.newlines, field=self.field, on_error=on_error
            )

    def to_count(self) -> dict[str, Any]:
        """The same choice as arguments of counting, which reads the files itself."""
        return {
            "tokeniser": self.tokeniser if self.raw else None,
            "newlines": self.newlines,
            "field": self.field,
        }


@dataclass(kw_only=True)
class GenericText(TextInput):
    """Text of any language."""

    tokeniser: Tokeniser = "generic"


@dataclass(kw_only=True)
class ArabicText(TextInput):
    """Text that is Arabic unless told otherwise."""

    tokeniser: Tokeniser = "arabic"


@dataclass(kw_only=True)
class TaggedInput(Flags):
    """Sentences in columns, or without tags one a line."""

    from_: Literal["auto", "columns", "conllu", "tokens"] = flag(
        "Input: columns, CoNLL-U, or a tokenised sentence a line (.txt).", "auto"
    )
    column: Column = "upos"

    def items(self, sources: list[str], on_error: OnError | None = None) -> Iterator[TagItem]:
        """Sentences with their tags, if they have any, and the way to write them with others."""
        from eigentext.tagging.sequence.reading import read_items

        for source in sources:
            yield from read_items(
                source, file_format=self.from_, column=self.column, on_error=on_error
            )

    def tagged(self, sources: list[str], **choices: Any) -> tuple[Any, Any, str]:
        """Tokens and tags of all sentences, and the scheme of the tags."""
        from eigentext.tagging.sequence.reading import read_tagged

        return read_tagged(sources, file_format=self.from_, column=self.column, **choices)


def sentences_of(path: str, on_error: OnError | None = None) -> Iterator[ConlluBlock]:
    """The sentences of a CoNLL-U or, by its name, CoNLL-X file; one without any is an error."""
    from eigentext.language.formats.blocks import all_of_file

    names = names_of("words")
    read = the_format(format_of(path, names, "conllu"), names).reader()
    return all_of_file(read(path, on_error=on_error), path)


def trees_of(
    sources: Iterable[str], *, on_error: OnError | None = None
) -> Iterator[tuple[ConlluBlock, DependencyTree]]:
    """Sentences with their trees; one without heads is an error.

    Tags are those of column UPOS, and of XPOS where that is empty.
    """
    from eigentext.language.formats import conllu

    for source in expand(sources):
        for sentence in sentences_of(source, on_error):
            if sentence.heads is None:
                why = "the sentence that begins here has no heads; expected a tree"
                raise_or_tell(DataError(sentence.source, sentence.first_line, why), on_error)
                continue
            blank = set(sentence.column("upos")) == {"_"}
            yield sentence, conllu.to_dependency_tree(sentence, tags="xpos" if blank else "upos")


def training_trees(sources: list[str], on_error: OnError | None = None) -> list[ConlluBlock]:
    """Sentences with a tree of one root; another is an error of its file, or skipped."""
    from eigentext.dependency.graph.answer import with_heads
    from eigentext.language.formats.conllu import read_sentences

    sentences = []
    for source in sources:
        for sentence in read_sentences(source, on_error=on_error):
            try:
                sentences.append(with_heads(sentence))
            except DataError as error:
                raise_or_tell(error, on_error)
    if not sentences:
        raise DataError(", ".join(sources), None, "no sentences, expected some with heads")
    return sentences


def kind_of_model(path: str, *kinds: str) -> str:
    """The kind of model in a file, which must be one of these."""
    from eigentext.base.modelfile import read_header

    kind = read_header(path, *kinds).kind
    if kind not in kinds:
        raise wrong_kind(path, kind, *kinds)
    return kind


def load_model(path: str, *kinds: str) -> Any:
    """The model in a file, which must be of one of these kinds."""
    from eigentext.base.model import load

    kind_of_model(path, *kinds)
    return load(path)


def is_model(path: str) -> bool:
    """Whether this is a model, by its name or its content, and not a file of answers."""
    from eigentext.base.files.writing import check_input
    from eigentext.base.modelfile import read_header

    if path == "-":
        return False
    check_input(path)
    try:
        return bool(read_header(path))
    except ModelFileError as error:
        if error.content == NO_MODEL:
            return False
        raise
    except EigentextError:  # who reads it as answers says what is wrong
        return False
