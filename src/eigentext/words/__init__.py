"""Words: counts of contexts -> moments -> vectors -> clusters -> exchange -> hierarchy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy

if TYPE_CHECKING:
    from eigentext.words.clusters.features import ClusterFeatures as ClusterFeatures
    from eigentext.words.clusters.model import SpectralClusters as SpectralClusters
    from eigentext.words.embeddings.cca import CCAEmbedding as CCAEmbedding
    from eigentext.words.embeddings.lrmvl import LRMVL as LRMVL
    from eigentext.words.embeddings.multiview import MultiviewEmbedding as MultiviewEmbedding
    from eigentext.words.embeddings.vectors import Embeddings as Embeddings
    from eigentext.words.lm.class_bigram import ClassBigram as ClassBigram
    from eigentext.words.topics.model import TopicModel as TopicModel

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "clusters.features": "ClusterFeatures",
        "clusters.model": "SpectralClusters",
        "embeddings.cca": "CCAEmbedding",
        "embeddings.lrmvl": "LRMVL",
        "embeddings.multiview": "MultiviewEmbedding",
        "embeddings.vectors": "Embeddings",
        "lm.class_bigram": "ClassBigram",
        "topics.model": "TopicModel",
    },
)
