"""Word representations from counts of contexts."""
