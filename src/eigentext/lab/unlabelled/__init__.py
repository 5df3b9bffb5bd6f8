"""Sentences without trees beside a treebank of dependencies."""
