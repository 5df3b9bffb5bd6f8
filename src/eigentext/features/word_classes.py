"""Classes of words from elsewhere: what unlabelled text knows of a rare or unknown word.

Vectors become bits, so that templates read them as they read the paths of a Brown clustering.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.errors import DataError, SettingsError
from eigentext.features.symbols import looked_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

    from eigentext.base.types import Float32s, Int64s
    from eigentext.language.formats.brown_paths import PathEntry

_FIT_ROWS = 20_000  # one k-means looks at the vectors of so many words, the first of the file
_MEANS = 8  # of a level of k-means within k-means: three bits
_LEVELS = 3


def clusters_of(source: str | os.PathLike[str] | Mapping[str, str] | None) -> dict[str, str]:
    """Word -> bits; an empty table for None.

    >>> clusters_of({"cat": "010"})
    {'cat': '010'}
    """
    if source is None:
        return {}
    if isinstance(source, Mapping):
        for word, bits in source.items():
            if not isinstance(bits, str) or set(bits) - {"0", "1"}:
                raise SettingsError(f"cluster of {word!r} is {bits!r}, expected a str of 0 and 1")
        return dict(source)
    from eigentext.language.formats.brown_paths import read_paths

    bits_of = {entry.word: entry.bits for entry in read_paths(source)}
    if not bits_of:
        raise DataError(os.fspath(source), None, "no clusters in this file")
    return bits_of


class VectorTable(Mapping[str, "Float32s"]):
    """Vectors by word, over the rows of one matrix: small to show, to keep and to send.

    >>> vectors = VectorTable(["a", "b"], np.eye(2, dtype=np.float32))
    >>> vectors, vectors["b"].tolist(), list(vectors)
    (<2 vectors of 2 numbers>, [0.0, 1.0], ['a', 'b'])
    """

    def __init__(self, words: Sequence[str], matrix: Float32s) -> None:
        self.words, self.matrix = tuple(words), matrix

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    def __getitem__(self, word: str) -> Float32s:
        row: Float32s = self.matrix[self._row_of[word]]
        return row

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"<{len(self.words):,} vectors of {self.matrix.shape[1]} numbers>"

    def __reduce__(self) -> tuple[type[VectorTable], tuple[Any, ...]]:
        return VectorTable, (self.words, self.matrix)


def vectors_of(
    source: str | os.PathLike[str] | Mapping[str, object] | None, scale: float
) -> tuple[list[str], Float32s]:
    """Words, and their vectors, each scaled to the length ``scale``.

    What has that length but for rounding stays as it is: scaled once more, nothing changes.

    >>> words, matrix = vectors_of({"a": [3.0, 4.0], "b": [0.0, 5.0]}, scale=1.0)
    >>> words, np.linalg.norm(matrix, axis=1).tolist()
    (['a', 'b'], [1.0, 1.0])
    """
    if source is None:
        return [], np.zeros((0, 0), np.float32)
    if isinstance(source, VectorTable):
        words, matrix = list(source.words), source.matrix
        name = "<vectors>"
    elif isinstance(source, Mapping):
        words = list(source)
        rows = [np.asarray(source[word], np.float32) for word in words]
        if not rows or len({row.shape for row in rows}) != 1 or rows[0].ndim != 1:
            raise SettingsError("vectors must be one or more, all of the same size")
        matrix = np.stack(rows)
        name = "<vectors>"
    else:
        from eigentext.language.formats.word2vec import load_vectors

        words, matrix = load_vectors(source)
        name = os.fspath(source)
    if not matrix.size or not np.isfinite(matrix).all():
        raise DataError(name, None, "no vectors, or some that are not finite numbers")
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
    if not lengths.any():
        raise DataError(name, None, "all vectors are zero")
    scaled = matrix * (scale / np.maximum(lengths, 1e-30))
    done = np.abs(lengths - scale) <= scale * np.finfo(np.float32).eps
    return words, np.where(done, matrix, scaled).astype(np.float32)


def means_bits(words: Sequence[str], vectors: Float32s, *, seed: int = 0) -> dict[str, str]:
    """Nine bits for each word; near vectors, all of length 1, share their first bits.

    k-means with eight means, then eight within each, then eight within those.

    >>> vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], np.float32)
    >>> bits = means_bits(["a", "b", "c"], vectors)
    >>> bits["a"] == bits["b"] != bits["c"], len(bits["c"])
    (True, 9)
    """
    groups = np.zeros(len(words), np.int64)
    for _ in range(_LEVELS):
        below = np.zeros_like(groups)
        for group in np.unique(groups).tolist():
            rows = np.flatnonzero(groups == group)
            below[rows] = _nearest_means(vectors[rows], seed)
        groups = groups * _MEANS + below
    width = 3 * _LEVELS
    return {word: f"{group:0{width}b}" for word, group in zip(words, groups.tolist(), strict=True)}


def _nearest_means(X: Float32s, seed: int) -> Int64s:
    from sklearn.cluster import KMeans

    from eigentext.linalg.ties import single_threaded

    n = _n_means(X, _MEANS)
    with single_threaded():
        fitted = KMeans(n, n_init=1, max_iter=30, random_state=seed).fit(X)
    return np.asarray(fitted.labels_, np.int64)


def _n_means(X: Float32s, most: int) -> int:
    """So many means at most, and no more than there are different rows."""
    from eigentext.linalg.ties import number_alike

    alike = number_alike(X, most)
    return most if alike is None else int(alike.max()) + 1


def vector_bits(source: Any) -> dict[str, str]:
    """:func:`halving_bits` of a word2vec file, or of a mapping from words to vectors.

    A mapping from words to bits, as a stored model has them, is taken as it is.

    >>> vector_bits({"a": "01"}), vector_bits(None)
    ({'a': '01'}, {})
    """
    if isinstance(source, Mapping) and source and isinstance(next(iter(source.values())), str):
        return clusters_of(source)
    words, vectors = vectors_of(source, 1.0)
    return halving_bits(words, vectors) if words else {}


def halving_bits(
    words: Sequence[str], vectors: npt.NDArray[np.floating], *, depth: int = 9
) -> dict[str, str]:
    """Bits of every word, at most ``depth`` (after Bansal et al. 2014).

    The vectors, brought to length 1, are halved along their main axis (the first eigenvector of
    their covariance, at the mean), and so are the halves: a word's bits say on which side it lay
    each time.

    >>> bits = halving_bits(["a", "b", "c"], np.eye(3)[[0, 0, 1]])
    >>> bits["a"] == bits["b"] != bits["c"]
    True
    """
    if depth < 1:
        raise SettingsError(f"depth must be 1 or more, found {depth}")
    from eigentext.linalg.ties import principal_axes, single_threaded

    X = _directions(words, vectors, np.float64)
    bits = [""] * len(words)
    waiting = [np.arange(len(words))]
    while waiting:
        rows = waiting.pop()
        centred = X[rows] - X[rows].mean(axis=0)
        if len(rows) < 2 or not np.any(np.abs(centred) > 1e-9):
            continue
        with single_threaded():
            axis = principal_axes(centred.T @ centred)[1][:, 0]
        above = centred @ axis > 1e-9  # on the middle is below: rounding must not decide
        for side, half in (("0", rows[~above]), ("1", rows[above])):
            for row in half.tolist():
                bits[row] += side
            if len(half) and len(bits[half[0]]) < depth:
                waiting.append(half)
    return dict(zip(words, bits, strict=True))


def _directions(
    words: Sequence[str], vectors: npt.NDArray[np.floating], dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    """The vectors of the words, each brought to length 1."""
    from eigentext.linalg.ties import unit_rows

    if len(words) != len(vectors):
        raise SettingsError(f"{len(words)} words, but {len(vectors)} vectors")
    return unit_rows(np.asarray(vectors, dtype))


@dataclass(frozen=True, eq=False)
class WordClasses:
    """Numbers from 1 for the classes of words, in one or several ways.

    >>> from eigentext.language.formats.brown_paths import PathEntry
    >>> bits = {"cat": "0010", "dog": "0011", "runs": "01"}
    >>> paths = WordClasses.from_paths(PathEntry(b, w, 1) for w, b in bits.items())
    >>> paths.of("dog"), paths.of("Runs"), paths.of("xyzzy")
    ((2,), (3,), (0,))
    """

    words: tuple[str, ...]  # (V,) the vocabulary
    numbers: Int64s  # (V, K) the class of each word, one column a way; 0 where that way has none
    sizes: tuple[int, ...]  # (K,) classes of each way, with class 0

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

        >>> of = WordClasses.from_vectors(["a", "b", "c"], np.eye(3)[[0, 0, 1]], classes=2).of
        >>> of("a") == of("b") != of("c")
        True
        """
        if classes < 1:
            raise SettingsError(f"classes must be at least 1, not {classes}")
        from sklearn.cluster import KMeans, kmeans_plusplus

        from eigentext.linalg.ties import single_threaded

        X = _directions(words, vectors, np.float32)
        rows = X[:_FIT_ROWS]
        n = _n_means(rows, classes)
        with single_threaded():
            seeds, _ = kmeans_plusplus(rows, n, random_state=seed)
            fitted = KMeans(n, init=seeds, n_init=1, max_iter=20, tol=1e-3).fit(rows)
            numbers = fitted.predict(X).astype(np.int64) + 1
        return cls(tuple(words), numbers[:, None], (n + 1,))

    @classmethod
    def merged(cls, parts: Sequence[WordClasses]) -> WordClasses:
        """Several ways side by side."""
        row_of: dict[str, int] = {}
        for part in parts:
            for word in part.words:
                row_of.setdefault(word, len(row_of))
        columns = []
        for part in parts:
            column = np.zeros((len(row_of), part.numbers.shape[1]), np.int64)
            column[[row_of[word] for word in part.words]] = part.numbers
            columns.append(column)
        sizes = tuple(size for part in parts for size in part.sizes)
        return cls(tuple(row_of), np.hstack(columns), sizes)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    def of(self, word: str) -> tuple[int, ...]:
        """The word's class in each way."""
        row = looked_up(self._row_of, word, capital=False)
        return (0,) * len(self.sizes) if row is None else tuple(self.numbers[row].tolist())

    def of_all(self, words: Iterable[str]) -> Int64s:
        """(len, K) the classes of many words."""
        classes = np.array([self.of(word) for word in words], np.int64)
        return classes.reshape(-1, len(self.sizes))
