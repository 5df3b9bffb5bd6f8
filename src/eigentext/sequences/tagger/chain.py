"""A latent-variable grammar over skeletal trees as a chain, and what it says of a sentence.

1. :meth:`Chain.emission` is the tag's score of :class:`WordTags` times P(state | tag, word) over
   P(state | tag) of the grammar's own lexicon: which tags fit a word is the same for every model.
2. :class:`TagChain` is the Markov chain over tags nearest to p(tags | words) with states summed
   out, q(t) = q(t1) prod_i q(t_i+1 | t_i); with one state a tag it is p(tags | words) itself.  Of
   several models it is the geometric mean of their chains, which is a chain again.  From it come
   the tag with the highest share at each token, and the best sequences, exact for the chain.

The moments estimator's numbers are signed: Z may be negative, and so may posteriors; ``negative``
counts them, and in a TagChain they count as none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.base.remembering import Remembered
from eigentext.constituency.lexicon_moments import MomentLexicon
from eigentext.sequences.tagger.trees import label_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Float64s, Int64s, Numbers
    from eigentext.constituency.params import LatentParams
    from eigentext.sequences.kernels.tag_states import Cells
    from eigentext.sequences.tagger.words import WordTags

_MOST_WORDS = 50_000  # whose scores are remembered


class TagCandidates(NamedTuple):
    """The tags that each token may have: ``tags[ptr[i]:ptr[i + 1]]``, and the tags' scores."""

    ptr: Int64s
    tags: Int64s
    scores: Float64s

    @property
    def pair_ptr(self) -> Int64s:
        """(n,) where the pairs of each token with the next begin; the last is their number."""
        width = np.diff(self.ptr)
        return pointers(width[:-1] * width[1:])

    def best_of_each(self, values: Float64s) -> Int64s:
        """(n,) the candidate with the highest value at each token."""
        return np.array([a + int(values[a:b].argmax()) for a, b in pairwise(self.ptr.tolist())])

    @classmethod
    def of(cls, tokens: Sequence[str], words: WordTags) -> TagCandidates:
        """What the words of a sentence may be."""
        scored = [words.scores(token, first=at == 0) for at, token in enumerate(tokens)]
        ptr = pointers([len(scores.tags) for scores in scored])
        tags = np.concatenate([scores.tags for scores in scored])
        return cls(ptr, tags, np.concatenate([scores.scores for scores in scored]))

    @classmethod
    def tagged(cls, tokens: Sequence[str], tags: Sequence[int], words: WordTags) -> TagCandidates:
        """One tag for each word."""
        scores = [
            words.score_of(token, tag, first=at == 0)
            for at, (token, tag) in enumerate(zip(tokens, tags, strict=True))
        ]
        numbers = np.asarray(tags, dtype=np.int64)
        return cls(np.arange(len(tokens) + 1, dtype=np.int64), numbers, np.array(scores))


class Posteriors(NamedTuple):
    """Of candidates and of neighbouring pairs of them."""

    single: Float64s
    pairs: Float64s
    log_z: float  # log |Z|, which is p(words) up to the words' constant
    sign: int
    negative: float  # share of posteriors below 0


class TagTransitions(NamedTuple):
    """One model as the sweeps take it; T tags."""

    m: Int64s  # (T,) chain states
    m_word: Int64s  # (T,) word states
    tensor: Numbers  # tensors (m_a, m_word_a, m_b) end to end
    at: Int64s  # (T, T) where each begins, or -1
    end: Float64s  # the same (m_a, m_word_a) for the end of a sentence
    end_at: Int64s
    keep: Float64s  # (T,) weight of the tensor
    any_state: Float64s  # "any state" as a column
    mean: Float64s  # and as a row of chain states
    mean_word: Float64s  # and as a row of word states
    root: Float64s  # weights of the first token's chain states
    p_next: Float64s  # (T + 1,) shares of tags and of the end
    state_ptr: Int64s  # chain states of tag t begin at ``state_ptr[t]``
    word_ptr: Int64s  # and its word states here


@dataclass(frozen=True, eq=False)
class Chain:
    """One model over tags, and what it knows of words.

    ``k_next`` of :meth:`of` is the weight of a tag's share in counts: with one state a tag,
    p(b | a) = (c(a, b) + k_next p_next(b)) / (c(a) + k_next).
    """

    params: LatentParams
    words: WordTags
    labels: tuple[str, ...]
    arrays: TagTransitions
    _known: Remembered[tuple[str, bool], Float64s] = field(
        default_factory=lambda: Remembered(_MOST_WORDS), init=False, repr=False
    )

    @classmethod
    def of(
        cls,
        params: LatentParams,
        words: WordTags,
        labels: Sequence[str],
        n_sentences: int,
        k_next: float,
    ) -> Chain:
        """From the parameters over skeletal trees."""
        n_tags = len(words.names)
        over_word, spine, end_label = label_places(labels, n_tags)
        tag_of = {label: tag for tag, label in enumerate(spine.tolist())}
        m, m_word = params.m[spine], params.m[over_word]
        at = np.full((n_tags, n_tags), -1)
        end_at = np.full(n_tags, -1)
        end: list[Float64s] = []
        e_end = _of_end(params, end_label)
        rules = zip(params.rule_ptr[:-1].tolist(), params.rules.tolist(), strict=True)
        for start, (a, _, c) in rules:
            tag = tag_of[a]
            if c in tag_of:
                at[tag, tag_of[c]] = start
                continue
            size = int(m[tag] * m_word[tag])
            whole = params.tensor[start : start + size * len(e_end)]  # (m_a m_word, m_end)
            end_at[tag] = sum(map(len, end))
            end.append(whole.reshape(size, -1).astype(float) @ e_end)
        root = np.concatenate(
            [params.root[params.label_ptr[a] : params.label_ptr[a + 1]] for a in spine.tolist()]
        )
        if isinstance(params.lexicon, MomentLexicon):
            any_state, mean_word = _first(m), _first(m_word)
            mean = any_state
        else:
            any_state, mean_word = np.ones(int(m.sum())), _state_shares(params, over_word)
            mean = _chain_shares(params, m, m_word, at, root)
        n_tag = words.p_tag * words.n_tokens
        p_next = np.append(n_tag, n_sentences) / (n_tag.sum() + n_sentences)
        drawn = k_next * np.repeat(words.p_tag, m) * mean  # as if k_next sentences began anew
        root = (n_sentences * root + drawn) / (n_sentences + k_next)
        keep = n_tag / (n_tag + k_next)
        arrays = TagTransitions(
            m, m_word, params.tensor, at, np.concatenate([*end, np.empty(0)]), end_at,
            keep, any_state, mean, mean_word, root, p_next, pointers(m), pointers(m_word),
        )  # fmt: skip
        return cls(params, words, tuple(labels), arrays)

    @cached_property
    def _lexicon_tags(self) -> Int64s:
        """(T,) place of each tag in the grammar's lexicon."""
        over_word, _, _ = label_places(self.labels, len(self.words.names))
        return np.searchsorted(self.params.lexicon.tags, over_word)

    @cached_property
    def _lexicon_places(self) -> Int64s:
        """(sum of m_word,) places of the word states in the lexicon's vectors."""
        first = self.params.lexicon.tag_ptr[self._lexicon_tags]
        ptr, m_word = self.arrays.word_ptr, self.arrays.m_word
        return np.arange(int(ptr[-1])) + np.repeat(first - ptr[:-1], m_word)

    def tag_transitions(self) -> Float64s:
        """(T, T + 1) p(next tag | tag), words and states summed out; the end is the last column.

        The moments' numbers are signed: what is negative counts as 0.
        """
        c = self.arrays
        n, ptr, word_ptr = len(c.m), c.state_ptr, c.word_ptr
        moments = isinstance(self.params.lexicon, MomentLexicon)
        any_word = _first(c.m_word) if moments else np.ones(int(word_ptr[-1]))
        p = np.zeros((n, n + 1))
        for a in range(n):
            mean = c.mean[ptr[a] : ptr[a + 1]]
            word = any_word[word_ptr[a] : word_ptr[a + 1]]
            before = np.outer(mean, word).ravel()  # weights of (h1, h2)
            for b in np.flatnonzero(c.at[a] >= 0).tolist():
                start, size = c.at[a, b], len(before) * int(c.m[b])
                tensor = c.tensor[start : start + size].reshape(len(before), -1)
                p[a, b] = before @ tensor @ c.any_state[ptr[b] : ptr[b + 1]]
            if c.end_at[a] >= 0:
                p[a, n] = before @ c.end[c.end_at[a] : c.end_at[a] + len(before)]
        p = c.keep[:, None] * np.maximum(p, 0.0) + (1 - c.keep[:, None]) * c.p_next
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    # -- words ------------------------------------------------------------------------------------

    def word_states(self, word: str, *, first: bool) -> Float64s:
        """(sum of m_word,) P(state | tag, word) / P(state | tag), of every tag.

        Under the moments estimator the outside vector of the word and tag, over its tag's score.
        """
        key = (word, first)
        states = self._known.get(key)
        return self._known.put(key, self._word_states(word, first)) if states is None else states

    def _word_states(self, word: str, first: bool) -> Float64s:
        lexicon, tag = self.params.lexicon, self._lexicon_tags
        values = lexicon.emission(word, first=first).states[self._lexicon_places].astype(float)
        # What the grammar's lexicon says of the tag itself goes out again.
        m_word = self.arrays.m_word
        of_tag = np.add.reduceat(values * self.arrays.mean_word, self.arrays.word_ptr[:-1])
        if isinstance(lexicon, MomentLexicon):
            of_tag = lexicon.tag_level.emission(word, first=first).states[tag].astype(float)
        level = np.repeat(of_tag, m_word)
        any_state = _first(m_word) if isinstance(lexicon, MomentLexicon) else 1.0
        return np.where(level > 0, values / np.where(level > 0, level, 1.0), any_state)

    def emission(
        self, tokens: Sequence[str], candidates: TagCandidates
    ) -> tuple[Int64s, Float64s]:
        """The vectors of all candidates end to end, and where each begins."""
        word_ptr = self.arrays.word_ptr
        ptr, tags = candidates.ptr.tolist(), candidates.tags.tolist()
        parts = []
        for at, token in enumerate(tokens):
            states = self.word_states(token, first=at == 0)
            for c in range(ptr[at], ptr[at + 1]):
                tag = tags[c]
                parts.append(states[word_ptr[tag] : word_ptr[tag + 1]] * candidates.scores[c])
        return pointers(self.arrays.m_word[candidates.tags]), np.concatenate(parts)

    # -- sentences --------------------------------------------------------------------------------

    def log_score(self, tokens: Sequence[str], candidates: TagCandidates) -> tuple[float, int]:
        """log |Z| and its sign: the sum over all sequences of candidates, states summed out."""
        _, _, log_z, sign = self._swept(tokens, candidates)
        return log_z, sign

    def _swept(
        self, tokens: Sequence[str], candidates: TagCandidates
    ) -> tuple[Cells, Float64s, float, int]:
        """The cells of a sentence, their ``beta``, log |Z| and its sign."""
        from eigentext.sequences.kernels.tag_states import Cells, backward, start_weight

        e_ptr, e = self.emission(tokens, candidates)
        s_ptr = pointers(self.arrays.m[candidates.tags])
        cells = Cells(candidates.ptr, candidates.tags, e_ptr, e, s_ptr)
        beta = np.zeros(int(s_ptr[-1]))
        scale = backward(cells, self.arrays, beta)  # log of what beta was divided by
        z = start_weight(cells, self.arrays, beta)
        if z == 0 or not np.isfinite(scale):
            return cells, beta, float("-inf"), 1
        return cells, beta, scale + float(np.log(abs(z))), 1 if z > 0 else -1

    def posteriors(self, tokens: Sequence[str], candidates: TagCandidates) -> Posteriors | None:
        """Posteriors of tags and of neighbouring tags; None when the model gives no weight."""
        from eigentext.sequences.kernels.tag_states import forward

        cells, beta, log_z, sign = self._swept(tokens, candidates)
        if not np.isfinite(log_z):
            return None
        pair_ptr = candidates.pair_ptr
        single, pairs = np.zeros(len(candidates.tags)), np.zeros(int(pair_ptr[-1]))
        alpha = np.zeros_like(beta)
        if not forward(cells, self.arrays, beta, alpha, single, pair_ptr, pairs):
            return None
        negative = float((single < 0).mean())
        return Posteriors(single, pairs, log_z, sign, negative)


def _first(m: Int64s) -> Float64s:
    """1 for the first state of each tag, 0 for the others: the constant of the moments."""
    states = np.zeros(int(m.sum()))
    states[np.cumsum(m) - m] = 1.0
    return states


def _of_end(params: LatentParams, end_label: int) -> Float64s:
    """P(end mark | state of the end label) up to its constant: they do nothing."""
    lexicon = params.lexicon
    tag = int(np.searchsorted(lexicon.tags, end_label))
    if isinstance(lexicon, MomentLexicon):
        return _first(np.diff(lexicon.tag_ptr)[tag : tag + 1])
    return np.ones(int(lexicon.tag_ptr[tag + 1] - lexicon.tag_ptr[tag]))


def _state_shares(params: LatentParams, over_word: Int64s) -> Float64s:
    """P(state | tag) over words, as the lexicon has it."""
    lexicon = params.lexicon
    shares = []
    for tag in np.searchsorted(lexicon.tags, over_word).tolist():
        p = lexicon.p_ts[lexicon.tag_ptr[tag] : lexicon.tag_ptr[tag + 1]]
        shares.append(p / p.sum())
    return np.concatenate(shares)


def _chain_shares(
    params: LatentParams, m: Int64s, m_word: Int64s, at: Int64s, root: Float64s
) -> Float64s:
    """P(state | tag) along the chain: x = root + x M, where M are the transitions of the model."""
    ptr = pointers(m)
    M = np.zeros((int(ptr[-1]), int(ptr[-1])))
    for a, b in zip(*(axis.tolist() for axis in np.nonzero(at >= 0)), strict=True):
        shape = (m[a], m_word[a], m[b])
        size = int(np.prod(shape))
        tensor = params.tensor[at[a, b] : at[a, b] + size].reshape(shape)
        M[ptr[a] : ptr[a + 1], ptr[b] : ptr[b + 1]] = tensor.sum(axis=1)
    visits = np.maximum(np.linalg.solve(np.eye(len(M)) - M.T, root), 1e-12)  # x (I - M) = root
    return np.asarray(visits / np.repeat(np.add.reduceat(visits, ptr[:-1]), m))


_NONE = 1e-12  # the least share of a pair: no model has a veto


class TagChain(NamedTuple):
    """Start weights of candidates and weights of pairs, see ``kernels.tag_chain``."""

    candidates: TagCandidates
    start: Float64s
    pairs: Float64s

    @classmethod
    def of(cls, candidates: TagCandidates, models: Sequence[Posteriors]) -> TagChain:
        """The geometric mean of the models' chains."""
        ptr = candidates.ptr
        first = int(ptr[1])
        log_start, log_pairs = np.zeros(first), np.zeros(int(candidates.pair_ptr[-1]))
        width = np.diff(ptr)
        # rows: one for each candidate but the last token's, as long as the next token is wide
        length = np.repeat(width[1:], width[:-1])
        row_at = np.cumsum(length) - length
        for model in models:
            pairs = np.maximum(model.pairs, _NONE)
            if len(length):
                of_row = np.add.reduceat(pairs, row_at)
                log_pairs += np.log(pairs / np.repeat(of_row, length))  # log q(t_i+1 | t_i)
                log_start += np.log(of_row[:first])  # log q(t_1)
            else:
                log_start += np.log(np.maximum(model.single, _NONE))
        n = len(models)
        return cls(candidates, np.exp(log_start / n), np.exp(log_pairs / n))

    @classmethod
    def of_words(cls, candidates: TagCandidates, p: Float64s) -> TagChain:
        """What is left when no model gives any weight: the words' own tags, P(t | w)."""
        ptr, widths = candidates.ptr.tolist(), np.diff(candidates.ptr)[:-1].tolist()
        spans = zip(ptr[1:-1], ptr[2:], widths, strict=True)
        rows = [np.tile(p[a:b], n) for a, b, n in spans]
        return cls(candidates, p[: candidates.ptr[1]], np.concatenate([*rows, np.empty(0)]))

    def marginals(self) -> tuple[Float64s, float]:
        """The share of each candidate, and the log of the sum over all sequences."""
        from eigentext.sequences.kernels.tag_states import chain_marginals

        single = np.zeros(len(self.candidates.tags))
        c = self.candidates
        total = chain_marginals(c.ptr, self.start, c.pair_ptr, self.pairs, single)
        return single, float(total)

    def kbest(self, n: int) -> tuple[Int64s, Float64s]:
        """(k, tokens) tags of the k <= n best sequences, and the logs of their weights."""
        from eigentext.sequences.kernels.tag_states import chain_kbest

        c = self.candidates
        paths = np.zeros((n, len(c.ptr) - 1), dtype=np.int64)
        scores = np.zeros(n)
        k = chain_kbest(c.ptr, self.start, c.pair_ptr, self.pairs, paths, scores)
        return c.tags[paths[:k]], scores[:k]
