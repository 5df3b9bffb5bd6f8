"""Plots, drawings and HTML reports."""
