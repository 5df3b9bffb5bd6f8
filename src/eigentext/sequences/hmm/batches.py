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
from typing import TYPE_CHECKING, Any, NamedTuple

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

    @property
    def batches(self) -> Batches:
        """What the compiled passes over batches run through."""
        return Batches(self.starts, self.lengths, self.owners, self.bounds)


def _bounds(lengths: Ints, begin: int, most: int) -> Ints:
    """Cut after about ``_CACHED`` tokens or ``_ROWS_THAT_PAY`` sequences, never past ``most``."""
    bounds, tokens, count = [begin], 0, 0
    for at, length in enumerate(lengths[begin:].tolist(), start=begin):
        full = count >= _ROWS_THAT_PAY and tokens + length > _CACHED
        if count and (full or tokens + length > most):
            bounds.append(at)
            tokens, count = 0, 0
        tokens, count = tokens + length, count + 1
    if len(lengths) > begin:
        bounds.append(len(lengths))
    return np.array(bounds, np.int64)


class Chain(NamedTuple):
    """Parameters as the compiled passes take them, in one precision.

    ``pi`` (k,), ``T`` (k, k) and its transpose, ``E`` (V, k) emissions turned over;
    ``cap``  the largest number that a pass may hold
    """

    pi: npt.NDArray[Any]
    T: npt.NDArray[Any]
    T_turned: npt.NDArray[Any]
    E: npt.NDArray[Any]
    cap: np.floating[Any]


class Room(NamedTuple):
    """What the passes write on; see kernels/forward_backward.py for what the rows are.

    ``alpha, W`` (rows, k), ``beta`` (sequences of the widest batch, k), ``scale`` (rows,)
    ``rows``     (steps + 1,) the first row of each time step
    """

    alpha: npt.NDArray[Any]
    W: npt.NDArray[Any]
    beta: npt.NDArray[Any]
    scale: npt.NDArray[Any]
    rows: Ints


class Batches(NamedTuple):
    """The sequences of a plan that go together; see :class:`Plan`."""

    starts: Ints
    lengths: Ints
    owners: Ints
    bounds: Ints


class Wanted(NamedTuple):
    """What both passes give; of a table that is not wanted the first dimension is 0.

    ``initial`` (k,), ``moved`` (k, k), ``emitted`` (V, k)  expected counts
    ``smoothed`` (N, k)                                     p(h_t | x_1 .. x_n)
    ``best`` (N,)                                           the most probable state by itself
    """

    initial: Floats
    moved: Floats
    emitted: Floats
    smoothed: Floats
    best: npt.NDArray[np.int32]


class Filtered(NamedTuple):
    """What the forward pass gives, likewise.

    ``surprisal`` (N,);  ``filtered`` (N, k) p(h_t | x_1 .. x_t);  ``last`` (S, k) the same after
    the last token of each sequence
    """

    surprisal: Floats
    filtered: Floats
    last: Floats


class Machine:
    """Parameters and room for the compiled passes over one text."""

    def __init__(self, data: Encoded, n_states: int, n_symbols: int) -> None:
        if data.n_tokens and int(data.ids.max()) >= n_symbols:
            raise SettingsError(
                f"symbol {int(data.ids.max())} in the data, but there are {n_symbols} symbols"
            )
        self.data = data
        self.n_symbols = n_symbols
        self.plan = Plan.of(data, n_states)
        self.n_states = n_states
        self.room: Room | None = None

    def set(
        self, initial: Floats, transition: Floats, emission: Floats, precision: Precision
    ) -> None:
        """Take parameters in the precision that is wanted; ``emission`` is turned over: (V, k)."""
        dtype = np.float64 if precision == "double" else np.float32
        smallest = _SMALLEST[precision]
        T = _without_dust(transition, smallest, dtype)
        self.chain = Chain(
            pi=_without_dust(initial, smallest, dtype),
            T=T,
            T_turned=np.ascontiguousarray(T.T),
            E=_without_dust(emission, smallest, dtype),
            cap=dtype(_LARGEST[precision]),
        )
        if self.room is None or self.room.alpha.dtype != dtype:
            rows, k = self.plan.n_rows, self.n_states
            self.room = Room(
                alpha=np.empty((rows, k), dtype),
                W=np.empty((0, k), dtype),  # made when a backward pass asks for it
                beta=np.empty((self.plan.widest, k), dtype),
                scale=np.empty(rows, dtype),
                rows=np.empty(rows + 2, np.int64),
            )

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

        k, plan, room = self.n_states, self.plan, self._room()
        if not len(room.W):
            self.room = room = room._replace(W=np.empty_like(room.alpha))
        none = np.empty((0, k))
        wanted = Wanted(
            initial=none[:, 0] if initial is None else initial,
            moved=np.zeros((k, k)),
            emitted=none if emitted is None else emitted,
            smoothed=none if smoothed is None else smoothed,
            best=np.empty(0, np.int32) if best is None else best,
        )
        ids, total, n_impossible = self.data.ids, 0.0, 0
        with single_threaded():
            for at in range(plan.n_long):
                value, missed = kernels.expect_long(
                    ids, plan.starts[at], plan.lengths[at], self.chain, room, wanted
                )
                total, n_impossible = total + value, n_impossible + missed
            value, missed = kernels.expect_batches(ids, plan.batches, self.chain, room, wanted)
        if moved is not None:
            moved += wanted.moved * self.chain.T
        return total + value, n_impossible + missed

    def go_forward(
        self, surprisal: Floats, filtered: Floats | None = None, last: Floats | None = None
    ) -> None:
        """The forward pass alone; ``last`` (S, k) has the states after the last token."""
        from eigentext.sequences.kernels import forward_backward as kernels

        plan, room, none = self.plan, self._room(), np.empty((0, self.n_states))
        tables = Filtered(
            surprisal,
            filtered=none if filtered is None else filtered,
            last=none if last is None else last,
        )
        ids = self.data.ids
        with single_threaded():
            for at in range(plan.n_long):
                start, length, owner = plan.starts[at], plan.lengths[at], plan.owners[at]
                kernels.forward_long(ids, start, length, owner, self.chain, room, tables)
            kernels.forward_batches(ids, plan.batches, self.chain, room, tables)

    def _room(self) -> Room:
        if self.room is None:
            raise RuntimeError("no parameters yet: set() comes before the passes")
        return self.room


def _without_dust(array: Floats, smallest: float, dtype: type) -> npt.NDArray[Any]:
    return np.ascontiguousarray(np.where(array < smallest, 0.0, array), dtype)
