"""TopicModel: topics of documents by moments, and EM from there.

1. ``fit`` chooses the words and counts them (counting/documents.py), finds topics by the tensor
   power method (learn.py), cuts off what sampling has made negative, and improves them by
   ``refine`` iterations of EM; how many, every tenth document tells.
2. ``transform`` gives the proportions of topics in documents, ``perplexity`` how well one half of
   a document tells the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eigentext.base.fields import Reals, Shares, Strings
from eigentext.base.model import Model, Transformer
from eigentext.base.progress import Progress
from eigentext.base.records import learned
from eigentext.base.tokens import each_sentence
from eigentext.base.types import Float64s, Sparse
from eigentext.base.values import Real, Whole
from eigentext.counting.documents import CountedDocuments, WordChoice, count_documents
from eigentext.errors import DataError, RankError, SettingsError
from eigentext.words.settings import TopicSettings
from eigentext.words.topics.learn import (
    DocumentMoments,
    RawTopics,
    Topics,
    proportions_of,
    refined,
    topics_of,
)

_ITERATIONS = (5, 10, 20, 50)  # of EM, for refine="auto"
_ENOUGH = 1.002
_FEW, _OF_FEW = 100, 10  # of fewer documents than this a tenth tells nothing


class TopicView(NamedTuple):
    """A topic as a person sees it: its number, its share, and words with p(word | topic)."""

    topic: int
    share: float
    words: list[tuple[str, float]]


@dataclass(eq=False, repr=False)
class TopicModel(Transformer, Model, TopicSettings):
    """Topics of documents: words that stand in the same ones.

    After ``fit``: ``words_``, ``topics_`` (k, words), ``weights_`` (k,) the share of each topic,
    ``spectrum_`` (k,) the eigenvalues of M_2, ``residual_`` what the power method left of the
    tensor, as a share, ``n_documents_`` and ``n_tokens_``, and ``n_iter_``, the iterations of EM.

    >>> sea = [["ship", "sail", "wind"], ["sail", "ship", "ship"], ["wind", "sail", "ship"]]
    >>> farm = [["horse", "hay", "barn"], ["barn", "hay", "hay"], ["horse", "barn", "hay"]]
    >>> model = TopicModel(2, min_documents=1, max_share=1.0).fit(sea * 5 + farm * 5)
    >>> sorted(sorted(word for word, _ in topic.words) for topic in model.views(3))
    [['barn', 'hay', 'horse'], ['sail', 'ship', 'wind']]
    >>> model.transform([["hay"] * 9, ["ship"] * 9]).max(axis=1).round(1).tolist()
    [0.9, 0.9]
    """

    KIND = "topics"
    words_: tuple[str, ...] = learned(Strings("words", distinct=True))
    topics_: Float64s = learned(Reals(("topics", "words"), low=1e-300, high=1.001))
    weights_: Float64s = learned(Shares(("topics",)))
    spectrum_: Float64s = learned(Reals(("topics",)))
    residual_: float = learned(Real(0))
    n_documents_: int = learned(Whole(0))
    n_tokens_: int = learned(Whole(0))
    n_iter_: int | None = learned(Whole(0, optional=True))  # files of before do not tell it

    # ------------------------------------------------------------ learning

    def fit(
        self, X: Iterable[Sequence[str]], y: object = None, *, progress: Progress | None = None
    ) -> TopicModel:
        """Learn from documents, lists of tokens, which are read once; ``y`` is not used."""
        self.check()
        choice = WordChoice(self.vocab_size, self.min_documents, self.max_share, self.fold_case)
        texts = [tokens for tokens in each_sentence(X) if len(tokens)]  # blank lines are none
        if not texts:
            raise DataError("documents", None, "no words to learn from")
        return self.fit_counts(count_documents(texts, choice), progress=progress)

    def fit_counts(
        self, counted: CountedDocuments, *, progress: Progress | None = None
    ) -> TopicModel:
        """Learn from documents that are counted already, with these words."""
        self.check()
        counts = counted.matrix
        if not counts.nnz:
            why = (
                f"no word with a letter in it stands in {self.min_documents} documents or more, "
                f"and in at most {100 * self.max_share:.6g}% of all {counts.shape[0]:,}: take a "
                "smaller --min-documents (min_documents) or a larger --max-share (max_share)"
            )
            raise DataError("documents", None, why)
        raw, topics = self._of_moments(counts)
        n_iter = self._chosen_iterations(counts) if self.refine == "auto" else self.refine
        better = refined(topics, counts, n_iter=n_iter, progress=progress).params
        order = np.argsort(-np.round(better.weights, 12), kind="stable")
        self.words_ = counted.words
        self.topics_, self.weights_ = better.phi[order], better.weights[order]
        self.spectrum_, self.residual_ = raw.spectrum, raw.tensor.residual
        self.n_documents_, self.n_tokens_ = counts.shape[0], int(counts.sum())
        self.n_iter_ = n_iter
        return self

    def _of_moments(self, counts: Sparse) -> tuple[RawTopics, Topics]:
        """Topics as the moments of documents give them, and without negative entries."""
        raw = topics_of(DocumentMoments.of(counts), self.n_topics, self.alpha0, seed=self.seed)
        often = np.asarray(counts.sum(axis=0), np.float64).ravel() + 1e-3
        phi = np.maximum(raw.topics, 0.0)
        phi /= phi.sum(axis=1, keepdims=True)
        phi = (1 - self.smoothing) * phi + self.smoothing * often / often.sum()
        return raw, Topics(phi, raw.weights, self.alpha0)

    def _chosen_iterations(self, counts: Sparse) -> int:
        """Iterations that are best for every tenth document: more only if better by 0.2%."""
        numbers = np.arange(counts.shape[0])
        if len(numbers) < _FEW:
            return _OF_FEW
        even, odd = halves_of(counts[numbers[::10]])
        kept = counts[numbers[numbers % 10 > 0]]
        try:
            topics = self._of_moments(kept)[1]
        except (DataError, RankError):  # nine tenths of them hold less than all
            return _OF_FEW
        if not odd.nnz:
            return _OF_FEW
        theta = topics.usual(kept.shape[0])
        best, chosen, done = np.inf, 0, 0
        for n_iter in _ITERATIONS:
            topics = refined(topics, kept, n_iter=n_iter - done, theta=theta).params
            done = n_iter
            reached = held_out_perplexity(proportions_of(topics, even), topics.phi, odd)
            if not reached * _ENOUGH < best:
                break
            best, chosen = reached, n_iter
        return chosen

    # ------------------------------------------------------------ use

    def views(self, top: int = 10) -> list[TopicView]:
        """The topics with their leading words, the largest topic first."""
        self.check_fitted()
        if top < 1:
            raise SettingsError(f"top {top}: expected at least 1")
        views = []
        for number, (share, row) in enumerate(zip(self.weights_, self.topics_, strict=True)):
            order = np.argsort(-np.round(row, 12), kind="stable")[:top]
            words = [(self.words_[i], float(row[i])) for i in order.tolist()]
            views.append(TopicView(number, float(share), words))
        return views

    def transform(self, X: Iterable[Sequence[str]]) -> Float64s:
        """(documents, topics) the proportions of topics in each; rows sum to 1.

        A document without a word that is known has the shares of the topics in all documents.
        """
        return proportions_of(self._parameters(), self.counts_of(X))

    def perplexity(self, X: Iterable[Sequence[str]]) -> float:
        """Of every second word of documents, given the other words of the same document.

        Words that are not known are left out.
        """
        halves: tuple[list[list[str]], list[list[str]]] = ([], [])
        vocabulary = set(self.words_) if hasattr(self, "words_") else set()
        topics = self._parameters()
        fold = self.settings_.fold_case
        for tokens in each_sentence(X):
            words = [token.lower() if fold else token for token in tokens]
            words = [word for word in words if word in vocabulary]
            halves[0].append(words[::2])
            halves[1].append(words[1::2])
        if not any(halves[1]):
            raise DataError("documents", None, "no document has two words that are known")
        even, odd = (self.counts_of(half) for half in halves)
        return held_out_perplexity(proportions_of(topics, even), topics.phi, odd)

    def score(self, X: Iterable[Sequence[str]], y: object = None) -> float:
        """Minus the logarithm of the perplexity, so that more is better, as searches want it."""
        return -float(np.log(self.perplexity(X)))

    def counts_of(self, X: Iterable[Sequence[str]]) -> Sparse:
        """(documents, words) csr: how often each of the model's words stands in each."""
        self.check_fitted()
        choice = WordChoice(fold_case=self.settings_.fold_case)
        return count_documents(each_sentence(X), choice, words=self.words_).matrix

    def _parameters(self) -> Topics:
        self.check_fitted()
        return Topics(self.topics_, self.weights_, self.settings_.alpha0)

    def _summary(self) -> str:
        return f"{len(self.topics_):,} topics, {len(self.words_):,} words"


def halves_of(counts: Sparse) -> tuple[Sparse, Sparse]:
    """Every other word of documents (n, V) csr and the rest of them; words in order of columns.

    >>> from scipy.sparse import csr_array
    >>> given, asked = halves_of(csr_array(np.array([[3, 0, 1], [0, 1, 2]])))
    >>> given.toarray().tolist(), asked.toarray().tolist()
    ([[2, 0, 0], [0, 1, 1]], [[1, 0, 1], [0, 0, 1]])
    """
    ordered = counts.sorted_indices()
    ends = np.cumsum(ordered.data)
    lengths = np.asarray(ordered.sum(axis=1)).ravel()
    before = np.repeat(np.cumsum(lengths) - lengths, np.diff(ordered.indptr))
    ends = ends - before  # within the document
    even, odd = ordered.copy(), ordered.copy()
    even.data = (ends + 1) // 2 - (ends - ordered.data + 1) // 2
    odd.data = ordered.data - even.data
    for half in (even, odd):
        half.eliminate_zeros()
    return even, odd


def held_out_perplexity(theta: Float64s, phi: Float64s, counts: Sparse) -> float:
    """``exp(- sum n_dv log(sum_i theta_di phi_iv) / sum n_dv)`` of counts (documents, words).

    >>> from scipy.sparse import csr_array
    >>> even = np.full((1, 4), 0.25)
    >>> held_out_perplexity(np.ones((2, 1)), even, csr_array(np.array([[1, 0, 2, 0], [0] * 4])))
    4.0
    """
    entries = counts.tocoo()
    probability = np.einsum("ij,ij->i", theta[entries.row], phi.T[entries.col])
    return float(np.exp(-(entries.data @ np.log(probability)) / entries.data.sum()))
