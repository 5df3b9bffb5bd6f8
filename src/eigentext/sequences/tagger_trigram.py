"""``TrigramTagger``: the trigram HMM tagger (TnT-like) that the latent tagger is measured against.

    p(t1 ... tn, w1 ... wn) = prod_i p(t_i | t_{i-2}, t_{i-1}) p(w_i | t_i)   with marks around

    p(t3 | t1, t2) = l1 f(t3) + l2 f(t3 | t2) + l3 f(t3 | t1, t2)

The weights l come by deleted interpolation: each trigram of the training tags votes, with its
count, for the order whose estimate without this one occurrence is highest.  Words come from the
same :class:`~eigentext.sequences.tagger_words.WordTags` as those of the latent tagger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from sklearn.base import BaseEstimator

from eigentext.errors import SettingsError
from eigentext.sequences.tagger_chain import Candidates
from eigentext.sequences.tagger_eval import evaluate_tagger
from eigentext.sequences.tagger_input import checked_tokens, numbered
from eigentext.sequences.tagger_words import WordTags

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

__all__ = ["TrigramTagger", "deleted_interpolation", "trigram_shares"]


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


class TrigramTagger(BaseEstimator):  # type: ignore[misc]
    """A trigram HMM tagger.

    ``decoder``  viterbi: the best sequence; posterior: the best tag of each word

    >>> tagger = TrigramTagger().fit([[("the", "D"), ("cat", "N"), ("sat", "V")]] * 3)
    >>> tagger.tag(["the", "dog", "sat"])
    ['D', 'N', 'V']
    """

    def __init__(self, *, decoder: Literal["viterbi", "posterior"] = "viterbi") -> None:
        self.decoder = decoder

    def fit(self, X: Iterable[Sequence[tuple[str, str]]], y: None = None) -> TrigramTagger:
        """Count words and tags of sentences of (word, tag) pairs."""
        if self.decoder not in ("viterbi", "posterior"):
            raise SettingsError(f"decoder is viterbi or posterior, not {self.decoder!r}")
        data = numbered(X)
        self.tags_ = data.names
        self.words_ = WordTags.count(data.names, data.sentences, data.tags)
        mark = len(data.names)
        counts = np.zeros((mark + 1,) * 3, dtype=np.int64)
        for row in data.tags:
            around = np.array([mark, mark, *row, mark])
            np.add.at(counts, (around[:-2], around[1:-1], around[2:]), 1)
        self.weights_ = deleted_interpolation(counts)
        self.shares_ = trigram_shares(counts, self.weights_)
        return self

    def tag(self, tokens: Sequence[str]) -> list[str]:
        """The tags of one sentence."""
        from eigentext.sequences.kernels_kbest import trigram_best

        words = checked_tokens(tokens)
        if not words:
            return []
        c = Candidates.of(words, self.words_)
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

    def score(self, X: Iterable[Sequence[tuple[str, str]]], y: None = None) -> float:
        """Percent of right tags."""
        sentences = [list(sentence) for sentence in X]
        return evaluate_tagger(self.predict, self.words_.knows, sentences).accuracy

    def posteriors(self, tokens: Sequence[str]) -> Floats:
        """(n, T) the posterior of each tag at each token."""
        words = checked_tokens(tokens)
        found = np.zeros((len(words), len(self.tags_)))
        if words:
            c = Candidates.of(words, self.words_)
            found[np.repeat(np.arange(len(words)), np.diff(c.ptr)), c.tags] = self._sums(c)[1]
        return found

    def log_probability(self, tokens: Sequence[str]) -> float:
        """log p(words), summed over the tags that each word may have."""
        words = checked_tokens(tokens)
        if not words:
            return 0.0
        constant = sum(self.words_.log_p_word(word) for word in words)
        return self._sums(Candidates.of(words, self.words_))[0] + constant

    def _sums(self, c: Candidates) -> tuple[float, Floats]:
        from eigentext.sequences.kernels_kbest import trigram_sums

        pair_ptr = _pairs_before(c)
        size = int(pair_ptr[-1])
        single = np.zeros(len(c.tags))
        total = trigram_sums(
            c.ptr, c.tags, c.scores, self.shares_, pair_ptr, np.empty(size), np.empty(size), single
        )
        return float(total), single


def _pairs_before(c: Candidates) -> Ints:
    """(n + 1,) where the pairs of each token with the one before begin."""
    width = np.diff(c.ptr)
    return np.concatenate([[0], np.cumsum(width * np.concatenate([[1], width[:-1]]))])
