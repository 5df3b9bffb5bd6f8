"""Stage 1: how often each context feature came with each label element, and what follows of it.

:func:`statistics` looks the units of words up; for a document that was itself counted, its own
counts are taken off first, so that no word ever sees itself.  Stage 2 weighs
log p(value | feature) / p(value) with Dirichlet smoothing, which :func:`ratio_columns` has at
once, or, as Shah et al. 2010, plain counts (Eq. 5) or counts over variance (Eq. 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.lexical.ranker.records import CountColumns, Counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eigentext.base.types import Bools, Float32s, Int8s, Int32s, Int64s, UInt8s
    from eigentext.lexical.ranker.encoding import WordArrays
    from eigentext.lexical.ranker.features import Hashes

_NOTHING = np.zeros(1, np.uint64)
_PART = 500  # words counted at a time
_LOGS = 1 << 12  # logarithms that are made once


class CountTable:
    """Counts by key in an open table; ``used`` [A, T] says which pairs are counted."""

    def __init__(self, used: Bools, *, least: int = 1, capacity: int = 1 << 16) -> None:
        self.used = used
        self.least = least
        self.n_words = 0
        self.filled = 0
        self.slots = np.zeros(capacity, np.uint64)

    def add(self, atoms: Hashes, gold: Hashes, words: Int64s) -> None:
        """Count the features and gold values of these words (rows of both tables)."""
        from eigentext.lexical.ranker.kernels import counting

        feature_counts = _NOTHING
        if self.least > 1:
            features = CountTable(self.used)
            for part in _in_parts(words):
                features._make_room(features.filled + len(part) * atoms.shape[1])
                features.filled += counting.count_features(part, atoms, features.slots)
            feature_counts = features.slots
        pairs = int(self.used.sum()) + atoms.shape[1] + gold.shape[1]
        for part in _in_parts(words):
            self._make_room(self.filled + len(part) * pairs)
            self.filled += counting.count(
                part, atoms, gold, self.used, feature_counts, self.least, self.slots
            )
        self.n_words += len(words)

    def _make_room(self, keys: int) -> None:
        from eigentext.lexical.ranker.kernels import hash_table

        size = len(self.slots)
        while size < keys * 4 // 3:  # at most three quarters full: probes stay short
            size *= 2
        if size > len(self.slots):
            larger = np.zeros(size, np.uint64)
            hash_table.moved(self.slots, larger)
            self.slots = larger

    def sorted_items(self) -> tuple[Hashes, Int32s]:
        """All keys in order, with their counts: for files and comparisons."""
        # a slot is 40 bits of key over 24 of count, so that slots sort as keys do
        slots = np.sort(self.slots[self.slots != 0])
        return slots >> np.uint64(24), (slots & np.uint64(0xFFFFFF)).astype(np.int32)

    def packed(self) -> UInt8s:
        """All keys and counts in few bytes: gaps between keys in order, seven bits a byte."""
        from eigentext.lexical.ranker.kernels import hash_table

        keys, values = self.sorted_items()
        out = np.zeros(10 * len(keys), np.uint8)
        return out[: hash_table.pack(keys, values, out)].copy()

    @classmethod
    def unpacked(cls, used: Bools, packed: UInt8s, n: int, n_words: int) -> CountTable:
        """The table of which :meth:`packed` wrote the n keys."""
        from eigentext.lexical.ranker.kernels import hash_table

        slots = np.zeros(n, np.uint64)
        if not hash_table.unpack(packed, slots):
            raise ValueError(f"counts of {n} keys expected, found others")
        table = cls(used)
        table._make_room(n)
        hash_table.moved(slots, table.slots)
        table.filled, table.n_words = n, n_words
        return table


def _in_parts(words: Int64s) -> Iterator[Int64s]:
    """Some words at a time: the table need not grow for more at once."""
    for start in range(0, len(words), _PART):
        yield words[start : start + _PART]


@dataclass
class Statistics:
    """Counts of units [U, A], of features [n, A], of values [U], and of all words [n]."""

    together: Int32s
    alone: Int32s
    base: Int32s
    words: Int64s


def statistics(
    counted: CountTable, encoded: WordArrays, atoms: Hashes, *, leave_out: Sequence[Int64s] = ()
) -> Statistics:
    """Look every unit up, of counted documents without their counted words (``leave_out``)."""
    from eigentext.lexical.ranker.kernels import counting

    n, n_atoms = atoms.shape
    stats = Statistics(
        np.zeros((len(encoded.unit_hash), n_atoms), np.int32),
        np.zeros((n, n_atoms), np.int32),
        np.zeros(len(encoded.unit_hash), np.int32),
        np.full(n, counted.n_words, np.int64),
    )

    for words, less, n_own in _parts(counted, encoded, atoms, leave_out):
        counting.look_up(
            words,
            encoded.feature_table(atoms, counted.used),
            Counted(counted.slots, less, counted.n_words - n_own),
            stats.together,
            stats.alone,
            stats.base,
        )
        stats.words[words] -= n_own
    return stats


def _parts(
    counted: CountTable, encoded: WordArrays, atoms: Hashes, leave_out: Sequence[Int64s]
) -> Iterator[tuple[Int64s, Hashes, int]]:
    """Words with the counts to take off, and of how many words these are."""
    rest = np.ones(len(atoms), np.bool_)  # words of documents that were not counted
    for counted_words in leave_out:
        if not len(counted_words):
            continue
        words = np.flatnonzero(encoded.document_of == encoded.document_of[counted_words[0]])
        table = CountTable(counted.used, capacity=1 << 10)
        table.add(atoms, encoded.gold_hash, counted_words)
        yield words, table.slots, len(counted_words)
        rest[words] = False
    yield np.flatnonzero(rest), _NOTHING, 0


def ratio_columns(
    counted: CountTable,
    encoded: WordArrays,
    atoms: Hashes,
    z: Float32s,
    bucket: Int8s,
    start: int,
    *,
    leave_out: Sequence[Int64s] = (),
    strength: float = 1.0,
) -> Float32s:
    """log p(value | feature) / p(value), smoothed: see ``kernels.counting.ratios``.

    z [U, .] and its bucket [n, .] are filled from column ``start`` on; the logarithm [U] of every
    value's own share comes back.
    """
    from eigentext.lexical.ranker.kernels import counting

    base = np.zeros(len(encoded.unit_hash), np.int32)
    words_counted = np.full(len(atoms), counted.n_words, np.int64)
    logs = np.log(np.arange(_LOGS, dtype=np.float32) + np.float32(strength))
    for words, less, n_own in _parts(counted, encoded, atoms, leave_out):
        counting.ratios(
            words,
            encoded.feature_table(atoms, counted.used),
            Counted(counted.slots, less, max(counted.n_words - n_own, 1)),
            np.float32(strength),
            logs,
            CountColumns(z, bucket),
            start,
            base,
        )
        words_counted[words] -= n_own
    return _log_shares(base, words_counted, encoded)


def shares(stats: Statistics, encoded: WordArrays) -> Float32s:
    """The logarithm [U] of how often each unit's value is the right one at all."""
    return _log_shares(stats.base, stats.words, encoded)


def _log_shares(base: Int32s, words: Int64s, encoded: WordArrays) -> Float32s:
    of_unit = np.repeat(np.maximum(words, 1).astype(np.float32), np.diff(encoded.unit_first))
    log_shares: Float32s = np.log((base + np.float32(0.5)) / (of_unit + np.float32(1.0)))
    return log_shares


def columns(stats: Statistics, encoded: WordArrays, transform: str) -> Float32s:
    """What stage 2 weighs for ``count``, ``variance``: z [U, A + 1], the value's own last."""
    z = _counts(stats)
    if transform == "variance":
        z[:, :-1] /= _binomial_variance(stats, encoded)
    return z


def _counts(stats: Statistics) -> Float32s:
    """[U, A + 1] of each unit with every feature, and alone."""
    return np.column_stack([stats.together, stats.base]).astype(np.float32)


def noise(
    stats: Statistics, encoded: WordArrays, *, transform: str = "ratio", strength: float = 1.0
) -> Float32s:
    """How much of what stage 2 weighs is chance: its variance [U, A + 1].

    A count c is taken as Poisson, so that Var(c) = c; counts of features and values alone are so
    much larger that they count as known.

    ``count``     z = c                        Var(z) = c
    ``variance``  z = c / v                    Var(z) = c / v^2, v as in :func:`columns`
    ``ratio``     z = log (c/p + k)/(n + k)    Var(z) = c / (c + k p)^2, by the slope of z in c
    """
    variance = _counts(stats)  # Var(c) = c
    if transform == "ratio":
        share = np.exp(shares(stats, encoded))[:, None]
        variance[:, :-1] /= (stats.together + np.float32(strength) * share) ** 2
        variance[:, -1] /= (stats.base + np.float32(0.5)) ** 2
    elif transform == "variance":
        variance[:, :-1] /= _binomial_variance(stats, encoded) ** 2
    return variance


def _binomial_variance(stats: Statistics, encoded: WordArrays) -> Float32s:
    """v [U, A] = N p (1 - p) of each unit's feature, p its share of the N words."""
    per_unit = np.repeat(np.arange(len(stats.alone)), np.diff(encoded.unit_first))
    words = np.maximum(stats.words[per_unit], 1).astype(np.float32)[:, None]
    share = stats.alone[per_unit] / words  # p
    variance: Float32s = np.maximum(words * share * (1 - share), 1e-3)
    return variance


class LikeDocuments:
    """Counts of target values by document, and the words of the documents.

    z_u(d) = log (sum_d' s(d, d') n_d'(u) + k p_u) / (sum_d' s(d, d') N_d' + k) - log p_u,
    where s is the cosine of the documents' word counts, with rare words weighing more.
    """

    def __init__(self) -> None:
        self.vocabulary: dict[str, int] = {}
        self._words: list[dict[int, int]] = []
        self._values: list[Hashes] = []

    def add(self, words: Sequence[str], gold: Hashes) -> None:
        """One more document: its words, and the targets [m, T] of its labelled ones."""
        counts: dict[int, int] = {}
        for word in words:
            number = self.vocabulary.setdefault(word, len(self.vocabulary))
            counts[number] = counts.get(number, 0) + 1
        self._words.append(counts)
        self._values.append(gold.ravel())

    def finish(self) -> None:
        """Turn what was added into arrays."""
        n = len(self._words)
        cells = np.array([w for counts in self._words for w in counts], np.int64)
        self.rarity = np.log(
            (1.0 + n) / (1.0 + np.bincount(cells, minlength=len(self.vocabulary)))
        )
        self.matrix = self._rows(self._words)
        values = np.concatenate(self._values) if n else np.zeros(0, np.uint64)
        owner = np.repeat(np.arange(n), [len(v) for v in self._values])
        # (value, document) pairs with their counts, in CSR by value: those of the value v are
        # documents[first[v]:first[v + 1]]
        order = np.lexsort((owner, values))
        values, owner = values[order], owner[order]
        new = np.ones(len(values), np.bool_)
        new[1:] = (values[1:] != values[:-1]) | (owner[1:] != owner[:-1])
        starts = np.flatnonzero(new)
        self.counts = np.diff(np.append(starts, len(values))).astype(np.float64)
        self.documents = owner[starts]
        self.values, begin = np.unique(values[starts], return_index=True)
        self.first = np.append(begin, len(starts)).astype(np.int64)
        self.sizes = np.bincount(owner[starts], self.counts, minlength=n)

    def _rows(self, documents: Sequence[Mapping[int, int]]) -> Any:
        """Word counts of documents, weighted by rarity, as sparse rows of length one."""
        from scipy.sparse import csr_array

        sizes = [len(counts) for counts in documents]
        first = pointers(sizes)
        cells = np.array([w for counts in documents for w in counts], np.int64)
        times = np.array([t for counts in documents for t in counts.values()], np.float64)
        times *= self.rarity[cells]
        row = np.repeat(np.arange(len(documents)), sizes)
        # the norm of each row
        length = np.sqrt(np.bincount(row, times * times, minlength=len(documents)))
        times /= np.maximum(length, 1e-12)[row]
        return csr_array((times, cells, first), shape=(len(documents), len(self.vocabulary)))

    @cached_property
    def _by_word(self) -> Any:
        """The training documents' rows turned over."""
        return self.matrix.T.tocsr()

    def column(
        self,
        encoded: WordArrays,
        log_share: Float32s,
        numbers: Sequence[int],
        *,
        strength: float = 1.0,
        noise: Float32s | None = None,
    ) -> Float32s:
        """z of every unit; ``numbers`` gives each document's number here, or -1.

        ``log_share`` [U] is the logarithm of how often the value is the right one at all;
        ``noise`` [U] is filled with the variance of z, the counts n_d' being Poisson.
        """
        from eigentext.lexical.ranker.kernels import counting

        word_counts: list[dict[int, int]] = [{} for _ in numbers]
        for word, document in zip(encoded.words, encoded.document_of.tolist(), strict=True):
            number = self.vocabulary.get(word)
            if number is not None:
                word_counts[document][number] = word_counts[document].get(number, 0) + 1
        similar = (self._rows(word_counts) @ self._by_word).toarray()  # s(d, d')
        for document, number in enumerate(numbers):  # no document tells of itself
            if number >= 0:
                similar[document, number] = 0.0
        n_targets = encoded.gold_hash.shape[1]
        # a document has its words' values once for each target
        mass = similar @ (self.sizes / max(n_targets, 1))
        if not len(self.values):
            return np.zeros(len(encoded.unit_hash), np.float32)
        position = np.searchsorted(self.values, encoded.unit_hash)
        position = np.minimum(position, len(self.values) - 1)
        # the row of each unit's value among those counted, -1 if it never was
        rows = np.where(self.values[position] == encoded.unit_hash, position, -1)
        of_unit = np.repeat(encoded.document_of, np.diff(encoded.unit_first))
        together = np.zeros(len(encoded.unit_hash))
        counting.document_overlap(
            rows, of_unit, self.first, self.documents, self.counts, similar, together
        )
        if noise is not None:
            spread = np.zeros(len(encoded.unit_hash))
            counting.document_overlap(
                rows, of_unit, self.first, self.documents, self.counts, similar**2, spread
            )
            # Var of a sum of s n with Var(n) = n is the sum of s^2 n; then the slope of the log
            noise[:] = spread / (together + strength * np.exp(log_share)) ** 2
        # the equation of the class
        ratio = (together * np.exp(-log_share) + strength) / (mass[of_unit] + strength)
        out: Float32s = np.log(ratio).astype(np.float32)
        return out
