"""Texts to counts of cluster paths: features for any classifier of scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from eigentext.base.model import NotFittedError, Transformer
from eigentext.base.ragged import pointers
from eigentext.base.tokens import checked_tokens
from eigentext.base.types import Sparse
from eigentext.counting.vocabulary import UNKNOWN
from eigentext.errors import SettingsError
from eigentext.language.tokenise.tokens import tokenise
from eigentext.words.clusters.model import SpectralClusters, read_clusters


class ClusterFeatures(Transformer):
    """How often each prefix of a cluster path occurs in a text, as a sparse matrix.

    >>> texts = ["a cat ran", "a dog ran", "the cat sat", "the dog sat"] * 3
    >>> features = ClusterFeatures(SpectralClusters(3), prefixes=(1,)).fit(texts)
    >>> features.get_feature_names_out().tolist()
    ['1:0', '1:1']
    >>> features.transform(["the cat ran", "unheard of"]).sum(axis=1).tolist()
    [3, 0]

    Args:
        clusters: the path of every word, a file of them (a model of ``words cluster``, or the
            paths of any Brown tool), or an estimator: it is fitted to the same texts
        prefixes: lengths of the prefixes; a shorter path counts whole
        tokeniser: for texts that are strings; lists of tokens are taken as they are

    Words without a cluster count as ``<unk>``, or not at all where that has no cluster.  After
    ``fit``: ``columns_``, the column of each (length, prefix), and ``word_columns_``, those of
    each word.
    """

    def __init__(
        self,
        clusters: Mapping[str, str] | str | os.PathLike[str] | SpectralClusters | None = None,
        *,
        prefixes: Sequence[int] = (4, 6, 10, 20),
        tokeniser: str = "generic",
    ) -> None:
        self.clusters = clusters
        self.prefixes = prefixes
        self.tokeniser = tokeniser

    def fit(self, X: Iterable[str | Sequence[str]], y: object = None) -> ClusterFeatures:
        """Learn the columns, and the clusters where these are an estimator."""
        if not self.prefixes or any(int(n) != n or n < 1 for n in self.prefixes):
            raise SettingsError(f"prefixes is {self.prefixes!r}, expected lengths of at least 1")
        paths = self._paths(X)
        names = sorted({(n, path[:n]) for path in paths.values() for n in self.prefixes})
        self.columns_ = {name: column for column, name in enumerate(names)}
        self.word_columns_ = {
            word: [self.columns_[n, path[:n]] for n in self.prefixes]
            for word, path in paths.items()
        }
        return self

    def _paths(self, X: Iterable[str | Sequence[str]]) -> Mapping[str, str]:
        if isinstance(self.clusters, Mapping):
            return self.clusters
        if isinstance(self.clusters, (str, os.PathLike)):
            return read_clusters(self.clusters)
        from sklearn.base import clone

        estimator = SpectralClusters() if self.clusters is None else clone(self.clusters)
        return estimator.fit(self._tokens(X)).word_paths()

    def _tokens(self, X: Iterable[str | Sequence[str]]) -> Iterable[list[str]]:
        if isinstance(X, (str, bytes)):
            raise SettingsError("expected a list of texts, not one string")
        for text in X:
            if isinstance(text, str):
                yield [token.form for token in tokenise(text, self.tokeniser)]
            else:
                yield checked_tokens(text, "a text")

    def transform(self, X: Iterable[str | Sequence[str]]) -> Sparse:
        """Counts of the prefixes in each text: (texts, columns), CSR."""
        from scipy.sparse import csr_array

        self._check_fitted()
        of_unknown = self.word_columns_.get(UNKNOWN, [])
        rows = [
            list(
                chain.from_iterable(self.word_columns_.get(token, of_unknown) for token in tokens)
            )
            for tokens in self._tokens(X)
        ]
        columns = np.fromiter(chain.from_iterable(rows), dtype=np.int32)
        counts = csr_array(
            (np.ones(len(columns), dtype=np.int64), columns, pointers(map(len, rows))),
            shape=(len(rows), len(self.columns_)),
        )
        counts.sum_duplicates()
        return counts

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Names of the columns: length, colon, bits."""
        self._check_fitted()
        return np.array([f"{n}:{bits}" for n, bits in self.columns_], dtype=object)

    def _check_fitted(self) -> None:
        if not hasattr(self, "columns_"):
            raise NotFittedError("this ClusterFeatures has learned nothing yet: call fit")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
