"""Pivots: states from features that stand with one state alone (Cohen and Collins 2014)."""
