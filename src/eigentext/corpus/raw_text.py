"""Raw text files to tokenised sentences, paragraph by paragraph, so that no file is held whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.corpus.tokenise import tokenise_text
from eigentext.formats.opening import numbered_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eigentext.errors import DataError

__all__ = ["read_tokenised"]

# A "paragraph" without an empty line for so many lines is cut at a line end.
_MOST_LINES = 2000


def read_tokenised(
    source: str,
    scheme: str = "generic",
    *,
    on_error: Callable[[DataError], None] | None = None,
) -> Iterator[list[str]]:
    """Sentences of a raw text file as lists of tokens; an empty line ends a paragraph.

    >>> from eigentext.formats.opening import atomic_write
    >>> with atomic_write("memory://raw-example.txt") as out:
    ...     _ = out.write(b"It rains. We\\nstay in.\\n\\nGood!\\n")
    >>> list(read_tokenised("memory://raw-example.txt", "ptb"))
    [['It', 'rains', '.'], ['We', 'stay', 'in', '.'], ['Good', '!']]
    """
    for paragraph in _paragraphs(source, on_error):
        for tokens in tokenise_text(paragraph, scheme):
            yield [token.text for token in tokens]


def _paragraphs(source: str, on_error: Callable[[DataError], None] | None) -> Iterator[str]:
    lines: list[str] = []
    for _, line in numbered_lines(source, on_error=on_error):
        if line.strip():
            lines.append(line)
        if lines and (not line.strip() or len(lines) == _MOST_LINES):
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)
