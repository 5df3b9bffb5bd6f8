"""Compiled loops of this room: arrays and scalars only, nothing is checked."""
