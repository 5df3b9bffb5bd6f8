"""Hidden Markov models recovered by the tensor power method (Anandkumar et al. 2014)."""
