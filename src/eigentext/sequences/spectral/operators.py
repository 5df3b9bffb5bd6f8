"""Observable operators of a hidden Markov model: moments -> b_1, b_inf and one matrix a symbol.

With G = U'O (O as columns here: O[x, h] = p(x | h), T[h', h] = p(h' | h), the transposes of
:class:`~eigentext.sequences.Parameters`), all three estimators find the parameters in
the basis G, at exact moments and for any distribution of the first state::

    b_1 = G pi       b_inf' G = 1'       B_x = G T diag(O[x, .]) inv(G)
    p(x_1 .. x_n) = b_inf' B_xn ... B_x1 b_1

- ``hkz`` (Hsu, Kakade, Zhang 2009):  ``B_x = (U' P_3x1) pinv(U' P_21)``
- ``cca``: the left symbol is reduced too, by R of the same SVD:
  ``B_x = (U' P_3x1 R) inv(U' P_21 R)``.  With the CCA dictionary the inverse is that of the
  canonical correlations, the best conditioned one there is, and rare symbols cannot dominate.
- ``fru`` (Foster, Rodu, Ungar 2012), fully reduced: ``C(y) = K(y) inv(Sigma)`` with
  ``Sigma = E[u_2 r_1']``, ``K(y) = E[u_3 (y.u_2) r_1']`` and B_x = C(y_x): k^3 numbers for all
  symbols.  The left symbol is reduced by R (r_x is its row x) where the authors have U: as exact,
  and Sigma is far from singular.  y_x is the dual of the dictionary (moments.py).

``b_1`` is the mean of *first* symbols, ``b_inf`` comes from the mean of *left* symbols of
triples; to pool them would be wrong unless the chain starts in its stationary state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from eigentext.base.fields import Reals
from eigentext.base.records import Record
from eigentext.base.types import Float64s, Numbers
from eigentext.base.values import Part
from eigentext.errors import SettingsError
from eigentext.linalg.conditioning import guarded_pinv
from eigentext.linalg.ties import single_threaded
from eigentext.sequences.settings import Estimator
from eigentext.sequences.spectral.moments import Moments, SymbolDictionary

_DOUBLE = 64_000_000  # bytes of all matrices up to which they are float64
_FEW_SYMBOLS = 800
_MAX_CONDITION = 1e12
_BLOCK = 16_000_000  # numbers that are folded into the reduced tensor at a time


@dataclass(frozen=True, eq=False)
class Operators:
    """The model in a basis of its own; the entries can be any real numbers.

    Of a reduced model, matrices are (k, k, k) and ``B_x = sum_j y[x, j] matrices[j]``.
    """

    start: Float64s  # (k,) b_1
    stop: Float64s  # (k,) b_inf
    matrices: Numbers  # (V, k, k) float64 or float32
    usual: Float64s  # (k,) the mean state before a symbol that has neighbours on both sides
    y: Float64s | None = None  # (V, k) for a reduced model, else None

    @classmethod
    def stored(cls, matrices: Part, **more: Any) -> Record:
        """What a model file holds of them."""
        vector = Reals(("k",))
        return Record(cls, start=vector, stop=vector, usual=vector, matrices=matrices, **more)

    @property
    def k(self) -> int:
        """Number of dimensions."""
        return len(self.start)

    @property
    def n_symbols(self) -> int:
        """V."""
        return len(self.matrices if self.y is None else self.y)

    def matrix(self, x: int) -> Float64s:
        """B_x (k, k)."""
        if self.y is None:
            return np.asarray(self.matrices[x], np.float64)
        return np.asarray(np.tensordot(self.y[x], self.matrices, axes=1))

    def rows(self) -> Numbers:
        """(V, k): row x is ``b_inf' B_x``, so that row times state is p(x | state)."""
        kind = self.matrices.dtype
        with single_threaded():
            products = np.matmul(self.stop.astype(kind), self.matrices)
            return products if self.y is None else np.asarray(self.y @ products)

    def signed_probability(self, ids: Sequence[int] | Numbers) -> tuple[int, float]:
        """Sign and log of the absolute value of ``b_inf' B_xn ... B_x1 b_1``; (0, -inf) for 0.

        >>> from eigentext.sequences import Encoded
        >>> from eigentext.sequences.spectral.moments import Moments, dictionary
        >>> coin = Moments.of(Encoded.of([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1],
        ...                               [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]]), 2)
        >>> sign, log = make_operators(coin, dictionary(coin, 1)).signed_probability([0, 1, 1])
        >>> sign, round(float(np.exp(log)), 9)
        (1, 0.125)
        """
        state, log = self.start, 0.0
        for x in ids:
            state = self.matrix(int(x)) @ state
            size = float(np.abs(state).max())
            if not size > 0:
                return 0, -np.inf
            state, log = state / size, log + float(np.log(size))
        value = float(self.stop @ state)
        return (int(np.sign(value)), log + float(np.log(abs(value)))) if value else (0, -np.inf)


def make_operators(
    moments: Moments, words: SymbolDictionary, estimator: Estimator = "cca"
) -> Operators:
    """Operators of one estimator; moments of too small a rank are a RankError.

    Matrices are float64 up to 64 MB for all symbols together, float32 above: V k^2 numbers, 400 MB
    for 10,000 symbols and k = 100 (``fru``: V k + k^3 numbers, 16 MB).
    """
    if estimator not in ("cca", "hkz", "fru"):
        raise SettingsError(f"estimator {estimator!r}: expected 'cca', 'hkz' or 'fru'")
    U, pairs = words.U, moments.pairs
    with single_threaded():
        # E[v_1 .] for the reduced left view v: P_21' U (V, k) is U' P_21 turned over
        if estimator == "hkz":
            left = _inverse((pairs.T @ U), "U' P_21").T  # pinv(U' P_21), (V, k)
        else:
            left = words.R @ _inverse(U.T @ (pairs @ words.R), "U' P_21 R")
        lefts = np.asarray(pairs.sum(axis=0), np.float64).ravel()  # E[x_1], in counts
        middles = np.asarray(pairs.sum(axis=1), np.float64).ravel()  # E[x_2]
        stop, start = lefts @ left, moments.first @ U  # b_inf, b_1
        usual = middles @ U / middles.sum()
        if estimator == "fru":
            y = words.dual()
            tensor = tensor_of_triples(moments, U, U, left)
            return Operators(start, stop, tensor, usual, y)
        V, k = U.shape
        kind = np.float64 if V * k * k * 8 <= _DOUBLE else np.float32
        matrices = np.zeros((V, k, k), kind)  # U' P_3x1 left of every symbol x
        _fill(moments, U.astype(kind), left.astype(kind), 0, matrices)
        return Operators(start, stop, matrices, usual)


def _inverse(matrix: Numbers, symbol: str) -> Float64s:
    """Of any scale: counts or probabilities."""
    size = float(np.abs(matrix).max()) or 1.0
    return guarded_pinv(matrix / size, max_condition=_MAX_CONDITION, symbol=symbol)[0] / size


def tensor_of_triples(
    moments: Moments, at: Float64s, after: Float64s, before: Float64s
) -> Float64s:
    """``K[j] = E[at_2(j) after_3 before_1']`` (k, k, k), in counts: middle, right and left symbol.

    ``at``, ``after`` and ``before`` (V, k) have a row for every symbol; a block of symbols at a
    time is summed and folded.
    """
    V, k = at.shape
    kind = np.float64 if V <= _FEW_SYMBOLS else np.float32
    middles, rights, lefts = at.astype(kind), after.astype(kind), before.astype(kind)
    tensor = np.zeros((k, k * k))
    block = np.empty((max(1, min(V, _BLOCK // (k * k))), k, k), kind)
    for low in range(0, V, len(block)):
        part = block[: V - low]
        part[:] = 0
        _fill(moments, rights, lefts, low, part)
        tensor += middles[low : low + len(part)].T @ part.reshape(len(part), k * k)
    return tensor.reshape(k, k, k)


def _fill(moments: Moments, after: Numbers, before: Numbers, low: int, out: Numbers) -> None:
    """``sum over triples (a, x, c) of after_c before_a'`` for the symbols x from ``low`` on."""
    bounds = moments.bounds[low : low + len(out) + 1].tolist()
    for at, (begin, end) in enumerate(pairwise(bounds)):
        if begin < end:
            a = before[moments.left[begin:end]]  # (triples, k)
            if moments.weights is not None:
                a *= moments.weights[begin:end, None]
            np.matmul(after[moments.right[begin:end]].T, a, out=out[at])
