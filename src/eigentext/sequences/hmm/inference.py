"""What valid parameters say about sequences: probabilities, states, what comes next.

Every function takes :class:`Parameters` and :class:`Encoded`; tables have one row per token (N)
or per sequence (S), in the order of the data.  All of it is O(N k^2), by the compiled passes of
kernels/forward_backward.py, in bounded room besides the answer itself.

A symbol that no reachable state can show makes the sequence impossible: its log likelihood is
-inf and that token's surprisal inf.  For what follows, and for states, the token is passed over as
if it had not been seen, so that every row of states is a distribution.
"""

from __future__ import annotations

import numpy as np

from eigentext.base.types import Float64s, Int32s
from eigentext.errors import SettingsError
from eigentext.sequences.hmm.batches import Machine, check_symbols
from eigentext.sequences.hmm.parameters import Parameters
from eigentext.sequences.observations import Encoded

_SEGMENT = 4096  # tokens whose back pointers are kept at once
_DRAWN_AT_ONCE = 2_000_000


def _compact(parameters: Parameters, data: Encoded) -> tuple[Encoded, Float64s]:
    """The data with the rows (V, k) of its symbols; of those that occur alone if they are few."""
    n_symbols = parameters.n_symbols
    check_symbols(data, n_symbols)
    if not 0 < data.n_tokens < n_symbols // 4:
        return data, np.ascontiguousarray(parameters.emission.T)
    used, ids = np.unique(data.ids, return_inverse=True)
    rows = np.ascontiguousarray(parameters.emission[:, used].T)  # (used symbols, k)
    return Encoded(ids.astype(np.int32), data.first), rows


def _machine(parameters: Parameters, data: Encoded) -> Machine:
    data, rows = _compact(parameters, data)
    machine = Machine(data, parameters.n_states, len(rows))
    machine.set(parameters.initial, parameters.transition, rows, precision="double")
    return machine


def surprisals(parameters: Parameters, data: Encoded) -> Float64s:
    """(N,) ``-log p(x_t | x_1 .. x_t-1)``, natural logarithm.

    >>> coin = Parameters([1.0], [[1.0]], [[0.5, 0.5]])
    >>> surprisals(coin, Encoded.of([[0, 1]])).round(3).tolist()
    [0.693, 0.693]
    """
    values = np.zeros(data.n_tokens)
    _machine(parameters, data).go_forward(values)
    return values


def log_likelihoods(parameters: Parameters, data: Encoded) -> Float64s:
    """(S,) ``log p(x_1 .. x_n)`` of each sequence; 0 for an empty one.

    >>> coin = Parameters([1.0], [[1.0]], [[0.5, 0.5]])
    >>> log_likelihoods(coin, Encoded.of([[0, 1], []])).round(3).tolist()
    [-1.386, 0.0]
    """
    return data.sums(-surprisals(parameters, data))


def filtered(parameters: Parameters, data: Encoded) -> Float64s:
    """(N, k) ``p(h_t | x_1 .. x_t)``.

    >>> sure = Parameters([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]])
    >>> filtered(sure, Encoded.of([[0, 1]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    posteriors = np.zeros((data.n_tokens, parameters.n_states))
    _machine(parameters, data).go_forward(np.zeros(data.n_tokens), filtered=posteriors)
    return posteriors


def smoothed(parameters: Parameters, data: Encoded) -> Float64s:
    """(N, k) ``p(h_t | x_1 .. x_n)``.

    >>> chain = Parameters([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [1.0, 0.0]])
    >>> smoothed(chain, Encoded.of([[0, 1]])).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    posteriors = np.zeros((data.n_tokens, parameters.n_states))
    _machine(parameters, data).expect(smoothed=posteriors)
    return posteriors


def posterior_decode(parameters: Parameters, data: Encoded) -> Int32s:
    """(N,) the state of highest ``p(h_t | x_1 .. x_n)`` for each token by itself.

    >>> sure = Parameters([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]])
    >>> posterior_decode(sure, Encoded.of([[0, 1]])).tolist()
    [0, 1]
    """
    states = np.zeros(data.n_tokens, np.int32)
    _machine(parameters, data).expect(best=states)
    return states


def viterbi(parameters: Parameters, data: Encoded) -> Int32s:
    """(N,) the states of the most probable path of each sequence.

    >>> sure = Parameters([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]])
    >>> viterbi(sure, Encoded.of([[0, 1], [1]])).tolist()
    [0, 1, 1]
    """
    from eigentext.sequences.kernels.forward_backward import viterbi as compiled

    data, rows = _compact(parameters, data)
    with np.errstate(divide="ignore"):
        pi, T = np.log(parameters.initial), np.log(parameters.transition)
        E = np.log(rows)
    states = np.zeros(data.n_tokens, np.int32)
    compiled(data.ids, data.first, _SEGMENT, pi, T, E, states)
    return states


def next_symbols(parameters: Parameters, data: Encoded) -> Float64s:
    """(S, V) distribution of the symbol after each sequence; after an empty one, of the first.

    >>> turns = Parameters([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    >>> next_symbols(turns, Encoded.of([[], [0], [0, 1]])).tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    """
    last = np.zeros((len(data), parameters.n_states))
    _machine(parameters, data).go_forward(np.zeros(data.n_tokens), last=last)
    states = last @ parameters.transition  # p(h_n+1 | x_1 .. x_n)
    states[data.lengths == 0] = parameters.initial
    return np.asarray(states @ parameters.emission)


def sample_states(
    parameters: Parameters, n: int, length: int, seed: int = 0
) -> tuple[Encoded, Int32s]:
    """``n`` sequences of ``length`` symbols drawn from the model, and the states (N,) behind them.

    >>> turns = Parameters([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    >>> drawn, states = sample_states(turns, 2, 3)
    >>> drawn.ids.tolist(), states.tolist()
    ([0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 1, 0])
    """
    from eigentext.sequences.kernels.forward_backward import draw

    if n < 0 or length < 0 or seed < 0:
        raise SettingsError(f"n {n}, length {length}, seed {seed}: expected 0 or more")
    rng = np.random.default_rng(seed)
    pi, T = np.cumsum(parameters.initial), np.cumsum(parameters.transition, axis=1)
    emission = np.cumsum(parameters.emission, axis=1)
    ids, states = np.empty((n, length), np.int32), np.empty((n, length), np.int32)
    block = max(1, _DRAWN_AT_ONCE // max(length, 1))
    for begin in range(0, n, block):
        part = slice(begin, min(begin + block, n))
        chances = rng.random((part.stop - part.start, length, 2))
        draw(chances, pi, T, emission, ids[part], states[part])
    first = np.arange(n + 1, dtype=np.int64) * length
    return Encoded(ids.reshape(-1), first), states.reshape(-1)


def sample(parameters: Parameters, n: int, length: int, seed: int = 0) -> Encoded:
    """``n`` sequences of ``length`` symbols drawn from the model.

    >>> sample(Parameters([1.0], [[1.0]], [[0.0, 1.0]]), 1, 3).ids.tolist()
    [1, 1, 1]
    """
    return sample_states(parameters, n, length, seed)[0]
