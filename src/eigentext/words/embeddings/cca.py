"""Word vectors in one step: counts of contexts -> scaled matrix -> SVD -> vectors.

:func:`scaled_contexts` transforms and scales the matrix C of words and contexts.  With u, v its
row and column totals and f the square root, log(1 + x) or nothing,

       Omega[w, c] = f(C[w, c]) / sqrt(f(u[w] + kappa) f(v[c] + kappa))  (Stratos et al. 2014)

or the positive pointwise mutual information

       Omega[w, c] = max(0, log(C[w, c] N / ((u[w] + kappa) (v[c] + kappa))) - log shift)

where N is the sum of u + kappa.  Context smoothing replaces v by N v^a / sum v^a.  Of the leading
singular vectors, Omega ~ U diag(s) V', the rows of U diag(s)^exponent at length 1 are the vectors.

Of a large corpus Omega is made and kept in tiles of rows, on disk where memory is short
(``context_tiles``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from eigentext.base.cores import cores_in_use, using_cores
from eigentext.base.engines import cluster_in_use
from eigentext.base.files.writing import scratch_folder
from eigentext.base.heap import give_back, is_mapped
from eigentext.base.model import Model
from eigentext.base.progress import Progress
from eigentext.base.records import learned
from eigentext.base.types import Float32s, Float64s, Int64s, Sparse
from eigentext.base.values import Whole
from eigentext.counting.contexts import Contexts, parse_contexts
from eigentext.counting.counting import count_sentences
from eigentext.counting.counts import Counts
from eigentext.counting.vocabulary import UNKNOWN
from eigentext.errors import SettingsError
from eigentext.linalg.scaling import cca_scale, log_transform, ppmi, sqrt_transform
from eigentext.linalg.svd import truncated_svd
from eigentext.linalg.ties import single_threaded
from eigentext.words.embeddings import context_tiles
from eigentext.words.embeddings.context_tiles import Room, Side, SideTotals, tiled_contexts
from eigentext.words.embeddings.vectors import Embeddings, SentenceVectors, vectors_from
from eigentext.words.settings import CCASettings

_KERNEL_NONZEROS = 300_000  # below this numba need not be loaded
_TILED_PAIRS = 3_000_000  # counted pairs from which on the matrix is made in tiles


def contexts_to_count(contexts: str | Contexts, weighting: str) -> Contexts:
    """What must be counted for these contexts: positions, where a bag is to be weighted.

    >>> str(contexts_to_count("bag2", "linear")), str(contexts_to_count("bag2", "flat"))
    ('-2,-1,+1,+2', 'bag2')
    """
    parsed = parse_contexts(contexts)
    if not parsed.names:
        raise SettingsError("contexts: unigrams have none; expected such as bag5 or lr2")
    if parsed.bag > 1 and weighting != "flat":
        return parse_contexts(f"lr{parsed.bag}")
    return parsed


def context_counts(
    counts: Counts, contexts: str | Contexts | None = None, weighting: str = "flat"
) -> Sparse:
    """The matrix of words and contexts, (n, n) for a bag, (n, k n) for k positions; CSR.

    Counts of positions -w to w can be read as a bag of any half-width up to w, with weights.
    """
    from scipy.sparse import hstack

    parts = [sum(side.matrix() for side in block) for block in _sides(counts, contexts, weighting)]
    return parts[0].tocsr() if len(parts) == 1 else hstack(parts, format="csr")


def _sides(counts: Counts, contexts: str | Contexts | None, weighting: str) -> list[list[Side]]:
    """What the matrix of words and contexts is made of: its blocks of columns, as sums."""
    parsed = counts.contexts if contexts is None else parse_contexts(contexts)
    if parsed == counts.contexts and (not parsed.bag or weighting == "flat" or parsed.bag == 1):
        if not parsed.names:
            raise SettingsError("these counts are unigrams only; count with contexts such as lr2")
        if parsed.bag:
            return [[Side(counts.halves, (1.0,)), Side(counts.halves, (1.0,), turned=True)]]
        return [[Side((counts.half(abs(p)),), (1.0,), p < 0)] for p in parsed.positions]
    held = set(counts.contexts.positions)
    distances = range(1, parsed.bag + 1)
    if not parsed.bag or any(d not in held or -d not in held for d in distances):
        more = f" and {weighting} weighting" if parsed.bag and weighting != "flat" else ""
        needed = contexts_to_count(parsed, weighting)
        raise SettingsError(
            f"contexts {parsed}{more} cannot be had from counts of {counts.contexts}: "
            f"count with contexts {needed}"
        )
    before = [counts.half(distance) for distance in distances]
    weights = [_weight(weighting, distance, parsed.bag) for distance in distances]
    return [[Side(before, weights), Side(before, weights, turned=True)]]


def fold_contexts(matrix: Sparse, words: Sequence[str]) -> Sparse:
    """Add up the columns of context words that differ in case alone, position by position.

    >>> from scipy.sparse import csr_array
    >>> fold_contexts(csr_array(np.array([[1, 2, 3]])), ["The", "cat", "the"]).toarray().tolist()
    [[4, 2]]
    """
    n_positions = matrix.shape[1] // len(words)
    return _fold(matrix, _folded_columns(words, n_positions))


def _folded_columns(words: Sequence[str], n_positions: int) -> Int64s:
    """The new column of each context, position by position."""
    forms: dict[str, int] = {}
    column = np.array([forms.setdefault(word.lower(), len(forms)) for word in words])
    return np.concatenate([column + len(forms) * p for p in range(n_positions)])


def _fold(matrix: Sparse, moved: Int64s) -> Sparse:
    """The matrix with each column added to the one that it is moved to."""
    from scipy.sparse import csr_array

    n_columns = int(moved.max()) + 1
    if n_columns == matrix.shape[1]:
        return matrix
    columns = moved.astype(matrix.indices.dtype)[matrix.indices]
    shape = (matrix.shape[0], n_columns)
    folded = csr_array((matrix.data.copy(), columns, matrix.indptr.copy()), shape=shape)
    folded.sum_duplicates()
    return folded


def _weight(weighting: str, distance: int, width: int) -> float:
    if weighting == "linear":
        return (width - distance + 1) / width
    return 1 / distance if weighting == "harmonic" else 1.0


def scaled_contexts(matrix: Sparse, settings: CCASettings) -> Sparse:
    """Omega, the transformed and scaled counts; float32 CSR.

    >>> from scipy.sparse import csr_array
    >>> pairs = csr_array(np.array([[4, 1], [1, 9]]))
    >>> plain = CCASettings(scaling="none", kappa=0.0)
    >>> scaled_contexts(pairs, plain).toarray().astype(float).round(3).tolist()
    [[0.8, 0.141], [0.141, 0.9]]
    """
    rows = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
    columns = np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()
    return _Scaling.of(rows, columns, settings)(matrix, slice(None))


@dataclass(frozen=True)
class _Scaling:
    """How entries are scaled: by the smoothed totals of all rows and columns."""

    rows: Float64s
    columns: Float64s
    settings: CCASettings

    @classmethod
    def of(cls, rows: Float64s, columns: Float64s, settings: CCASettings) -> _Scaling:
        """With the sums of the counts."""
        if settings.smoothing != 1.0 and columns.any():
            smoothed = np.where(columns > 0, columns, 1.0) ** settings.smoothing * (columns > 0)
            columns = smoothed * (columns.sum() / smoothed.sum())
        kappa = settings.kappa
        if kappa is None:
            kappa = 0.0 if settings.scaling == "ppmi" else 50.0
        return cls(rows + kappa, columns + kappa, settings)

    def __call__(self, matrix: Sparse, rows_of_matrix: slice) -> Sparse:
        """Omega of some rows of the counts."""
        rows, columns, settings = self.rows[rows_of_matrix], self.columns, self.settings
        if settings.scaling == "ppmi":
            return self._ppmi(matrix, rows_of_matrix)
        if settings.scaling == "sqrt":
            matrix, rows, columns = sqrt_transform(matrix), np.sqrt(rows), np.sqrt(columns)
        elif settings.scaling == "log":
            matrix, rows, columns = log_transform(matrix), np.log1p(rows), np.log1p(columns)
        return cca_scale(matrix, rows, columns, dtype=np.float32)

    def _ppmi(self, matrix: Sparse, rows_of_matrix: slice) -> Sparse:
        """As :func:`eigentext.linalg.scaling.ppmi`, in float32; much of it in compiled code."""
        shift = self.settings.shift
        whole = matrix.shape[0] == len(self.rows)
        if whole and matrix.nnz < _KERNEL_NONZEROS:
            return ppmi(matrix, self.rows, self.columns, shift=shift).astype(np.float32)
        from scipy.sparse import csr_array

        from eigentext.words.kernels import ppmi as kernels

        starts = np.empty_like(matrix.indptr)
        indices, values = np.empty_like(matrix.indices), np.empty(matrix.nnz, dtype=np.float32)
        with np.errstate(divide="ignore"):  # a total of 0 has no entries
            row_logs, column_logs = np.log(self.rows[rows_of_matrix]), np.log(self.columns)
            offset = float(np.log(self.rows.sum()) - np.log(shift))  # log N - log shift
        used = kernels.ppmi_rows(
            matrix.indptr,
            matrix.indices,
            matrix.data.astype(np.float64, copy=False),
            row_logs,
            column_logs,
            offset,
            starts,
            indices,
            values,
        )
        return csr_array((values[:used], indices[:used], starts), shape=matrix.shape)


@contextmanager
def _omega(
    counts: Counts, settings: CCASettings, n_words: int, memory: str | int
) -> Iterator[tuple[Any, Path | None]]:
    """Omega of the first so many words: a CSR matrix, or tiles of it where it is large.

    With it comes a folder for the basis of its decomposition, where memory has no room for that.
    """
    weighting = settings.weighting or ("flat" if counts.contexts.bag else "linear")
    blocks = _sides(counts, settings.contexts, weighting)
    if sum(half.nnz for half in counts.halves) < _TILED_PAIRS:
        matrix = context_counts(counts, settings.contexts, weighting)[:n_words]
        if settings.fold_case:
            matrix = fold_contexts(matrix, counts.words)
        Omega = scaled_contexts(matrix, settings)
        room = _room(memory, counts, settings, Omega.shape, Omega.nnz, Omega.nnz)
        with scratch_folder() if room.basis_on_disk else nullcontext() as folder:
            yield Omega, folder
        return
    totals: dict[int, SideTotals] = {}  # P and P' have the same
    rows, entries = np.zeros(len(counts.words)), np.zeros(len(counts.words), np.int64)
    columns = np.zeros((len(blocks), len(counts.words)))
    for number, side in ((number, side) for number, block in enumerate(blocks) for side in block):
        key = id(side.halves[0])
        if key not in totals:
            totals[key] = SideTotals.of(side)
        total = totals[key]
        rows += total.columns if side.turned else total.rows
        entries += total.column_entries if side.turned else total.row_entries
        columns[number] += total.rows if side.turned else total.columns
    moved = np.arange(columns.size)
    if settings.fold_case:
        moved = _folded_columns(counts.words, len(blocks))
    folded = np.bincount(moved, columns.ravel()).astype(np.float64, copy=False)
    scaling = _Scaling.of(rows[:n_words], folded, settings)
    shape = (n_words, len(scaling.columns))
    n_entries = int(entries[:n_words].sum())
    room = _room(memory, counts, settings, shape, n_entries, context_tiles.TILE_ENTRIES)
    with scratch_folder() as folder:
        with using_cores(room.cores) if room.cores < cores_in_use() else nullcontext():
            tiled = tiled_contexts(
                blocks,
                entries[:n_words],
                shape[1],
                lambda matrix, span: scaling(_fold(matrix, moved), span),
                folder=folder,
                room=room,
            )
        give_back()
        cluster = cluster_in_use()
        Omega = tiled if cluster is None else tiled.on_cluster(cluster)
        yield Omega, folder if room.basis_on_disk else None


def _room(
    memory: str | int,
    counts: Counts,
    settings: CCASettings,
    shape: tuple[int, int],
    entries: int,
    tile_entries: int,
) -> Room:
    held = sum(
        array.nbytes
        for half in counts.halves
        for array in (half.data, half.indices)
        if not is_mapped(array)
    )
    return Room.share_out(
        memory,
        shape,
        settings.n_components,
        entries=entries,
        tile_entries=tile_entries,
        held=held,
        cores=cores_in_use(),
    )


def cca_embeddings(
    counts: Counts,
    settings: CCASettings,
    *,
    on_rank: Literal["error", "warn"] = "error",
    memory: str | int = "2GB",
    progress: Progress | None = None,
) -> Embeddings:
    """Word vectors from the context counts of a corpus.

    ``memory`` bounds the process; what does not fit of the matrix that is decomposed, and of the
    basis of its decomposition, is on disk.  Vectors that do not fit are a SettingsError, and those
    that do fit do not depend on it.

    ``settings.contexts`` may read counts of positions as a bag (see :func:`context_counts`).  The
    word ``<unk>`` is left out when the vocabulary holds all.

    >>> text = [s.split() for s in ["a cat ran", "a dog ran", "the cat sat", "the dog sat"]] * 3
    >>> vectors = cca_embeddings(count_sentences(text, contexts="lr1"), CCASettings(3))
    >>> vectors.neighbours("cat", 1)[0][0]
    'dog'
    """
    words = counts.words if counts.unigrams[-1] else counts.words[:-1]
    if len(words) < 2:
        raise SettingsError(
            f"a text of one word type ({words[0]!r}) has no contexts to tell words apart"
        )
    with single_threaded(), _omega(counts, settings, len(words), memory) as (Omega, folder):
        svd = truncated_svd(
            Omega,
            settings.n_components,
            dtype=np.float32,
            overlap=settings.overlap,
            seed=settings.seed,
            symbol="Omega",
            on_rank=on_rank,
            progress=progress,
            sides="left",
            folder=folder,
        )
    vectors = vectors_from(svd.U, svd.S, settings.exponent)
    return Embeddings(words, vectors, svd.S.astype(np.float64))


@dataclass(eq=False, repr=False)
class CCAEmbedding(SentenceVectors, Model, CCASettings):
    """Word vectors by one SVD of scaled context counts.

    After ``fit``: ``embeddings_`` (words, vectors, singular values), ``n_tokens_``, ``counts_``
    (what it was fitted to; counts of a new shard add to them, and ``fit(counts)`` learns from the
    sum).

    >>> sentences = [["a", "cat", "ran"], ["a", "dog", "ran"], ["the", "cat", "sat"],
    ...              ["the", "dog", "sat"]]
    >>> model = CCAEmbedding(3, contexts="lr1").fit(sentences)
    >>> model.neighbours("cat", 1)[0][0]
    'dog'
    >>> model.transform([["a", "cat"], ["the", "dog", "sat"]]).shape
    (2, 3)
    """

    KIND = "embeddings"
    _COLUMN = "cca"
    embeddings_: Embeddings = learned(Embeddings.stored())
    n_tokens_: int = learned(Whole(0))

    def contexts_to_count(self) -> Contexts:
        """What must be counted to fit this model to counts."""
        return contexts_to_count(self.contexts or "bag5", self.weighting or "linear")

    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        memory: str | int = "2GB",
        progress: Progress | None = None,
    ) -> CCAEmbedding:
        """Learn from sentences (lists of tokens) or from stored counts; ``y`` is not used.

        ``memory`` is that of :func:`cca_embeddings`.
        """
        self.check()
        if isinstance(X, Counts):
            if not X.contexts.names:
                raise SettingsError(
                    "these counts are unigrams only; count with contexts such as lr2"
                )
            counts, settings = X, self
        else:
            counts = count_sentences(
                X,
                contexts=self.contexts_to_count(),
                vocab_size=self.vocab_size,
                min_count=self.min_count,
            )
            settings = replace(self, contexts=self.contexts or "bag5")
        self.embeddings_ = cca_embeddings(counts, settings, memory=memory, progress=progress)
        self.counts_ = counts
        self.n_tokens_ = counts.n_tokens
        return self

    def _of_words(self, words: list[str]) -> Float32s:
        """Their vectors; unknown words count as ``<unk>`` where it has one, or are left out."""
        row_of = self.embeddings_.row_of
        rows = [row_of.get(word, row_of.get(UNKNOWN)) for word in words]
        return self.embeddings_.vectors[[row for row in rows if row is not None]]
