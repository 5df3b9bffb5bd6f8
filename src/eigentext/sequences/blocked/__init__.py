"""Hidden Markov models of thousands of states, each word shown by the few states of its block."""
