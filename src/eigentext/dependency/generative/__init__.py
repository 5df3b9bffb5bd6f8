"""A generative parser: p(words, tree) with hidden states."""
