"""A graph-based parser: features of arcs, their weights, relations."""
