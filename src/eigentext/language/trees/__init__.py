"""Plain trees: constituents, dependencies, and what is done and undone to them."""
