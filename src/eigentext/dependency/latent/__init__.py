"""Latent tree models: a hidden state at every word of a tree, and spectral operators."""
