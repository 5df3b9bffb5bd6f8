"""Split head automata from moments (Luque et al. 2012), an expert of the reranker."""
