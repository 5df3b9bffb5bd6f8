"""Trees without a treebank: brackets from tagged text (Parikh, Cohen and Xing 2014)."""
