"""What models are given: lists of tokens, of trees and the like, and never one string.

A string would be read letter by letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from eigentext.errors import DataError, SettingsError

Item = TypeVar("Item")


def checked_tokens(tokens: object, what: str = "a sentence", *, gaps: bool = False) -> list[str]:
    """The tokens as a list; anything else is a SettingsError.

    With ``gaps``, None stands for a token that is not known, and is left out.

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
    if gaps:
        checked = [token for token in checked if token is not None]
    if set(map(type, checked)) <= {str}:  # as good as always, and fast
        return checked
    for token in checked:
        if not isinstance(token, str):
            raise SettingsError(f"a token is a string, not {type(token).__name__} {token!r:.40}")
    return checked


def checked_sentences(sentences: object) -> list[list[str]]:
    """Many sentences, each as :func:`checked_tokens` gives it.

    >>> checked_sentences(["a dog"])
    Traceback (most recent call last):
    ...
    eigentext.errors.SettingsError: a sentence is a list of tokens, not the string 'a dog'
    """
    return list(each_sentence(sentences))


def each_sentence(sentences: object) -> Iterator[list[str]]:
    """The same one by one, for text that need not be in memory.

    >>> next(each_sentence("a dog"))
    Traceback (most recent call last):
    ...
    eigentext.errors.SettingsError: expected a list of sentences, not one string
    """
    for sentence in checked_list(sentences, "sentences"):
        yield checked_tokens(sentence)


def checked_list(items: object, what: str) -> Iterable[Any]:
    """The items, if they can be walked along and are no string."""
    if isinstance(items, (str, bytes)):
        raise SettingsError(f"expected a list of {what}, not one string")
    if not isinstance(items, Iterable):
        raise SettingsError(f"expected a list of {what}, not {type(items).__name__}")
    return items


def each_of(kind: type[Item], items: object, what: str) -> Iterator[Item]:
    """Trees, documents or other items of a kind, one by one; anything else is a SettingsError.

    >>> list(each_of(complex, [1j], "complex numbers"))
    [1j]
    >>> list(each_of(complex, "1j", "complex numbers"))
    Traceback (most recent call last):
    ...
    eigentext.errors.SettingsError: expected a list of complex numbers, not one string
    >>> list(each_of(complex, [1j, [2]], "complex numbers"))
    Traceback (most recent call last):
    ...
    eigentext.errors.SettingsError: expected a list of complex numbers, whose item 2 is a list: [2]
    """
    if isinstance(items, kind):
        raise SettingsError(f"expected a list of {what}, not one of them")
    for number, item in enumerate(checked_list(items, what), start=1):
        if not isinstance(item, kind):
            description = f"a {type(item).__name__}: {item!r:.40}"
            # a tree of NLTK is called Tree too
            of_nltk = type(item).__module__.partition(".")[0] == "nltk"
            hint = "; see eigentext.integrations.nltk_trees" if of_nltk else ""
            raise SettingsError(
                f"expected a list of {what}, whose item {number} is {description}{hint}"
            )
        yield item


def checked_item(kind: type[Item], item: object, what: str) -> Item:
    """One tree or the like; anything else is a SettingsError.

    >>> checked_item(complex, "1j", "a complex number")
    Traceback (most recent call last):
    ...
    eigentext.errors.SettingsError: expected a complex number, not a str: '1j'
    """
    if not isinstance(item, kind):
        raise SettingsError(f"expected {what}, not a {type(item).__name__}: {item!r:.40}")
    return item


def checked_words(tokens: object) -> list[str]:
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


def checked_tagged(X: object, y: object) -> tuple[list[list[str]], list[list[str]]]:
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
