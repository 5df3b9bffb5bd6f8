"""The class-based bigram model (pi, T, O), mixed with words, beside interpolated Kneser-Ney.

    p(x_1 .. x_N) = pi(C(x_1)) prod o(x_i | C(x_i)) prod t(C(x_{i+1}) | C(x_i))       (section 4)

1. :meth:`ClassBigram.fit` counts tokens; clusters of words are given.  Every word outside the
   clustering is ``<unk>``.  A sentence begins and ends: the end is a class and word of its own.
2. t is smoothed towards the classes' frequency, o by adding to ``<unk>`` and unseen words, so
   that every sentence over the vocabulary has a probability, and all of them sum to 1.
3. With ``mix`` < 1 the word model (interpolated Kneser-Ney) has the rest of the weight:
   p(y | x) = mix p_class(y | x) + (1 - mix) p_words(y | x).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eigentext.base.fields import Sparse, Strings
from eigentext.base.model import Model
from eigentext.base.records import stored
from eigentext.base.tokens import each_sentence
from eigentext.counting.vocabulary import UNKNOWN
from eigentext.errors import DataError, SettingsError
from eigentext.words.lm.kneser_ney import KneserNeyBigram
from eigentext.words.settings import ClassBigramSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scipy.sparse import csr_array

    from eigentext.base.types import Float64s, Int64s
    from eigentext.base.types import Sparse as Csr
    from eigentext.base.values import Packed

END = "</s>"


@dataclass
class _Counted:
    """What a file holds: words, the class of each, and counts of pairs of words and the end."""

    words: Sequence[str] = stored(Strings("words", distinct=True))
    classes: Sequence[str] = stored(Strings("words"))
    pairs: csr_array = stored(Sparse(("words+1", "words+1"), low=0, high=1e15))


@dataclass(eq=False, repr=False)
class ClassBigram(Model, ClassBigramSettings):
    """A bigram model over clusters of words, mixed with one over words.

    >>> clusters = {"a": "00", "the": "00", "cat": "01", "dog": "01", "ran": "1"}
    >>> model = ClassBigram(clusters).fit([["a", "cat", "ran"], ["the", "dog", "ran"]])
    >>> model.log_prob(["a", "dog", "ran"]) > model.log_prob(["dog", "a", "ran"])
    True

    ``mix`` 1 is the class model alone, 0 the word model alone.

    After ``fit``: ``words_``, ``names_`` of the classes and the class of each word ``class_of_``
    (indices into them), ``initial_`` (pi), ``transition_`` (T), ``emission_`` (the word's entry
    of O), ``pairs_`` (counts) and ``word_model_``.
    """

    KIND = "class-bigram"
    CONTENT = _Counted

    def check(self) -> None:
        """Raise for settings that are not what was declared, or no clusters."""
        super().check()
        if not self.clusters:
            raise DataError("clusters", None, "no words in this clustering")

    def _number_words(self, clusters: Mapping[str, str]) -> None:
        """Ids of words, their classes, and the end."""
        class_of_word = {word: bits for word, bits in clusters.items() if word != END}
        class_of_word.setdefault(UNKNOWN, UNKNOWN)
        self.words_ = (*class_of_word, END)
        self.names_ = (*sorted(set(class_of_word.values())), END)
        number = {name: i for i, name in enumerate(self.names_)}
        self.class_of_ = np.array([number[b] for b in class_of_word.values()] + [number[END]])
        self._ids = {word: i for i, word in enumerate(self.words_)}

    # ------------------------------------------------------------ learning

    def fit(self, X: Iterable[Sequence[str]], y: object = None) -> ClassBigram:
        """Count sentences; the beginning of one is what follows the end of another."""
        from scipy.sparse import coo_array

        self.check()
        self._number_words(self.clusters or {})
        n, end = len(self.words_), self._ids[END]
        befores, afters = [], []
        for ids in self._ids_of(X):
            befores.append(np.concatenate([[end], ids]))
            afters.append(np.concatenate([ids, [end]]))
        if not any(b.shape[0] > 1 for b in befores):
            raise DataError("sentences", None, "no tokens, expected text")
        ones = np.ones(sum(map(len, befores)), dtype=np.int64)
        where = (np.concatenate(befores), np.concatenate(afters))
        self._take(coo_array((ones, where), shape=(n, n)).tocsr())
        return self

    def _take(self, pairs: Csr) -> None:
        """The parameters from counts of pairs of ids."""
        from eigentext.evaluate.clustering import cluster_pairs

        pairs.sum_duplicates()
        m, smooth = len(self.names_), self.smooth
        self.pairs_ = pairs
        counts = np.asarray(pairs.sum(axis=0), dtype=np.float64).ravel() + smooth
        of_class = np.bincount(self.class_of_, weights=counts, minlength=m)
        self.emission_ = counts / of_class[self.class_of_]
        table = cluster_pairs(pairs, self.class_of_, m).astype(np.float64)
        share = of_class / of_class.sum()
        # Witten and Bell: as much for unseen classes as there were different ones
        kinds = (table > 0).sum(axis=1, keepdims=True) + smooth
        self.transition_ = (table + kinds * share) / (table.sum(axis=1, keepdims=True) + kinds)
        self.initial_ = self.transition_[-1]  # pi: what follows the end of a sentence
        self.word_model_ = KneserNeyBigram(pairs)

    # ------------------------------------------------------------ use

    def _ids_of(self, sentences: Iterable[Sequence[str]]) -> Iterator[Int64s]:
        unknown = self._ids[UNKNOWN]
        for tokens in each_sentence(sentences):
            ids = [self._ids.get(token, unknown) for token in tokens]
            yield np.array(
                [unknown if i == len(self.words_) - 1 else i for i in ids], dtype=np.int64
            )

    def log_prob(self, tokens: Sequence[str], *, mix: float | None = None) -> float:
        """log p(x_1 .. x_N, end), natural logarithm."""
        self.check_fitted()
        (ids,) = self._ids_of([tokens])
        end = np.array([self._ids[END]])
        before, after = np.concatenate([end, ids]), np.concatenate([ids, end])
        mix = self.mix if mix is None else mix
        if not 0 <= mix <= 1:
            raise SettingsError(f"mix is {mix}, expected a number from 0 to 1")
        probability = np.zeros(before.shape[0])
        if mix > 0:
            step = self.transition_[self.class_of_[before], self.class_of_[after]]
            probability += mix * step * self.emission_[after]
        if mix < 1:
            probability += (1 - mix) * self.word_model_.probabilities(before, after)
        return float(np.log(probability).sum())

    def perplexity(self, sentences: Iterable[Sequence[str]], *, mix: float | None = None) -> float:
        """exp of minus the mean log probability of a token, ends of sentences included."""
        total, n = 0.0, 0
        for tokens in each_sentence(sentences):
            total += self.log_prob(tokens, mix=mix)
            n += len(tokens) + 1
        if n == 0:
            raise DataError("sentences", None, "no sentences to score")
        return float(np.exp(-total / n))

    def score(self, X: Iterable[Sequence[str]], y: object = None) -> float:
        """Minus the logarithm of the perplexity, so that more is better, as searches want it."""
        return -float(np.log(self.perplexity(X)))

    def distribution(self, before: str | None = None) -> dict[str, float]:
        """p(. | word before), over all words and the end; None is the beginning."""
        self.check_fitted()
        last = self._ids[END] if before is None else self._ids.get(before, self._ids[UNKNOWN])
        return dict(zip(self.words_, self._row(last).tolist(), strict=True))

    def _row(self, before: int) -> Float64s:
        step = self.transition_[self.class_of_[before]]
        row = self.mix * step[self.class_of_] * self.emission_
        return np.asarray(row + (1 - self.mix) * self.word_model_.row(before))

    def sample(self, n_sentences: int, *, seed: int = 0, longest: int = 200) -> list[list[str]]:
        """Sentences drawn from the model; one is cut where it gets too long."""
        self.check_fitted()
        rng = np.random.default_rng(seed)
        end = self._ids[END]
        drawn = []
        for _ in range(n_sentences):
            tokens: list[str] = []
            last = end
            while len(tokens) < longest:
                row = self._row(last)
                last = int(np.searchsorted(np.cumsum(row), rng.random() * row.sum()))
                last = min(last, end)
                if last == end:
                    break
                tokens.append(self.words_[last])
            drawn.append(tokens)
        return drawn

    # ------------------------------------------------------------ storage

    def _content(self) -> _Counted:
        names = [self.names_[c] for c in self.class_of_[:-1].tolist()]
        return _Counted(self.words_[:-1], names, self.pairs_)

    @classmethod
    def _unpack(cls, packed: Packed, **unstored: object) -> ClassBigram:
        # the file keeps the clusters as two lists of strings
        words, classes = packed.strings["words"], packed.strings["classes"]
        clusters = dict(zip(words, classes, strict=True))
        model = super()._unpack(packed, **{**unstored, "clusters": clusters})
        for name, value in unstored.items():
            setattr(model, name, value)  # for a fit to come: what was learned has its own
        return model

    def _restore(self, content: _Counted) -> None:
        self._number_words(self.clusters or {})
        if content.pairs.shape != (len(self.words_),) * 2:
            raise ValueError(f"counts for {len(self.words_)} words expected")
        self._take(content.pairs)

    def _summary(self) -> str:
        return f"{len(self.words_):,} words in {len(self.names_):,} classes"
