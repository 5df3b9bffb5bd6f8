"""How many sequences go through the compiled passes at once, and the room they need.

1. :class:`Plan` sorts sequences by length and cuts them into batches: of about 1,500 tokens, since
   what is read again soon should still be in the processor's cache, but of 32 sequences where they
   are longer, since products of matrices pay only for several rows.
2. A sequence too long for the room goes alone, in segments.
3. Neighbouring batches make a block (:meth:`Plan.blocks`): blocks are what threads share out, and
   their sums are added in their order, so that the result does not depend on the threads.

A room is bounded (64 MB, and some rows at least) whatever the number and length of sequences;
each thread has one, and a table of counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from eigentext.base.cores import each, in_turn
from eigentext.base.ragged import pointers
from eigentext.base.types import Float64s, Int32s, Int64s, Numbers
from eigentext.errors import SettingsError
from eigentext.linalg.ties import single_threaded
from eigentext.sequences.observations import Encoded
from eigentext.sequences.settings import Precision

Floating = Numbers  # float32 or float64


Answer = TypeVar("Answer")

_ROOM = 64_000_000  # bytes of alpha and W
_FEWEST_ROWS = 256
_CACHED = 1_500
_ROWS_THAT_PAY = 32
_FEWEST_IN_A_BLOCK = 4_000  # tokens; a thread is handed a block in a ten-thousandth of a second
_MOST_BLOCKS = 64
_TABLE_COST = 200  # a token costs k^2, a row of a table of counts k, and is to be 1 in 20
_LARGEST = {"double": 1e300, "single": 1e36}
# what is smaller is as good as 0, and processors are slow with it
_SMALLEST = {"double": 1e-290, "single": 1e-35}


@dataclass(frozen=True, eq=False)
class Plan:
    """Batches of sequences, the longest first."""

    starts: Int64s  # place of each sequence that is not empty
    lengths: Int64s
    owners: Int64s  # its number
    n_long: int  # so many of them go alone, in segments of ``n_rows`` tokens
    bounds: Int64s  # batch i is the sequences ``bounds[i] : bounds[i + 1]``
    widest: int  # sequences in the widest batch
    n_rows: int

    @classmethod
    def of(cls, data: Encoded, n_states: int, *, room: int = _ROOM) -> Plan:
        """Plan the passes over ``data`` for so many states.

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

    def blocks(self, least: int = _FEWEST_IN_A_BLOCK) -> list[Batches]:
        """Neighbouring batches together, of about ``least`` tokens or more; 64 blocks at most.

        >>> plan = Plan.of(Encoded.of([[0] * 40] * 100), 2)
        >>> [(block.bounds[0].item(), block.bounds[-1].item()) for block in plan.blocks(2000)]
        [(0, 74), (74, 100)]
        """
        if len(self.bounds) < 2:
            return []
        before = pointers(self.lengths)[self.bounds]  # tokens before each batch, and in all
        before -= before[0]
        size = max(least, -(-int(before[-1]) // _MOST_BLOCKS))
        first = np.unique(before[:-1] // size, return_index=True)[1]  # batch of each block
        ends = np.append(first[1:], len(self.bounds) - 1)
        return [
            Batches(self.starts, self.lengths, self.owners, self.bounds[a : b + 1])
            for a, b in zip(first.tolist(), ends.tolist(), strict=True)
        ]


def _bounds(lengths: Int64s, begin: int, most: int) -> Int64s:
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


class HMMArrays(NamedTuple):
    """Parameters as the compiled passes take them, in one precision."""

    pi: Floating  # (k,)
    T: Floating  # (k, k)
    T_turned: Floating  # its transpose
    E: Floating  # (V, k) emissions turned over
    cap: np.floating  # the largest number that a pass may hold


class PassRoom(NamedTuple):
    """What the passes write on; see kernels/forward_backward.py for what the rows are."""

    alpha: Floating  # (rows, k)
    W: Floating  # (rows, k)
    beta: Floating  # (sequences of the widest batch, k)
    scale: Floating  # (rows,)
    rows: Int64s  # (steps + 1,) the first row of each time step


class Batches(NamedTuple):
    """The sequences of a plan that go together; see :class:`Plan`."""

    starts: Int64s
    lengths: Int64s
    owners: Int64s
    bounds: Int64s


class PassTables(NamedTuple):
    """What both passes fill; of a table that is left alone the first dimension is 0."""

    initial: Float64s  # (k,) expected counts, as in StateCounts
    moved: Float64s  # (k, k)
    emitted: Float64s  # (V, k)
    smoothed: Float64s  # (N, k) p(h_t | x_1 .. x_n)
    best: Int32s  # (N,) the most probable state by itself


class ForwardTables(NamedTuple):
    """What the forward pass fills, likewise."""

    surprisal: Float64s  # (N,)
    filtered: Float64s  # (N, k) p(h_t | x_1 .. x_t)
    last: Float64s  # (S, k) the same after the last token of each sequence


class StateCounts(NamedTuple):
    """Expected counts: of first states (k,), of pairs (k, k), of symbols with states (V, k)."""

    initial: Float64s
    moved: Float64s
    emitted: Float64s

    @classmethod
    def zeros(cls, n_states: int, n_symbols: int) -> StateCounts:
        """None so far."""
        k = n_states
        return cls(np.zeros(k), np.zeros((k, k)), np.zeros((n_symbols, k)))


class Workspace:
    """Rooms and tables that threads take and give back, for machines of one number of states.

    One is made when none is left that is large enough, so that there are as many as threads.  To
    ask the system for new memory each time would cost more than the work on a few sentences.
    """

    def __init__(self) -> None:
        self._idle: dict[tuple[str, int, type], list[Floating]] = {}

    @contextmanager
    def room(self, plan: Plan, n_states: int, dtype: type) -> Iterator[PassRoom]:
        """As much as the plan needs."""
        rows, k = plan.n_rows, n_states
        with (
            self._array("alpha", rows, k, dtype) as alpha,
            self._array("W", rows, k, dtype) as W,
            self._array("beta", plan.widest, k, dtype) as beta,
            self._array("scale", rows, 1, dtype) as scale,
            self._array("rows", rows + 2, 1, np.int64) as first,
        ):
            yield PassRoom(alpha, W, beta, scale[:, 0], first[:, 0])

    @contextmanager
    def counts(self, n_states: int, n_symbols: int) -> Iterator[StateCounts]:
        """No counts so far; they are forgotten in the end."""
        k = n_states
        with (
            self._array("initial", 1, k, float) as initial,
            self._array("moved", k, k, float) as moved,
            self._array("emitted", n_symbols, k, float) as emitted,
        ):
            for table in (initial, moved, emitted):
                table[:] = 0
            yield StateCounts(initial[0], moved, emitted)

    @contextmanager
    def _array(self, name: str, rows: int, k: int, dtype: type) -> Iterator[Floating]:
        """(rows, k) with anything in it."""
        idle = self._idle.setdefault((name, k, dtype), [])
        try:
            array = idle.pop()  # lists are safe between threads; a look beforehand would not be
        except IndexError:
            array = np.empty((rows, k), dtype)
        if len(array) < rows:
            array = np.empty((rows, k), dtype)
        try:
            yield array[:rows]
        finally:
            idle.append(array)


class Machine:
    """Parameters of a chain, and the compiled passes over one text.

    ``workspace`` is shared with machines of other texts, if there are any.
    """

    def __init__(
        self, data: Encoded, n_states: int, n_symbols: int, *, workspace: Workspace | None = None
    ) -> None:
        check_symbols(data, n_symbols)
        self.data = data
        self.n_symbols = n_symbols
        self.plan = Plan.of(data, n_states)
        self.n_states = n_states
        self.workspace = Workspace() if workspace is None else workspace
        self.nothing = np.empty((0, n_states))  # a table that is left alone
        self.chain: HMMArrays | None = None

    def set(
        self, initial: Float64s, transition: Float64s, emission: Float64s, precision: Precision
    ) -> None:
        """Take parameters in this precision; ``emission`` is turned over: (V, k)."""
        dtype = np.float64 if precision == "double" else np.float32
        pi, T, E = (
            np.asarray(np.where(table < _SMALLEST[precision], 0.0, table), dtype, order="C")
            for table in (initial, transition, emission)
        )
        self.chain = HMMArrays(pi, T, np.ascontiguousarray(T.T), E, dtype(_LARGEST[precision]))

    def expect(
        self,
        counts: StateCounts | None = None,
        *,
        smoothed: Float64s | None = None,
        best: Int32s | None = None,
    ) -> tuple[float, int]:
        """Both passes; what is not None is filled.  Log likelihood, number of impossible tokens.

        Counts are added to.
        """
        from eigentext.sequences.kernels import forward_backward as kernels

        none, (k, V) = self.nothing, (self.n_states, self.n_symbols)
        by_token = (
            none if smoothed is None else smoothed,
            np.empty(0, np.int32) if best is None else best,
        )

        def passes(piece: Batches, into: StateCounts) -> tuple[float, int]:
            tables = PassTables(*into, *by_token)
            both = kernels.expect_batches, kernels.expect_long
            answer: tuple[float, int] = self._pass(piece, *both, tables)
            return answer

        def counted(piece: Batches) -> tuple[tuple[float, int], StateCounts, ExitStack]:
            with ExitStack() as held:
                part = held.enter_context(self.workspace.counts(k, V))
                return passes(piece, part), part, held.pop_all()

        with single_threaded():
            if counts is None:
                unused = StateCounts(none[:, 0], none, none)
                pieces = self._pieces(_FEWEST_IN_A_BLOCK)
                sums = each(lambda piece: passes(piece, unused), pieces)
            else:
                sums, moved = [], np.zeros_like(counts.moved)
                pieces = self._pieces(_tokens_that_pay(k, V))
                # the counts of blocks are added in the order of the blocks
                for log_and_missed, part, held in in_turn(counted, pieces, ahead=1):
                    with held:  # the tables are for the next block when they have been added
                        counts.initial[:] += part.initial
                        counts.emitted[:] += part.emitted
                        moved += part.moved
                    sums.append(log_and_missed)
                # the kernel leaves p(h_t+1 | h_t) to the end
                counts.moved[:] += moved * self._chain().T
        return float(sum(value for value, _ in sums)), sum(missed for _, missed in sums)

    def go_forward(
        self, surprisal: Float64s, filtered: Float64s | None = None, last: Float64s | None = None
    ) -> None:
        """The forward pass alone; ``last`` (S, k) has the states after the last token."""
        from eigentext.sequences.kernels import forward_backward as kernels

        tables = ForwardTables(
            surprisal,
            filtered=self.nothing if filtered is None else filtered,
            last=self.nothing if last is None else last,
        )
        both = kernels.forward_batches, kernels.forward_long
        with single_threaded():
            each(lambda piece: self._pass(piece, *both, tables), self._pieces(_FEWEST_IN_A_BLOCK))

    def _pieces(self, least: int) -> list[Batches]:
        """The sequences that go alone, then blocks of so many tokens at least."""
        plan = self.plan
        alone = [
            Batches(plan.starts, plan.lengths, plan.owners, np.array([at, at + 1]))
            for at in range(plan.n_long)
        ]
        return [*alone, *plan.blocks(least)]

    def _pass(
        self,
        piece: Batches,
        batches: Callable[..., Answer],
        alone: Callable[..., Answer],
        tables: object,
    ) -> Answer:
        """One piece through the kernel for batches, or for a long sequence."""
        chain = self._chain()
        kernel = alone if piece.bounds[-1] <= self.plan.n_long else batches
        with self.workspace.room(self.plan, self.n_states, chain.T.dtype.type) as room:
            answer: Answer = kernel(self.data.ids, piece, chain, room, tables)
            return answer

    def _chain(self) -> HMMArrays:
        if self.chain is None:
            raise RuntimeError("no parameters yet: set() comes before the passes")
        return self.chain


def check_symbols(data: Encoded, n_symbols: int) -> None:
    """Raise SettingsError where the data has symbols that the parameters do not know."""
    if data.n_tokens and (last := int(data.ids.max())) >= n_symbols:
        raise SettingsError(f"symbol {last} in the data, but there are {n_symbols} symbols")


def _tokens_that_pay(n_states: int, n_symbols: int) -> int:
    """Tokens of a block that takes so long that adding up its table (V, k) costs little.

    >>> _tokens_that_pay(100, 10_000), _tokens_that_pay(10, 200)
    (20000, 4000)
    """
    return max(_FEWEST_IN_A_BLOCK, _TABLE_COST * n_symbols // n_states)
