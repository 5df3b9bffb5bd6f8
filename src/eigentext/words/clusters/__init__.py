"""Words in a binary hierarchy of clusters."""
