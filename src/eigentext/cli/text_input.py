"""Sentences from the files a command was given: tokenised, raw, or with tags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentext.base.files.opening import OnError
from eigentext.cli.command import Flags

if TYPE_CHECKING:
    from eigentext.counting.raw_text import TypedToken
    from eigentext.tagging.sequence.reading import Item

__all__ = ["ArabicText", "Column", "Field", "GenericText", "RawText", "TaggedInput", "TextInput"]

Field = Annotated[
    str | None,
    typer.Option(
        "--field",
        help='The field of JSON Lines, or the column of Parquet, that holds the text; "text" '
        "by default.  A file named otherwise is then read as JSON Lines.",
        show_default=False,
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
    newlines: Annotated[
        Literal["auto", "end", "join"],
        typer.Option(
            "--newlines",
            help="For raw text: does the end of a line end a sentence? end: always, join: never, "
            "auto: unless the text is wrapped there.",
        ),
    ] = "auto"
    field: Field = None


@dataclass(kw_only=True)
class TextInput(RawText):
    """Text, raw or one tokenised sentence a line, in text files or in files of records."""

    raw: Annotated[
        bool,
        typer.Option(
            "--raw/--tokens",
            help="Input is raw text, or one tokenised sentence a line.",
        ),
    ] = False

    def __post_init__(self) -> None:
        """How raw text is cut means nothing where text is cut already."""
        if not self.raw:
            self.refuse("is for raw text", but=("--field",))

    def sentences(self, files: list[str], on_error: OnError | None = None) -> Iterator[list[str]]:
        """Token lists in the order of the files; an empty line of tokenised text is an empty list.

        Of a file named .conllu, compressed or not, the words of its sentences; of a file of
        records the texts in their field, a record after the other.
        """
        from eigentext.base.files.opening import expand
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
        from eigentext.base.files.opening import expand
        from eigentext.counting.raw_text import TypedToken, read_typed

        if not self.raw:
            for tokens in self.sentences(files, on_error):
                yield [TypedToken(token, token) for token in tokens]
            return
        for source in expand(files):
            yield from read_typed(
                source,
                self.tokeniser,
                newlines=self.newlines,
                field=self.field,
                on_error=on_error,
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

    from_: Annotated[
        Literal["auto", "columns", "conllu", "tokens"],
        typer.Option(
            "--from", help="Input: columns, CoNLL-U, or a tokenised sentence a line (.txt)."
        ),
    ] = "auto"
    column: Column = "upos"

    def items(self, sources: list[str], on_error: OnError | None = None) -> Iterator[Item]:
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
