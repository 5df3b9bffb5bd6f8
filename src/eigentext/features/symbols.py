"""From words to symbols: which words a model knows, and what stands for the others.

A model of words has symbols for the frequent ones.  A rarer word takes the finest of its
signatures that is a symbol (``signatures``), and in the end ``<unk>``; tables of words from
elsewhere are asked for other spellings first.  What is counted, and with what, is the model's own.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from eigentext.counting.vocabulary import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

__all__ = ["UNKNOWN", "first_known", "frequent_words", "looked_up"]

Entry = TypeVar("Entry")


def frequent_words(words: Iterable[str], min_count: int) -> frozenset[str]:
    """The words of a running text that occur at least so often.

    >>> sorted(frequent_words("a rose is a rose".split(), 2))
    ['a', 'rose']
    """
    return frozenset(word for word, n in Counter(words).items() if n >= min_count)


def first_known(names: Iterable[str], symbols: Container[str]) -> str:
    """The first of the names, from fine to coarse, that is a symbol; ``<unk>`` if none is.

    >>> first_known(["<lower-ing>", "<lower>"], {"<lower>", "the"}), first_known(["a"], {"the"})
    ('<lower>', '<unk>')
    """
    return next((name for name in names if name in symbols), UNKNOWN)


def looked_up(table: Mapping[str, Entry], word: str, *, capital: bool = True) -> Entry | None:
    """The entry of a word as written, or in lower case, or with a ``capital``; None if unknown.

    >>> looked_up({"cat": 0, "Rome": 1}, "Cat"), looked_up({"cat": 0, "Rome": 1}, "rome")
    (0, 1)
    """
    entry = table.get(word)
    if entry is None and table:
        entry = table.get(word.lower())
        if entry is None and capital:
            entry = table.get(word.capitalize())
    return entry
