"""Text to tokens, to a vocabulary, to counts that add over shards."""
