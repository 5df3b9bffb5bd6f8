"""Valid parameters of a latent tree model, learned spectrally and then by EM.

1. Every observation is described by a CCA against its direction-marked parent and children
   (moments.py), at unit length, and k-means weighted by frequency puts it into a state.
2. Counts of states, smoothed, give ``pi, T, O``: never negative, each column sums to one.
3. A few EM iterations: upward and downward passes give the expected counts

       n(x, h) = sum over nodes showing x of p(h | tree),   n(h', h) likewise over edges

   and each table is made of counts plus fixed pseudo-counts.  The likelihood (with pseudo-counts:
   the penalised likelihood) never falls.  Trees are counted in fixed blocks, which the cores in
   use share out, and the blocks are added up in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from eigentext.base.cores import each, in_turn, row_blocks
from eigentext.base.em import iterate
from eigentext.base.progress import Progress
from eigentext.base.types import Bools, Float64s, Int32s, Int64s
from eigentext.dependency.latent.moments import treebank_dictionary
from eigentext.dependency.latent.observations import WordForest
from eigentext.dependency.settings import EDGES as EDGE_NAMES
from eigentext.errors import SettingsError
from eigentext.linalg.ties import number_alike, single_threaded, unit_rows

EDGES = {name: number for number, name in enumerate(EDGE_NAMES)}
N_CLASSES = (1, 2, 4, 4)
STRUCTURE = {"valence": 16, "distance": 11, "size": 7}  # kinds, and how many classes each has
_MOST_DIMENSIONS = 60  # of the CCA, however many states are asked for
_KAPPA = 5.0  # added to counts in the scaling of the CCA, so that rare words do not rule
_WORDS_OF_A_BLOCK = 8_000  # whose trees are counted together, by one thread
_ROWS_OF_A_BLOCK = 512  # of a table: they stay in the processor's cache
_LITTLE = 0.1  # of a count: what was never seen can still be shown


@dataclass(frozen=True)
class LatentSmoothing:
    """Pseudo-counts: ``emission`` per state, spread as the observations' shares (of a tag, where
    states belong to tags); ``transition`` per class and parent state, spread as the states'
    shares; ``root`` likewise; ``structure`` per state and kind.
    """

    emission: float = 10.0
    transition: float = 10.0
    root: float = 5.0
    structure: float = 5.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value < float("inf"):
                raise SettingsError(f"smoothing {name} must be 0 or more, not {value}")


class EncodedForest(NamedTuple):
    """A forest as the kernels take it."""

    ids: Int64s  # (channels, N) rows of the stacked emission tables, -1 missing
    lo: Int64s  # (N,) the first state that a node can have
    hi: Int64s  # (N,) one after the last
    heads: Int32s
    ptr: Int64s
    classes: Int64s  # (N,) of edges
    weights: Float64s  # (trees,) how often each tree counts
    starts: Int64s  # (channels + 1,) of tables in the stack: of observations, then of structure
    n_channels: int  # of observations
    n_classes: int

    @property
    def roots(self) -> Bools:
        """(N,) is it a root?"""
        return np.asarray(self.heads == 0)


class StateTables(NamedTuple):
    """The parameters of one model of k states, or (expected) counts in their shapes."""

    pi: Float64s  # (k,)
    T: Float64s  # (classes, k, k) [parent, child], rows of parameters sum to one
    rows: Float64s  # (R, k) emissions of all channels, end to end; columns of each sum to one

    @classmethod
    def zeros(cls, n_rows: int, n_classes: int, k: int) -> StateTables:
        """Tables of (expected) counts, none so far."""
        return cls(np.zeros(k), np.zeros((n_classes, k, k)), np.zeros((n_rows, k)))


@dataclass(frozen=True, eq=False)
class StateRanges:
    """Which states an observation of the first channel can have."""

    lo: Int64s  # (n + 1,) the first state of each observation, and of a missing one
    hi: Int64s  # (n + 1,) one after the last
    group: Int64s  # (k,) the tag of each state; 0 where all tags share them

    @classmethod
    def shared(cls, n: int, k: int) -> StateRanges:
        """Every observation can have every state."""
        return cls(np.zeros(n + 1, np.int64), np.full(n + 1, k), np.zeros(k, np.int64))

    @classmethod
    def by_tag(cls, tag_of: Int64s, per_tag: Sequence[int]) -> StateRanges:
        """Tag t has ``per_tag[t]`` states of its own; an unknown tag can have all."""
        ends = np.cumsum([0, *per_tag])
        tag = np.append(tag_of, -1)
        lo = np.where(tag >= 0, ends[tag], 0)
        hi = np.where(tag >= 0, ends[tag + 1], ends[-1])
        return cls(lo, hi, np.repeat(np.arange(len(per_tag)), per_tag))


def states_per_tag(forest: WordForest, tag_of: Int64s, k: int) -> list[int]:
    """k states shared out among the tags by the root of their frequency, at least one each."""
    shown = forest.shown[0]
    present = np.unique(shown[shown >= 0])
    n_tags = int(tag_of.max()) + 1
    types = np.bincount(tag_of[present][tag_of[present] >= 0], minlength=n_tags)
    if k < n_tags:
        raise SettingsError(f"{k} states by tag, but there are {n_tags} tags")
    if k > types.clip(min=1).sum():
        raise SettingsError(f"{k} states, but the trees show {len(present)} observations only")
    tags = np.where(shown >= 0, tag_of[shown], -1)
    times = np.bincount(tags[tags >= 0], forest.node_weights[tags >= 0], minlength=n_tags)
    weight = np.sqrt(times)
    n_states = np.ones(n_tags, np.int64)
    # by the root: a tag four times as frequent gets twice as many states
    for _ in range(k - n_tags):  # the next state goes where the weight per state is largest
        room = n_states < types
        n_states[np.argmax(np.where(room, weight / n_states, -1.0))] += 1
    return n_states.tolist()


def kinds_of_structure(structure: str) -> tuple[str, ...]:
    """The kinds named in a setting such as ``valence+distance``, in the house's order.

    >>> kinds_of_structure("size+valence"), kinds_of_structure("")
    (('valence', 'size'), ())
    """
    kinds = structure.split("+") if structure else []
    if not set(kinds) <= STRUCTURE.keys() or len(set(kinds)) < len(kinds):
        raise SettingsError(
            f"structure {structure!r}: expected {', '.join(STRUCTURE)}, or several joined by +"
        )
    return tuple(kind for kind in STRUCTURE if kind in kinds)


def table_starts(sizes: Sequence[int], structure: str) -> Int64s:
    """Where the emission table of each channel begins in the stack of them, and its end."""
    more = [STRUCTURE[kind] for kind in kinds_of_structure(structure)]
    return np.cumsum([0, *sizes, *more])


def encode_structure(
    forest: WordForest,
    sizes: Sequence[int],
    ranges: StateRanges,
    *,
    edges: str,
    structure: str = "",
) -> EncodedForest:
    """Numbers for the kernels; ``structure`` says what nodes show of the tree."""
    from eigentext.dependency.kernels.latent import forest_structure

    if edges not in EDGES:
        raise SettingsError(f"edges {edges!r}: expected {', '.join(EDGES)}")
    n = len(forest.heads)
    classes, shape = np.zeros(n, np.int64), np.zeros((3, n), np.int64)
    if not forest_structure(forest.heads, forest.ptr, EDGES[edges], classes, shape):
        raise ValueError("heads form a cycle")
    kinds = kinds_of_structure(structure)
    rows = [at for at, kind in enumerate(STRUCTURE) if kind in kinds]
    shown = np.concatenate([forest.shown.astype(np.int64), shape[rows]])
    starts = table_starts(sizes, structure)
    ids = np.where(shown >= 0, shown + starts[:-1, None], -1)
    return EncodedForest(
        np.ascontiguousarray(ids),
        ranges.lo[forest.shown[0]],
        ranges.hi[forest.shown[0]],
        forest.heads,
        forest.ptr,
        classes,
        forest.tree_weights,
        starts,
        len(sizes),
        N_CLASSES[EDGES[edges]],
    )


def spectral_states(
    forest: WordForest, size: int, ranges: StateRanges, *, seed: int = 0
) -> Int64s:
    """(n,) a state for each observation of the first channel: CCA rows, k-means by frequency."""
    k = len(ranges.group)
    shown = forest.shown[0]
    totals = np.bincount(shown[shown >= 0], forest.node_weights[shown >= 0], minlength=size)
    present = np.flatnonzero(totals)
    if k > len(present):
        raise SettingsError(f"{k} states, but the trees show {len(present)} observations only")
    state = ranges.lo[:size].copy()
    if k == 1:
        return state
    rank = max(1, min(k, len(present) - 1, _MOST_DIMENSIONS))
    dictionary = treebank_dictionary(forest, size, rank, kappa=_KAPPA, seed=seed)
    vectors = unit_rows(dictionary.U * np.asarray(dictionary.correlations))
    with single_threaded():
        for group in np.unique(ranges.group):
            states = np.flatnonzero(ranges.group == group)
            first, end = states[0], states[0] + len(states)
            rows = present[(ranges.lo[present] == first) & (ranges.hi[present] == end)]
            if len(states) > 1 and len(rows):
                state[rows] = first + _by_vectors(vectors[rows], totals[rows], len(states), seed)
    return state


def _by_vectors(vectors: Float64s, totals: Float64s, n_states: int, seed: int) -> Int64s:
    """(n,) states of observations by weighted k-means; without enough vectors, by frequency."""
    from sklearn.cluster import KMeans

    alike = number_alike(vectors, n_states)
    if alike is not None:
        # the same vectors stay together as far as every state can have its observations
        states = np.empty(len(alike), np.int64)
        states[np.lexsort((-totals, alike))] = np.arange(len(alike)) * n_states // len(alike)
        return states
    means = KMeans(n_states, n_init=4, max_iter=100, random_state=seed)
    return np.asarray(means.fit_predict(vectors, sample_weight=totals), np.int64)


def counts_of_states(encoded: EncodedForest, states: Int64s, k: int) -> StateTables:
    """Counts when every node has a known state, (N,)."""
    counts = StateTables.zeros(int(encoded.starts[-1]), encoded.n_classes, k)
    roots = encoded.roots
    times = np.repeat(encoded.weights, np.diff(encoded.ptr))
    np.add.at(counts.pi, states[roots], times[roots])
    # heads are numbers within a sentence; parent is the row in the whole forest
    start = np.repeat(encoded.ptr[:-1], np.diff(encoded.ptr))
    parent = start + encoded.heads - 1
    child = np.flatnonzero(~roots)
    edges = (encoded.classes[child], states[parent[child]], states[child])
    np.add.at(counts.T, edges, times[child])
    for ids in encoded.ids:
        ok = ids >= 0
        np.add.at(counts.rows, (ids[ok], states[ok]), times[ok])
    return counts


def estimate(
    counts: StateTables, encoded: EncodedForest, prior: StateTables, smoothing: LatentSmoothing
) -> StateTables:
    """Counts plus pseudo-counts, normalised; ``prior`` says how the pseudo-counts are spread."""
    pi = counts.pi + smoothing.root * prior.pi
    T = counts.T + smoothing.transition * prior.T
    rows = np.empty_like(counts.rows)
    starts = encoded.starts
    for at in range(len(starts) - 1):
        channel = slice(starts[at], starts[at + 1])
        strength = smoothing.emission if at < encoded.n_channels else smoothing.structure
        _fill_columns(counts.rows[channel], prior.rows[channel], strength, rows[channel])
    return StateTables(_to_one(pi), _rows_to_one(T), rows)


def _to_one(x: Float64s) -> Float64s:
    return np.asarray(x / x.sum())


def _rows_to_one(x: Float64s) -> Float64s:
    total = x.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(total > 0, x / np.where(total > 0, total, 1.0), 1.0 / x.shape[-1]))


def _columns_to_one(x: Float64s) -> Float64s:
    total = x.sum(axis=0)
    return np.asarray(np.where(total > 0, x / np.where(total > 0, total, 1.0), 1.0 / len(x)))


def _fill_columns(counts: Float64s, prior: Float64s, strength: float, out: Float64s) -> None:
    """``_columns_to_one(counts + strength * prior)`` of a large table, block by block."""
    blocks = row_blocks(len(out), _ROWS_OF_A_BLOCK)

    def add(block: slice) -> Float64s:
        np.multiply(prior[block], strength, out=out[block])
        out[block] += counts[block]
        return np.asarray(out[block].sum(axis=0))

    total = sum(each(add, blocks), np.zeros(out.shape[1]))
    shares = np.where(total > 0, 1.0 / np.where(total > 0, total, 1.0), 0.0)
    even = np.where(total > 0, 0.0, 1.0 / len(out))

    def divide(block: slice) -> None:
        out[block] *= shares
        out[block] += even

    each(divide, blocks)


def spread_of(counts: StateTables, starts: Int64s, ranges: StateRanges) -> StateTables:
    """How pseudo-counts are spread: as all states (of the same tag) together."""
    # What no state of the tag has done gets a little of what all states do, so that nothing that
    # the trees can show is impossible.
    k = len(counts.pi)
    same = (ranges.group[:, None] == np.arange(ranges.group.max() + 1)).astype(float)  # (k, tags)
    states = _to_one(counts.T.sum(axis=(0, 1)) + counts.pi + _LITTLE)
    pi = _to_one(counts.pi + _LITTLE * states)
    # transitions back off from the parent's state to its tag, then to all tags, then to all states
    by_tag = np.einsum("cab,at->ctb", counts.T, same)
    T = _rows_to_one(by_tag + _LITTLE * _rows_to_one(by_tag.sum(axis=1, keepdims=True) + states))
    rows = np.empty_like(counts.rows)
    for at in range(len(starts) - 1):
        channel = slice(starts[at], starts[at + 1])
        # of each observation how often a tag's states show it, all states of the tag alike
        share = counts.rows[channel] @ same
        if at == 0:  # a tag's states do not show the words of other tags
            n = starts[1]
            states_of = np.arange(k)[None]
            possible = (ranges.lo[:n, None] <= states_of) & (states_of < ranges.hi[:n, None])
            share += _LITTLE * (possible @ same > 0)
        else:
            share += _LITTLE
        rows[channel] = _columns_to_one(share) @ same.T
    return StateTables(pi, T[:, ranges.group, :], rows)


def softened(tables: StateTables, prior: StateTables, share: float) -> StateTables:
    """Every table mixed with the prior's; EM never leaves an assignment that is certain.

    >>> one, even = np.eye(2), np.full((2, 2), 0.5)
    >>> tables = StateTables(even[0], one[None], one)
    >>> softened(tables, tables._replace(T=even[None], rows=even), 0.2).rows
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """
    mixed = ((1 - share) * x + share * spread for x, spread in zip(tables, prior, strict=True))
    return StateTables(*mixed)


def expected_counts(
    encoded: EncodedForest, tables: StateTables, spare: list[Float64s] | None = None
) -> tuple[float, StateTables]:
    """Log likelihood and expected counts, over blocks of trees by the cores in use.

    ``spare``  tables (R, k) of nothing but 0 that are left from the last time, to be used again
    """
    from eigentext.dependency.kernels.latent import move_rows, posteriors_and_counts

    shape = len(tables.rows), encoded.n_classes, len(tables.pi)
    idle = [] if spare is None else spare
    no_posteriors = np.zeros((0, len(tables.pi)))

    def expect(block: EncodedForest) -> tuple[float, EncodedForest, StateTables]:
        try:
            rows = idle.pop()
        except IndexError:
            rows = np.zeros_like(tables.rows)
        part = StateTables.zeros(0, *shape[1:])._replace(rows=rows)
        return posteriors_and_counts(block, tables, no_posteriors, part), block, part

    counts, log_likelihood = StateTables.zeros(*shape), 0.0
    for value, block, part in in_turn(expect, _blocks(encoded)):
        log_likelihood += value
        counts.pi[:] += part.pi
        counts.T[:] += part.T
        move_rows(block, part.rows, counts.rows)
        idle.append(part.rows)
    return float(log_likelihood), counts


def _blocks(encoded: EncodedForest) -> list[EncodedForest]:
    """The forest in runs of whole trees, of about so many words each."""
    ptr = encoded.ptr
    number = (ptr[:-1] - ptr[0]) // _WORDS_OF_A_BLOCK
    first = np.unique(number, return_index=True)[1].tolist()
    return [
        encoded._replace(ptr=ptr[begin : end + 1], weights=encoded.weights[begin:end])
        for begin, end in pairwise([*first, len(ptr) - 1])
    ]


def run_em(
    encoded: EncodedForest,
    tables: StateTables,
    prior: StateTables,
    smoothing: LatentSmoothing,
    n_iter: int,
    *,
    progress: Progress | None = None,
) -> tuple[StateTables, list[float], StateTables | None]:
    """So many iterations; the log likelihood before each of them; the last expected counts."""
    last: StateTables | None = None
    spare: list[Float64s] = []

    def step(tables: StateTables) -> tuple[StateTables, float]:
        nonlocal last
        value, last = expected_counts(encoded, tables, spare)
        return estimate(last, encoded, prior, smoothing), value

    result = iterate(tables, step, n_iter=n_iter, progress=progress)
    return result.params, list(result.log_likelihoods), last
