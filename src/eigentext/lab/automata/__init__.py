"""Weighted automata of strings, learned from Hankel blocks: alone, by class, and of pairs."""
