"""Words: counts of contexts -> moments -> vectors -> clusters -> exchange -> hierarchy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigentext.words.clusters.model import SpectralClusters
    from eigentext.words.embeddings.estimators import LRMVL, CCAEmbedding
    from eigentext.words.lm.class_bigram import ClassBigram

__all__ = ["LRMVL", "CCAEmbedding", "ClassBigram", "SpectralClusters"]

_HOME_OF = {
    "CCAEmbedding": "embeddings.estimators",
    "LRMVL": "embeddings.estimators",
    "SpectralClusters": "clusters.model",
    "ClassBigram": "lm.class_bigram",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"eigentext.words.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'eigentext.words' has no attribute {name!r}")
