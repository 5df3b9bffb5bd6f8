"""The start: a model of few states, learned from moments, is lifted to many.

Blocks of words with states of their own are those of Chiu and Rush 2020; a block for each word is
the cloned model of Dedieu et al. 2019.

1. A dense model of G states (:func:`~eigentext.sequences.spectral.recover.spectral_start`: CCA,
   clusters, EM in small steps) says how often each block is shown by each of its states.
2. :func:`choose_states`: a state of the large model is a pair (block, state of the small one), its
   *group*.  The pairs with the highest expected counts are kept, for each block at least one.
3. :func:`lifted`: parameters of the large model that say what the small one says::

       T[(a, g), (b, h)] = T_small[g, h] sum_{x in b} O_small[h, x]
       O[(b, h), x]      = O_small[h, x] / sum_{y in b} O_small[h, y]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.sequences.blocked.parameters import BlockedParameters, BlockPairs, Blocks, Lower
from eigentext.sequences.inspection import shares
from eigentext.sequences.kernels import blocked as kernels

if TYPE_CHECKING:
    from eigentext.base.types import Float64s, Int32s, Int64s
    from eigentext.sequences.hmm.parameters import Parameters

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
    total = joint.sum(axis=1, keepdims=True)
    expected = np.maximum(counts, 1e-3)[:, None] * joint / np.where(total > 0, total, 1)
    by_block = np.zeros((n_blocks, G))
    np.add.at(by_block, of_word, expected)
    order = np.argsort(-by_block, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(G)[None, :], axis=1)
    score = np.where(rank < _MOST, by_block, -1.0)
    score[rank == 0] = np.inf
    wanted = min(n_states, int((score > 0).sum()))
    kept = np.sort(np.argsort(-score.ravel(), kind="stable")[:wanted])
    sizes = np.bincount(kept // G, minlength=n_blocks)
    return Chosen(Blocks.of(of_word, sizes), np.append(kept % G, G).astype(np.int32))


def lifted(small: Parameters, chosen: Chosen, pairs: BlockPairs, dtype: Any) -> BlockedParameters:
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
