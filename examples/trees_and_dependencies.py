"""Collapse, binarise and undo; then read dependencies off a tree by head rules."""

from eigentext.datasets import load_english
from eigentext.language.trees.binarise import binarise, collapse, expand, unbinarise
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import to_dependencies

tree = Tree.from_brackets(load_english("test")[0])
binary = binarise(collapse(tree), h=1)
print(binary)
assert expand(unbinarise(binary)) == tree
for head, word, relation in to_dependencies(tree).arcs:
    print(
        f"{tree.words[word - 1]:>12} <- {tree.words[head - 1] if head else 'root':<12} {relation}"
    )
