"""Word clusters as an estimator, and as the file of paths that tools for Brown clusters read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigentext.base.files.opening import Source
from eigentext.base.model import Model
from eigentext.base.progress import Progress
from eigentext.base.records import Record, learned
from eigentext.base.registry import NO_MODEL
from eigentext.base.tokens import checked_tokens
from eigentext.base.types import Int64s
from eigentext.base.values import Named, Whole
from eigentext.counting.counting import count_sentences
from eigentext.counting.counts import Counts
from eigentext.counting.vocabulary import UNKNOWN
from eigentext.drawing.words_tree import ClusterTree
from eigentext.errors import ModelFileError
from eigentext.words.clusters.methods import (
    WordClustering,
    check_memory,
    cluster_counts,
    contexts_to_count,
)
from eigentext.words.settings import ClusterSettings


@dataclass(eq=False, repr=False)
class SpectralClusters(Model, ClusterSettings):
    """Clusters of words in a binary hierarchy, from text or counts.

    >>> sentences = [s.split() for s in ["a cat ran", "a dog ran", "the cat sat", "the dog sat"]]
    >>> clusters = SpectralClusters(n_clusters=3).fit(sentences * 3)
    >>> cat, dog, the = clusters.predict(["cat", "dog", "the"]).tolist()
    >>> cat == dog != the
    True

    After ``fit``: ``words_``, ``counts_``, ``labels_`` (n,), ``paths_`` (bits of each word),
    ``cluster_paths_``, ``mutual_information_``, ``gamma_``, ``singular_values_``, ``clustering_``.
    """

    KIND = "clusters"
    SIZED_BY = Named({"n_clusters": Whole(1, 10**9)})

    clustering_: WordClustering = learned(Record(WordClustering))

    def contexts_to_count(self) -> str:
        """What must be counted to fit this model to counts."""
        return contexts_to_count(self.contexts)

    def fit(
        self,
        X: Iterable[Sequence[str]] | Counts,
        y: object = None,
        *,
        memory: str | int | None = None,
        progress: Progress | None = None,
    ) -> SpectralClusters:
        """Cluster the words of token lists, or of counts that hold the contexts (and +1 or -1).

        What needs more than ``memory`` is refused.
        """
        self.check()
        if isinstance(X, Counts):
            counts = X
        else:
            contexts = self.contexts_to_count()
            counts = count_sentences(X, contexts=contexts, vocab_size=self.vocab_size)
        if memory is not None:
            check_memory(memory, counts, self)
        return self._take(cluster_counts(counts, self, progress=progress))

    def _take(self, clustering: WordClustering) -> SpectralClusters:
        self.clustering_ = clustering
        self.words_ = clustering.words
        self.counts_ = clustering.counts
        self.labels_ = clustering.labels
        self.cluster_paths_ = clustering.paths
        self.paths_ = [clustering.paths[label] for label in clustering.labels.tolist()]
        self.mutual_information_ = clustering.information
        self.gamma_ = clustering.gamma
        self.singular_values_ = clustering.singular_values
        self._ids = {word: i for i, word in enumerate(clustering.words)}
        return self

    def fit_predict(self, X: Iterable[Sequence[str]] | Counts, y: object = None) -> Int64s:
        """The cluster of each of ``words_``, after ``fit``."""
        return self.fit(X).labels_

    def predict(self, words: Iterable[str]) -> Int64s:
        """The cluster of each word; that of ``<unk>`` for others, or -1 where there is none."""
        self.check_fitted()
        unknown = self._ids.get(UNKNOWN)
        ids = [self._ids.get(word, unknown) for word in checked_tokens(words, "what is asked for")]
        return np.array([-1 if i is None else self.labels_[i] for i in ids], dtype=np.int64)

    def transform(self, words: Iterable[str]) -> list[str]:
        """The bits of each word; those of ``<unk>`` for others, or "" where there is none."""
        labels = self.predict(words).tolist()
        return ["" if label < 0 else self.cluster_paths_[label] for label in labels]

    def word_paths(self) -> dict[str, str]:
        """The bits of every word."""
        self.check_fitted()
        return dict(zip(self.words_, self.paths_, strict=True))

    def tree(self) -> ClusterTree:
        """The tree of the clusters, for reports and drawings."""
        from eigentext.drawing.words_tree import tree_of_paths
        from eigentext.language.formats.brown_paths import PathEntry

        self.check_fitted()
        return tree_of_paths(map(PathEntry, self.paths_, self.words_, self.counts_.tolist()))

    def __sklearn_tags__(self) -> Any:
        # transform is there, but takes words, not what fit takes: there is no fit_transform
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "clusterer"
        tags.transformer_tags = TransformerTags()
        return tags

    def assign(
        self, X: Iterable[Sequence[str]] | Counts, *, by: str = "information"
    ) -> SpectralClusters:
        """A copy with the words of other text put into these clusters, without learning anew."""
        from eigentext.words.clusters.assign import assign

        self.check_fitted()
        counts = X if isinstance(X, Counts) else count_sentences(X, contexts="r1")
        copy = SpectralClusters(**self.settings_.get_params(deep=False))
        copy._remember_settings()
        return copy._take(assign(self.clustering_, counts, by=by))

    def write_paths(self, path: Source) -> int:
        """Write bits TAB word TAB count for every word, sorted by bits, then by count."""
        from eigentext.language.formats.brown_paths import PathEntry, write_paths

        self.check_fitted()
        order = sorted(range(len(self.words_)), key=lambda i: (self.paths_[i], i))
        counts = self.counts_.tolist()
        return write_paths(
            (PathEntry(self.paths_[i], self.words_[i], counts[i]) for i in order), path
        )

    def _restore(self, content: SpectralClusters) -> None:
        self._take(content.clustering_)

    def _summary(self) -> str:
        return (
            f"{len(self.words_):,} words in {len(self.cluster_paths_):,} clusters, "
            f"mutual information {self.mutual_information_:.3f}"
        )

    def _picture(self) -> str:
        from eigentext.drawing.words_tree import cluster_tree_svg

        return cluster_tree_svg(self.tree(), ends=12, words=5)


def read_clusters(path: Source) -> dict[str, str]:
    """The bits of every word, from a model file of kind ``clusters`` or a Brown ``paths`` file.

    >>> from eigentext.base.files.opening import write_lines
    >>> _ = write_lines("memory://doc/read.paths", ["0\\tcat\\t2", "1\\tran\\t1"])
    >>> read_clusters("memory://doc/read.paths")
    {'cat': '0', 'ran': '1'}
    """
    from eigentext.language.formats.brown_paths import read_paths

    try:
        return SpectralClusters.load(path).word_paths()
    except ModelFileError as error:
        if error.content != NO_MODEL:
            raise
        return {entry.word: entry.bits for entry in read_paths(path)}
