"""From a treebank to parameters: one file per estimator, and ``models`` for all of them."""
