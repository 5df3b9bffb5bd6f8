"""Classes of words from elsewhere: what unlabelled text knows of a rare or unknown word.

1. A Brown ``paths`` file or word vectors give every word of a large vocabulary a class
   (:class:`WordClasses`); a word is looked up as it is, then in lower case; one that is not there
   has class 0, which is a class as well: such words are alike.
2. :class:`ClassCounts` counts base tags B under the classes of the treebank's words, a word seen
   c times with weight sqrt(c).
3. The signature's distribution is multiplied by what the class adds (``lexicon`` does the rest):

       P(ts | sig, class)  ~  P(ts | sig) prod_k (P(B | class_k) / P(B)) ^ (strength / K)

   for K ways to class the word (K = 2 with paths and vectors).  P(B | class) is drawn towards P(B)
   with the weight of two words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from eigentext.formats.brown_paths import PathEntry

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

__all__ = ["ClassCounts", "WordClasses"]

_FIT_ROWS = 20_000  # k-means looks at the vectors of so many words, the first of the file
_DRAWN = 2.0  # words' weight of P(B) in P(B | class)


@dataclass(frozen=True, eq=False)
class WordClasses:
    """Numbers from 1 for the classes of words, in one or several ways.

    ``words``    (V,) the vocabulary
    ``numbers``  (V, K) the class of each word, one column a way; 0 where that way has none
    ``sizes``    (K,) classes of each way, with class 0

    >>> from eigentext.formats.brown_paths import PathEntry
    >>> bits = {"cat": "0010", "dog": "0011", "runs": "01"}
    >>> paths = WordClasses.from_paths(PathEntry(b, w, 1) for w, b in bits.items())
    >>> paths.of("dog"), paths.of("Runs"), paths.of("xyzzy")
    ((2,), (3,), (0,))
    """

    words: tuple[str, ...]
    numbers: Ints
    sizes: tuple[int, ...]

    @classmethod
    def from_paths(cls, entries: Iterable[PathEntry], *, prefix: int | None = None) -> WordClasses:
        """Words with the same first ``prefix`` bits are one class; None: with the same path."""
        if prefix is not None and prefix < 1:
            raise SettingsError(f"a prefix of paths has at least 1 bit, not {prefix}")
        bits = {entry.word: entry.bits[:prefix] for entry in entries}
        names = {name: number for number, name in enumerate(sorted(set(bits.values())), start=1)}
        numbers = np.array([[names[path]] for path in bits.values()], np.int64).reshape(-1, 1)
        return cls(tuple(bits), numbers, (len(names) + 1,))

    @classmethod
    def from_vectors(
        cls,
        words: Sequence[str],
        vectors: npt.NDArray[np.floating],
        *,
        classes: int = 500,
        seed: int = 0,
    ) -> WordClasses:
        """k-means classes of vectors of length 1, fitted on the first words of the file.

        >>> import numpy as np
        >>> of = WordClasses.from_vectors(["a", "b", "c"], np.eye(3)[[0, 0, 1]], classes=2).of
        >>> of("a") == of("b") != of("c")
        True
        """
        if len(words) != len(vectors):
            raise SettingsError(f"{len(words)} words, but {len(vectors)} vectors")
        if classes < 1:
            raise SettingsError(f"classes must be at least 1, not {classes}")
        from sklearn.cluster import KMeans, kmeans_plusplus

        from eigentext.linalg.determinism import single_threaded
        from eigentext.linalg.ties import number_alike

        X = np.asarray(vectors, np.float32)
        X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
        rows = X[:_FIT_ROWS]
        alike = number_alike(rows, classes)
        n = classes if alike is None else int(alike.max()) + 1
        with single_threaded():
            seeds, _ = kmeans_plusplus(rows, n, random_state=seed)
            fitted = KMeans(n, init=seeds, n_init=1, max_iter=20, tol=1e-3).fit(rows)
            numbers = fitted.predict(X).astype(np.int64) + 1
        return cls(tuple(words), numbers[:, None], (n + 1,))

    @classmethod
    def merged(cls, parts: Sequence[WordClasses]) -> WordClasses:
        """Several ways side by side."""
        place: dict[str, int] = {}
        for part in parts:
            for word in part.words:
                place.setdefault(word, len(place))
        columns = []
        for part in parts:
            column = np.zeros((len(place), part.numbers.shape[1]), np.int64)
            column[[place[word] for word in part.words]] = part.numbers
            columns.append(column)
        sizes = tuple(size for part in parts for size in part.sizes)
        return cls(tuple(place), np.hstack(columns), sizes)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    def of(self, word: str) -> tuple[int, ...]:
        """The word's class in each way."""
        place = self._place.get(word)
        if place is None:
            place = self._place.get(word.lower())
        return (0,) * len(self.sizes) if place is None else tuple(self.numbers[place].tolist())

    def of_all(self, words: Iterable[str]) -> Ints:
        """(len, K) the classes of many words."""
        found = np.array([self.of(word) for word in words], np.int64)
        return found.reshape(-1, len(self.sizes))


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """How often each base tag stands over words of each class.

    ``counts``  (sum of sizes, bases) the ways below each other
    """

    classes: WordClasses
    counts: Floats
    strength: float = 0.7

    @classmethod
    def count(
        cls, classes: WordClasses, of_word: Ints, base: Ints, weight: Floats, n_base: int
    ) -> ClassCounts:
        """From the classes (P, K), the base tag (P,) and the weight (P,) of every occurrence."""
        n_rows = sum(classes.sizes)
        counts = np.zeros(n_rows * n_base)
        for start, column in zip(_starts(classes.sizes), of_word.T, strict=True):
            counts += np.bincount(
                (start + column) * n_base + base, weight, minlength=n_rows * n_base
            )
        return cls(classes, counts.reshape(n_rows, n_base))

    @cached_property
    def _log_ratio(self) -> Floats:
        """(sum of sizes, bases) log P(B | class) / P(B), times the strength of one way."""
        found = np.empty_like(self.counts)
        for start, size in zip(_starts(self.classes.sizes), self.classes.sizes, strict=True):
            part = self.counts[start : start + size]
            prior = part.sum(axis=0) + 1e-3
            prior /= prior.sum()
            given = (part + _DRAWN * prior) / (part.sum(axis=1, keepdims=True) + _DRAWN)
            found[start : start + size] = np.log(given / prior)
        return found * (self.strength / len(self.classes.sizes))

    def factors(self, numbers: Ints) -> Floats:
        """(n, bases) what the classes (n, K) of words multiply their base tags with."""
        rows = numbers + _starts(self.classes.sizes)
        return np.asarray(np.exp(self._log_ratio[rows].sum(axis=1)))

    def applied(self, p: Floats, ts_base: Ints, word: str) -> Floats:
        """P(ts | sig, class) from P(ts | sig)."""
        numbers = np.array([self.classes.of(word)], np.int64)
        found = p * self.factors(numbers)[0][ts_base]
        return np.asarray(found / found.sum())


def _starts(sizes: Sequence[int]) -> Ints:
    """(K,) where each way's rows begin."""
    return np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
