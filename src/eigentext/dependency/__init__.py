"""Dependency trees: a graph-based parser, k-best lists, latent trees, a reranker."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigentext.dependency.generative.parser import GenerativeParser
    from eigentext.dependency.graph.answer import Parse
    from eigentext.dependency.graph.parser import DependencyParser
    from eigentext.dependency.latent.model import LatentTreeModel
    from eigentext.dependency.latent.operators import SpectralTreeOperators
    from eigentext.dependency.rerank.reranker import Reranker

__all__ = [
    "DependencyParser",
    "GenerativeParser",
    "LatentTreeModel",
    "Parse",
    "Reranker",
    "SpectralTreeOperators",
]

_HOME_OF = {
    "Reranker": "rerank.reranker",
    "GenerativeParser": "generative.parser",
    "DependencyParser": "graph.parser",
    "LatentTreeModel": "latent.model",
    "Parse": "graph.answer",
    "SpectralTreeOperators": "latent.operators",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"eigentext.dependency.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'eigentext.dependency' has no attribute {name!r}")
