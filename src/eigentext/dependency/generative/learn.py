"""Learning the generative parser's hidden states from gold trees.

``cluster_states`` finds the states of each tag in two views of every word (what is below it and
what is above, or its left and its right dependents, as below).  Their counts are valid parameters
at once; ``fit_states`` goes on with EM.  ``smoothed`` turns (expected) counts into parameters:

    T(h' | h, d, q) = p(t' | h, d, q) p(h' | t', h, d)         t' the tag of h'
    p(t' | h, d, q)  <- p(t' | t, d, q) <- p(t' | t, d)      each step (n + C backoff) / (N + C)
    p(h' | t', h, d) <- p(h' | t', t, d) <- p(h' | t')
    go(h, d, q, l)   <- go(t, d, q, l)  <- go(t, d, q)
    p(x | h)         <- p(x | t)

Given the state of a word, the word itself, its dependents on the left, those on the right, and
what is above it are independent in the model.  So any two groups of these are two views whose
cross moments have no larger a rank than there are states:

    spectral   word, left, right   x   above
    automata   word, left          x   right, above

The second is the Hankel block of a head (Luque, Quattoni, Balle, Carreras 2012): the dependents of
a head make a string ``left ... head ... right``, a row of the block is a way in which the string
can come to the head, a column a way in which it can go on::

    H_t[l, r] = p(left = l, right = r | tag t) = sum_h p(h | t) p(l | h) p(r | h)

Strings are seen by their pieces, outwards from the head, with the mark of the end where they have
it: the nearest one, two and three, and the farthest one and two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.em import iterate
from eigentext.base.fields import Ints, Reals, Shares
from eigentext.base.records import stored
from eigentext.features.spectrum import feature_numbers, scaled_rows
from eigentext.features.states import kmeans_states, states_by_label
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from collections.abc import Callable

    from eigentext.base.progress import Progress
    from eigentext.base.types import Float64s, Int64s, UInt64s
    from eigentext.dependency.kernels.generative import Automaton
    from eigentext.features.spectrum import FeatureRows

    Features = UInt64s


_FIT_ROWS = 8_000  # k-means centres are fitted on so many words of a tag
_KAPPA = 50.0  # added to counts of features, so that rare ones do not rule


N_LENGTHS = 4  # words covered so far: up to 1, 2-3, 4-7, 8 and more


class Corpus(NamedTuple):
    """Gold trees end to end; sentence s is at ``ptr[s]:ptr[s + 1]``."""

    ptr: Int64s
    word: Int64s  # numbers of (word, tag) pairs
    tag: Int64s  # numbers of tags
    heads: Int64s  # 1.. within the sentence, 0 = root
    relation: Int64s  # numbers of relations, 0 where there is none
    tag_of: Int64s  # (words,) the tag of every (word, tag) pair
    kind_of: Int64s  # (tags,) the sibling class of a tag, 1 and up


def length_classes(longest: int) -> Int64s:
    """Class of every number of words up to ``longest``.

    >>> length_classes(9).tolist()
    [0, 0, 1, 1, 2, 2, 2, 2, 3, 3]
    """
    widths = np.maximum(np.arange(longest + 1), 1)
    return np.minimum(np.log2(widths).astype(np.int64), N_LENGTHS - 1)


class _Links(NamedTuple):
    """Places of words in the corpus, -1: there is none."""

    head: Int64s  # (N,)
    side: Int64s  # (N,) 1: the word is left of its head
    near: Int64s  # (2, N) nearest dependent, left and right
    far: Int64s  # (2, N) farthest
    previous: Int64s  # (N,) the sibling nearer to the head
    following: Int64s  # the one farther from it
    number: Int64s  # (2, N) of dependents on each side


def _links(corpus: Corpus) -> _Links:
    N = len(corpus.word)
    start = np.repeat(corpus.ptr[:-1], np.diff(corpus.ptr))
    head = np.where(corpus.heads > 0, start + corpus.heads - 1, -1)
    near = np.full((2, N), -1, np.int64)  # nearest child on each side
    far = np.full((2, N), -1, np.int64)
    previous = np.full(N, -1, np.int64)  # sibling nearer to the head, and farther from it
    following = np.full(N, -1, np.int64)
    number = np.zeros((2, N), np.int64)
    for right, outwards in ((1, range(N)), (0, range(N - 1, -1, -1))):
        for d in outwards:
            h = int(head[d])
            if h < 0 or (h < d) != right:
                continue
            if far[right, h] < 0:
                near[right, h] = d
            else:
                previous[d], following[far[right, h]] = far[right, h], d
            far[right, h] = d
            number[right, h] += 1
    side = (head > np.arange(N)).astype(np.int64)
    return _Links(head, side, near, far, previous, following, number)


class _Numbers(NamedTuple):
    """Numbers of words by their places; the last is that of no word."""

    tag: Int64s
    word: Int64s
    relation: Int64s

    @classmethod
    def of(cls, corpus: Corpus) -> _Numbers:
        return cls(
            np.append(corpus.tag, len(corpus.kind_of)),  # index -1: none
            np.append(corpus.word, len(corpus.tag_of)),
            np.append(corpus.relation, 0),
        )


def _rows(*columns: Int64s) -> Features:
    """(N, F) numbers of features with their template."""
    return np.stack([feature_numbers(k, x) for k, x in enumerate(columns)], axis=1)


def _above(corpus: Corpus, links: _Links, numbers: _Numbers) -> list[Int64s]:
    """What is outside of the words below a word."""
    head, side, previous = links.head, links.side, links.previous
    tag, word, relation = numbers
    grand = np.where(head >= 0, head[head], -1)
    distance = length_classes(int(np.diff(corpus.ptr).max(initial=1)))[
        np.where(head >= 0, np.abs(head - np.arange(len(head))), 0)
    ]
    K = len(corpus.kind_of) + 1
    return [
        tag[head] * 2 + side,
        word[head] * 2 + side,
        relation[:-1],
        tag[grand] * 2 + side,
        relation[head] * 2 + side,
        tag[previous],
        tag[links.following],
        side * 8 + distance,
        (tag[head] * K + tag[previous]) * 2 + side,
    ]


def _inside_outside(corpus: Corpus) -> tuple[Features, Features]:
    """What is below every word, and what is above it, (N, F) each."""
    links, numbers = _links(corpus), _Numbers.of(corpus)
    tag, word, relation = numbers
    near, far = links.near, links.far
    cap = np.minimum(links.number, 3)
    K = len(corpus.kind_of) + 1
    inside = _rows(
        word[:-1],
        cap[0] * 4 + cap[1],
        tag[near[0]],
        tag[near[1]],
        tag[far[0]],
        tag[far[1]],
        word[near[0]],
        word[near[1]],
        relation[near[0]],
        relation[near[1]],
        relation[far[0]],
        relation[far[1]],
        tag[near[0]] * K + tag[near[1]],
    )
    return inside, _rows(*_above(corpus, links, numbers))


def _pieces(links: _Links, symbol: Int64s, side: int) -> list[Int64s]:
    """Pieces of the strings of dependents on one side; -1 in a piece is the end of the string."""
    following, previous = (np.append(x, -1) for x in (links.following, links.previous))
    first = links.near[side]
    second = following[first]
    last = links.far[side]
    K = int(symbol.max()) + 1
    nearest_two = symbol[first] * K + symbol[second]
    return [
        symbol[first],
        nearest_two,
        nearest_two * K + symbol[following[second]],
        symbol[last],
        symbol[last] * K + symbol[previous[last]],
    ]


def _left_right(corpus: Corpus) -> tuple[Features, Features]:
    """The word with its left dependents, and its right dependents with what is above it."""
    links, numbers = _links(corpus), _Numbers.of(corpus)
    strings = [
        [x for symbol in (numbers.tag, numbers.relation) for x in _pieces(links, symbol, side)]
        for side in (0, 1)
    ]
    left = _rows(numbers.word[:-1], np.minimum(links.number[0], 3), *strings[0])
    right = _rows(np.minimum(links.number[1], 3), *strings[1], *_above(corpus, links, numbers))
    return left, right


VIEWS: dict[str, Callable[[Corpus], tuple[Features, Features]]] = {
    "spectral": _inside_outside,
    "automata": _left_right,
}


# ---------------------------------------------------------------- states and parameters


@dataclass(frozen=True)
class TreeSmoothing:
    """Strengths of the back-off steps, in counts."""

    tag: float = 20.0  # of p(t' | h, d, q) towards the head's tag, and again without q
    state: float = 20.0  # of p(h' | t', h, d) towards the head's tag
    go: float = 10.0  # of the chance of one more child
    emit: float = 5.0  # of p(x | h) towards p(x | t)


@dataclass(frozen=True)
class GenerativeParams:
    """The model: a state of tag t is one of ``first[t]`` to ``first[t] + m[t] - 1``."""

    first: Int64s = stored(Ints(("tags",), low=0))
    m: Int64s = stored(Ints(("tags",), low=1, below=10_000))
    # (2, Q, S, S) T[d, q, h, h'] = p(child state h' | head state h, side d, sibling q)
    T: Float64s = stored(Shares((2, "siblings", "states", "states")))
    # (2, Q, L, S) p(one more child | h, d, q, length class)
    go: Float64s = stored(Reals((2, "siblings", N_LENGTHS, "states"), low=0, high=1))
    root: Float64s = stored(Shares(("states",)))  # (S,) p(state of the sentence's root)
    # (words, M) p(word | h-th state of its tag); 0 beyond m
    E: Float64s = stored(Shares(("words", "most")))

    @cached_property
    def automaton(self) -> Automaton:
        """What heads do, as the kernels take it."""
        from eigentext.dependency.kernels.generative import Automaton

        return Automaton(self.T, self.go, 1.0 - self.go, self.root)

    def _holds(self) -> None:
        if not len(self.m):
            raise ValueError("strings 'tags' are none, expected some")
        if not np.array_equal(self.first, np.cumsum(self.m) - self.m):
            raise ValueError("array 'first' does not fit the states of the tags")
        if len(self.root) != self.m.sum() or self.E.shape[1] != self.m.max():
            raise ValueError(f"arrays 'root' and 'E' do not fit {self.m.sum()} states")


class TreeCounts(NamedTuple):
    """(Expected) counts in the shapes of :class:`GenerativeParams`; ``stop`` beside ``go``."""

    T: Float64s
    go: Float64s
    stop: Float64s
    root: Float64s
    E: Float64s


def _tables(corpus: Corpus, m: Int64s) -> tuple[Int64s, int, int, int, int]:
    first = np.concatenate([[0], np.cumsum(m)[:-1]]).astype(np.int64)
    return first, int(m.sum()), int(m.max()), int(corpus.kind_of.max()) + 1, len(corpus.tag_of)


def empty_counts(corpus: Corpus, m: Int64s) -> TreeCounts:
    """Counts of nothing, for so many states of each tag."""
    _, S, M, Q, V = _tables(corpus, m)
    shape = (2, Q, N_LENGTHS, S)
    return TreeCounts(
        np.zeros((2, Q, S, S)), np.zeros(shape), np.zeros(shape), np.zeros(S), np.zeros((V, M))
    )


def em_counts(corpus: Corpus, params: GenerativeParams) -> tuple[TreeCounts, float]:
    """Expected counts of all decisions given the trees, and the log likelihood."""
    from eigentext.dependency.kernels.generative_trees import TagStates, corpus_counts

    counts = empty_counts(corpus, params.m)
    tags = TagStates(params.first, params.m, corpus.kind_of)
    length = length_classes(int(np.diff(corpus.ptr).max(initial=1)))
    likelihood = corpus_counts(corpus, tags, length, params.E, params.automaton, counts)
    return counts, float(likelihood)


def count_states(corpus: Corpus, state: Int64s, m: Int64s) -> TreeCounts:
    """Counts when every word's state is known: parameters that allow only these, one E step."""
    first, S, M, Q, _ = _tables(corpus, m)
    # every word of the corpus becomes a word of its own, which only its state can say
    E = np.zeros((len(state), M))
    E[np.arange(len(state)), state] = 1.0
    of_tokens = corpus._replace(word=np.arange(len(state)), tag_of=corpus.tag)
    flat = np.full((2, Q, N_LENGTHS, S), 0.5)
    even = GenerativeParams(first, m, np.full((2, Q, S, S), 1 / S), flat, np.full(S, 1 / S), E)
    counts, _ = em_counts(of_tokens, even)
    by_word = np.zeros((len(corpus.tag_of), M))
    np.add.at(by_word, corpus.word, counts.E)
    return counts._replace(E=by_word)


def smoothed(corpus: Corpus, m: Int64s, counts: TreeCounts, c: TreeSmoothing) -> GenerativeParams:
    """Parameters from counts, see the module's docstring."""
    first, S, M, _, _ = _tables(corpus, m)
    n_tags = len(m)
    tag = np.repeat(np.arange(n_tags), m)  # of every state
    onehot = np.zeros((S, n_tags))
    onehot[np.arange(S), tag] = 1.0
    to_tag = counts.T @ onehot  # (2, Q, S, tags)
    base = to_tag.sum((0, 1, 2)) + counts.root @ onehot + 0.5
    base /= base.sum()

    def step(n: Float64s, backoff: Float64s, strength: float) -> Float64s:
        total = n.sum(-1, keepdims=True)
        return np.asarray((n + strength * backoff) / (total + strength))

    head_tag = np.einsum("dqst,su->dqut", to_tag, onehot)  # (2, Q, tags, tags)
    p = step(head_tag.sum(1), base, c.tag)
    p_tag = step(head_tag, p[:, None], c.tag)
    p_tag = step(to_tag, p_tag[:, :, tag], c.tag)  # (2, Q, S, tags)

    child = counts.T.sum(1)  # (2, S, S)
    by_state = child.sum((0, 1)) + counts.root + 0.1  # (S,)
    p_state = by_state / (onehot @ (by_state @ onehot))

    def within(n: Float64s, backoff: Float64s) -> Float64s:
        total = (n @ onehot)[..., tag]
        return np.asarray((n + c.state * backoff) / (total + c.state))

    of_tag = within(np.einsum("dsx,su->dux", child, onehot), p_state)
    of_state = within(child, of_tag[:, tag])  # (2, S, S)
    T = p_tag[..., tag] * of_state[:, None]

    def chance(go: Float64s, stop: Float64s, backoff: Float64s | float) -> Float64s:
        return np.asarray((go + c.go * backoff) / (go + stop + c.go))

    go_tag, stop_tag = counts.go @ onehot, counts.stop @ onehot  # (2, Q, L, tags)
    wide = chance(go_tag.sum((1, 2)), stop_tag.sum((1, 2)), 0.3)
    coarse = chance(go_tag.sum(2), stop_tag.sum(2), wide[:, None])
    fine = chance(go_tag, stop_tag, coarse[:, :, None])
    go = np.clip(chance(counts.go, counts.stop, fine[..., tag]), 1e-6, 1 - 1e-6)

    root = step(counts.root @ onehot, base, 1.0)[tag] * within(counts.root, p_state)
    by_word = counts.E.sum(1)
    plain = by_word / np.bincount(corpus.tag_of, by_word, n_tags)[corpus.tag_of]
    of_tag_states = np.zeros((n_tags, M))
    np.add.at(of_tag_states, corpus.tag_of, counts.E)
    E = (counts.E + c.emit * plain[:, None]) / (of_tag_states[corpus.tag_of] + c.emit)
    E[np.arange(M)[None, :] >= m[corpus.tag_of][:, None]] = 0.0
    return GenerativeParams(first, m, T, go, root, E)


def cluster_states(
    corpus: Corpus, states: int, *, per_state: int = 100, seed: int = 0, start: str = "spectral"
) -> tuple[Int64s, Int64s]:
    """A state for every word, (N,), and the number of states of every tag, (tags,).

    ``start`` is one of ``VIEWS``.
    """
    n_tags = len(corpus.kind_of)
    if states == 1:
        return np.zeros(len(corpus.word), np.int64), np.ones(n_tags, np.int64)
    first, second = VIEWS[start](corpus)

    def views(words: Int64s, rng: np.random.Generator) -> tuple[FeatureRows, FeatureRows]:
        return scaled_rows(first[words], _KAPPA), scaled_rows(second[words], _KAPPA)

    with single_threaded():
        clustering = states_by_label(
            corpus.tag,
            n_tags,
            views,
            partial(kmeans_states, fit_rows=_FIT_ROWS),
            most_states=states,
            per_state=per_state,
            seed=seed,
            leave_out=1,  # the constant direction: all features are counts
        )
    return clustering.state, clustering.m


def fit_states(
    corpus: Corpus,
    n_states: int,
    *,
    n_iter: int = 6,
    per_state: int = 100,
    smoothing: TreeSmoothing | None = None,
    seed: int = 0,
    start: str = "spectral",
    more: Callable[[TreeCounts], TreeCounts] = lambda counts: counts,
    progress: Progress | None = None,
) -> tuple[GenerativeParams, list[float]]:
    """Parameters and the log likelihood before each EM iteration.

    ``start`` is one of ``VIEWS``; ``more`` adds to counts what is known besides the trees.
    """
    smoothing = smoothing or TreeSmoothing()
    state, m = cluster_states(corpus, n_states, per_state=per_state, seed=seed, start=start)
    params = smoothed(corpus, m, more(count_states(corpus, state, m)), smoothing)

    def step(params: GenerativeParams) -> tuple[GenerativeParams, float]:
        counts, log_likelihood = em_counts(corpus, params)
        return smoothed(corpus, m, more(counts), smoothing), log_likelihood

    # with one state a tag nothing is hidden
    n_iter = n_iter if int(m.max()) > 1 else 0
    result = iterate(params, step, n_iter=n_iter, progress=progress)
    return result.params, list(result.log_likelihoods)
