"""From words to symbols: which words a model knows, and what stands for the others.

A model of words has symbols for the frequent ones.  A rarer word takes the finest of its
signatures that is a symbol (``signatures``), and in the end ``<unk>``; tables of words from
elsewhere are asked for other spellings first.  What is counted, and with what, is the model's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple, TypeVar

from eigentext.counting.vocabulary import UNKNOWN

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


# ---------------------------------------------------------------- is it the language?


_LEAST = 0.6  # of the expected share
_FEWEST = 50  # words, of which something can be said


class Share(NamedTuple):
    """How many words were looked up, and how many of them are known."""

    words: int = 0
    n_known: int = 0

    def plus(self, other: Share) -> Share:
        """Of both together."""
        return Share(self.words + other.words, self.n_known + other.n_known)


class KnownWords:
    """The words of training, by how often they were seen there.

    In a text like that of training, words not seen are as frequent as words seen once were:
    1 - n_1 / N are known (Good 1953).

    >>> known = KnownWords({"The": 3, "the": 5, "dog": 1, "cat": 1, ".": 9})
    >>> known.expected
    0.8
    >>> known.share(["THE", "zebra", "!"])
    Share(words=2, n_known=1)
    """

    def __init__(self, counts: Mapping[str, float]) -> None:
        times: dict[str, float] = {}
        for word, count in counts.items():
            if _is_word(word):
                times[word.lower()] = times.get(word.lower(), 0.0) + count
        self._seen = frozenset(times)
        once = sum(count for count in times.values() if count <= 1)
        self.expected = 1.0 - once / max(sum(times.values()), 1.0)

    def share(self, forms: Iterable[str]) -> Share:
        """Of these words."""
        words = [form.lower() for form in forms if _is_word(form)]
        return Share(len(words), sum(word in self._seen for word in words))


def remark_on(share: Share, expected: float) -> str | None:
    """What to tell of a text whose words are mostly unknown; None of any other.

    Another genre has a little less than what is expected, another language less than half of it:
    held against ten treebanks of five languages, texts of the same language have 79% of it or
    more, those of others 49% or less, with models of 800 sentences or more (66% with fewer).

    >>> remark_on(Share(100, 20), 0.9)
    'warning: 80% of the words are unknown to this model, 10% are expected: is it the language of \
the text?'
    >>> remark_on(Share(100, 60), 0.9) is remark_on(Share(10, 0), 0.9) is None
    True
    """
    if share.words < _FEWEST or share.n_known >= _LEAST * expected * share.words:
        return None
    unknown = 1 - share.n_known / share.words
    return (
        f"warning: {unknown:.0%} of the words are unknown to this model, {1 - expected:.0%} are "
        "expected: is it the language of the text?"
    )


def _is_word(form: str) -> bool:
    return any(char.isalpha() for char in form)
