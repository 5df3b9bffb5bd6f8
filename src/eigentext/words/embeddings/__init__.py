"""Vectors of words and of tokens."""
