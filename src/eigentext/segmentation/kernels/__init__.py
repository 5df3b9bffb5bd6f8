"""Compiled loops of segmentation."""
