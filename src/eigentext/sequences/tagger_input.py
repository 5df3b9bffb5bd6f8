"""What comes in to the taggers, checked once: sentences of (word, tag) pairs, or of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eigentext.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Tagged", "checked_tokens", "numbered", "pairs_of"]


class Tagged(NamedTuple):
    """Sentences without empty ones, the numbers of their tags, and the tags in order."""

    names: tuple[str, ...]
    sentences: list[list[str]]
    tags: list[list[int]]


def checked_tokens(tokens: Sequence[str]) -> list[str]:
    """The tokens as a list; TypeError for a str and for anything that is no token.

    >>> checked_tokens(("a", "b"))
    ['a', 'b']
    """
    if isinstance(tokens, (str, bytes)):
        raise TypeError("a sentence is a list of tokens, not one str; did you mean text.split()?")
    found = list(tokens)
    for token in found:
        if not isinstance(token, str) or not token:
            raise TypeError(f"a token is a str with content, not {token!r}")
    return found


def pairs_of(
    sentences: Iterable[Sequence[str]], tags: Iterable[Sequence[str]]
) -> list[list[tuple[str, str]]]:
    """Tokens and tags side by side.

    >>> pairs_of([["a", "b"]], [["X", "Y"]])
    [[('a', 'X'), ('b', 'Y')]]
    """
    return [
        list(zip(tokens, row, strict=True)) for tokens, row in zip(sentences, tags, strict=True)
    ]


def numbered(X: Iterable[Sequence[tuple[str, str]]]) -> Tagged:
    """Training sentences in numbers; empty ones are left out.

    >>> numbered([[("a", "X"), ("b", "Y")], [], [("b", "X")]])
    Tagged(names=('X', 'Y'), sentences=[['a', 'b'], ['b']], tags=[[0, 1], [0]])
    """
    if isinstance(X, (str, bytes)):
        raise TypeError("expected sentences of (word, tag) pairs, not one str")
    sentences: list[list[str]] = []
    names: list[list[str]] = []
    for number, sentence in enumerate(X, start=1):
        if isinstance(sentence, (str, bytes)):
            raise TypeError("a sentence is a list of (word, tag) pairs, not one str")
        rows = list(sentence)
        for pair in rows:
            if isinstance(pair, (str, bytes)) or len(pair) != 2:
                raise DataError(
                    "<training sentences>", number, f"found {pair!r}, expected a (word, tag) pair"
                )
        if rows:
            words, tags = zip(*rows, strict=True)
            sentences.append(checked_tokens(words))
            names.append(checked_tokens(tags))
    if not sentences:
        raise DataError("<training sentences>", None, "no tokens, expected some to learn from")
    order = sorted({tag for row in names for tag in row})
    place = {tag: at for at, tag in enumerate(order)}
    return Tagged(tuple(order), sentences, [[place[tag] for tag in row] for row in names])
