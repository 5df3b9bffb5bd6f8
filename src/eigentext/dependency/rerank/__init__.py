"""K-best lists and their reranking."""
