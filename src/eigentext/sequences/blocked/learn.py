"""A start of many states, and EM for blocked emissions, smoothed after each step.

A model of few states is lifted to many (blocks of words with states of their own are those of Chiu
and Rush 2020; a block for each word is the cloned model of Dedieu et al. 2019).  A state of the
large model is a pair (block, state of the small one), its *group*.

1. :func:`lifted`: parameters of the large model that say what the small one says::

       T[(a, g), (b, h)] = T_small[g, h] sum_{x in b} O_small[h, x]
       O[(b, h), x]      = O_small[h, x] / sum_{y in b} O_small[h, y]

2. :class:`BlockedSmoothing` turns counts into parameters as Kneser and Ney do with those of words:
   a level below counts in how many contexts something comes, not how often::

       T[i, j] = (n_ij - D(n_ij)) / n_i + back_i L_a[j]            a: the block of i
       L_a[j]  = (1 - mix) ((m_aj - D(m_aj)) / m_a + back_a R_g[j]) + mix R_g[j]
       R_g[j]  = (m_gj - D(m_gj)) / m_g + back_g U[j]              g: the group of i
       m_aj = sum over i in a of min(n_ij, 1)      m_gj = sum over i in g of min(n_ij, 1)

   back is what the discounts D took away; a count need not be whole, and one below 1 loses a
   share.  A block of one state has L_a with n_aj for m_aj.

With discounts of 0 and no mix this is plain EM, and the log likelihood never falls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.types import Float64s, Int32s, Int64s, Numbers
from eigentext.errors import DataError
from eigentext.sequences.blocked.parameters import BlockedParameters, BlockPairs, Blocks, Lower
from eigentext.sequences.hmm.parameters import Parameters
from eigentext.sequences.inspection import shares
from eigentext.sequences.kernels import blocked as kernels
from eigentext.sequences.observations import Encoded


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


class BlockedCounts(NamedTuple):
    """Expected counts: ``moved`` laid out like transitions, ``emitted`` like emissions."""

    moved: Numbers
    emitted: Numbers


class Trainer:
    """A text without empty sequences, ready for passes."""

    def __init__(self, data: Encoded, blocks: Blocks, dtype: npt.DTypeLike = np.float32) -> None:
        self.data, self.blocks, self.dtype = data, blocks, dtype
        self.pairs = BlockPairs.seen(data, blocks)
        self.pair = np.empty(data.n_tokens, np.int64)
        kernels.find_pairs(data.ids, data.first, blocks, self.pairs, self.pair)
        self.at = self.pairs.at[self.pair]
        longest, most = int(data.lengths.max()), int(blocks.sizes.max())
        self._room = np.zeros((longest + 1, most), dtype), np.zeros(longest)

    def expect(self, parameters: BlockedParameters, chosen: Int64s) -> tuple[float, BlockedCounts]:
        """Log likelihood of these sequences, and expected counts."""
        moved, emitted = np.zeros(self.pairs.at[-1], self.dtype), np.zeros(self.blocks.emit[-1])
        value, n_bad = kernels.expect(self._text(parameters), chosen, moved, emitted)
        if n_bad:
            raise DataError("sequences", None, f"{n_bad} token(s) have probability 0")
        return float(value), BlockedCounts(moved, emitted)

    def log_likelihood(self, parameters: BlockedParameters, chosen: Int64s) -> float:
        """Of these sequences."""
        values = np.zeros(self.data.n_tokens)
        kernels.surprisals(self._text(parameters), chosen, values)
        return -float(values.sum())

    def _text(self, parameters: BlockedParameters) -> kernels.BlockedText:
        data, tables = self.data, (parameters.transition, parameters.emission)
        return kernels.BlockedText(
            data.ids, data.first, self.blocks, self.at, *tables, *self._room
        )

    def pairs_of(self, chosen: Int64s) -> Int64s:
        """The pairs that come in these sequences."""
        first = self.data.first
        parts = [self.pair[first[s] : first[s + 1]] for s in chosen.tolist()]
        return np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))


class _Levels(NamedTuple):
    """Sums of expected counts; see ``kernels.blocked.add_levels``."""

    state: Numbers  # (3, S + 1)
    block: Numbers  # (3, B + 1)
    of_block: Numbers  # by pairs.next
    of_group: Numbers  # (G, S)
    kinds: Numbers  # (S,)


class _Weights(NamedTuple):
    block: Numbers  # (S + 1,) of the level of blocks
    leave: Numbers  # (S + 1,) of that of groups


class BlockedSmoothing:
    """Counts, added up level by level; :meth:`parameters` for any discounts."""

    def __init__(
        self, counts: BlockedCounts, blocks: Blocks, pairs: BlockPairs, group: Int32s
    ) -> None:
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
        self, discounts: Discounts, which: Int64s | None = None, into: Numbers | None = None
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
        counted = (self._levels.block[0] > 0)[self._owner]
        block = np.where(counted, back * (1 - discounts.mix), 0.0)
        return _Weights(block, back * (discounts.mix + (1 - discounts.mix) * below))

    def _rows(self, discounts: Discounts) -> Numbers:
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


def _back(sums: Numbers, d: float, e: float) -> Numbers:
    """What discounts take away, as a share of all; 1 where there is nothing."""
    total = sums[0]
    lost = d * sums[1] + e * sums[2]
    return np.asarray(np.where(total > 0, lost / np.where(total > 0, total, 1), 1.0))


def _emissions(emitted: Numbers, blocks: Blocks, discount: float) -> Numbers:
    """p(word | state): discounted, with the share of the word in its block for the rest."""
    sizes = np.diff(blocks.emit)
    state, S = blocks.states_of_emissions(), blocks.n_states
    lost = discount * np.minimum(emitted, 1)  # D(n)
    totals = np.bincount(state, emitted, minlength=S)[state]
    back = np.bincount(state, lost, minlength=S)[state]  # what D took from each state
    word = np.repeat(np.add.reduceat(emitted, blocks.emit[:-1]), sizes) + 0.5
    usual = word / np.bincount(state, word, minlength=S)[state]
    shares = (emitted - lost + back * usual) / np.where(totals > 0, totals, 1)
    return np.asarray(np.where(totals > 0, shares, usual))


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
                if new != best and (judged := judge(new)) > value:
                    best, value = new, judged
        if best == before:
            break
    return best, value


_MOST = 64  # states of a block


class Chosen(NamedTuple):
    """``blocks``, and the ``group`` (S + 1,) of each state; the beginning has one of its own."""

    blocks: Blocks
    group: Int32s


def choose_states(small: Parameters, counts: Float64s, of_word: Int64s, n_states: int) -> Chosen:
    """The pairs (block, state of the small model) with the highest expected counts.

    ``counts`` (V,) of words and ``of_word`` (V,) their blocks; n_states is at least the number of
    blocks.

    >>> from eigentext.sequences.hmm.parameters import Parameters
    >>> small = Parameters([1, 0], [[0.5, 0.5], [0.5, 0.5]], [[0.6, 0.4, 0], [0.3, 0, 0.7]])
    >>> choose_states(small, np.array([5, 2, 3]), np.arange(3), 4).group.tolist()
    [0, 1, 0, 1, 2]
    """
    G, n_blocks = small.n_states, int(of_word.max()) + 1
    joint = small.emission.T * shares(small)  # (V, G)
    total = joint.sum(axis=1, keepdims=True)  # p(x)
    expected = np.maximum(counts, 1e-3)[:, None] * joint / np.where(total > 0, total, 1)
    by_block = np.zeros((n_blocks, G))
    np.add.at(by_block, of_word, expected)
    order = np.argsort(-by_block, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(G)[None, :], axis=1)
    score = np.where(rank < _MOST, by_block, -1.0)
    score[rank == 0] = np.inf
    n_kept = min(n_states, int((score > 0).sum()))
    kept = np.sort(np.argsort(-score.ravel(), kind="stable")[:n_kept])
    sizes = np.bincount(kept // G, minlength=n_blocks)
    return Chosen(Blocks.of(of_word, sizes), np.append(kept % G, G).astype(np.int32))


def lifted(
    small: Parameters, chosen: Chosen, pairs: BlockPairs, dtype: npt.DTypeLike
) -> BlockedParameters:
    """The small model as a large one, at the pairs of blocks that were seen."""
    blocks, group = chosen
    sizes = np.diff(blocks.emit)
    word = np.repeat(np.arange(len(sizes)), sizes)
    state = blocks.states_of_emissions()
    shown = small.emission[group[state], word]
    mass = np.bincount(state, shown, minlength=blocks.n_states)
    T_small = np.vstack([small.transition, small.initial]).astype(dtype)
    T = np.empty(pairs.at[-1], dtype)
    kernels.lift(blocks, pairs, group, T_small, mass.astype(dtype), T)
    emission = (shown / np.where(mass > 0, mass, 1)[state]).astype(dtype)
    nothing = Lower(np.zeros(len(group), dtype), group, np.zeros((0, 0), dtype))
    return BlockedParameters(blocks, pairs, T, emission, nothing)
