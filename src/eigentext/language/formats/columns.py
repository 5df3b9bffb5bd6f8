"""BIO columns in the manner of CoNLL-2003: one token a line, an empty line after each sentence.

The first line of a file says how its columns are separated, by TAB or by spaces, and how many
there are: two or more throughout, or it is a DataError.  A ``-DOCSTART-`` line begins a document:
the sentence after it has ``starts_document``.  In a TAB-separated file a token may contain spaces;
elsewhere it ends at an ASCII space or TAB and nowhere else: a no-break space stays inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from eigentext.base.files.opening import OnError, Source
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.blocks import (
    Block,
    content_lines,
    read_blocks,
    shown,
    write_blocks,
)

DOCUMENT_MARK = "-DOCSTART-"

# What may stand before each tag of a scheme: (the prefixes it may follow within a segment of its
# own type, whether it may begin a segment).
SCHEMES: dict[str, dict[str, tuple[str, bool]]] = {
    "iob1": {"I": ("BI", True), "B": ("BI", False)},
    "bio2": {"B": ("", True), "I": ("BI", False)},
    "bioes": {"B": ("", True), "I": ("BI", False), "E": ("BI", False), "S": ("", True)},
}
_SPACES = re.compile("[ \t]+")
_DOCUMENT_LINE = re.compile(rf"{DOCUMENT_MARK}(?:[ \t]|\Z)")


@dataclass(frozen=True)
class ColumnSentence:
    """A sentence as rows of columns.

    >>> sentence = make_columns(["Ada", "Lovelace", "wrote"], ["B-PER", "I-PER", "O"])
    >>> sentence.column(0), sentence.tags
    (('Ada', 'Lovelace', 'wrote'), ('B-PER', 'I-PER', 'O'))
    """

    rows: tuple[tuple[str, ...], ...]  # one tuple of columns per token
    line: int = field(default=1, compare=False)  # number of its first token's line in the file
    starts_document: bool = False  # whether a ``-DOCSTART-`` line stands before it
    verbatim: str = field(default="", compare=False, repr=False)

    def column(self, index: int) -> tuple[str, ...]:
        """One column over the tokens; -1 is the last."""
        return tuple(row[index] for row in self.rows)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The first column."""
        return self.column(0)

    @property
    def tags(self) -> tuple[str, ...]:
        """The last column."""
        return self.column(-1)

    def with_tags(self, tags: Sequence[str]) -> str:
        """The verbatim text with these tags in the last column."""
        lines = self.verbatim.split("\n")
        new = iter(zip(self.tags, tags, strict=True))
        for index, line in enumerate(lines):
            content = line.rstrip("\r \t")
            if content and content.split()[0] != DOCUMENT_MARK:
                old, tag = next(new)
                lines[index] = content[: len(content) - len(old)] + tag + line[len(content) :]
        return "\n".join(lines)

    def __len__(self) -> int:
        """Number of tokens."""
        return len(self.rows)


def read_columns(
    source: Source, *, scheme: str | None = None, on_error: OnError | None = None
) -> Iterator[ColumnSentence]:
    """Stream the sentences of a file; a bad one is raised, or told to ``on_error`` and left out.

    ``scheme`` (``iob1``, ``bio2`` or ``bioes``) asks that the last column hold tags of that
    scheme; None takes any strings.
    """
    if scheme is not None and scheme not in SCHEMES:
        raise SettingsError(f"scheme is one of {', '.join(SCHEMES)} or None, not {scheme!r}")
    return _read(_Reader(scheme), source, on_error)


def _read(reader: _Reader, source: Source, on_error: OnError | None) -> Iterator[ColumnSentence]:
    last: ColumnSentence | None = None
    for block in read_blocks(source, on_error=on_error):
        try:
            sentence = reader.parse(block)
        except DataError as error:
            if on_error is None:
                if last is not None:
                    yield last
                raise
            on_error(error)
            continue
        if sentence is not None:
            if last is not None:
                yield last
            last = sentence
    if last is not None:
        # a document without sentences may end the file: its line stays with what is before it
        after = "" if reader.waiting is None else reader.waiting.text
        yield replace(last, verbatim=last.verbatim + after)


class _Reader:
    """Remembers what holds for the whole file, and the document line that waits for a sentence."""

    def __init__(self, scheme: str | None) -> None:
        self.scheme = scheme
        self.separated_by_tab: bool | None = None
        self.n_columns = 0
        self.waiting: Block | None = None

    def parse(self, block: Block) -> ColumnSentence | None:
        """The sentence of a block, or None for a block that is only a document line."""
        rows: list[tuple[str, ...]] = []
        first = 0
        starts_document = self.waiting is not None
        for number, line in enumerate(content_lines(block.text), start=block.first_line):
            if not line:
                continue  # empty lines before the first sentence of the file
            if _DOCUMENT_LINE.match(line):
                if rows:
                    why = f"found {DOCUMENT_MARK} inside a sentence; expected an empty line before"
                    raise DataError(block.source, number, why)
                starts_document = True
                continue
            rows.append(self._split(block, number, line))
            first = first or number
        if self.waiting is not None:
            text = self.waiting.text + block.text
            block = Block(block.source, self.waiting.first_line, text)
        if not rows:
            self.waiting = block
            return None
        if self.scheme:
            fault = find_tag_fault([row[-1] for row in rows], self.scheme)
            if fault:
                raise DataError(block.source, first + fault[0], fault[1])
        self.waiting = None  # not before: a document line outlives a bad sentence after it
        return ColumnSentence(tuple(rows), first, starts_document, block.text)

    def _split(self, block: Block, number: int, line: str) -> tuple[str, ...]:
        separated_by_tab = self.separated_by_tab
        if separated_by_tab is None:
            separated_by_tab = "\t" in line
        cells = line.split("\t") if separated_by_tab else _SPACES.split(line.strip(" \t"))
        separator = "TAB" if separated_by_tab else "spaces"
        if not self.n_columns and len(cells) > 1 and all(cells):
            self.n_columns, self.separated_by_tab = len(cells), separated_by_tab
        if len(cells) != self.n_columns:
            n_expected = self.n_columns or "at least 2"
            why = f"found {_count(len(cells))} in {shown(line)}; expected {n_expected}"
            raise DataError(block.source, number, f"{why}, separated by {separator}")
        if not all(cells):
            why = f"found an empty column in {shown(line)}; expected {self.n_columns} with content"
            raise DataError(block.source, number, why)
        return tuple(cells)


def _count(n_columns: int) -> str:
    return "1 column" if n_columns == 1 else f"{n_columns} columns"


def write_columns(sentences: Iterable[ColumnSentence], path: Source) -> int:
    """Write sentences as they stand, an empty line after each; returns how many."""
    return write_blocks((sentence.verbatim for sentence in sentences), path)


def make_columns(*columns: Sequence[str], starts_document: bool = False) -> ColumnSentence:
    """A TAB-separated sentence from its columns, tokens first and tags last.

    >>> make_columns(["Hi", "Ada"], ["O", "B-PER"]).verbatim
    'Hi\\tO\\nAda\\tB-PER\\n\\n'
    """
    if any(isinstance(column, str) for column in columns):
        raise TypeError("a column is a sequence with one str per token, not one str")
    lengths = {len(column) for column in columns}
    if len(columns) < 2 or len(lengths) != 1 or lengths == {0}:
        counts = [len(column) for column in columns]
        raise ValueError(f"expected two or more columns of the same length > 0, found {counts}")
    rows = tuple(zip(*columns, strict=True))
    for row in rows:
        for cell in row:
            if not cell or "\t" in cell or "\n" in cell or cell.endswith("\r"):
                raise ValueError(
                    f"found {shown(cell)}; expected characters other than TAB, line end"
                )
        if row[0] == DOCUMENT_MARK:
            raise ValueError(f"a token cannot be {DOCUMENT_MARK}; did you mean starts_document?")
    lines = "".join("\t".join(row) + "\n" for row in rows)
    mark = "\t".join([DOCUMENT_MARK] + ["O"] * (len(columns) - 1)) + "\n\n"
    return ColumnSentence(
        rows, 1, starts_document, (mark if starts_document else "") + lines + "\n"
    )


def find_tag_fault(tags: Sequence[str], scheme: str) -> tuple[int, str] | None:
    """(index of the first tag that breaks the scheme, why), or None when all tags keep to it.

    >>> find_tag_fault(["O", "I-PER"], "iob1") is None
    True
    >>> find_tag_fault(["O", "I-PER"], "bio2")
    (1, "found tag 'I-PER' after 'O'; in bio2 it must follow B-PER or I-PER")
    """
    rules = SCHEMES[scheme]
    before, before_type = "O", ""
    for index, tag in enumerate(tags):
        prefix, dash, entity = tag.partition("-")
        if tag != "O" and (prefix not in rules or not dash or not entity):
            shapes = ", ".join(f"{mark}-TYPE" for mark in rules)
            return index, f"found tag {shown(tag)}; expected O, {shapes} ({scheme})"
        if (
            scheme == "bioes"
            and before in ("B", "I")
            and not (prefix in ("I", "E") and entity == before_type)
        ):
            why = f"it must go on with I-{before_type} or E-{before_type}"
            return index, f"found tag {shown(tag)} after '{tags[index - 1]}'; in bioes {why}"
        if tag != "O":
            follows, may_begin = rules[prefix]
            if not may_begin and not (before in follows and before_type == entity):
                allowed = " or ".join(f"{mark}-{entity}" for mark in follows)
                was = tags[index - 1] if index else "the start"
                why = f"in {scheme} it must follow {allowed}"
                return index, f"found tag {shown(tag)} after {was!r}; {why}"
        before, before_type = prefix, entity
    if scheme == "bioes" and before in ("B", "I"):
        why = f"in bioes it must go on with I-{before_type} or E-{before_type}"
        return len(tags) - 1, f"found tag {shown(tags[-1])} at the end; {why}"
    return None
