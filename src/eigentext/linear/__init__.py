"""Linear models: steps of learning, and choosing among the trees of a list.

Features of groups of nodes, and weights learned from lists, are what the rerankers of constituents
and of dependencies share.
"""
