"""All nodes of all training trees in flat arrays: what features, counts and EM run over.

1. Each tree is cleaned, its unary chains are collapsed and it is binarised head-outward, so every
   node is either a preterminal over one word or has exactly two children (:func:`prepare`).
2. The preorder arrays of all trees are laid end to end and the words dropped from them: node ``i``
   then has its left child at ``left[i]``, and a parent always comes before its children.
3. Labels, rules and words become integers.  Rare words share the number of their signature.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from eigentext.errors import SettingsError
from eigentext.trees.signatures import signature

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    import numpy.typing as npt

    from eigentext.constituency.word_classes import WordClasses
    from eigentext.trees.constituent import Tree

    Ints = npt.NDArray[np.int64]

__all__ = ["Language", "Treebank", "build_treebank"]

T = TypeVar("T")

Language = Literal["english", "generic"]
"""Whose endings the signatures of rare and unknown words look at."""


@dataclass(frozen=True)
class Treebank:
    """N nodes of T binarised trees, in preorder, trees one after the other.

    ``labels``       names of the nonterminals; ``label[i]`` is a place in it
    ``rules``        (R, 3) parent, left, right label of each binary rule; ``rule[i]`` or -1
    ``left, right, parent, sibling``  node numbers or -1; ``side`` 0 left child, 1 right, -1 root
    ``start, end``   words under the node, counted in its sentence; ``head`` its head word likewise
    ``offset``       place of the sentence's first word in the running text ``word_at, tag_at``
    ``length``       number of words of the sentence; ``depth`` 0 at the root
    ``token``        place in the running text of a preterminal's word; -1 elsewhere
    ``word_class, signature, suffix2, suffix3``  numbers for the word of a preterminal; 0 elsewhere
    """

    labels: tuple[str, ...]
    rules: Ints
    label: Ints
    rule: Ints
    left: Ints
    right: Ints
    parent: Ints
    sibling: Ints
    side: Ints
    start: Ints
    end: Ints
    head: Ints
    offset: Ints
    length: Ints
    depth: Ints
    token: Ints
    roots: Ints
    words: tuple[str, ...]  # the running text, one string a token
    first_in_sentence: npt.NDArray[np.bool_]
    word_at: Ints
    tag_at: Ints
    word_class: Ints
    signature: Ints
    suffix2: Ints
    suffix3: Ints
    classes: WordClasses | None = None  # of words, from elsewhere
    _made: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` makes from this treebank, made for the first model of an ensemble only."""
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found


def build_treebank(
    trees: Sequence[Tree], heads: Iterable[Sequence[int]], *, rare: int, language: Language
) -> Treebank:
    """Lay binarised trees end to end; ``heads`` gives the head word of every non-leaf node.

    A word seen at most ``rare`` times shares the class of its signature.
    """
    if not trees:
        raise SettingsError("a grammar needs at least one tree")
    sizes = np.concatenate([tree.sizes for tree in trees]).astype(np.int64)
    n_all = len(sizes)
    leaf = sizes == 1
    inner = sizes > 2
    at = np.arange(n_all)
    # With words still among the nodes: first child i + 1, second child behind the first's subtree.
    left_all = np.where(inner, at + 1, -1)
    right_all = np.where(inner, at + 1 + sizes[np.minimum(at + 1, n_all - 1)], -1)
    parent_all = np.full(n_all, -1)
    parent_all[left_all[inner]] = at[inner]
    parent_all[right_all[inner]] = at[inner]
    words_before = np.cumsum(leaf) - leaf
    end_all = words_before[np.minimum(at + sizes, n_all - 1)]
    end_all[at + sizes == n_all] = leaf.sum()

    keep = np.flatnonzero(~leaf)
    place = np.full(n_all + 1, -1)  # the last entry answers for -1
    place[keep] = np.arange(len(keep))
    left, right, parent = (place[x[keep]] for x in (left_all, right_all, parent_all))
    n = len(keep)
    is_left = np.zeros(n, dtype=bool)
    is_left[left[left >= 0]] = True
    side = np.where(parent < 0, -1, np.where(is_left, 0, 1))
    sibling = np.where(parent < 0, -1, np.where(is_left, right[parent], left[parent]))

    n_nodes = np.array([len(tree.sizes) for tree in trees])
    tree_start = np.concatenate([[0], np.cumsum(n_nodes)[:-1]])
    tree_of = np.repeat(np.arange(len(trees)), n_nodes)[keep]
    offset = words_before[tree_start][tree_of]
    length = np.array([len(tree) for tree in trees])[tree_of]
    start, end = words_before[keep] - offset, end_all[keep] - offset
    roots = np.flatnonzero(parent < 0)

    depth = np.zeros(n, dtype=np.int64)
    level = roots
    while True:
        kids = np.concatenate([left[level], right[level]])
        kids = kids[kids >= 0]
        if not len(kids):
            break
        depth[kids] = depth[parent[kids]] + 1
        level = kids

    names: dict[str, int] = {}
    all_labels = [label for tree in trees for label in tree.labels]
    label = np.array([names.setdefault(all_labels[i], len(names)) for i in keep.tolist()])
    words = tuple(all_labels[i] for i in np.flatnonzero(leaf).tolist())
    token = np.where(left < 0, start + offset, -1)

    inner_nodes = np.flatnonzero(left >= 0)
    keys = np.stack([label[inner_nodes], label[left[inner_nodes]], label[right[inner_nodes]]], 1)
    rules, number = (
        np.unique(keys, axis=0, return_inverse=True) if len(keys) else (keys, np.empty(0, int))
    )
    rule = np.full(n, -1)
    rule[inner_nodes] = number.reshape(-1)

    first = np.zeros(len(words), dtype=bool)
    first[np.unique(offset)] = True
    word_at, signature_at, suffix2_at, suffix3_at = _word_numbers(words, first, rare, language)
    tag_at = np.empty(len(words), dtype=np.int64)
    tag_at[token[token >= 0]] = label[token >= 0]

    def at_preterminals(numbers: Ints) -> Ints:
        return np.where(token >= 0, numbers[np.maximum(token, 0)], 0)

    return Treebank(
        labels=tuple(names), rules=rules, label=label, rule=rule, left=left, right=right,
        parent=parent, sibling=sibling, side=side, start=start, end=end,
        head=np.fromiter((h for tree in heads for h in tree), dtype=np.int64, count=n),
        offset=offset, length=length, depth=depth, token=token, roots=roots,
        words=words, first_in_sentence=first, word_at=word_at, tag_at=tag_at,
        word_class=at_preterminals(word_at), signature=at_preterminals(signature_at),
        suffix2=at_preterminals(suffix2_at), suffix3=at_preterminals(suffix3_at),
    )  # fmt: skip


def _word_numbers(
    words: Sequence[str], first: npt.NDArray[np.bool_], rare: int, language: Language
) -> tuple[Ints, Ints, Ints, Ints]:
    """Numbers of word classes, signatures and endings, one per token."""
    counts = Counter(words)
    numbers: dict[str, int] = {}
    seen: dict[tuple[str, bool], tuple[int, int, int, int]] = {}
    rows = []
    for word, is_first in zip(words, first.tolist(), strict=True):
        key = (word, is_first)
        if key not in seen:
            shape = "\0sig " + signature(word, first=is_first, language=language)
            of_word = shape if counts[word] <= rare else word
            low = word.lower()
            names = (of_word, shape, "\0-2 " + low[-2:], "\0-3 " + low[-3:])
            w, s, two, three = (1 + numbers.setdefault(name, len(numbers)) for name in names)
            seen[key] = (w, s, two, three)
        rows.append(seen[key])
    columns = np.array(rows, dtype=np.int64).T
    return columns[0], columns[1], columns[2], columns[3]
