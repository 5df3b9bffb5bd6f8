"""Compiled loops over the trees of lists."""
