"""Compiled loops of the ranker: ``hash_table``, ``counting``, ``weighing``."""
