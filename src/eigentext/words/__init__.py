"""Words: counts of contexts -> moments -> vectors -> clusters -> exchange -> hierarchy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigentext.words.clusters.features import ClusterFeatures
    from eigentext.words.clusters.model import SpectralClusters
    from eigentext.words.embeddings.cca import CCAEmbedding
    from eigentext.words.embeddings.lrmvl import LRMVL
    from eigentext.words.embeddings.vectors import Embeddings
    from eigentext.words.lm.class_bigram import ClassBigram

__all__ = [
    "LRMVL",
    "CCAEmbedding",
    "ClassBigram",
    "ClusterFeatures",
    "Embeddings",
    "SpectralClusters",
]

_HOME_OF = {
    "CCAEmbedding": "embeddings.cca",
    "ClassBigram": "lm.class_bigram",
    "ClusterFeatures": "clusters.features",
    "Embeddings": "embeddings.vectors",
    "LRMVL": "embeddings.lrmvl",
    "SpectralClusters": "clusters.model",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"eigentext.words.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'eigentext.words' has no attribute {name!r}")
