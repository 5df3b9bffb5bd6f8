"""Tokens: a list of strings, and never one string, which would be read letter by letter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from eigentext.errors import SettingsError

__all__ = ["checked_sentences", "checked_tokens"]


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
    for token in checked:
        if not isinstance(token, str):
            raise SettingsError(f"a token is a string, not {type(token).__name__} {token!r:.40}")
    return checked


def checked_sentences(sentences: Iterable[Sequence[str]]) -> list[list[str]]:
    """Many sentences, each as :func:`checked_tokens` gives it.

    >>> checked_sentences(["a dog"])
    Traceback (most recent call last):
    ...
    eigentext.errors.SettingsError: a sentence is a list of tokens, not the string 'a dog'
    """
    if isinstance(sentences, (str, bytes)):
        raise SettingsError("expected a list of sentences, not one string")
    return [checked_tokens(sentence) for sentence in sentences]
