"""Plots, drawings and HTML reports: what a person looks at after a run."""
