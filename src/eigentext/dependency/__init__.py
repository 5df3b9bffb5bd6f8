"""Dependency trees: a graph-based parser, k-best lists, latent trees, a reranker."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigentext.dependency.answer import Parse
    from eigentext.dependency.generative import GenerativeParser
    from eigentext.dependency.latent import LatentTreeModel
    from eigentext.dependency.operators import SpectralTreeOperators
    from eigentext.dependency.parser import DependencyParser
    from eigentext.dependency.rerank import Reranker

__all__ = [
    "DependencyParser",
    "GenerativeParser",
    "LatentTreeModel",
    "Parse",
    "Reranker",
    "SpectralTreeOperators",
]

_HOME_OF = {
    "Reranker": "rerank",
    "GenerativeParser": "generative",
    "DependencyParser": "parser",
    "LatentTreeModel": "latent",
    "Parse": "answer",
    "SpectralTreeOperators": "operators",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"eigentext.dependency.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'eigentext.dependency' has no attribute {name!r}")
