"""The tables of a hidden Markov model with blocked emissions.

The vocabulary is cut into blocks; a block has some states, and a state shows words of its block
alone.  One block more, the last, is the beginning of a sequence; it has one state and no words::

    p(x_1 .. x_n) = sum over h_1 .. h_n of prod_t T[h_t-1, h_t] O[h_t, x_t],   h_0 the beginning

Transitions between blocks that follow each other in the training text are small matrices, end to
end in one array.  Between all others they are ``leave[i] rows[group[i], j]``: what smoothing left
for the unseen, shared out by one of a few distributions over states.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from eigentext.base.fields import Ints, Pointers, Shares
from eigentext.base.ragged import pointers
from eigentext.base.records import Group, Record
from eigentext.base.types import Float64s, Int32s, Int64s, Numbers
from eigentext.sequences.hmm.parameters import Parameters
from eigentext.sequences.observations import Encoded


class Blocks(NamedTuple):
    """Which words and states belong together."""

    of_word: Int32s  # (V,) int32 the block of each word
    first: Int64s  # (B + 2,) block b has states ``first[b] : first[b + 1]``; B: the beginning
    emit: Int64s  # (V + 1,) where the emissions of a word are: one for each state of its block

    @classmethod
    def of(cls, of_word: Numbers, sizes: Numbers) -> Blocks:
        """From the block of every word and the number of states of every block.

        >>> Blocks.of(np.array([0, 1, 1]), np.array([2, 3])).first.tolist()
        [0, 2, 5, 6]
        """
        first = pointers([*np.asarray(sizes).tolist(), 1])
        return cls(np.asarray(of_word, np.int32), first, pointers(np.asarray(sizes)[of_word]))

    @property
    def sizes(self) -> Int64s:
        """(B + 1,) states of each block, the beginning last."""
        return np.diff(self.first)

    def states_of_emissions(self) -> Int64s:
        """(emit[-1],) the state of each emission."""
        sizes = np.diff(self.emit)
        within = np.arange(self.emit[-1]) - np.repeat(self.emit[:-1], sizes)
        return np.asarray(np.repeat(self.first[self.of_word], sizes) + within)

    @property
    def n_states(self) -> int:
        """Without the beginning."""
        return int(self.first[-2])


class BlockPairs(NamedTuple):
    """The pairs of blocks that follow each other, by the first and then the second block."""

    ptr: Int64s  # (B + 2,) pairs of block a are ``ptr[a] : ptr[a + 1]``; B is the beginning
    before: Int32s  # (P,) int32 the first block
    block: Int32s  # (P,) int32 the second block
    at: Int64s  # (P + 1,) where the matrix of a pair begins among all transitions
    next: Int64s  # (P + 1,) where its row begins in a table by (block, next state)

    @classmethod
    def seen(cls, data: Encoded, blocks: Blocks) -> BlockPairs:
        """Of a text without empty sequences."""
        n = len(blocks.first) - 2
        after = blocks.of_word[data.ids].astype(np.int64)
        before = np.concatenate([np.array([n], np.int64), after[:-1]])
        before[data.first[:-1]] = n
        keys = np.unique(before * n + after)
        return cls.of(keys // n, keys % n, blocks)

    @classmethod
    def of(cls, before: Int64s, after: Int64s, blocks: Blocks) -> BlockPairs:
        """Of pairs in order."""
        ptr = pointers(np.bincount(before, minlength=len(blocks.first) - 1))
        sizes = blocks.sizes
        at, rows = pointers(sizes[before] * sizes[after]), pointers(sizes[after])
        return cls(ptr, before.astype(np.int32), after.astype(np.int32), at, rows)


class Lower(NamedTuple):
    """Transitions that were never seen."""

    leave: Numbers  # (S + 1,) of each state
    group: Int32s  # (S + 1,)
    rows: Numbers  # (G, S) distributions over states


@dataclass(frozen=True, eq=False)
class BlockedParameters:
    """The tables of a model."""

    blocks: Blocks
    pairs: BlockPairs
    transition: Numbers  # (pairs.at[-1],) at the pairs that were seen
    emission: Numbers  # (blocks.emit[-1],) word by word
    lower: Lower  # for all other transitions

    @property
    def n_symbols(self) -> int:
        """V."""
        return len(self.blocks.of_word)

    @property
    def n_states(self) -> int:
        """S, without the beginning."""
        return self.blocks.n_states

    def rows(self, states: Int64s) -> Float64s:
        """(n, S) where each of these states leads; the beginning is state S."""
        first, lower = self.blocks.first, self.lower
        states = np.asarray(states, np.int64)
        rows = np.asarray(lower.leave[states, None] * lower.rows[lower.group[states]], np.float64)
        owner = np.searchsorted(first, states, side="right") - 1
        for row, state, a in zip(rows, states.tolist(), owner.tolist(), strict=True):
            for p in range(self.pairs.ptr[a], self.pairs.ptr[a + 1]):
                b = self.pairs.block[p]
                size = int(first[b + 1] - first[b])
                at = int(self.pairs.at[p]) + (state - int(first[a])) * size
                row[first[b] : first[b + 1]] = self.transition[at : at + size]
        return rows

    def shown(self, states: Float64s) -> Float64s:
        """(n, V) probabilities of words from those (n, S) of states."""
        table = np.zeros((len(states), self.n_symbols))
        for x, b in enumerate(self.blocks.of_word.tolist()):
            shown = self.emission[self.blocks.emit[x] : self.blocks.emit[x + 1]]
            table[:, x] = states[:, self.blocks.first[b] : self.blocks.first[b + 1]] @ shown
        return table

    def dense(self) -> Parameters:
        """The same model with all zeros written out: for few states."""
        S = self.n_states
        T = self.rows(np.arange(S + 1))
        O = self.shown(np.eye(S))  # noqa: E741
        T, O = (table / table.sum(axis=1, keepdims=True) for table in (T, O))  # noqa: E741
        return Parameters(T[S], T[:S], O)


def _of_file(
    blocks: SimpleNamespace,
    pairs: SimpleNamespace,
    transition: Numbers,
    emission: Numbers,
    lower: Lower,
) -> BlockedParameters:
    """The tables of a file, whose sizes come from one another: kernels trust them."""
    sizes = np.diff(blocks.first)
    if bool((sizes < 1).any()) or sizes[-1] != 1:
        raise ValueError("array 'first' has a block without states, or a beginning of several")
    if len(emission) != int(sizes[blocks.of_word].sum()):
        raise ValueError("array 'emission' does not fit the blocks of words")
    before = np.repeat(np.arange(len(sizes)), np.diff(pairs.ptr))
    if len(transition) != int((sizes[before] * sizes[pairs.block]).sum()):
        raise ValueError("array 'transition' does not fit the pairs of blocks")
    if bool((np.diff(pairs.block)[np.diff(before) == 0] <= 0).any()):
        raise ValueError("array 'block' does not rise")
    own_blocks = Blocks.of(blocks.of_word, sizes[:-1])
    own_pairs = BlockPairs.of(before, pairs.block.astype(np.int64), own_blocks)
    return BlockedParameters(own_blocks, own_pairs, transition, emission, lower)


_FLOAT = ("float32",)
PARAMETERS = Record(
    _of_file,
    blocks=Group(
        first=Pointers("blocks+1", "states+1"), of_word=Ints(("symbols",), ("int32",), 0, "blocks")
    ),
    pairs=Group(
        ptr=Pointers("blocks+1", "pairs"), block=Ints(("pairs",), ("int32",), 0, "blocks")
    ),
    transition=Shares(("transitions",), _FLOAT),
    emission=Shares(("emissions",), _FLOAT),
    lower=Record(
        Lower,
        leave=Shares(("states+1",), _FLOAT),
        rows=Shares(("groups", "states"), _FLOAT),
        group=Ints(("states+1",), ("int32",), 0, "groups"),
    ),
)
