"""Dependency trees (papers/000): a graph-based parser, k-best lists, latent trees, a reranker."""
