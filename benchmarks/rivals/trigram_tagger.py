"""``TrigramTagger``: the trigram HMM tagger (TnT-like) that the latent tagger is measured against.

    p(t1 ... tn, w1 ... wn) = prod_i p(t_i | t_{i-2}, t_{i-1}) p(w_i | t_i)   with marks around

    p(t3 | t1, t2) = l1 f(t3) + l2 f(t3 | t2) + l3 f(t3 | t1, t2)

The weights l come by deleted interpolation: each trigram of the training tags votes, with its
count, for the order whose estimate without this one occurrence is highest.  Words come from the
same :class:`~eigentext.sequences.tagger.words.WordTags` as those of the latent tagger.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from numba import njit

from eigentext.base.ragged import pointers
from eigentext.base.tokens import checked_tagged, checked_words
from eigentext.errors import DataError, SettingsError
from eigentext.sequences.tagger.chain import TagCandidates
from eigentext.sequences.tagger.evaluation import evaluate_tagger
from eigentext.sequences.tagger.words import WordTags

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from eigentext.sequences.settings import Characters

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

__all__ = [
    "TrigramTagger",
    "deleted_interpolation",
    "trigram_best",
    "trigram_shares",
    "trigram_sums",
]


def deleted_interpolation(counts: Ints) -> tuple[float, float, float]:
    """The weights (l1, l2, l3) from counts[t1, t2, t3].

    >>> counts = np.zeros((3, 3, 3), dtype=np.int64)
    >>> counts[2, 2, 0] = counts[2, 0, 1] = counts[0, 1, 2] = 4
    >>> deleted_interpolation(counts)
    (0.0, 0.0, 1.0)
    """
    one, two, n = counts.sum(axis=(0, 1)), counts.sum(axis=0), int(counts.sum())
    votes = np.zeros(3)
    for t1, t2, t3 in np.argwhere(counts).tolist():
        seen = int(counts[t1, t2, t3])
        estimates = [
            (seen - 1, int(counts[t1, t2].sum()) - 1),
            (int(two[t2, t3]) - 1, int(two[t2].sum()) - 1),
            (int(one[t3]) - 1, n - 1),
        ]
        shares = [above / below if below else 0.0 for above, below in estimates]
        votes[2 - int(np.argmax(shares))] += seen
    votes /= max(votes.sum(), 1e-300)
    return float(votes[0]), float(votes[1]), float(votes[2])


def trigram_shares(counts: Ints, weights: tuple[float, float, float]) -> Floats:
    """p[t1, t2, t3]; a history never seen leaves its weight to the shorter one."""
    one = counts.sum(axis=(0, 1)) / counts.sum()
    two, of_two = counts.sum(axis=0).astype(float), counts.sum(axis=(0, 2))
    of_three = counts.sum(axis=2)
    low, middle, high = weights
    below = (low * one + middle * two / np.maximum(of_two, 1)[:, None]) / max(low + middle, 1e-300)
    below = np.where((of_two > 0)[:, None] & (low + middle > 0), below, one)
    p = (low + middle) * below + high * counts / np.maximum(of_three, 1)[..., None]
    return np.asarray(np.where((of_three > 0)[..., None], p, below))


class TrigramTagger:
    """A trigram HMM tagger.

    ``decoder``     viterbi: the best sequence; posterior: the best tag of each word
    ``characters``  automata: ask them about unknown words too

    >>> tagger = TrigramTagger().fit([["the", "cat", "sat"]] * 3, [["D", "N", "V"]] * 3)
    >>> tagger.tag(["the", "dog", "sat"])
    ['D', 'N', 'V']
    """

    def __init__(
        self,
        *,
        decoder: Literal["viterbi", "posterior"] = "viterbi",
        characters: Characters = "none",
    ) -> None:
        self.decoder, self.characters = decoder, characters

    def fit(self, X: Iterable[Sequence[str]], y: Iterable[Sequence[str]]) -> TrigramTagger:
        """Count words and tags."""
        if self.decoder not in ("viterbi", "posterior"):
            raise SettingsError(f"decoder is viterbi or posterior, not {self.decoder!r}")
        sentences, names = ([row for row in rows if row] for rows in checked_tagged(X, y))
        if not sentences:
            raise DataError("<training sentences>", None, "no tokens, expected some to learn from")
        self.tags_ = tuple(sorted({tag for row in names for tag in row}))
        number_of = {tag: number for number, tag in enumerate(self.tags_)}
        tags = [[number_of[tag] for tag in row] for row in names]
        self.words_ = WordTags.count(self.tags_, sentences, tags, characters=self.characters)
        mark = len(self.tags_)
        counts = np.zeros((mark + 1,) * 3, dtype=np.int64)
        for row in tags:
            around = np.array([mark, mark, *row, mark])
            np.add.at(counts, (around[:-2], around[1:-1], around[2:]), 1)
        self.weights_ = deleted_interpolation(counts)
        self.shares_ = trigram_shares(counts, self.weights_)
        return self

    def tag(self, tokens: Sequence[str]) -> list[str]:
        """The tags of one sentence."""
        words = checked_words(tokens)
        if not words:
            return []
        c = TagCandidates.of(words, self.words_)
        if self.decoder == "posterior":
            path = c.best_of_each(self._sums(c)[1])
        else:
            pair_ptr = _pairs_before(c)
            size = int(pair_ptr[-1])
            path = np.empty(len(words), np.int64)
            trigram_best(
                c.ptr,
                c.tags,
                c.scores,
                self.shares_,
                pair_ptr,
                np.empty(size),
                np.empty(size, np.int64),
                path,
            )
        return [self.tags_[tag] for tag in c.tags[path].tolist()]

    def predict(self, X: Iterable[Sequence[str]]) -> list[list[str]]:
        """The tags of sentences, in order."""
        return [self.tag(tokens) for tokens in X]

    def score(self, X: Iterable[Sequence[str]], y: Iterable[Sequence[str]]) -> float:
        """Share of right tags."""
        return evaluate_tagger(self.predict, self.words_.knows, X, y).accuracy / 100

    def marginals(self, tokens: Sequence[str]) -> Floats:
        """(n, T) the posterior of each tag at each token."""
        words = checked_words(tokens)
        found = np.zeros((len(words), len(self.tags_)))
        if words:
            c = TagCandidates.of(words, self.words_)
            found[np.repeat(np.arange(len(words)), np.diff(c.ptr)), c.tags] = self._sums(c)[1]
        return found

    def log_prob(self, tokens: Sequence[str]) -> float:
        """log p(words), summed over the tags that each word may have."""
        words = checked_words(tokens)
        if not words:
            return 0.0
        constant = sum(self.words_.log_p_word(word) for word in words)
        return self._sums(TagCandidates.of(words, self.words_))[0] + constant

    def _sums(self, c: TagCandidates) -> tuple[float, Floats]:
        pair_ptr = _pairs_before(c)
        size = int(pair_ptr[-1])
        single = np.zeros(len(c.tags))
        total = trigram_sums(
            c.ptr, c.tags, c.scores, self.shares_, pair_ptr, np.empty(size), np.empty(size), single
        )
        return float(total), single


def _pairs_before(c: TagCandidates) -> Ints:
    """(n + 1,) where the pairs of each token with the one before begin."""
    width = np.diff(c.ptr)
    return pointers(width * np.concatenate([[1], width[:-1]]))


@njit(cache=True)
def trigram_sums(cand_ptr, cand, score, p, pair_ptr, ahead, behind, single):
    """Posterior of each candidate under a trigram model; returns the log of the sum over all.

    ``p[t1, t2, t3]`` with T for the marks around a sentence; ``score[c]`` fits c to its word.  The
    pair (candidate a of token i - 1, b of token i) stands at ``pair_ptr[i] + a * width + b``;
    before the first token there is one candidate, the mark.
    """
    n, mark = len(cand_ptr) - 1, p.shape[0] - 1
    total = 0.0
    for i in range(n):
        width = cand_ptr[i + 1] - cand_ptr[i]
        n_before = 1 if i == 0 else cand_ptr[i] - cand_ptr[i - 1]
        n_older = 1 if i < 2 else cand_ptr[i - 1] - cand_ptr[i - 2]
        z = 0.0
        for a in range(n_before):
            t2 = mark if i == 0 else cand[cand_ptr[i - 1] + a]
            for b in range(width):
                t3 = cand[cand_ptr[i] + b]
                value = 0.0
                if i == 0:
                    value = p[mark, mark, t3]
                else:
                    for o in range(n_older):
                        t1 = mark if i == 1 else cand[cand_ptr[i - 2] + o]
                        value += ahead[pair_ptr[i - 1] + o * n_before + a] * p[t1, t2, t3]
                value *= score[cand_ptr[i] + b]
                ahead[pair_ptr[i] + a * width + b] = value
                z += value
        if z <= 0.0:
            return -np.inf
        total += math.log(z)
        for place in range(pair_ptr[i], pair_ptr[i + 1]):
            ahead[place] /= z
    for i in range(n - 1, -1, -1):
        width = cand_ptr[i + 1] - cand_ptr[i]
        n_before = 1 if i == 0 else cand_ptr[i] - cand_ptr[i - 1]
        z = 0.0
        for a in range(n_before):
            t1 = mark if i == 0 else cand[cand_ptr[i - 1] + a]
            for b in range(width):
                t2 = cand[cand_ptr[i] + b]
                value = 0.0
                if i + 1 == n:
                    value = p[t1, t2, mark]
                else:
                    after = cand_ptr[i + 2] - cand_ptr[i + 1]
                    for c in range(after):
                        d = cand_ptr[i + 1] + c
                        here = score[d] * behind[pair_ptr[i + 1] + b * after + c]
                        value += p[t1, t2, cand[d]] * here
                behind[pair_ptr[i] + a * width + b] = value
                z += value * ahead[pair_ptr[i] + a * width + b]
        if z <= 0.0:
            return -np.inf
        if i + 1 == n:
            total += math.log(z)
        for c in range(cand_ptr[i], cand_ptr[i + 1]):
            single[c] = 0.0
        for a in range(n_before):
            for b in range(width):
                place = pair_ptr[i] + a * width + b
                behind[place] /= z
                single[cand_ptr[i] + b] += behind[place] * ahead[place]
    return total


@njit(cache=True)
def trigram_best(cand_ptr, cand, score, p, pair_ptr, best, back, path):
    """The best sequence by the same model, candidate numbers in ``path``; returns its log."""
    n, mark = len(cand_ptr) - 1, p.shape[0] - 1
    for i in range(n):
        width = cand_ptr[i + 1] - cand_ptr[i]
        n_before = 1 if i == 0 else cand_ptr[i] - cand_ptr[i - 1]
        n_older = 1 if i < 2 else cand_ptr[i - 1] - cand_ptr[i - 2]
        for a in range(n_before):
            t2 = mark if i == 0 else cand[cand_ptr[i - 1] + a]
            for b in range(width):
                t3 = cand[cand_ptr[i] + b]
                here = pair_ptr[i] + a * width + b
                best[here], back[here] = -np.inf, 0
                if i == 0:
                    best[here] = math.log(p[mark, mark, t3] + 1e-300)
                else:
                    for o in range(n_older):
                        t1 = mark if i == 1 else cand[cand_ptr[i - 2] + o]
                        value = best[pair_ptr[i - 1] + o * n_before + a]
                        value += math.log(p[t1, t2, t3] + 1e-300)
                        if value > best[here]:
                            best[here], back[here] = value, o
                best[here] += math.log(score[cand_ptr[i] + b])
    top, at_a, at_b = -np.inf, 0, 0
    width = cand_ptr[n] - cand_ptr[n - 1]
    n_before = 1 if n == 1 else cand_ptr[n - 1] - cand_ptr[n - 2]
    for a in range(n_before):
        t1 = mark if n == 1 else cand[cand_ptr[n - 2] + a]
        for b in range(width):
            value = best[pair_ptr[n - 1] + a * width + b]
            value += math.log(p[t1, cand[cand_ptr[n - 1] + b], mark] + 1e-300)
            if value > top:
                top, at_a, at_b = value, a, b
    for i in range(n - 1, -1, -1):
        path[i] = cand_ptr[i] + at_b
        width = cand_ptr[i + 1] - cand_ptr[i]
        older = back[pair_ptr[i] + at_a * width + at_b]
        at_b, at_a = at_a, older
    return top
