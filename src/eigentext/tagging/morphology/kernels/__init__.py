"""Compiled loops: arrays and scalars only, nothing is checked."""
