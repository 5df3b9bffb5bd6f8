"""Stage 1: how often each context feature came with each label element, and what follows of it.

1. :class:`CountTable` counts (feature, element value) pairs, features and values over words that
   are scored, document by document.
2. :func:`statistics` looks the units of words up; for a document that was itself counted, its own
   counts are taken off first, so that no word ever sees itself.
3. :func:`columns` makes of counts what stage 2 weighs: log p(value | feature) / p(value) with
   Dirichlet smoothing, or the paper's plain counts (Eq. 5) or counts over variance (Eq. 3).
4. :class:`DocumentCounts` scores a value by the documents it was seen in, each weighted by how
   many words it shares with the document at hand: Z_tf.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.lexical.encoding import Encoded
    from eigentext.lexical.features import Hashes

__all__ = ["BUCKETS", "CountTable", "DocumentCounts", "Statistics", "columns", "statistics"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
BUCKETS = 4
"""Weights differ by how often the feature was seen: once, 2 to 3, 4 to 15, more."""

_NO_KEYS = np.zeros(1, np.uint64)
_NO_VALUES = np.zeros(1, np.int32)


class CountTable:
    """Counts by key in an open table; ``used`` [A, T] says which pairs are counted."""

    def __init__(self, used: npt.NDArray[np.bool_], *, capacity: int = 1 << 16) -> None:
        self.used = used
        self.n_words = 0
        self.filled = 0
        self.keys = np.zeros(capacity, np.uint64)
        self.values = np.zeros(capacity, np.int32)

    def add(self, atoms: Hashes, gold: Hashes, words: Ints) -> None:
        """Count the features and gold values of these words (rows of both tables)."""
        from eigentext.lexical import kernels

        if not len(words):
            return
        most = len(words) * (int(self.used.sum()) + atoms.shape[1] + gold.shape[1])
        self._make_room(self.filled + most)
        self.filled += kernels.count(words, atoms, gold, self.used, self.keys, self.values)
        self.n_words += len(words)

    def _make_room(self, keys: int) -> None:
        from eigentext.lexical import kernels

        size = len(self.keys)
        while size < keys * 5 // 3:
            size *= 2
        if size > len(self.keys):
            keys_, values = np.zeros(size, np.uint64), np.zeros(size, np.int32)
            kernels.moved(self.keys, self.values, keys_, values)
            self.keys, self.values = keys_, values

    def sorted_items(self) -> tuple[Hashes, npt.NDArray[np.int32]]:
        """All keys in order, with their counts: for files and comparisons."""
        there = self.keys != 0
        keys, values = self.keys[there], self.values[there]
        order = np.argsort(keys)
        return keys[order], values[order]

    @classmethod
    def of_items(
        cls, used: npt.NDArray[np.bool_], keys: Hashes, values: npt.NDArray[np.int32], n_words: int
    ) -> CountTable:
        """The table that :meth:`sorted_items` described."""
        from eigentext.lexical import kernels

        table = cls(used)
        table._make_room(len(keys))
        kernels.moved(keys, values, table.keys, table.values)
        table.filled, table.n_words = len(keys), n_words
        return table


@dataclass
class Statistics:
    """Counts of units [U, A], of features [n, A], of values [U], and of all words [n]."""

    together: npt.NDArray[np.int32]
    alone: npt.NDArray[np.int32]
    base: npt.NDArray[np.int32]
    words: Ints


def statistics(
    counted: CountTable,
    encoded: Encoded,
    atoms: Hashes,
    *,
    leave_out: Sequence[npt.NDArray[np.int64]] = (),
) -> Statistics:
    """Look every unit up.

    ``leave_out`` holds, for each document that was counted, its counted words (rows of ``atoms``);
    all words of such documents are looked up without them.
    """
    from eigentext.lexical import kernels

    n, n_atoms = atoms.shape
    found = Statistics(
        np.zeros((len(encoded.unit_hash), n_atoms), np.int32),
        np.zeros((n, n_atoms), np.int32),
        np.zeros(len(encoded.unit_hash), np.int32),
        np.full(n, counted.n_words, np.int64),
    )

    def look_up(words: Ints, keys: Hashes, values: npt.NDArray[np.int32]) -> None:
        kernels.look_up(
            words, atoms, encoded.unit_first, encoded.unit_hash, encoded.unit_target,
            counted.used, counted.keys, counted.values, keys, values,
            found.together, found.alone, found.base,
        )  # fmt: skip

    rest = np.ones(n, np.bool_)
    for own in leave_out:
        if not len(own):
            continue
        words = np.flatnonzero(encoded.document_of == encoded.document_of[own[0]])
        table = CountTable(counted.used, capacity=1 << 10)
        table.add(atoms, encoded.gold_hash, own)
        look_up(words, table.keys, table.values)
        found.words[words] -= len(own)
        rest[words] = False
    look_up(np.flatnonzero(rest), _NO_KEYS, _NO_VALUES)
    return found


def columns(
    found: Statistics,
    encoded: Encoded,
    *,
    transform: str = "ratio",
    strength: float = 1.0,
) -> tuple[Floats, npt.NDArray[np.int8]]:
    """What stage 2 weighs: z [U, A + 1] and the bucket of its weight [n, A + 1].

    The last column is the value's own log frequency (``ratio``) or count.
    """
    n, n_atoms = found.alone.shape
    per_unit = np.repeat(np.arange(n), np.diff(encoded.unit_first))
    z = np.zeros((len(found.base), n_atoms + 1), np.float32)
    bucket = np.zeros((n, n_atoms + 1), np.int8)
    words = np.maximum(found.words[per_unit], 1).astype(np.float32)
    if transform == "ratio":
        share = (found.base + np.float32(0.5)) / (words + np.float32(1.0))
        z[:, -1] = np.log(share)
        for a in range(n_atoms):
            alone = found.alone[per_unit, a].astype(np.float32)
            ratio = (found.together[:, a] / share + np.float32(strength)) / (
                alone + np.float32(strength)
            )
            z[:, a] = np.where(alone > 0, np.log(ratio), 0.0)
        bucket[:, :-1] = np.digitize(found.alone, (2, 4, 16))
        return z, bucket
    z[:, :-1] = found.together
    z[:, -1] = found.base
    if transform == "variance":
        share_alone = found.alone[per_unit] / words[:, None]
        z[:, :-1] /= np.maximum(words[:, None] * share_alone * (1 - share_alone), 1e-3)
    return z, bucket


class DocumentCounts:
    """Counts of target values by document, and the words of the documents.

    z_u(d) = log (sum_d' s(d, d') n_d'(u) + k p_u) / (sum_d' s(d, d') N_d' + k) - log p_u,
    where s is the cosine of the documents' word counts, with rare words weighing more.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.vocabulary: dict[str, int] = {}
        self._words: list[dict[int, int]] = []
        self._values: list[Hashes] = []

    def add(self, words: Sequence[str], gold: Hashes) -> None:
        """One more document: its words, and the targets [m, T] of its scored ones."""
        found: dict[int, int] = {}
        for word in words:
            number = self.vocabulary.setdefault(word, len(self.vocabulary))
            found[number] = found.get(number, 0) + 1
        self._words.append(found)
        self._values.append(gold.ravel())

    def finish(self) -> None:
        """Turn what was added into arrays."""
        from scipy.sparse import csr_array

        n = len(self._words)
        sizes = [len(found) for found in self._words]
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        cells = np.array([w for found in self._words for w in found], np.int64)
        times = np.array([t for found in self._words for t in found.values()], np.float64)
        self.rarity = np.log(
            (1.0 + n) / (1.0 + np.bincount(cells, minlength=len(self.vocabulary)))
        )
        shape = (n, len(self.vocabulary))
        self.matrix = _unit_rows(csr_array((times, cells, first), shape=shape), self.rarity)
        values = np.concatenate(self._values) if n else np.zeros(0, np.uint64)
        owner = np.repeat(np.arange(n), [len(v) for v in self._values])
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

    def column(
        self, encoded: Encoded, found: Statistics, own: Sequence[int], *, strength: float = 1.0
    ) -> Floats:
        """z of every unit; ``own`` gives each document's number here, or -1."""
        from scipy.sparse import csr_array

        from eigentext.lexical import kernels

        n = len(own)
        known: list[dict[int, int]] = [{} for _ in own]
        for word, document in zip(encoded.words, encoded.document_of, strict=True):
            number = self.vocabulary.get(word)
            if number is not None:
                known[document][number] = known[document].get(number, 0) + 1
        first = np.concatenate([[0], np.cumsum([len(k) for k in known])]).astype(np.int64)
        cells = np.array([w for k in known for w in k], np.int64)
        times = np.array([t for k in known for t in k.values()], np.float64)
        here = csr_array((times, cells, first), shape=(n, len(self.vocabulary)))
        similar = (_unit_rows(here, self.rarity) @ self.matrix.T).toarray()
        for document, number in enumerate(own):
            if number >= 0:
                similar[document, number] = 0.0
        n_targets = encoded.gold_hash.shape[1]
        mass = similar @ (self.sizes / max(n_targets, 1))
        if not len(self.values):
            return np.zeros(len(encoded.unit_hash), np.float32)
        place = np.searchsorted(self.values, encoded.unit_hash)
        place = np.minimum(place, len(self.values) - 1)
        rows = np.where(self.values[place] == encoded.unit_hash, place, -1)
        of_unit = np.repeat(encoded.document_of, np.diff(encoded.unit_first))
        together = np.zeros(len(encoded.unit_hash))
        kernels.document_overlap(
            rows, of_unit, self.first, self.documents, self.counts, similar, together
        )
        words = np.repeat(found.words, np.diff(encoded.unit_first))
        share = (found.base + 0.5) / (words + 1.0)
        ratio = (together / share + strength) / (mass[of_unit] + strength)
        out: Floats = np.log(ratio).astype(np.float32)
        return out


def _unit_rows(matrix: Any, rarity: npt.NDArray[np.float64]) -> Any:
    """Rows weighted by rarity and of length one."""
    from scipy.sparse import csr_array, diags_array

    weighted = csr_array(matrix) @ diags_array(rarity)
    length = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    return csr_array(diags_array(1.0 / np.maximum(length, 1e-12)) @ weighted)
