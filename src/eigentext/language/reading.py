"""A file of any format as a :class:`Doc`, or as Docs one by one."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eigentext.base.files.opening import numbered_lines, open_binary, raise_or_tell
from eigentext.errors import DataError, SettingsError
from eigentext.language.doc import Doc
from eigentext.language.formats.registry import FORMATS, format_of, the_format
from eigentext.language.sentence import Columns, Sentence
from eigentext.language.token import Token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from eigentext.base.files.opening import OnError, Source
    from eigentext.language.formats.columns import ColumnSentence
    from eigentext.language.formats.registry import Format
    from eigentext.language.trees.constituent import Tree

READABLE = tuple(each.name for each in FORMATS if each.holds != "documents")


def read(
    source: Source,
    *,
    file_format: str | None = None,
    field: str | None = None,
    on_error: OnError | None = None,
) -> Doc:
    """All of a file as one Doc, whatever its format.

    CoNLL-U, CoNLL-X, brackets, columns and tokenised text have sentences.  Raw text (``.txt``) and
    the texts of records (``.jsonl``, ``.parquet``, ``.warc``) are text alone, which a pipeline
    cuts; JSON Lines that a pipeline wrote are Docs.

    >>> from eigentext.base.files.opening import write_lines
    >>> _ = write_lines("memory://doc/birds.mrg", ["(S (NNS Birds) (VBP sing))"])
    >>> doc = read("memory://doc/birds.mrg")
    >>> doc, doc.sentences[0].columns.xpos
    (<Doc: 1 sentences, 2 words, 'Birds sing'>, ('NNS', 'VBP'))

    Args:
        source: a file, packed or not, or its address; ``-`` is standard input
        file_format: its format, where neither its name nor its content says it
        field: where the text of records is: ``text``, if nothing else is said
        on_error: called with each fault, whose sentence is left out; else it is raised
    """
    docs = list(read_docs(source, file_format=file_format, field=field, on_error=on_error))
    return docs[0] if len(docs) == 1 else Doc.joined(docs)


def read_docs(
    source: Source,
    *,
    file_format: str | None = None,
    field: str | None = None,
    on_error: OnError | None = None,
) -> Iterator[Doc]:
    """The documents of a file one by one; it need not fit into memory.

    >>> from eigentext.base.files.opening import write_lines
    >>> _ = write_lines("memory://doc/two.jsonl", ['{"text": "Hi."}', '{"text": "Go."}'])
    >>> [(doc.id, doc.text) for doc in read_docs("memory://doc/two.jsonl")]
    [('two.jsonl:1', 'Hi.'), ('two.jsonl:2', 'Go.')]
    """
    path = os.fspath(source)
    name = file_format or format_of(path, READABLE, "") or _format_by_content(path)
    chosen = the_format(name, READABLE)
    if field is not None and chosen.holds != "records":
        raise SettingsError(f"a field is for files of records: {path} is {chosen.name}")
    if chosen.holds == "records":
        return _of_records(path, chosen, field, on_error)
    if chosen.holds == "text":
        return _of_text(path, on_error)
    return _of_sentences(chosen.reader()(source, on_error=on_error), chosen.holds)


def _format_by_content(path: str) -> str:
    """What the first lines look like."""
    if path == "-":
        raise SettingsError(f"standard input: say its format ({', '.join(READABLE)})")
    with open_binary(path) as stream:
        lines = stream.read(1 << 16).decode("utf-8", "replace").splitlines()
    line = next((line for line in lines if line.strip() and not line.startswith("# ")), "")
    cells = line.split("\t")
    if len(cells) == 10 and cells[0][:1].isdigit():
        return "conllu"
    if line.lstrip().startswith("("):
        return "ptb"
    if line.startswith("{"):
        return "jsonl"
    return "columns" if len(cells) > 1 or line.startswith("-DOCSTART-") else "text"


def _of_text(path: str, on_error: OnError | None) -> Iterator[Doc]:
    lines = (line for _, line in numbered_lines(path, on_error=on_error))
    yield Doc("".join(f"{line}\n" for line in lines), ())


def _of_records(
    path: str, chosen: Format, field: str | None, on_error: OnError | None
) -> Iterator[Doc]:
    """A Doc that we wrote, or the text of each record."""
    name = os.path.basename(path)
    if chosen.name == "jsonl" and field is None and path != "-":
        first = next((line for _, line in numbered_lines(path) if line.strip()), "")
        if '"sentences"' in first:
            for number, line in numbered_lines(path, on_error=on_error):
                try:
                    yield Doc.from_json(line)
                except DataError as error:
                    raise_or_tell(DataError(path, number, error.why), on_error)
            return
    for number, text in chosen.reader()(path, field, on_error=on_error):
        yield Doc(text, (), f"{name}:{number}")


def _of_sentences(items: Iterator[object], holds: str) -> Iterator[Doc]:
    """Documents of what a reader gives."""
    begins, doc_of = _MADE_OF[holds]
    together: list[object] = []
    for item in items:
        if together and begins(item):
            yield doc_of(together)
            together = []
        together.append(item)
    yield doc_of(together)


def _of_trees(trees: list[Tree]) -> Doc:
    from eigentext.language.formats.ptb import format_tree, unescape

    doc = Doc.from_tokens([list(map(unescape, tree.words)) for tree in trees])
    tagged = (
        replace(sentence.with_columns(xpos=tuple(tree.tags)), brackets=format_tree(tree))
        for sentence, tree in zip(doc.sentences, trees, strict=True)
    )
    return replace(doc, sentences=tuple(tagged))


def _of_columns(rows: list[ColumnSentence]) -> Doc:
    """The last column is entities where it looks so, else tags."""
    doc = Doc.from_tokens(row.tokens for row in rows)
    entities = all(tag == "O" or tag[1:2] == "-" for row in rows for tag in row.tags)
    tagged = (
        sentence.with_columns(**{"entities" if entities else "xpos": row.tags})
        for sentence, row in zip(doc.sentences, rows, strict=True)
    )
    return replace(doc, sentences=tuple(tagged))


# what begins a document, and how one is made of its sentences
_MADE_OF: dict[str, tuple[Callable[[Any], bool], Callable[[list[Any]], Doc]]] = {
    "words": (
        lambda block: any(line[1:].split()[:1] == ["newdoc"] for line in block.comments),
        lambda blocks: Doc.from_conllu(
            blocks, doc_id=blocks[0].metadata.get("newdoc id") if blocks else None
        ),
    ),
    "trees": (lambda tree: False, _of_trees),
    "tags": (lambda rows: rows.starts_document, _of_columns),
    "tokens": (lambda tokens: False, Doc.from_tokens),
}


def sentences_of_tokens(sentences: Iterable[Sequence[str]]) -> tuple[str, tuple[Sentence, ...]]:
    """The text, with a blank between tokens and a line end after a sentence; and its sentences."""
    from eigentext.base.tokens import checked_words, each_sentence
    from eigentext.language.formats.conll import controls_as_blanks
    from eigentext.language.formats.conllu_docs import one_blank

    pieces: list[str] = []
    laid_out: list[Sentence] = []
    at = 0
    for forms in map(checked_words, each_sentence(sentences)):
        if not forms:
            continue
        if pieces:
            pieces.append("\n")
            at += 1
        if not all(controls_as_blanks(form).strip() for form in forms):
            why = "white space and control characters, expected something in it"
            raise SettingsError(f"a token is nothing but {why}")
        tokens: list[Token] = []
        for number, typed in enumerate(forms, start=1):
            form, misc = one_blank(typed, "_")
            tokens.append(Token(form, at, at + len(typed), misc, number, number))
            at += len(typed) + 1
        at -= 1
        pieces.append(" ".join(forms))
        columns = Columns([token.form for token in tokens])
        laid_out.append(Sentence(tokens, columns, not laid_out))
    return "".join(pieces), tuple(laid_out)
