"""EM for blocked emissions; transitions are smoothed after each step, level by level.

1. :class:`Trainer` finds the pairs of blocks of a text once; a pass of the kernels over some of
   its sequences gives expected counts.
2. :class:`Smoothing` turns counts into parameters as Kneser and Ney do with counts of words: a
   level below counts in how many contexts something comes, not how often::

       T[i, j] = (n_ij - D(n_ij)) / n_i + back_i L_a[j]            a: the block of i
       L_a[j]  = (1 - mix) ((m_aj - D(m_aj)) / m_a + back_a R_g[j]) + mix R_g[j]
       R_g[j]  = (m_gj - D(m_gj)) / m_g + back_g U[j]              g: the group of i
       m_aj = sum over i in a of min(n_ij, 1)      m_gj = sum over i in g of min(n_ij, 1)

   back is what the discounts D took away; a count need not be whole, and one below 1 loses a
   share.  A block of one state has L_a with n_aj for m_aj.
3. :func:`choose_discounts` takes the discounts that are best for sequences that were not counted.

With discounts of 0 and no mix this is plain EM, and the log likelihood never falls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.errors import DataError
from eigentext.sequences.blocked.parameters import BlockedParameters, BlockPairs, Blocks, Lower
from eigentext.sequences.kernels import blocked as kernels

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from eigentext.base.types import Int32s, Int64s
    from eigentext.sequences.observations import Encoded

    Floats = npt.NDArray[Any]  # float32, or float64 in tests


class Discounts(NamedTuple):
    """D(n) = d min(n, 1) + e (min(n, 3) - min(n, 1)) / 2 for states and blocks, d min(n, 1) for
    the other levels; ``mix``: the share of the group beside the block; ``emission``: d of words.
    """

    state: float = 0.9
    state_more: float = 0.6
    block: float = 0.9
    block_more: float = 0.6
    group: float = 0.5
    mix: float = 0.1
    emission: float = 0.5
    unigram: float = 0.5


NONE = Discounts(0, 0, 0, 0, 0, 0, 0, 0)
_TRIED = {  # in this order, twice
    "mix": (0.0, 0.05, 0.1, 0.2, 0.3),
    "state_more": (0.2, 0.4, 0.6, 0.8, 1.0),
    "state": (0.6, 0.7, 0.8, 0.9, 0.95),
    "block_more": (0.2, 0.4, 0.6, 0.8, 1.0),
    "block": (0.6, 0.7, 0.8, 0.9, 0.95),
    "group": (0.2, 0.35, 0.5, 0.7, 0.9),
}


class Counts(NamedTuple):
    """Expected counts: ``moved`` laid out like transitions, ``emitted`` like emissions."""

    moved: Floats
    emitted: Floats


class Trainer:
    """A text without empty sequences, ready for passes."""

    def __init__(self, data: Encoded, blocks: Blocks, dtype: Any = np.float32) -> None:
        self.data, self.blocks, self.dtype = data, blocks, dtype
        self.pairs = BlockPairs.seen(data, blocks)
        self.pair = np.empty(data.n_tokens, np.int64)
        kernels.find_pairs(data.ids, data.first, blocks, self.pairs, self.pair)
        self.at = self.pairs.at[self.pair]
        longest, most = int(data.lengths.max()), int(blocks.sizes.max())
        self._room = np.zeros((longest + 1, most), dtype), np.zeros(longest)

    def expect(self, parameters: BlockedParameters, chosen: Int64s) -> tuple[float, Counts]:
        """Log likelihood of these sequences, and expected counts."""
        moved, emitted = np.zeros(self.pairs.at[-1], self.dtype), np.zeros(self.blocks.emit[-1])
        ids, first, T, E = self.data.ids, self.data.first, *_tables(parameters)
        value, n_bad = kernels.expect(
            ids, first, chosen, self.blocks, self.at, T, E, *self._room, moved, emitted
        )
        if n_bad:
            raise DataError("sequences", None, f"{n_bad} token(s) have probability 0")
        return float(value), Counts(moved, emitted)

    def log_likelihood(self, parameters: BlockedParameters, chosen: Int64s) -> float:
        """Of these sequences."""
        values = np.zeros(self.data.n_tokens)
        ids, first, T, E = self.data.ids, self.data.first, *_tables(parameters)
        kernels.surprisals(ids, first, chosen, self.blocks, self.at, T, E, *self._room, values)
        return -float(values.sum())

    def pairs_of(self, chosen: Int64s) -> Int64s:
        """The pairs that come in these sequences."""
        first = self.data.first
        parts = [self.pair[first[s] : first[s + 1]] for s in chosen.tolist()]
        return np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))


def _tables(parameters: BlockedParameters) -> tuple[Floats, Floats]:
    return parameters.transition, parameters.emission


class _Levels(NamedTuple):
    """Sums of expected counts; see ``kernels.blocked.add_levels``."""

    state: Floats  # (3, S + 1)
    block: Floats  # (3, B + 1)
    of_block: Floats  # by pairs.next
    of_group: Floats  # (G, S)
    kinds: Floats  # (S,)


class _Weights(NamedTuple):
    own: Floats  # (S + 1,) of the level of blocks
    leave: Floats  # (S + 1,) of that of groups


class Smoothing:
    """Counts, added up level by level; :meth:`parameters` for any discounts."""

    def __init__(self, counts: Counts, blocks: Blocks, pairs: BlockPairs, group: Int32s) -> None:
        self.counts, self.blocks, self.pairs, self.group = counts, blocks, pairs, group
        S, B, G = blocks.n_states, len(blocks.first) - 1, int(group.max()) + 1
        self._levels = _Levels(
            np.zeros((3, S + 1)),
            np.zeros((3, B)),
            np.zeros(pairs.next[-1], counts.moved.dtype),
            np.zeros((G, S), counts.moved.dtype),
            np.zeros(S),
        )
        kernels.add_levels(counts.moved, blocks, pairs, group, self._levels)
        self._owner = np.repeat(np.arange(B), blocks.sizes)

    def parameters(
        self, discounts: Discounts, which: Int64s | None = None, into: Floats | None = None
    ) -> BlockedParameters:
        """Parameters of the counts; with ``which``, transitions of these pairs alone."""
        moved, dtype = self.counts.moved, self.counts.moved.dtype
        weights = self._weights(discounts)
        rows = self._rows(discounts)
        T = np.zeros_like(moved) if into is None else into
        every = np.arange(len(self.pairs.block)) if which is None else which
        kernels.fill(
            every, moved, self.blocks, self.pairs, self.group, self._levels, rows, weights,
            np.array(discounts[:4]), T,
        )  # fmt: skip
        emission = _emissions(self.counts.emitted, self.blocks, discounts.emission)
        lower = Lower(weights.leave.astype(dtype), self.group, rows)
        return BlockedParameters(self.blocks, self.pairs, T, emission.astype(dtype), lower)

    def _weights(self, discounts: Discounts) -> _Weights:
        back = _back(self._levels.state, discounts.state, discounts.state_more)
        back[(self.blocks.sizes == 1)[self._owner]] = 1.0
        below = _back(self._levels.block, discounts.block, discounts.block_more)[self._owner]
        known = (self._levels.block[0] > 0)[self._owner]
        own = np.where(known, back * (1 - discounts.mix), 0.0)
        return _Weights(own, back * (discounts.mix + (1 - discounts.mix) * below))

    def _rows(self, discounts: Discounts) -> Floats:
        """(G, S) what follows a state of each group."""
        kinds, table = self._levels.kinds, self._levels.of_group
        lost = discounts.unigram * np.minimum(kinds, 1)
        unigram = (kinds - lost + lost.sum() / len(kinds)) / kinds.sum()
        totals = table.sum(axis=1, dtype=np.float64)
        safe = np.where(totals > 0, totals, 1)
        below = np.minimum(table, 1).sum(axis=1, dtype=np.float64)
        back = np.where(totals > 0, discounts.group * below / safe, 1.0)
        rows = table - discounts.group * np.minimum(table, 1)
        rows /= safe[:, None].astype(table.dtype)
        rows += (back[:, None] * unigram).astype(table.dtype)
        return np.asarray(rows)


def _back(sums: Floats, d: float, e: float) -> Floats:
    """What discounts take away, as a share of all; 1 where there is nothing."""
    total = sums[0]
    lost = d * sums[1] + e * sums[2]
    return np.asarray(np.where(total > 0, lost / np.where(total > 0, total, 1), 1.0))


def _emissions(emitted: Floats, blocks: Blocks, discount: float) -> Floats:
    """p(word | state): discounted, with the share of the word in its block for the rest."""
    sizes = np.diff(blocks.emit)
    state, S = blocks.states_of_emissions(), blocks.n_states
    lost = discount * np.minimum(emitted, 1)
    totals = np.bincount(state, emitted, minlength=S)[state]
    back = np.bincount(state, lost, minlength=S)[state]
    word = np.repeat(np.add.reduceat(emitted, blocks.emit[:-1]), sizes) + 0.5
    usual = word / np.bincount(state, word, minlength=S)[state]
    own = (emitted - lost + back * usual) / np.where(totals > 0, totals, 1)
    return np.asarray(np.where(totals > 0, own, usual))


def choose_discounts(
    judge: Callable[[Discounts], float], start: Discounts
) -> tuple[Discounts, float]:
    """The discounts of highest ``judge``, one after the other, twice; and its value."""
    best, value = start, judge(start)
    for _ in range(2):
        before = best
        for name, tried in _TRIED.items():
            for number in tried:
                new = best._replace(**{name: number})
                if new != best and (found := judge(new)) > value:
                    best, value = new, found
        if best == before:
            break
    return best, value
