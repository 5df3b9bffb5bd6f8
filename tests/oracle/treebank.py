"""A treebank laid out tree by tree: the twin of the reader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from eigentext.constituency.treebank import FlatTrees, Numbering, Treebank, assemble
from eigentext.errors import SettingsError
from eigentext.features.signatures import Language
from eigentext.language.trees.constituent import Tree


def build_treebank(
    trees: Sequence[Tree], heads: Iterable[Sequence[int]], *, rare: int, language: Language
) -> Treebank:
    """Lay binarised trees end to end; ``heads`` gives the head word of every non-leaf node.

    A word seen at most ``rare`` times shares the class of its signature.
    """
    if not trees:
        raise SettingsError("a grammar needs at least one tree")
    sizes = np.concatenate([tree.sizes for tree in trees]).astype(np.int64)
    inner = sizes > 1
    nodes = np.flatnonzero(inner)
    before = np.concatenate(([0], np.cumsum(inner)))
    numbers = Numbering[str]()
    number = np.fromiter(
        map(numbers.__getitem__, chain.from_iterable(tree.labels for tree in trees)),
        dtype=np.int64,
        count=len(sizes),
    )
    n_words = np.array([len(tree) for tree in trees])
    n_inner = np.array([tree.n_nodes for tree in trees]) - n_words
    offset = np.repeat(np.cumsum(n_words) - n_words, n_inner)
    names = list(numbers)
    flat = FlatTrees(
        sizes=before[nodes + sizes[nodes]] - before[nodes],
        label=number[nodes],
        label_names=names,
        head=offset + np.fromiter(chain.from_iterable(heads), dtype=np.int64, count=len(nodes)),
        word=number[~inner],
        word_names=names,
    )
    return assemble(flat, rare=rare, language=language)
