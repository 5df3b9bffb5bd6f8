"""What comes in to the taggers, checked once: sentences of words, and their tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.base.tokens import checked_sentences, checked_tokens
from eigentext.errors import DataError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Tagged", "checked_words", "numbered"]


class Tagged(NamedTuple):
    """Sentences without empty ones, the numbers of their tags, and the tags in order."""

    names: tuple[str, ...]
    sentences: list[list[str]]
    tags: list[list[int]]


def checked_words(tokens: Any) -> list[str]:
    """Tokens that have content: an empty one has no ending and no shape.

    >>> checked_words(["a", ""])
    Traceback (most recent call last):
    ...
    eigentext.errors.SettingsError: token 2 of a sentence is empty
    """
    words = checked_tokens(tokens)
    if "" in words:
        raise SettingsError(f"token {words.index('') + 1} of a sentence is empty")
    return words


def numbered(X: Iterable[Sequence[str]], y: Iterable[Sequence[str]]) -> Tagged:
    """Training sentences and their tags in numbers; empty ones are left out.

    >>> numbered([["a", "b"], [], ["b"]], [["X", "Y"], [], ["X"]])
    Tagged(names=('X', 'Y'), sentences=[['a', 'b'], ['b']], tags=[[0, 1], [0]])
    """
    sentences, names = checked_sentences(X), checked_sentences(y)
    if len(sentences) != len(names):
        raise SettingsError(f"{len(sentences)} sentences, but tags of {len(names)}")
    for number, (words, tags) in enumerate(zip(sentences, names, strict=True), start=1):
        if len(words) != len(tags):
            why = f"{len(tags)} tags for {len(words)} tokens"
            raise DataError("<training sentences>", number, why)
    kept = [checked_words(words) for words in sentences if words]
    if not kept:
        raise DataError("<training sentences>", None, "no tokens, expected some to learn from")
    order = sorted({tag for row in names for tag in row})
    number_of = {tag: number for number, tag in enumerate(order)}
    return Tagged(tuple(order), kept, [[number_of[tag] for tag in row] for row in names if row])
