"""eigentext: the hidden structure of language, learned by linear algebra.

Importing the package is cheap and has no side effects; a name is loaded when it is first used
(PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigentext.base.model import Model, NotFittedError, load
    from eigentext.constituency import LPCFG
    from eigentext.dependency import DependencyParser, LatentTreeModel, Reranker
    from eigentext.errors import (
        DataError,
        EigentextError,
        MissingExtraError,
        ModelFileError,
        RankError,
        SettingsError,
    )
    from eigentext.lexical import LexicalRanker
    from eigentext.sequences import HMM, LatentTagger, SpectralHMM
    from eigentext.tagging import SequenceTagger
    from eigentext.trees.constituent import Tree
    from eigentext.words import LRMVL, CCAEmbedding, SpectralClusters

__version__ = "0.1.0"

_HOME_OF = {
    "CCAEmbedding": "words",
    "DataError": "errors",
    "EigentextError": "errors",
    "DependencyParser": "dependency",
    "HMM": "sequences",
    "LPCFG": "constituency",
    "LRMVL": "words",
    "LatentTagger": "sequences",
    "LatentTreeModel": "dependency",
    "LexicalRanker": "lexical",
    "MissingExtraError": "errors",
    "Model": "base.model",
    "ModelFileError": "errors",
    "NotFittedError": "base.model",
    "RankError": "errors",
    "Reranker": "dependency",
    "SequenceTagger": "tagging",
    "SettingsError": "errors",
    "SpectralClusters": "words",
    "SpectralHMM": "sequences",
    "Tree": "trees.constituent",
    "load": "base.model",
}

__all__ = [
    "HMM",
    "LPCFG",
    "LRMVL",
    "CCAEmbedding",
    "DataError",
    "DependencyParser",
    "EigentextError",
    "LatentTagger",
    "LatentTreeModel",
    "LexicalRanker",
    "MissingExtraError",
    "Model",
    "ModelFileError",
    "NotFittedError",
    "RankError",
    "Reranker",
    "SequenceTagger",
    "SettingsError",
    "SpectralClusters",
    "SpectralHMM",
    "Tree",
    "__version__",
    "load",
]


_ROOMS = (
    "base",
    "cli",
    "constituency",
    "corpus",
    "datasets",
    "dependency",
    "drawing",
    "errors",
    "evaluate",
    "formats",
    "integrations",
    "lexical",
    "linalg",
    "reports",
    "sequences",
    "tagging",
    "trees",
    "web",
    "words",
)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"eigentext.{name}")
    if name in _HOME_OF:
        return getattr(import_module(f"eigentext.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'eigentext' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
