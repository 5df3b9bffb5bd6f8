"""Raw text to tokenised sentences, paragraph by paragraph, so that no file is held whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from eigentext.base.hashing import fingerprint
from eigentext.counting.spill import disk_error
from eigentext.errors import DataError
from eigentext.language.formats.text import text_lines, write_sentences
from eigentext.language.token import Token
from eigentext.language.tokenise.sentences import stretches
from eigentext.language.tokenise.tokens import tokenise_text

# A "paragraph" without an empty line for so many lines or characters is cut at a line end.
_MOST_LINES = 2000
_MOST_CHARACTERS = 1 << 20


class TypedToken(NamedTuple):
    """A token as a model goes by it, and as a person typed it: what is written out.

    They differ in quotes and apostrophes (``ptb``, ``ud-en``) and invisible characters.
    """

    text: str
    typed: str


def read_tokenised(
    source: str,
    scheme: str = "generic",
    *,
    newlines: str = "auto",
    field: str | None = None,
    on_error: Callable[[DataError], None] | None = None,
) -> Iterator[list[str]]:
    """Sentences of a raw text file as lists of tokens; an empty line ends a paragraph.

    ``newlines`` says whether the end of a line ends a sentence, see ``line_breaks``.  Of a file of
    records, ``field`` is the text; the end of a record ends a paragraph.

    >>> from eigentext.base.files.opening import atomic_write
    >>> with atomic_write("memory://raw-example.txt") as out:
    ...     _ = out.write(b"It rains. We\\nstay in.\\n\\nGood!\\n")
    >>> list(read_tokenised("memory://raw-example.txt", "ptb"))
    [['It', 'rains', '.'], ['We', 'stay', 'in', '.'], ['Good', '!']]
    """
    for tokens in read_typed(source, scheme, newlines=newlines, field=field, on_error=on_error):
        yield [token.text for token in tokens]


def read_typed(
    source: str,
    scheme: str = "generic",
    *,
    newlines: str = "auto",
    field: str | None = None,
    on_error: Callable[[DataError], None] | None = None,
) -> Iterator[list[TypedToken]]:
    """The same sentences, each token normalised and as it was typed."""
    lines = (line for _, line in text_lines(source, field, apart=True, on_error=on_error))
    for _, paragraph in _paragraphs(lines, newlines):
        for tokens in tokenise_text(paragraph, scheme):
            yield [TypedToken(token.form, paragraph[token.start : token.end]) for token in tokens]


def tokenised_files(
    sources: Sequence[str],
    scheme: str,
    folder: Path,
    *,
    newlines: str = "auto",
    field: str | None = None,
    on_error: Callable[[DataError], None] | None = None,
) -> list[str]:
    """Raw text as files of one sentence a line; those that are in the folder already stay.

    A file's name is a sha256 of the source's identity and of the settings.
    """
    from eigentext import version
    from eigentext.counting.shards import look_at

    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise disk_error(folder, error) from error
    targets = []
    for source in sources:
        about = look_at(source, field)
        settings = (scheme, newlines, about.field, on_error is not None)
        state = (version.VERSION, source, about.size, about.identity, settings)
        target = folder / f"{fingerprint(state)}.txt"
        if not target.exists():
            sentences = read_tokenised(
                source, scheme, newlines=newlines, field=field, on_error=on_error
            )
            write_sentences(sentences, target)
        targets.append(target)
    if not any(target.stat().st_size for target in targets):
        raise DataError(sources[0], None, "no tokens, expected text")
    return [str(target) for target in targets]


def tokenise_document(
    text: str, scheme: str = "generic", *, newlines: str = "auto"
) -> list[list[Token]]:
    r"""The sentences that :func:`read_tokenised` finds in a file with this text.

    Their tokens know where they stand in ``text``.

    >>> [[t.form for t in s] for s in tokenise_document("It rains.\r\n\r\nGood!", "ptb")]
    [['It', 'rains', '.'], ['Good', '!']]
    >>> tokenise_document("It rains.\r\n\r\nGood!", "ptb")[1][0][:3]
    ('Good', 13, 17)
    """
    begin = int(text.startswith("\ufeff"))
    whole = text[begin:].replace("\r\n", "\n")
    positions: Sequence[int] = range(begin, len(text))  # in the text, of whole's characters
    if len(whole) < len(positions):
        positions = [k for k in positions if text[k : k + 2] != "\r\n"]
    sentences = []
    for start, paragraph in _paragraphs(whole.split("\n"), newlines):
        for tokens in tokenise_text(paragraph, scheme):
            moved = [
                Token(form, positions[start + first], positions[start + end - 1] + 1)
                for form, first, end, *_ in tokens
            ]
            sentences.append(moved)
    return sentences


def _paragraphs(all_lines: Iterable[str], newlines: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, cut at line breaks that end a sentence, with the place of their beginning."""
    lines: list[str] = []
    start = position = 0
    for line in all_lines:
        if line.strip():
            if not lines:
                start = position
            lines.append(line)
        full = len(lines) == _MOST_LINES or position + len(line) - start > _MOST_CHARACTERS
        if lines and (not line.strip() or full):
            yield from _cut(start, lines, newlines)
            lines = []
        position += len(line) + 1
    if lines:
        yield from _cut(start, lines, newlines)


def _cut(start: int, lines: list[str], newlines: str) -> Iterator[tuple[int, str]]:
    for first, after in stretches(lines, newlines):
        stretch = "\n".join(lines[first:after])
        yield start, stretch
        start += len(stretch) + 1
