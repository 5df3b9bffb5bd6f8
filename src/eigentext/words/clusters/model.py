"""Word clusters as an estimator and as a model file.

1. :class:`SpectralClusters` takes token lists, or stored counts, and clusters their words;
2. ``labels_``, ``paths_`` and ``predict``/``transform`` give the clusters of words;
3. ``save`` and ``load`` keep them as a model file of kind ``clusters``; ``write_paths`` writes the
   file that tools for Brown clusters read.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from eigentext.base.fields import Ints, Parts, Real, Reals, Spec, Strings, Text, Whole
from eigentext.base.registry import NO_MODEL
from eigentext.corpus.counts import Counts
from eigentext.errors import DataError, ModelFileError
from eigentext.words.clusters.methods import (
    Clustering,
    ClusterSettings,
    cluster_counts,
    contexts_to_count,
)
from eigentext.words.inputs import checked_sentences

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

__all__ = [
    "FORMAT_VERSION",
    "KIND",
    "SpectralClusters",
    "count_tokens",
    "load_clusters",
    "read_clusters",
]

KIND = "clusters"
FORMAT_VERSION = 1
_MOST = 10**15  # tokens
SPEC = Spec(
    {
        "n_clusters": Whole(1, 10**9),
        "method": Text(),
        "contexts": Text(),
        "kappa": Real(0),
        "seed": Whole(0),
        "vocab_size": Whole(1, optional=True),
        "mutual_information": Real(),
        "gamma": Real(optional=True),
    },
    lambda settings: Parts(
        {
            "labels": Ints(("words",), low=0, below="clusters"),
            "counts": Ints(("words",), low=0, below=_MOST),
            "pairs": Ints(("clusters", "clusters"), low=0, below=_MOST),
            "singular_values": Reals(("values",)),
            "history": Reals(("passes",)),
        },
        {
            "words": Strings("words", distinct=True),
            "paths": Strings("clusters", bits=True),
        },
        {"clusters": settings["n_clusters"]},
    ),
)


class SpectralClusters(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Clusters of words in a binary hierarchy, from text or counts.

    >>> sentences = [s.split() for s in ["a cat ran", "a dog ran", "the cat sat", "the dog sat"]]
    >>> clusters = SpectralClusters(n_clusters=3).fit(sentences * 3)
    >>> cat, dog, the = clusters.predict(["cat", "dog", "the"]).tolist()
    >>> cat == dog != the
    True

    Args:
        n_clusters: how many clusters, m
        vocab_size: keep the n most frequent words; all others are the word ``<unk>``
        method: ``spectral``, ``paper``, ``exchange`` or ``brown``
        contexts: relative positions whose words are a word's context
        kappa: pseudo-count of the scaling
        passes: exchange passes; None takes the method's own
        hierarchy: how the tree is made; None takes the method's own
        seed: start of the decomposition's random block

    After ``fit``: ``words_``, ``counts_``, ``labels_`` (n,), ``paths_`` (bits of each word),
    ``cluster_paths_``, ``mutual_information_``, ``gamma_``, ``singular_values_``, ``clustering_``.
    """

    def __init__(
        self,
        n_clusters: int = 200,
        *,
        vocab_size: int | None = None,
        method: str = "spectral",
        contexts: str = "lr1",
        kappa: float = 100.0,
        passes: int | None = None,
        hierarchy: str | None = None,
        seed: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.vocab_size = vocab_size
        self.method = method
        self.contexts = contexts
        self.kappa = kappa
        self.passes = passes
        self.hierarchy = hierarchy
        self.seed = seed

    def fit(
        self,
        X: Iterable[Sequence[str]] | Counts,
        y: object = None,
        *,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> SpectralClusters:
        """Cluster the words of token lists, or of counts that hold the contexts (and +1 or -1)."""
        settings = ClusterSettings(
            self.n_clusters,
            self.method,
            self.contexts,
            self.kappa,
            self.passes,
            self.hierarchy,
            seed=self.seed,
        )
        if isinstance(X, Counts):
            counts = X
        else:
            counts = count_tokens(X, contexts_to_count(self.contexts), self.vocab_size)
        return self._take(cluster_counts(counts, settings, progress=progress))

    def _take(self, found: Clustering) -> SpectralClusters:
        self.clustering_ = found
        self.words_ = found.words
        self.counts_ = found.counts
        self.labels_ = found.labels
        self.cluster_paths_ = found.paths
        self.paths_ = [found.paths[label] for label in found.labels.tolist()]
        self.mutual_information_ = found.information
        self.gamma_ = found.gamma
        self.singular_values_ = found.singular_values
        self._ids = {word: i for i, word in enumerate(found.words)}
        return self

    def predict(self, words: Iterable[str]) -> npt.NDArray[np.int64]:
        """The cluster of each word; that of ``<unk>`` for others, or -1 where there is none."""
        self._check_fitted(words)
        unknown = self._ids.get("<unk>")
        ids = [self._ids.get(word, unknown) for word in words]
        return np.array([-1 if i is None else self.labels_[i] for i in ids], dtype=np.int64)

    def transform(self, words: Iterable[str]) -> list[str]:
        """The bits of each word; those of ``<unk>`` for others, or "" where there is none."""
        labels = self.predict(words).tolist()
        return ["" if label < 0 else self.cluster_paths_[label] for label in labels]

    def __sklearn_tags__(self) -> Any:
        # transform is there, but takes words, not what fit takes: no fit_transform of the mixin
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags()
        return tags

    def _check_fitted(self, words: Iterable[str]) -> None:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "labels_")
        if isinstance(words, str):
            raise TypeError(f"words are a list of strings: [{words!r}]")

    def assign(self, X: Iterable[Sequence[str]] | Counts, *, by: str = "information") -> Any:
        """A copy with the words of other text put into these clusters, without learning anew."""
        from sklearn.base import clone

        from eigentext.words.clusters.assign import assign

        self._check_fitted(())
        counts = X if isinstance(X, Counts) else count_tokens(X, "r1", None)
        return clone(self)._take(assign(self.clustering_, counts, by=by))

    def write_paths(self, path: str) -> int:
        """Write bits TAB word TAB count for every word, sorted by bits, then by count."""
        from eigentext.formats.brown_paths import PathEntry, write_paths

        self._check_fitted(())
        order = sorted(range(len(self.words_)), key=lambda i: (self.paths_[i], i))
        counts = self.counts_.tolist()
        return write_paths(
            (PathEntry(self.paths_[i], self.words_[i], counts[i]) for i in order), path
        )

    def save(self, path: str | os.PathLike[str], *, data: dict[str, Any] | None = None) -> None:
        """Write a model file of kind ``clusters``."""
        from eigentext.base import modelfile

        self._check_fitted(())
        found = self.clustering_
        arrays = {
            "labels": found.labels,
            "counts": found.counts,
            "pairs": found.pairs,
            "singular_values": found.singular_values,
            "history": np.array(found.history, dtype=np.float64),
        }
        settings = {
            **dataclasses.asdict(found.settings),
            "vocab_size": self.vocab_size,
            "mutual_information": found.information,
            "gamma": found.gamma,
        }
        modelfile.save(
            path,
            KIND,
            arrays,
            settings=settings,
            format_version=FORMAT_VERSION,
            strings={"words": found.words, "paths": found.paths},
            seed=self.seed,
            data=data,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SpectralClusters:
        """Read a model file of kind ``clusters``."""
        return load_clusters(path)


def count_tokens(
    sentences: Iterable[Sequence[str]], contexts: str, vocab_size: int | None
) -> Counts:
    """Count token lists as :func:`~eigentext.corpus.counting.count` counts files.

    >>> count_tokens([["a", "b"], ["a"]], "r1", None).words
    ('a', 'b', '<unk>')
    """
    from eigentext.base.files.scratch import scratch_folder
    from eigentext.corpus.counting import count
    from eigentext.formats.text import write_sentences

    with scratch_folder() as folder:
        text = folder / "sentences.txt"
        try:
            write_sentences(checked_sentences(sentences), text)
            if not text.stat().st_size:
                raise DataError("sentences", None, "no tokens, expected text")
            return count([str(text)], contexts=contexts, vocab_size=vocab_size)
        except DataError as error:
            if error.path == str(text):
                raise DataError("sentences", error.line, error.why) from error
            raise


def load_clusters(path: str | os.PathLike[str]) -> SpectralClusters:
    """Read a model file of kind ``clusters``."""
    from eigentext.base import modelfile

    file = modelfile.load(path, KIND, {FORMAT_VERSION}, SPEC)
    with file.fitting():
        said = dict(file.header.settings)
        vocab_size, information = said.pop("vocab_size"), float(said.pop("mutual_information"))
        gamma = said.pop("gamma")
        settings = ClusterSettings(**said)
        found = Clustering(
            tuple(file.strings["words"]),
            file.arrays["counts"],
            file.arrays["labels"],
            file.strings["paths"],
            file.arrays["pairs"],
            information,
            settings,
            file.arrays["singular_values"],
            gamma,
            file.arrays["history"].tolist(),
        )
    model = SpectralClusters(
        settings.n_clusters,
        vocab_size=vocab_size,
        method=settings.method,
        contexts=settings.contexts,
        kappa=settings.kappa,
        passes=settings.passes,
        hierarchy=settings.tree,
        seed=settings.seed,
    )
    return model._take(found)


def read_clusters(path: str) -> dict[str, str]:
    """The bits of every word, from a model file of kind ``clusters`` or a Brown ``paths`` file.

    >>> from eigentext.base.files.opening import write_lines
    >>> _ = write_lines("memory://doc/read.paths", ["0\\tcat\\t2", "1\\tran\\t1"])
    >>> read_clusters("memory://doc/read.paths")
    {'cat': '0', 'ran': '1'}
    """
    from eigentext.formats.brown_paths import read_paths

    try:
        model = load_clusters(path)
    except ModelFileError as error:
        if error.found != NO_MODEL:
            raise
        return {entry.word: entry.bits for entry in read_paths(path)}
    return dict(zip(model.words_, model.paths_, strict=True))
