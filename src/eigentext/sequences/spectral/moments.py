"""First symbols, pairs and triples of sequences, and the dictionaries U that reduce them.

1. :meth:`Moments.of` takes every triple of neighbours (left, middle, right) of every sequence,
   pooled over all positions; triples are kept as three arrays sorted by the middle symbol, so
   that those of one symbol are a slice.  Nothing of size V x V x V is ever written out.
2. :attr:`Moments.pairs` is of the same triples, so that the states of the left symbol cancel.
3. :func:`dictionary` is a truncated SVD of ``P_21``, as it is or scaled as CCA scales it::

       svd:  P_21 = U S R'                  U spans the columns of O
       cca:  D_2^(-1/2) P_21 D_1^(-1/2) = U_s S R_s',  U = D_2^(-1/2) U_s,  R = D_1^(-1/2) R_s
             with D_i = diag(counts of view i + kappa)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from eigentext.base.ragged import pointers
from eigentext.base.types import Float64s, Int32s, Int64s, Sparse
from eigentext.errors import DataError, SettingsError
from eigentext.linalg.scaling import inverse_sqrt_totals
from eigentext.linalg.svd import truncated_svd
from eigentext.sequences.observations import Encoded
from eigentext.sequences.settings import Scaling

Ids = Int32s


@dataclass(frozen=True, eq=False)
class Moments:
    """Symbols at the beginning, and all triples of neighbours.

    >>> seen = Moments.of(Encoded.of([[0, 1, 2, 1], [1, 0]]), 3)
    >>> seen.n_triples, seen.first.tolist(), seen.middle.tolist()
    (2, [0.5, 0.5, 0.0], [1, 2])
    """

    first: Float64s  # (V,) distribution of the first symbol of a sequence
    left: Ids  # (n,) the triples, sorted by ``middle``
    middle: Ids
    right: Ids
    counts: Float64s  # (V,) how often each symbol occurs anywhere
    weights: Float64s | None = None  # (n,) how much each triple counts; None: 1

    @classmethod
    def of(cls, data: Encoded, n_symbols: int) -> Moments:
        """Count the triples of sequences; there must be at least one."""
        counts = np.bincount(data.ids, minlength=n_symbols).astype(np.float64)
        if len(counts) > n_symbols:
            raise ValueError(f"symbol {len(counts) - 1} of {n_symbols}")
        begin = data.first[:-1][data.lengths > 0]
        if not len(begin):
            raise DataError("sequences", None, "no tokens to learn from")
        at = _followed(data, 2)  # where a triple begins
        if not len(at):
            longest = int(data.lengths.max())
            why = f"the longest has {longest} tokens: triples of neighbours need at least 3"
            raise DataError("sequences", None, why)
        heads = np.bincount(data.ids[begin], minlength=n_symbols) / len(begin)  # p(x_1)
        middle = data.ids[at + 1]  # x_2 of every triple
        at = at[_by_symbol(middle, n_symbols)]
        return cls(heads, data.ids[at], data.ids[at + 1], data.ids[at + 2], counts)

    @property
    def n_symbols(self) -> int:
        """V."""
        return len(self.first)

    @property
    def n_triples(self) -> int:
        """How many triples there are (rows, not their weight)."""
        return len(self.middle)

    @cached_property
    def bounds(self) -> Int64s:
        """(V + 1,) triples with middle x are ``bounds[x] : bounds[x + 1]``."""
        sizes = np.bincount(self.middle, minlength=self.n_symbols)
        return pointers(sizes)

    @cached_property
    def pairs(self) -> Sparse:
        """``P_21`` (V, V): csr, [middle, left] of the triples, in counts."""
        from scipy.sparse import csr_array

        V = self.n_symbols
        weights = np.ones(self.n_triples) if self.weights is None else self.weights
        # copies: adding up what is double sorts the arrays in place
        matrix = csr_array((weights.copy(), self.left.copy(), self.bounds.copy()), shape=(V, V))
        matrix.sum_duplicates()
        return matrix


def pairs_of(data: Encoded, n_symbols: int) -> Sparse:
    """(V, V) csr counts of [symbol, next symbol] over all sequences.

    >>> pairs_of(Encoded.of([[0, 1, 0, 1], [0]]), 2).toarray().tolist()
    [[0, 2], [1, 0]]
    """
    from scipy.sparse import csr_array

    at = _followed(data, 1)
    left = data.ids[at]
    order = _by_symbol(left, n_symbols)
    starts = pointers(np.bincount(left, minlength=n_symbols))
    ones = np.ones(len(at), np.int64)
    matrix = csr_array((ones, data.ids[at + 1][order], starts), shape=(n_symbols, n_symbols))
    matrix.sum_duplicates()
    return matrix


def _followed(data: Encoded, n_after: int) -> Int64s:
    """Positions of tokens with ``n_after`` more behind them in the same sequence."""
    good = np.ones(data.n_tokens, np.bool_)
    for back in range(1, n_after + 1):
        good[data.first[1:][data.lengths >= back] - back] = False
    return np.flatnonzero(good)


def _by_symbol(ids: Ids, n_symbols: int) -> npt.NDArray[np.intp]:
    """A stable order by symbol; 16 bits sort by radix."""
    keys = ids.astype(np.uint16) if n_symbols <= 1 << 16 else ids
    return np.argsort(keys, kind="stable")


@dataclass(frozen=True, eq=False)
class SymbolDictionary:
    """Reduced vectors of symbols."""

    U: Float64s  # (V, k): row x is u_x, the vector of a symbol by what comes before it
    basis: Float64s  # (V, k) spans the columns of O: U itself (svd) or D_2 U (cca)
    R: Float64s  # (V, k): vectors of a symbol by what comes after it
    S: Float64s  # (k,) singular values; canonical correlations where kappa is 0

    @property
    def k(self) -> int:
        """Number of dimensions."""
        return len(self.S)

    def dual(self) -> Float64s:
        """(V, k): row x is ``y_x = inv(V'U) V' delta_x``, so that ``(U'O)' y_x = O' delta_x``."""
        return np.asarray(np.linalg.solve(self.basis.T @ self.U, self.basis.T).T)


def dictionary(
    moments: Moments, k: int, kind: Scaling = "cca", *, kappa: float = 0.0, seed: int = 0
) -> SymbolDictionary:
    """The k leading directions of ``P_21``; a rank below k is a RankError.

    ``kappa`` is added to counts before the CCA scaling: without it, rare symbols that occur with
    each other alone are the leading directions.  Up to 800 symbols singular vectors have full
    precision in float64; otherwise an overlap of 0.99 in float32.

    >>> dictionary(Moments.of(Encoded.of([[0, 1, 2, 1, 0, 2]]), 3), 2, "svd").U.shape
    (3, 2)
    """
    if isinstance(k, bool) or int(k) != k or k < 1:
        raise SettingsError(f"k {k!r}: expected an integer of at least 1")
    if kind not in ("svd", "cca"):
        raise SettingsError(f"dictionary {kind!r}: expected 'svd' or 'cca'")
    if not kappa >= 0:
        raise SettingsError(f"kappa {kappa!r}: expected a number of at least 0")
    counted = moments.pairs
    fine = moments.n_symbols <= 800
    rows, columns = _totals(counted, 1), _totals(counted, 0)
    root_2 = root_1 = None
    scaled = counted / counted.data.sum()
    if kind == "cca":
        # D_2^(-1/2) P_21 D_1^(-1/2), D the totals of symbols (and kappa): CCA of one-hot views
        root_2, root_1 = inverse_sqrt_totals(rows, kappa), inverse_sqrt_totals(columns, kappa)
        scaled = counted.copy()
        scaled.data = root_1[scaled.indices] * scaled.data
        scaled.data *= np.repeat(root_2, np.diff(scaled.indptr))
    svd = truncated_svd(
        scaled,
        k,
        dtype=np.float64 if fine else np.float32,
        overlap=None if fine else 0.99,
        seed=seed,
        symbol="P_21, the pairs of neighbours",
        rank_tol=1e-9 if fine else 1e-6,
    )
    U, R, S = svd.U.astype(np.float64), svd.Vt.T.astype(np.float64), svd.S.astype(np.float64)
    if root_1 is None or root_2 is None:
        return SymbolDictionary(U, U, R, S)
    # back from whitened to plain coordinates; the columns of O lie in the span of D_2 U
    U, R = U * root_2[:, None], R * root_1[:, None]
    return SymbolDictionary(U, U * (rows + kappa)[:, None], R, S)


def _totals(matrix: Sparse, axis: int) -> Float64s:
    return np.asarray(matrix.sum(axis=axis), np.float64).ravel()
