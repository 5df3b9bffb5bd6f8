"""How many sequences go through the compiled passes at once, and the room they need.

1. :class:`Plan` sorts sequences by length and cuts them into batches: of about 1,500 tokens, since
   what is read again soon should still be in the processor's cache, but of 32 sequences where they
   are longer, since products of matrices pay only for several rows.
2. A sequence too long for the room goes alone, in segments.
3. :class:`Machine` holds the parameters in the order and precision that the passes want, and the
   room; it runs them.

The room is bounded (64 MB, and some rows at least) whatever the number and length of sequences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.errors import SettingsError
from eigentext.linalg.determinism import single_threaded

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.sequences.observations import Encoded
    from eigentext.sequences.settings import Precision

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

__all__ = ["Machine", "Plan"]

_ROOM = 64_000_000  # bytes of alpha and W
_FEWEST_ROWS = 256
_CACHED = 1_500
_ROWS_THAT_PAY = 32
_LARGEST = {"double": 1e300, "single": 1e36}
# what is smaller is as good as 0, and processors are slow with it
_SMALLEST = {"double": 1e-290, "single": 1e-35}


@dataclass(frozen=True, eq=False)
class Plan:
    """Batches of sequences, the longest first.

    ``starts``, ``lengths``  place and length of each sequence that is not empty
    ``owners``               its number
    ``n_long``               so many of them go alone, in segments of ``n_rows`` tokens
    ``bounds``               batch i is the sequences ``bounds[i] : bounds[i + 1]``
    ``widest``               sequences in the widest batch
    """

    starts: Ints
    lengths: Ints
    owners: Ints
    n_long: int
    bounds: Ints
    widest: int
    n_rows: int

    @classmethod
    def of(cls, data: Encoded, n_states: int, *, room: int = _ROOM) -> Plan:
        """Plan the passes over ``data`` for so many states.

        >>> from eigentext.sequences.observations import Encoded
        >>> plan = Plan.of(Encoded.of([[0], [0, 1, 0], [], [1, 1]]), 2)
        >>> plan.owners.tolist(), plan.lengths.tolist(), plan.bounds.tolist()
        ([1, 3, 0], [3, 2, 1], [0, 3])
        """
        most = max(_FEWEST_ROWS, room // (16 * n_states))
        lengths = data.lengths
        owners = np.argsort(-lengths, kind="stable")
        owners = owners[: np.count_nonzero(lengths)]
        lengths = lengths[owners]
        n_long = int(np.count_nonzero(lengths > most))
        bounds = _bounds(lengths, n_long, most)
        ends = pointers(lengths)
        rows = ends[bounds[1:]] - ends[bounds[:-1]]
        n_rows = most if n_long else int(rows.max(initial=1))
        widest = int(np.diff(bounds).max(initial=1))
        return cls(data.first[:-1][owners], lengths, owners, n_long, bounds, widest, n_rows)


def _bounds(lengths: Ints, begin: int, most: int) -> Ints:
    """Cut after about ``_CACHED`` tokens or ``_ROWS_THAT_PAY`` sequences, never past ``most``."""
    found, tokens, count = [begin], 0, 0
    for at, length in enumerate(lengths[begin:].tolist(), start=begin):
        full = count >= _ROWS_THAT_PAY and tokens + length > _CACHED
        if count and (full or tokens + length > most):
            found.append(at)
            tokens, count = 0, 0
        tokens, count = tokens + length, count + 1
    if len(lengths) > begin:
        found.append(len(lengths))
    return np.array(found, np.int64)


class Machine:
    """Parameters and room for the compiled passes over one text.

    ``emission`` is turned over: (V, k).
    """

    def __init__(self, data: Encoded, n_states: int, n_symbols: int) -> None:
        if data.n_tokens and int(data.ids.max()) >= n_symbols:
            raise SettingsError(
                f"symbol {int(data.ids.max())} in the data, but there are {n_symbols} symbols"
            )
        self.data = data
        self.n_symbols = n_symbols
        self.plan = Plan.of(data, n_states)
        self.n_states = n_states
        self.alpha: npt.NDArray[Any] = np.empty((0, n_states))

    def set(
        self, initial: Floats, transition: Floats, emission: Floats, precision: Precision
    ) -> None:
        """Take parameters in the precision that is wanted."""
        dtype = np.float64 if precision == "double" else np.float32
        smallest = _SMALLEST[precision]
        self.pi = _without_dust(initial, smallest, dtype)
        self.T = _without_dust(transition, smallest, dtype)
        self.T_turned = np.ascontiguousarray(self.T.T)
        self.E = _without_dust(emission, smallest, dtype)
        self.cap = dtype(_LARGEST[precision])
        if not len(self.alpha) or self.alpha.dtype != dtype:
            rows = self.plan.n_rows
            self.alpha = np.empty((rows, self.n_states), dtype)
            self.W = np.empty((0, self.n_states), dtype)
            self.beta = np.empty((self.plan.widest, self.n_states), dtype)
            self.scale = np.empty(rows, dtype)
            self.rows = np.empty(rows + 2, np.int64)

    def expect(
        self,
        initial: Floats | None = None,
        moved: Floats | None = None,
        emitted: Floats | None = None,
        smoothed: Floats | None = None,
        best: npt.NDArray[np.int32] | None = None,
    ) -> tuple[float, int]:
        """Both passes; what is not None is filled.  Log likelihood, number of impossible tokens.

        Counts (the first three) are added to; ``moved`` is already multiplied by T.
        """
        from eigentext.sequences.kernels import forward_backward as kernels

        k, plan = self.n_states, self.plan
        if not len(self.W):
            self.W = np.empty_like(self.alpha)
        none = np.empty((0, k))
        pairs = np.zeros((k, k))
        given = (
            self.pi,
            self.T,
            self.T_turned,
            self.E,
            self.alpha,
            self.W,
            self.beta,
            self.scale,
            self.rows,
            self.cap,
            none[:, 0] if initial is None else initial,
            pairs,
            none if emitted is None else emitted,
            none if smoothed is None else smoothed,
            np.empty(0, np.int32) if best is None else best,
        )
        ids, total, n_impossible = self.data.ids, 0.0, 0
        with single_threaded():
            for at in range(plan.n_long):
                value, missed = kernels.expect_long(
                    ids, plan.starts[at], plan.lengths[at], plan.n_rows, *given
                )
                total, n_impossible = total + value, n_impossible + missed
            value, missed = kernels.expect_batches(
                ids, plan.starts, plan.lengths, plan.bounds, *given
            )
        if moved is not None:
            moved += pairs * self.T
        return total + value, n_impossible + missed

    def go_forward(
        self, surprisal: Floats, filtered: Floats | None = None, last: Floats | None = None
    ) -> None:
        """The forward pass alone; ``last`` (S, k) has the states after the last token."""
        from eigentext.sequences.kernels import forward_backward as kernels

        plan, none = self.plan, np.empty((0, self.n_states))
        wanted = (
            surprisal,
            none if filtered is None else filtered,
            none if last is None else last,
        )
        room = (self.alpha, self.scale, self.rows)
        with single_threaded():
            for at in range(plan.n_long):
                kernels.forward_long(
                    self.data.ids,
                    plan.starts[at],
                    plan.lengths[at],
                    plan.owners[at],
                    plan.n_rows,
                    self.pi,
                    self.T,
                    self.E,
                    *room,
                    *wanted,
                )
            kernels.forward_batches(
                self.data.ids,
                plan.starts,
                plan.lengths,
                plan.owners,
                plan.bounds,
                self.pi,
                self.T,
                self.E,
                *room,
                plan.widest,
                *wanted,
            )


def _without_dust(array: Floats, smallest: float, dtype: type) -> npt.NDArray[Any]:
    found = np.where(array < smallest, 0.0, array)
    return np.ascontiguousarray(found, dtype)
