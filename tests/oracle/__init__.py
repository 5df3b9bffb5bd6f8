"""Slow answers by the definition, with which the fast ones are compared."""
