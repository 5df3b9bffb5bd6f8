"""Words: counts of contexts -> moments -> vectors -> clusters -> exchange -> hierarchy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigentext.words.class_model import ClassBigram
    from eigentext.words.clusters import SpectralClusters
    from eigentext.words.estimators import LRMVL, CCAEmbedding

__all__ = ["LRMVL", "CCAEmbedding", "ClassBigram", "SpectralClusters"]

_HOME_OF = {
    "CCAEmbedding": "estimators",
    "LRMVL": "estimators",
    "SpectralClusters": "clusters",
    "ClassBigram": "class_model",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"eigentext.words.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'eigentext.words' has no attribute {name!r}")
