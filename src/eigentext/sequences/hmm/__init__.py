"""Hidden Markov models with valid parameters: EM and what it begins with, and all queries."""
