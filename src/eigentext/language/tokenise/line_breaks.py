"""Which line breaks of raw text end a sentence?

``end``   every one, ``join`` none.
``auto``  one that was meant.  Wrapped text is broken where the next word would not have fitted
          into the line; a break where it would have fitted was meant: the end of a headline, of an
          entry of a list, of an address line.  It was not where the sentence plainly goes on: the
          line ends in a comma or the like, or the next one begins with a small letter.

A paragraph counts as wrapped if its longest line has room for prose, and half of its breaks or
more are where a wrapping program would have put them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Newlines = Literal["auto", "end", "join"]
NEWLINES: tuple[str, ...] = get_args(Newlines)

_NARROWEST = 50  # characters: hardly anybody wraps prose to shorter lines
_GOES_ON = tuple(",;:–—-،؛")


def stretches(lines: Sequence[str], newlines: str = "auto") -> Iterator[tuple[int, int]]:
    """(first line, line after the last) of each stretch of a paragraph without such a break.

    >>> list(stretches(["Milk rises", "Prices go up again", "in all shops."]))
    [(0, 1), (1, 3)]
    >>> list(stretches(["Milk rises", "Prices go up"], "join"))
    [(0, 2)]
    """
    if newlines not in NEWLINES:
        raise SettingsError(f"newlines must be one of {', '.join(NEWLINES)}, not {newlines!r}")
    forced = _forced(lines) if newlines == "auto" else []
    first = 0
    for after in range(1, len(lines)):
        if newlines == "end" or (
            newlines == "auto"
            and not forced[after - 1]
            and not lines[after - 1].rstrip().endswith(_GOES_ON)
            and not lines[after].lstrip()[:1].islower()
        ):
            yield first, after
            first = after
    yield first, len(lines)


def _forced(lines: Sequence[str]) -> list[bool]:
    """For each break whether a wrapping program made it: the next word did not fit."""
    ends = [len(line.rstrip()) for line in lines]
    words = [len(line.split(maxsplit=1)[0]) for line in lines[1:]]
    width = max(ends)
    forced = [end + 1 + word > width for end, word in zip(ends, words, strict=False)]
    wrapped = width >= _NARROWEST and 2 * sum(forced) >= len(forced)
    return forced if wrapped else [False] * len(forced)
