"""Words under the moments estimator: tag scores from counts, latent vectors from outside means.

1. ``tag_level`` is the ordinary lexicon with one state a tag: it decides how well a tag fits a
   word, with all its care for rare and unknown words.
2. Each (word, tag) has the sum of its nodes' outside coordinates z Sigma^-1; so has each
   (signature, tag), over rare words.
3. c_inf(tag -> word) = score of the tag times the mean of 2, drawn towards the signature's mean,
   and that towards the tag's: n(a, x) / n(a) E[z' | a -> x] Sigma^-1 (equation 3) up to p(word).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from eigentext.base.ragged import pointers
from eigentext.base.remembering import Remembered
from eigentext.base.types import Float32s, Float64s, Int64s
from eigentext.constituency.lexicon import Emission, Lexicon, build_lexicon, index_words
from eigentext.constituency.treebank import Treebank

_MOST_EMISSIONS = 50_000  # of the latest words
_MOST_SHAPES = 1_000  # of the latest signatures, which many words share


@dataclass(frozen=True, eq=False)
class MomentLexicon:
    """Answers like :class:`Lexicon`, with signed vectors in place of states."""

    tag_level: Lexicon  # the lexicon with one state a tag
    m: Int64s  # (T,) length of each tag's vectors
    # flat sums of vectors, one per entry of ``tag_level.word_ts``, m of its tag each
    word_vector: Float32s
    shape_vector: Float32s  # the same per entry of ``tag_level.shape_ts``
    # word_weight, shape_weight: how many nodes (or what weight of them) each sum is over
    word_weight: Float64s
    shape_weight: Float64s
    tag_mean: Float64s  # flat (sum m,) mean vector of each tag over its words
    k_word: float
    k_shape: float
    _emissions: Remembered[tuple[str, bool, bool], Emission] = field(
        default_factory=lambda: Remembered(_MOST_EMISSIONS), init=False, repr=False
    )
    _shapes: Remembered[str, Float64s] = field(
        default_factory=lambda: Remembered(_MOST_SHAPES), init=False, repr=False
    )

    @property
    def tags(self) -> Int64s:
        """(T,) nonterminal number of each tag."""
        return self.tag_level.tags

    @cached_property
    def tag_ptr(self) -> Int64s:
        """(T + 1,) where each tag's vector begins in ``Emission.states``."""
        return pointers(self.m)

    @cached_property
    def _word_at(self) -> Int64s:
        return pointers(self.m[self.tag_level.word_ts])

    @cached_property
    def _shape_at(self) -> Int64s:
        return pointers(self.m[self.tag_level.shape_ts])

    def emission(self, word: str, *, first: bool, folded: bool = False) -> Emission:
        """Scores of the tags that this word may have, and their vectors."""

        def make() -> Emission:
            plain = self.tag_level.emission(word, first=first, folded=folded)
            return self._with_vectors(plain, word, first, folded)

        return self._emissions.get_or((word, first, folded), make)

    def emission_as(
        self, word: str, admitted: Int64s, *, first: bool, folded: bool = False
    ) -> Emission:
        """The same when the word is known to have one of these tags (places in ``tags``)."""
        plain = self.tag_level.emission_as(word, admitted, first=first, folded=folded)
        return self._with_vectors(plain, word, first, folded)

    def _with_vectors(self, plain: Emission, word: str, first: bool, folded: bool) -> Emission:
        tag_level = self.tag_level
        forms = [word]
        if not (tag_level.k_base == 0 and tag_level.knows(word)):  # else by counts alone
            forms += tag_level.other_forms(word, first, folded)
        rows = [tag_level.word_number[form] for form in forms if form in tag_level.word_number]
        shape = tag_level.shape(word, first, folded)
        flat = self._shapes.get_or(shape, lambda: self._of_shape(shape)).copy()
        sums: dict[int, tuple[Float64s, float]] = {}
        for row in rows:
            for entry in range(tag_level.word_ptr[row], tag_level.word_ptr[row + 1]):
                tag = int(tag_level.word_ts[entry])
                vector = self.word_vector[self._word_at[entry] : self._word_at[entry + 1]]
                total, n = sums.get(tag, (np.zeros(len(vector)), 0.0))
                sums[tag] = (total + vector, n + float(self.word_weight[entry]))
        for tag, (total, n) in sums.items():
            self._draw(flat, tag, total, n, self.k_word)
        states = (flat * np.repeat(plain.states, self.m)).astype(np.float32)
        return Emission(plain.tags, plain.scores, states)

    def _of_shape(self, shape: str) -> Float64s:
        """(sum m,) mean vectors of words with this signature, drawn towards those of the tags."""
        tag_level, means = self.tag_level, self.tag_mean.copy()
        row = tag_level.shape_number.get(shape)
        if row is not None:
            for entry in range(tag_level.shape_ptr[row], tag_level.shape_ptr[row + 1]):
                vector = self.shape_vector[self._shape_at[entry] : self._shape_at[entry + 1]]
                n = float(self.shape_weight[entry])
                self._draw(means, int(tag_level.shape_ts[entry]), vector, n, self.k_shape)
        return means

    def _draw(
        self, flat: Float64s, tag: int, total: npt.NDArray[np.floating], n: float, k: float
    ) -> None:
        """Replace a tag's vector v by (total + k v) / (n + k)."""
        if n > 0:
            here = slice(self.tag_ptr[tag], self.tag_ptr[tag + 1])
            flat[here] = (total + k * flat[here]) / (n + k)


def build_moment_lexicon(
    bank: Treebank,
    vectors: Sequence[Float64s],  # per nonterminal (n, m)
    row_of: Int64s,  # (N,) the row of each node in them;
    weights: Float64s,  # (N,) how much each node counts
    *,
    k_word: float,
    k_shape: float,
    plain: bool,  # scores known words by counts alone
) -> MomentLexicon:
    """Sum the vectors (z Sigma^-1) of all preterminals by word and by signature."""
    index = index_words(bank)
    nodes = np.flatnonzero(bank.token >= 0)
    single = np.ones(len(bank.labels), np.int64)  # one state a tag, 0
    tag_level = build_lexicon(bank, single, np.zeros(len(nodes), np.int64))
    if plain:
        tag_level = replace(tag_level, k_sig=0.0, k_base=0.0)
    over_word = np.bincount(bank.label[nodes], minlength=len(bank.labels))
    of_label = np.bincount(bank.label, minlength=len(bank.labels))
    tag_level = replace(tag_level, emits=(over_word / np.maximum(of_label, 1))[tag_level.tags])

    m = np.array([vectors[a].shape[1] for a in tag_level.tags.tolist()])
    word = index.type_word[index.type_of]
    shape = np.where(index.type_rare[index.type_of], index.type_shape[index.type_of], -1)
    # A word seen c times tells of unseen words with weight 1 / sqrt(c) an occurrence.
    rare_weight = weights[nodes] / np.sqrt(np.bincount(word)[word])
    word_sums = _Sums(tag_level.word_ptr, tag_level.word_ts, m)
    shape_sums = _Sums(tag_level.shape_ptr, tag_level.shape_ts, m)
    means = []
    for t, a in enumerate(tag_level.tags.tolist()):
        here = np.flatnonzero(index.tag_of == t)
        X = vectors[a][row_of[nodes[here]]]
        w = weights[nodes[here]]
        mean = w @ X / w.sum() if w.any() else X.mean(axis=0)
        means.append(mean)
        word_sums.add(t, word[here], X, w)
        rare = shape[here] >= 0
        shape_sums.add(t, shape[here][rare], X[rare], rare_weight[here][rare])
    return MomentLexicon(
        tag_level,
        m,
        word_sums.vectors,
        shape_sums.vectors,
        word_sums.weights,
        shape_sums.weights,
        np.concatenate(means),
        k_word,
        k_shape,
    )


class _Sums:
    """Sums of vectors beside the entries of a table of counts in rows."""

    def __init__(self, ptr: Int64s, ts: Int64s, m: Int64s) -> None:
        self.n_tags = len(m)
        self.key = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)) * self.n_tags + ts
        self.at = pointers(m[ts])
        self.vectors = np.zeros(int(self.at[-1]), np.float32)
        self.weights = np.zeros(len(ts))

    def add(self, tag: int, row: Int64s, X: Float64s, w: Float64s) -> None:
        """Vectors X (n, m) of nodes with this tag and these rows, weights w."""
        if not len(row):
            return
        order = np.argsort(row, kind="stable")
        rows, first = np.unique(row[order], return_index=True)
        entry = np.searchsorted(self.key, rows * self.n_tags + tag)
        sums = np.add.reduceat((X * w[:, None])[order], first, axis=0)
        self.weights[entry] += np.add.reduceat(w[order], first)
        self.vectors[self.at[entry][:, None] + np.arange(X.shape[1])] += sums.astype(np.float32)
