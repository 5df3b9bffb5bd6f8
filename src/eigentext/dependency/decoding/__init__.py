"""From scores of arcs to trees: the best, the k best, marginals, under demands."""
