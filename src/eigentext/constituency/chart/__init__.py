"""From a sentence to trees: the pruned chart, posteriors of its items, decoders, constraints."""
