"""``CCAEmbedding`` and ``LRMVL``: the embedders in scikit-learn's manners.

1. ``fit`` takes sentences (lists of tokens) or, for CCAEmbedding, stored counts;
2. ``transform`` turns sentences into vectors: one a sentence (CCAEmbedding, the mean of its words'
   vectors) or one a token (LRMVL);
3. ``save`` and ``load`` keep the fitted model; ``get_params``, ``set_params`` and ``clone`` work
   as everywhere in scikit-learn.

The commands do not pass through here: scikit-learn takes a second to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from eigentext.base.modelfile import fitting
from eigentext.corpus.counts import Counts
from eigentext.corpus.vocabulary import UNKNOWN
from eigentext.errors import SettingsError
from eigentext.words.embeddings.cca import (
    Embeddings,
    EmbeddingSettings,
    Transform,
    Weighting,
    cca_embeddings,
    contexts_to_count,
)
from eigentext.words.embeddings.lrmvl import LRMVLModel, LRMVLSettings, fit_lrmvl
from eigentext.words.inputs import as_counts, checked_sentences

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = ["LRMVL", "CCAEmbedding"]


class CCAEmbedding(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Word vectors by one SVD of scaled context counts; see ``words.embeddings``.

    ``scaling`` is the transform of the counts (ppmi, sqrt, log, none); ``contexts`` None is bag5,
    or what given counts hold; ``weighting`` None is linear where the counts allow it.

    After ``fit``: ``embeddings_`` (words, vectors, singular values), ``counts_`` (what it was
    fitted to; counts of a new shard add to them, and ``fit(counts)`` learns from the sum).

    >>> sentences = [["a", "cat", "ran"], ["a", "dog", "ran"], ["the", "cat", "sat"],
    ...              ["the", "dog", "sat"]]
    >>> model = CCAEmbedding(size=3, contexts="lr1").fit(sentences)
    >>> model.neighbours("cat", 1)[0][0]
    'dog'
    >>> model.transform([["a", "cat"], ["the", "dog", "sat"]]).shape
    (2, 3)
    """

    def __init__(
        self,
        size: int = 200,
        *,
        contexts: str | None = None,
        scaling: Transform = "ppmi",
        exponent: float = EmbeddingSettings.exponent,
        kappa: float | None = None,
        smoothing: float = EmbeddingSettings.smoothing,
        shift: float = EmbeddingSettings.shift,
        weighting: Weighting | None = None,
        fold_case: bool = True,
        overlap: float = EmbeddingSettings.overlap,
        vocab_size: int | None = None,
        min_count: int = 1,
        jobs: int = 1,
        seed: int = 0,
    ) -> None:
        self.size = size
        self.contexts = contexts
        self.scaling = scaling
        self.exponent = exponent
        self.kappa = kappa
        self.smoothing = smoothing
        self.shift = shift
        self.weighting = weighting
        self.fold_case = fold_case
        self.overlap = overlap
        self.vocab_size = vocab_size
        self.min_count = min_count
        self.jobs = jobs
        self.seed = seed

    def fit(self, X: Any, y: None = None) -> CCAEmbedding:
        """Learn from sentences (lists of tokens) or from stored counts; ``y`` is not used."""
        weighting = EmbeddingSettings.weighting if self.weighting is None else self.weighting
        settings = EmbeddingSettings(
            size=self.size,
            transform=self.scaling,
            exponent=self.exponent,
            kappa=self.kappa,
            smoothing=self.smoothing,
            shift=self.shift,
            weighting=weighting,
            overlap=self.overlap,
            fold_case=self.fold_case,
        )
        if isinstance(X, Counts):
            self.counts_ = as_counts(X, X.contexts)
            contexts = self.contexts
            changed: dict[str, Any] = {} if self.weighting is None else {"weighting": weighting}
        else:
            contexts = self.contexts or "bag5"
            wanted = contexts_to_count(contexts, weighting)
            self.counts_ = as_counts(
                X, wanted, vocab_size=self.vocab_size, min_count=self.min_count, jobs=self.jobs
            )
            changed = {}
        self.embeddings_: Embeddings = cca_embeddings(
            self.counts_,
            contexts=contexts,
            settings=settings,
            seed=self.seed,
            on_rank="error",
            **changed,
        )
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The mean of the vectors of each sentence's words: (sentences, size).

        Unknown words count as ``<unk>`` where it has a vector, else they are left out.
        """
        check_is_fitted(self, "embeddings_")
        places, vectors = self.embeddings_.places, self.embeddings_.vectors
        unknown = places.get(UNKNOWN)
        rows = []
        for sentence in checked_sentences(X):
            found = [places.get(token, unknown) for token in sentence]
            known = [place for place in found if place is not None]
            zeros = np.zeros(vectors.shape[1], dtype=np.float32)
            rows.append(vectors[known].mean(axis=0) if known else zeros)
        return np.array(rows, dtype=np.float32).reshape(-1, vectors.shape[1])

    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The k nearest words by cosine, or the answers to an analogy ``a:b::c``."""
        check_is_fitted(self, "embeddings_")
        return self.embeddings_.neighbours(word, k)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file of kind ``embeddings``."""
        check_is_fitted(self, "embeddings_")
        self.embeddings_.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CCAEmbedding:
        """An estimator with the vectors and settings of a model file."""
        found = Embeddings.load(path)
        said = dict(found.settings)
        if said.get("method") != "cca":
            raise SettingsError(f"{path}: vectors of method {said.get('method')!r}, expected cca")
        names = "size exponent kappa smoothing shift weighting fold_case overlap".split()
        with fitting(path):
            model = cls(
                **{name: said[name] for name in names},
                scaling=said["transform"],
                contexts=said["contexts"],
                seed=found.seed or 0,
            )
        model.embeddings_ = found
        return model


class LRMVL(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Word and token vectors by two CCAs over smoothed contexts; see ``words.lrmvl``.

    After ``fit``: ``model_``, and ``embeddings_`` with the vectors of words.

    >>> sentences = [["a", "cat", "ran"], ["a", "dog", "ran"], ["the", "cat", "sat"],
    ...              ["the", "dog", "sat"]]
    >>> model = LRMVL(size=2, kappa=0.1).fit(sentences)
    >>> [tokens.shape for tokens in model.transform([["a", "cat"], ["the", "dog", "sat"]])]
    [(2, 4), (3, 4)]
    """

    def __init__(
        self,
        size: int = 50,
        *,
        rates: tuple[float, ...] = (0.1, 0.5, 0.9),
        iterations: int = 6,
        kappa: float = LRMVLSettings.kappa,
        exponent: float = LRMVLSettings.exponent,
        covariance_tokens: int | None = 1_000_000,
        vocab_size: int | None = None,
        min_count: int = 1,
        seed: int = 0,
    ) -> None:
        self.size = size
        self.rates = rates
        self.iterations = iterations
        self.kappa = kappa
        self.exponent = exponent
        self.covariance_tokens = covariance_tokens
        self.vocab_size = vocab_size
        self.min_count = min_count
        self.seed = seed

    def fit(self, X: Any, y: None = None) -> LRMVL:
        """Learn from sentences (lists of tokens); ``y`` is not used."""
        if isinstance(X, Counts):
            raise TypeError("LR-MVL goes along the text: sentences are meant, not counts")
        settings = LRMVLSettings(
            self.size,
            tuple(self.rates),
            self.iterations,
            self.kappa,
            self.exponent,
            self.covariance_tokens,
        )
        sentences = list(checked_sentences(X))
        vocabulary = as_counts(
            sentences, "unigrams", vocab_size=self.vocab_size, min_count=self.min_count
        ).vocabulary
        end = np.array([-1], dtype=np.int32)
        pieces = [piece for s in sentences if s for piece in (vocabulary.encode(s), end)]
        self.model_: LRMVLModel = fit_lrmvl(
            np.concatenate(pieces), vocabulary.words, settings, seed=self.seed
        )
        return self

    @property
    def embeddings_(self) -> Embeddings:
        """The vectors of words."""
        check_is_fitted(self, "model_")
        return self.model_.embeddings

    def transform(self, X: Any) -> list[NDArray[np.float32]]:
        """The context-sensitive vectors of each sentence's tokens: (tokens, 2 size) each."""
        check_is_fitted(self, "model_")
        return [self.model_.token_vectors(sentence) for sentence in checked_sentences(X)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file of kind ``lrmvl``."""
        check_is_fitted(self, "model_")
        self.model_.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LRMVL:
        """An estimator with the model and settings of a model file."""
        found = LRMVLModel.load(path)
        said = found.embeddings.settings
        names = ("size", "iterations", "kappa", "exponent", "covariance_tokens")
        with fitting(path):
            model = cls(
                **{name: said[name] for name in names},
                rates=tuple(said["rates"]),
                seed=found.embeddings.seed or 0,
            )
        model.model_ = found
        return model
