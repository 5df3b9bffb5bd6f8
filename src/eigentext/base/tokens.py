"""Tokens: a list of strings, and never one string, which would be read letter by letter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from eigentext.errors import DataError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "checked_sentences",
    "checked_tagged",
    "checked_tokens",
    "checked_words",
    "each_sentence",
]


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


def checked_tagged(X: Any, y: Any) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences, and as many tags for each.

    >>> checked_tagged([["a", "dog"]], [["DT"]])
    Traceback (most recent call last):
    ...
    eigentext.errors.DataError: <tags>:1: 1 tags for 2 tokens
    """
    sentences, tags = [checked_words(tokens) for tokens in each_sentence(X)], checked_sentences(y)
    if len(sentences) != len(tags):
        raise DataError("<tags>", None, f"{len(tags)} sentences for {len(sentences)} of tokens")
    for number, (tokens, row) in enumerate(zip(sentences, tags, strict=True), start=1):
        if len(tokens) != len(row):
            raise DataError("<tags>", number, f"{len(row)} tags for {len(tokens)} tokens")
    return sentences, tags
