"""Taggers with hidden states behind every tag."""
