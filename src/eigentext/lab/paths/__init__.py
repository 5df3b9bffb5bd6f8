"""Hidden Markov models of root-to-leaf paths: the baseline of latent trees."""
