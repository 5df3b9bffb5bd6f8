"""Compiled loops of the tagger."""
