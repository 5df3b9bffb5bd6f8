"""What a blocked hidden Markov model says about sequences: probabilities, states, what is next.

The matrices between the tokens of some sequences are gathered first, some millions of numbers at
a time; then the passes are those of learning.  A symbol that no reachable state can show has
surprisal inf, and for what follows all states of its block are alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.base.types import Float64s, Int32s, Int64s
from eigentext.sequences.blocked.parameters import BlockedParameters
from eigentext.sequences.hmm.batches import check_symbols
from eigentext.sequences.kernels import blocked as kernels
from eigentext.sequences.observations import Encoded

_CELLS = 20_000_000  # numbers of matrices that are gathered at once


def _parts(
    parameters: BlockedParameters, data: Encoded
) -> Iterator[tuple[slice, slice, kernels.BlockedText]]:
    """Some sequences at a time: which, which tokens, and the text with its matrices."""
    check_symbols(data, parameters.n_symbols)
    blocks, pairs = parameters.blocks, parameters.pairs
    sizes = blocks.sizes[blocks.of_word[data.ids]]
    before = np.concatenate([np.ones(1, np.int64), sizes[:-1]])[: len(sizes)]
    before[data.first[:-1][data.lengths > 0]] = 1
    cells = pointers(sizes * before)[data.first]  # before each sequence
    begin = 0
    while begin < len(data):
        end = int(np.searchsorted(cells, cells[begin] + _CELLS, side="right")) - 1
        end = min(max(end, begin + 1), len(data))
        part = data.part(begin, end)
        pair, at = np.empty(part.n_tokens, np.int64), np.empty(part.n_tokens, np.int64)
        kernels.find_pairs(part.ids, part.first, blocks, pairs, pair)
        T = np.empty(int(cells[end] - cells[begin]), parameters.transition.dtype)
        tables = (pairs, parameters.transition, parameters.lower)
        kernels.gather(part.ids, part.first, pair, blocks, *tables, at, T)
        longest = int(part.lengths.max(initial=0))
        alpha = np.zeros((longest + 1, int(blocks.sizes.max())), T.dtype)
        text = kernels.BlockedText(
            part.ids, part.first, blocks, at, T, parameters.emission, alpha, np.zeros(longest)
        )
        yield slice(begin, end), slice(int(data.first[begin]), int(data.first[end])), text
        begin = end


def surprisals(parameters: BlockedParameters, data: Encoded) -> Float64s:
    """(N,) ``-log p(x_t | x_1 .. x_t-1)``, natural logarithm."""
    values = np.zeros(data.n_tokens)
    for sequences, tokens, text in _parts(parameters, data):
        kernels.surprisals(text, np.arange(sequences.stop - sequences.start), values[tokens])
    return values


def viterbi(parameters: BlockedParameters, data: Encoded) -> Int32s:
    """(N,) the states of the most probable path of each sequence."""
    states = np.zeros(data.n_tokens, np.int32)
    for _, tokens, text in _parts(parameters, data):
        kernels.viterbi(text, np.zeros(text.alpha.shape), states[tokens])
    return states


def posteriors(parameters: BlockedParameters, data: Encoded) -> tuple[Float64s, Int64s]:
    """``p(h_t | x_1 .. x_n)`` for the states of the block of each token, end to end, and (N + 1,)
    where those of a token begin."""
    blocks = parameters.blocks
    ptr = pointers(blocks.sizes[blocks.of_word[data.ids]])
    values = np.zeros(int(ptr[-1]))
    for _, tokens, text in _parts(parameters, data):
        where = ptr[tokens.start : tokens.stop + 1]
        kernels.posteriors(text, values[where[0] : where[-1]], where - where[0])
    return values, ptr


def posterior_decode(parameters: BlockedParameters, data: Encoded) -> Int32s:
    """(N,) the best state of each token by itself."""
    values, ptr = posteriors(parameters, data)
    best = [int(np.argmax(values[a:b])) for a, b in pairwise(ptr)]
    blocks = parameters.blocks
    states = blocks.first[blocks.of_word[data.ids]] + np.array(best, np.int64)
    return states.astype(np.int32)


def filtered_last(parameters: BlockedParameters, data: Encoded) -> Float64s:
    """(S, most) ``p(h_n | x_1 .. x_n)`` for the states of the block of each last token; the
    beginning, 1, for an empty sequence."""
    most = int(parameters.blocks.sizes.max())
    out = np.zeros((len(data), most))
    for sequences, _, text in _parts(parameters, data):
        kernels.last_states(text, out[sequences])
    return out


def next_symbols(parameters: BlockedParameters, data: Encoded) -> Float64s:
    """(S, V) distribution of the symbol after each sequence; after an empty one, of the first."""
    blocks = parameters.blocks
    last = filtered_last(parameters, data)
    states = np.zeros((len(data), parameters.n_states))
    for s in range(len(data)):
        block = blocks.of_word[data[s][-1]] if len(data[s]) else len(blocks.first) - 2
        states_of_block = np.arange(blocks.first[block], blocks.first[block + 1])
        share = last[s, : len(states_of_block)] / last[s, : len(states_of_block)].sum()
        states[s] = share @ parameters.rows(states_of_block)  # p(h_n+1 | x)
    shown = parameters.shown(states)
    return np.asarray(shown / shown.sum(axis=1, keepdims=True))


def sample(parameters: BlockedParameters, n: int, length: int, seed: int = 0) -> list[list[int]]:
    """``n`` sequences of ``length`` symbols drawn from the model."""
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(n):
        state, words = parameters.n_states, []
        for _ in range(length):
            state = _draw(parameters.rows(np.array([state]))[0], rng.random())
            words.append(_word(parameters, state, rng.random()))
        drawn.append(words)
    return drawn


def _word(parameters: BlockedParameters, state: int, chance: float) -> int:
    blocks = parameters.blocks
    block = int(np.searchsorted(blocks.first, state, side="right")) - 1
    words = np.flatnonzero(blocks.of_word == block)
    shown = parameters.emission[blocks.emit[words] + state - blocks.first[block]]
    return int(words[_draw(np.asarray(shown, np.float64), chance)])


def _draw(weights: Float64s, chance: float) -> int:
    sums = np.cumsum(weights)
    return int(min(np.searchsorted(sums, chance * sums[-1], side="right"), len(sums) - 1))
