"""Tokens: a list of strings, and never one string, which would be read letter by letter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["checked_sentences", "checked_tokens", "each_sentence"]


def checked_tokens(tokens: Any, what: str = "a sentence") -> list[str]:
    """The tokens as a list; anything else is a SettingsError.

    >>> checked_tokens(("a", "dog"))
    ['a', 'dog']
    >>> checked_tokens("a dog")
    Traceback (most recent call last):
    ...
    eigentext.errors.SettingsError: a sentence is a list of tokens, not the string 'a dog'
    """
    if isinstance(tokens, (str, bytes)):
        raise SettingsError(f"{what} is a list of tokens, not the string {tokens[:40]!r}")
    if not isinstance(tokens, Iterable):
        raise SettingsError(f"{what} is a list of tokens, not {type(tokens).__name__}")
    checked = list(tokens)
    if set(map(type, checked)) <= {str}:  # as good as always, and fast
        return checked
    for token in checked:
        if not isinstance(token, str):
            raise SettingsError(f"a token is a string, not {type(token).__name__} {token!r:.40}")
    return checked


def checked_sentences(sentences: Any) -> list[list[str]]:
    """Many sentences, each as :func:`checked_tokens` gives it.

    >>> checked_sentences(["a dog"])
    Traceback (most recent call last):
    ...
    eigentext.errors.SettingsError: a sentence is a list of tokens, not the string 'a dog'
    """
    return list(each_sentence(sentences))


def each_sentence(sentences: Any) -> Iterator[list[str]]:
    """The same one by one, for text that need not be in memory.

    >>> next(each_sentence("a dog"))
    Traceback (most recent call last):
    ...
    eigentext.errors.SettingsError: expected a list of sentences, not one string
    """
    if isinstance(sentences, (str, bytes)):
        raise SettingsError("expected a list of sentences, not one string")
    if not isinstance(sentences, Iterable):
        raise SettingsError(f"expected a list of sentences, not {type(sentences).__name__}")
    for sentence in sentences:
        yield checked_tokens(sentence)
