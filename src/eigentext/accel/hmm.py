"""Both passes of an HMM as products of large matrices, for a graphics card.

The recursions are those of kernels/forward_backward.py.  Thousands of sequences go together, the
longest first, so that a time step of all of them is one product ``(active, k) x (k, k)``:

    alpha_t = (alpha_t-1 T) * O[., x_t] / scale_t      W_t = O[., x_t+1] * beta_t+1 / scale_t+1
    beta_t  = W_t T'                                   p(h_t | x) = alpha_t * beta_t

Pairs of states are one more product, ``alpha' W`` over all tokens of a batch, and the counts of
symbols a product with the sparse matrix that has a 1 where token t is the symbol x.

The code asks for what numpy, CuPy and torch have in common; what they call by other names is in
:class:`~eigentext.linalg.backend.Backend`.  A card is worth it from some hundreds of states on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.sequences.hmm.batches import StateCounts, check_symbols

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eigentext.base.types import AnyArray, Float64s, Int64s, Sparse
    from eigentext.linalg.backend import Backend
    from eigentext.sequences.observations import Encoded
    from eigentext.sequences.settings import Precision

_ROOM = 6_000_000_000  # bytes of alpha, W and p(h | x), on the card
_LARGEST = {"double": 1e300, "single": 1e36}


class _Batch(NamedTuple):
    """Some sequences, the longest first; rows are ordered by time, then sequence."""

    rows: list[int]  # (steps + 1,) the first row of each time step
    symbols: Int64s  # (rows,) the token of each row


class DeviceMachine:
    """Parameters of a chain on a card, and the passes over one text; see batches.Machine."""

    def __init__(
        self, data: Encoded, n_states: int, n_symbols: int, backend: Backend, *, room: int = _ROOM
    ) -> None:
        check_symbols(data, n_symbols)
        self.data, self.n_states, self.n_symbols = data, n_states, n_symbols
        self.backend = backend
        self.most_rows = max(room // (24 * n_states), 1)
        self.dtype: type = np.float64

    def set(
        self, initial: Float64s, transition: Float64s, emission: Float64s, precision: Precision
    ) -> None:
        """Take parameters in the precision that is wanted; ``emission`` is turned over: (V, k)."""
        self.dtype = np.float64 if precision == "double" else np.float32
        self.cap = _LARGEST[precision]
        put = self.backend.asarray
        self.initial = put(initial.astype(self.dtype))
        self.T = put(transition.astype(self.dtype))
        self.emission = put(emission.astype(self.dtype))

    def expect(self, counts: StateCounts) -> tuple[float, int]:
        """Add the expected counts; log likelihood, and the number of impossible tokens."""
        k, backend = self.n_states, self.backend
        initial, moved = backend.zeros((k,), np.float64), backend.zeros((k, k), np.float64)
        emitted = backend.zeros((self.n_symbols, k), np.float64)
        value, missed = 0.0, 0
        for batch in self._batches():
            alpha, scale = self._forward(batch)
            posteriors, W = self._backward(batch, alpha, scale)
            moved += alpha.T @ W
            initial += posteriors[: batch.rows[1]].sum(0)
            emitted += backend.sparse(self._shown(batch))[0](posteriors)
            scales = backend.to_host(scale).astype(np.float64)
            value += float(np.log(scales[scales > 0]).sum())
            missed += int(np.count_nonzero(scales == 0))
        moved *= self.T  # what all pairs have in common: p(h_t+1 | h_t)
        for total, part in zip(counts, (initial, moved, emitted), strict=True):
            total += backend.to_host(part)
        return (-np.inf if missed else value), missed

    def _forward(self, batch: _Batch) -> tuple[AnyArray, AnyArray]:
        """``alpha`` (rows, k) and ``scale`` (rows,)."""
        backend, rows = self.backend, batch.rows
        n = rows[-1]
        alpha = backend.zeros((n, self.n_states), self.dtype)
        scale = backend.zeros((n,), self.dtype)
        symbols = backend.asarray(batch.symbols)
        for t in range(len(rows) - 1):
            begin, end = rows[t], rows[t + 1]
            if t == 0:
                alpha[begin:end] = self.initial
            else:  # the shortest are last: those that have ended are not looked at again
                before = rows[t - 1]
                alpha[begin:end] = alpha[before : before + end - begin] @ self.T
            shown = alpha[begin:end] * self.emission[symbols[begin:end]]
            total = shown.sum(1)
            scale[begin:end] = total
            # A symbol that no state can show is passed over as if it had not been seen.
            none = total <= 0
            alpha[begin:end] = backend.where(
                none[:, None], alpha[begin:end], shown / backend.where(none, 1, total)[:, None]
            )
        return alpha, scale

    def _backward(
        self, batch: _Batch, alpha: AnyArray, scale: AnyArray
    ) -> tuple[AnyArray, AnyArray]:
        """``p(h_t | x)`` and ``W``, both (rows, k)."""
        backend, rows = self.backend, batch.rows
        posteriors = backend.zeros(alpha.shape, self.dtype)
        W = backend.zeros(alpha.shape, self.dtype)
        symbols = backend.asarray(batch.symbols)
        n_steps = len(rows) - 1
        beta = None
        for t in range(n_steps - 1, -1, -1):
            begin, end = rows[t], rows[t + 1]
            # after the last token comes nothing: beta is 1, and no pair of states has a weight
            now = backend.zeros((end - begin, self.n_states), self.dtype) + 1
            if t + 1 < n_steps:
                after, last = rows[t + 1], rows[t + 2]
                going = last - after
                total = scale[after:last]
                none = total <= 0
                ahead = beta * self.emission[symbols[after:last]]
                ahead = ahead / backend.where(none, 1, total)[:, None]
                ahead = backend.where(none[:, None], beta, ahead).clip(None, self.cap)
                W[begin : begin + going] = ahead
                now[:going] = ahead @ self.T.T
            posteriors[begin:end] = alpha[begin:end] * now
            beta = now
        return posteriors, W

    def _shown(self, batch: _Batch) -> Sparse:
        """(V, rows) with a 1 where the token of a row is the symbol; CSR."""
        from scipy.sparse import csr_array

        ones = np.ones(batch.symbols.size, np.dtype(self.dtype))
        cells = (batch.symbols, np.arange(batch.symbols.size))
        return csr_array((ones, cells), shape=(self.n_symbols, batch.symbols.size))

    def _batches(self) -> Iterator[_Batch]:
        """All sequences, as many at a time as there is room for."""
        lengths = self.data.lengths
        order = np.argsort(-lengths, kind="stable")
        order = order[: np.count_nonzero(lengths)]
        ends = pointers(lengths[order])
        first = 0
        while first < order.size:
            last = int(np.searchsorted(ends, ends[first] + self.most_rows, side="right")) - 1
            last = max(last, first + 1)
            yield self._batch(order[first:last])
            first = last

    def _batch(self, chosen: Int64s) -> _Batch:
        starts, lengths = self.data.first[:-1][chosen], self.data.lengths[chosen]
        # sequences that have a token at time t: the longest come first
        active = np.searchsorted(-lengths, -np.arange(1, lengths[0] + 1), side="right")
        rows = pointers(active)
        time = np.repeat(np.arange(active.size), active)
        sequence = np.arange(rows[-1]) - rows[time]
        return _Batch(rows.tolist(), self.data.ids[starts[sequence] + time].astype(np.int64))
