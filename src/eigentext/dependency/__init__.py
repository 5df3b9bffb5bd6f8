"""Dependency trees: a graph-based parser, k-best lists, latent trees, a reranker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy

if TYPE_CHECKING:
    from eigentext.dependency.generative.parser import GenerativeParser as GenerativeParser
    from eigentext.dependency.graph.answer import Parse as Parse
    from eigentext.dependency.graph.parser import DependencyParser as DependencyParser
    from eigentext.dependency.latent.model import LatentTreeModel as LatentTreeModel
    from eigentext.dependency.latent.operators import (
        SpectralTreeOperators as SpectralTreeOperators,
    )
    from eigentext.dependency.rerank.reranker import Reranker as Reranker

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "generative.parser": "GenerativeParser",
        "graph.answer": "Parse",
        "graph.parser": "DependencyParser",
        "latent.model": "LatentTreeModel",
        "latent.operators": "SpectralTreeOperators",
        "rerank.reranker": "Reranker",
    },
)
