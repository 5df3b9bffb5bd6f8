"""Compiled loops of this room; the drivers are typed, and call them with arrays."""
