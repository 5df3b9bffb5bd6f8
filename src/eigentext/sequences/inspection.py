"""What a model's states are about, how many of them a text supports, and simple rivals."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, isfinite
from typing import NamedTuple

import numpy as np

from eigentext.base.types import Float64s, Int32s, Int64s
from eigentext.errors import DataError, RankError
from eigentext.sequences.hmm.parameters import Parameters
from eigentext.sequences.observations import Encoded, Symbols
from eigentext.sequences.tagger.model import LatentTagger

_PLACES = 50  # tokens of a sequence that shares are taken over


class StateView(NamedTuple):
    """One state."""

    state: int
    share: float  # of the tokens
    words: list[tuple[str, float]]  # p(word | state)
    after: list[tuple[int, float]]  # p(next state | state)


class TextSpectrum(NamedTuple):
    """How many directions the pairs of neighbours have."""

    values: list[float]  # singular values, falling
    shuffled: list[float]  # of the same tokens in random order
    suggested: int  # how many of the former lie above the latter


def shares(parameters: Parameters) -> Float64s:
    """(k,) share of each state among the first 50 tokens of a sequence.

    >>> from eigentext.sequences import Parameters
    >>> shares(Parameters([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], [[1.0], [1.0]])).tolist()
    [0.5, 0.5]
    """
    now = parameters.initial
    total = np.zeros_like(now)
    for _ in range(_PLACES):
        total = total + now
        now = now @ parameters.transition
    return np.asarray(total / total.sum())


def states_of(parameters: Parameters, symbols: Symbols, *, top: int = 10) -> list[StateView]:
    """Every state, the most frequent first.

    >>> from eigentext.sequences import Parameters, Symbols
    >>> sure = Parameters([1.0, 0.0], [[0.2, 0.8], [0.0, 1.0]], [[1.0, 0.0], [0.25, 0.75]])
    >>> states_of(sure, Symbols(("a", "<unk>"), [4, 0]), top=1)[0].words
    [('<unk>', 0.75)]
    """
    share = shares(parameters)
    return [
        StateView(
            i,
            float(share[i]),
            [(symbols.names[x], p) for x, p in _largest(parameters.emission[i], top)],
            _largest(parameters.transition[i], top),
        )
        for i in np.argsort(-share, kind="stable").tolist()
    ]


def graph_of(parameters: Parameters, symbols: Symbols, *, words: int = 2, title: str = "") -> str:
    """Where the states lead, as SVG: each state by its number and its likeliest words."""
    views = sorted(states_of(parameters, symbols, top=max(words, 1)))
    return _graph(parameters.transition, views, [str(v.state) for v in views], words, title)


def graph_of_tags(tagger: LatentTagger, *, title: str = "") -> str:
    """The same for the tags of a latent tagger."""
    views = sorted(tags_of(tagger, top=2))
    return _graph(_tag_transitions(tagger)[:, :-1], views, tagger.tags_, 2, title)


def _graph(
    transition: Float64s, views: Sequence[StateView], names: Sequence[str], words: int, title: str
) -> str:
    from eigentext.drawing.state_graph import state_graph

    labels = [
        f"{name}: {' '.join(word for word, _ in view.words[:words])}"
        for name, view in zip(names, views, strict=True)
    ]
    return state_graph(transition, labels, shares=[view.share for view in views], title=title)


def tags_of(tagger: LatentTagger, *, top: int = 10) -> list[StateView]:
    """Every tag, the most frequent first; its number is its place in the tagger's ``tags_``.

    Shares and p(word | tag) are those of training; of several models p(next | tag) is the mean.

    >>> from eigentext.sequences import LatentTagger
    >>> tagger = LatentTagger(1).fit([["a", "cat"]] * 3 + [["a", "dog"]], [["D", "N"]] * 4)
    >>> view = tags_of(tagger)[1]
    >>> tagger.tags_[view.state], view.words
    ('N', [('cat', 0.75), ('dog', 0.25)])
    """
    words_known = tagger.words_
    of_word = np.repeat(np.arange(len(words_known.words)), np.diff(words_known.word_ptr))
    order = np.argsort(words_known.word_tag, kind="stable")  # tag by tag, words in their order
    ends = np.cumsum(np.bincount(words_known.word_tag, minlength=len(words_known.names)))
    p_next = _tag_transitions(tagger)[:, :-1]
    views = []
    for tag in np.argsort(-words_known.p_tag, kind="stable").tolist():
        cells = order[ends[tag - 1] if tag else 0 : ends[tag]]
        p = words_known.word_n[cells] / words_known.word_n[cells].sum()
        words = [(words_known.words[of_word[cells[x]]], share) for x, share in _largest(p, top)]
        views.append(
            StateView(tag, float(words_known.p_tag[tag]), words, _largest(p_next[tag], top))
        )
    return views


def _tag_transitions(tagger: LatentTagger) -> Float64s:
    tagger.check_fitted()
    return np.asarray(np.mean([chain.tag_transitions() for chain in tagger.chains_], axis=0))


def perplexity(log_likelihood: float, n_tokens: int) -> float | None:
    """Of a text with this log likelihood; None where it is empty or impossible.

    >>> perplexity(-4 * np.log(2.0), 4)
    2.0
    """
    if not n_tokens or not isfinite(log_likelihood):
        return None
    return exp(-log_likelihood / n_tokens)


def _largest(row: Float64s, top: int) -> list[tuple[int, float]]:
    """The largest positive numbers with their places, largest first, ties by place."""
    from eigentext.words.embeddings.vectors import largest

    positive = np.flatnonzero(row > 0)
    return [(int(x), float(row[x])) for x in positive[largest(row[positive], top)]]


def spectrum_of(
    data: Encoded, n_symbols: int, *, most: int = 50, kappa: float = 200.0, seed: int = 0
) -> TextSpectrum:
    """Singular values of the CCA-scaled pairs of neighbours, at most so many, and a suggested k.

    Beside them those of the same tokens in random order: a value above these is not chance, and
    the number of such values is the suggestion.

    >>> text = Encoded.of([[0, 1] * 10, [1, 0] * 10])
    >>> spectrum_of(text, 2, kappa=0).suggested
    2
    """
    if not (data.lengths > 1).any():
        raise DataError("sequences", None, "no two tokens in a row: there is no spectrum")
    values = _singular_values(data, n_symbols, most, kappa, seed)
    mixed = np.random.default_rng(seed).permutation(data.ids)
    shuffled = _singular_values(Encoded(mixed, data.first), n_symbols, most, kappa, seed)
    # the first value is that of the frequencies, in any order
    chance = shuffled[1] if len(shuffled) > 1 else 0.0
    suggested = 1 + sum(value > chance for value in values[1:])
    return TextSpectrum(values, shuffled, suggested)


def _singular_values(
    data: Encoded, n_symbols: int, most: int, kappa: float, seed: int
) -> list[float]:
    from eigentext.sequences.spectral.moments import Moments, dictionary

    moments = Moments.of(data, n_symbols)
    rank = min(most, n_symbols)
    while True:
        try:
            return list(map(float, dictionary(moments, rank, "cca", kappa=kappa, seed=seed).S))
        except RankError as error:
            if not 0 < error.got < rank:
                raise
            rank = error.got


def kneser_ney_surprisals(train: Encoded, test: Encoded, n_symbols: int) -> Float64s:
    """(N,) ``-log p(x_t | x_t-1)`` of the tokens of ``test``; counts are those of ``train``.

    >>> text = Encoded.of([[0, 1, 0, 1]])
    >>> values = kneser_ney_surprisals(text, Encoded.of([[0, 1, 1]]), 2)
    >>> (values[1] < values[2]).item()
    True
    """
    from scipy.sparse import coo_array

    from eigentext.words.lm.kneser_ney import KneserNeyBigram

    before = _before(train.ids, train, n_symbols)
    shape = (n_symbols + 1,) * 2
    pairs = coo_array((np.ones(len(before), np.int64), (before, train.ids)), shape=shape)
    model = KneserNeyBigram(pairs.tocsr())
    before = _before(test.ids, test, n_symbols)
    probabilities = model.probabilities(before, test.ids.astype(np.int64))
    return np.asarray(-np.log(probabilities))


def kneser_ney_trigram_surprisals(train: Encoded, test: Encoded, n_symbols: int) -> Float64s:
    """(N,) ``-log p(x_t | x_t-2 x_t-1)`` of an interpolated modified Kneser-Ney trigram."""
    from eigentext.words.lm.kneser_ney import KneserNeyTrigram

    def before(data: Encoded) -> Int64s:
        """(N, 2) the two symbols before each, the nearer one last."""
        near = _before(data.ids, data, n_symbols)
        return np.stack([_before(near, data, n_symbols), near], axis=1)

    model = KneserNeyTrigram(before(train), train.ids, n_symbols)
    return np.asarray(-np.log(model.probabilities(before(test), test.ids)))


def _before(values: Int32s | Int64s, data: Encoded, beginning: int) -> Int64s:
    """(N,) the value of the token before each; ``beginning`` at the first of a sequence."""
    before = np.concatenate([np.zeros(1, np.int64), values[:-1]])[: data.n_tokens]
    before[data.first[:-1][data.lengths > 0]] = beginning
    return before
