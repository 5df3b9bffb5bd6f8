"""From pair counts to word vectors (figure 4 of Stratos et al., contexts as in its appendix A).

1. :func:`context_counts` gives the counts of each chosen relative position; side by side they
   are B (n, s n).
2. :func:`omega` scales them:  Omega = diag(u + kappa)^-1/2  B  diag(v + kappa)^-1/2       (Eq. 1)
   (counts throughout: the factors N - 1 of the probabilities cancel).
3. :func:`embed` takes the m left singular vectors and gives every row length 1: M.

By theorem 5.1, at the exact moments of a Brown model U = sqrt(O) Q' with Q orthogonal, so rows
of M are equal just when their words share a cluster.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.cores import row_blocks
from eigentext.counting.contexts import Contexts, parse_contexts
from eigentext.errors import DataError, RankWarning, SettingsError
from eigentext.linalg.scaling import cca_scale
from eigentext.linalg.svd import ConvergenceReport, truncated_svd
from eigentext.linalg.ties import clear_of_noise, counting_noise, unit_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.base.progress import Progress
    from eigentext.counting.counts import Counts

_ROWS_AT_ONCE = 8192
_SMALL = 20_000_000  # cells up to which float64 costs next to nothing


@dataclass(frozen=True)
class WordVectors:
    """``vectors`` M (n, r), rows of length 1 (or 0 for a word without contexts);
    ``singular_values`` (r,); ``report`` of the decomposition."""

    vectors: npt.NDArray[Any]
    singular_values: npt.NDArray[Any]
    report: ConvergenceReport


def positions_of(contexts: str | Contexts) -> tuple[int, ...]:
    """The relative positions of a context setting; bags have none and are refused.

    >>> positions_of("lr1")
    (-1, 1)
    """
    parsed = parse_contexts(contexts)
    if not parsed.positions:
        raise SettingsError(f"contexts {parsed}: clusters need positions such as lr1 or -2,+1")
    return parsed.positions


def context_counts(
    counts: Counts, positions: tuple[int, ...], words: npt.NDArray[np.intp] | None = None
) -> list[Any]:
    """One CSR matrix per position, of all words or of the given ones among themselves.

    Counts of +d serve -d too (transposed), whichever of them was asked for when counting.
    """
    distances = [near for near, far in counts.contexts.spans if near == far]
    by_distance: dict[int, Any] = {}
    for distance in sorted({abs(p) for p in positions}):
        if counts.contexts.bag or distance not in distances:
            raise SettingsError(
                f"these counts have contexts {counts.contexts}, but distance {distance} is needed"
            )
        half = counts.halves[counts.contexts.spans.index((distance, distance))]
        by_distance[distance] = half if words is None else _among(half, words)
    return [by_distance[p] if p > 0 else by_distance[-p].T.tocsr() for p in positions]


def _among(half: Any, words: npt.NDArray[np.intp]) -> Any:
    """``half[words][:, words]`` with sorted columns, some rows at a time: no copy but the result.

    >>> from scipy.sparse import csr_array
    >>> _among(csr_array(np.array([[1, 2], [3, 4]])), np.array([1, 0])).toarray().tolist()
    [[4, 3], [2, 1]]
    """
    from scipy.sparse import csr_array

    place = np.full(half.shape[1], -1, dtype=half.indices.dtype)  # the new id of each word
    place[words] = np.arange(len(words), dtype=place.dtype)
    room = int((half.indptr[words + 1] - half.indptr[words]).sum())
    columns = np.empty(room, dtype=half.indices.dtype)
    data = np.empty(room, dtype=half.dtype)
    starts = np.zeros(len(words) + 1, dtype=half.indptr.dtype)
    used = 0
    for rows in row_blocks(len(words), _ROWS_AT_ONCE):
        part = half[words[rows]]
        moved = place[part.indices]
        kept = moved >= 0
        ends = np.append(0, np.cumsum(kept, dtype=starts.dtype))[part.indptr]
        shape = (len(ends) - 1, len(words))
        part = csr_array((part.data[kept], moved[kept], ends), shape=shape)
        part.sort_indices()
        starts[rows.start + 1 : rows.stop + 1] = ends[1:] + used
        columns[used : used + part.nnz] = part.indices
        data[used : used + part.nnz] = part.data
        used += part.nnz
    return csr_array((data[:used], columns[:used], starts), shape=(len(words), len(words)))


def omega(
    blocks: list[Any], totals: npt.NDArray[Any], kappa: float, *, dtype: Any = np.float64
) -> Any:
    """``diag(u + kappa)^-1/2 [B_1 .. B_s] diag(v + kappa)^-1/2``; u are the words' totals.

    >>> from scipy.sparse import csr_array
    >>> pairs = csr_array(np.array([[0, 4], [4, 0]]))
    >>> omega([pairs], np.array([4, 4]), 0.0).toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    from scipy.sparse import hstack

    return cca_scale(hstack(blocks, format="csr"), row_totals=totals, kappa=kappa, dtype=dtype)


def omega_noise(blocks: list[Any], totals: npt.NDArray[Any], kappa: float) -> float:
    """What chance adds to the singular values of :func:`omega`, at the most."""
    from scipy.sparse import hstack

    matrix = hstack(blocks, format="csr")
    return counting_noise(matrix, totals, np.asarray(matrix.sum(axis=0)).ravel(), kappa)


def embed(
    Omega: Any,
    rank: int,
    *,
    overlap: float | None = None,
    power: float = 0.0,
    noise: float = 0.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> WordVectors:
    """The ``rank`` leading left singular vectors, times S^``power``, with rows of length 1.

    The paper's M has power 0.  With an ``overlap`` below 1 the decomposition stops early.  Of a
    spectrum that drops from well above the ``noise`` to below it (see
    :func:`~eigentext.linalg.ties.clear_of_noise`) the rest is left out, with a RankWarning.

    >>> embed(np.diag([2.0, 1.0]), 2).vectors.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    dtype = np.float64 if Omega.shape[0] * Omega.shape[1] <= _SMALL else np.float32
    svd = truncated_svd(
        Omega, rank, dtype=dtype, overlap=overlap, seed=seed, symbol="Omega", progress=progress
    )
    n_clear = clear_of_noise(svd.S, noise)
    if n_clear < svd.rank:
        warnings.warn(
            f"only {n_clear} of {svd.rank} directions stand out from the noise of counting: "
            "the others are left out",
            RankWarning,
            stacklevel=2,
        )
    vectors = unit_rows(svd.U[:, :n_clear] * (svd.S[:n_clear] ** power).astype(svd.U.dtype))
    if not np.isfinite(vectors).all():
        raise DataError("Omega", None, "word vectors are not finite")
    return WordVectors(vectors, svd.S[:n_clear], svd.report)
