"""Choosing among the trees of a list: features of groups of nodes, and weights learned from lists.

What the rerankers of constituents and of dependencies share.
"""
