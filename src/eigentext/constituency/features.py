"""Inside and outside features of every node, as integers (never strings).

Each is a 64-bit mix of its template number and its values, one column per template, so that a
node's sparse vector phi(t) or psi(o) has one entry per template (``features.sparse_rows``).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from eigentext.base.types import Int64s, UInt64s
from eigentext.constituency.settings import INSIDE_GROUPS, OUTSIDE_GROUPS
from eigentext.constituency.treebank import Treebank
from eigentext.features.spectrum import feature_numbers

_Templates = dict[str, list[tuple[Any, ...]]]  # of each group: number and values


_LENGTH_BUCKETS = np.array([1, 2, 3, 4, 5, 6, 8, 11, 16, 21, 31, 41])
_PLACE_BUCKETS = np.array([1, 2, 3, 5, 8, 13, 21])


def give_features(bank: Treebank, inside: UInt64s, outside: UInt64s) -> None:
    """Let the estimators see these features of all nodes, (N, F) each, in place of the usual ones.

    For treebanks that are no parse trees; before anything else has looked at the features.
    """
    bank.once(("inside", frozenset(INSIDE_GROUPS)), lambda: inside)
    bank.once(("outside", frozenset(OUTSIDE_GROUPS)), lambda: outside)


def inside_features(bank: Treebank, groups: Collection[str] = INSIDE_GROUPS) -> UInt64s:
    """(N, F) feature numbers of the inside trees of all nodes."""
    chosen = frozenset(groups)
    return bank.once(("inside", chosen), lambda: _inside_features(bank, chosen))


def _inside_features(bank: Treebank, groups: Collection[str]) -> UInt64s:
    left, right = bank.left, bank.right
    inner = left >= 0
    # What a child contributes: its rule, or its tag with the word when it is a preterminal.
    rule_or_word = np.where(inner, bank.rule, -2 - bank.word_class)
    left_own = np.where(inner, rule_or_word[left], -1)
    right_own = np.where(inner, rule_or_word[right], -1)
    length = np.digitize(bank.end - bank.start, _LENGTH_BUCKETS)
    first, last = bank.start, bank.end - 1
    word, tag = bank.word_at, bank.tag_at
    base = bank.offset  # place of the first word of the node's sentence
    templates: _Templates = {
        "rule": [(1, rule_or_word)],
        "left_rule": [(2, np.where(inner, bank.rule, bank.suffix2), left_own)],
        "right_rule": [(3, np.where(inner, bank.rule, bank.suffix3), right_own)],
        "head_tag": [(4, np.where(inner, tag[base + bank.head], bank.signature))],
        "head_word": [(5, word[base + bank.head])],
        "length": [(6, length)],
        "edges": [
            (7, np.where(inner, tag[base + first], -1)),
            (8, np.where(inner, tag[base + last], -1)),
        ],
    }
    return _columns(templates, groups)


def _columns(templates: _Templates, groups: Collection[str]) -> UInt64s:
    """A column for each template of the groups: its number and its values."""
    chosen = [its for group, several in templates.items() if group in groups for its in several]
    return np.stack([feature_numbers(*template) for template in chosen], axis=1)


def outside_features(bank: Treebank, groups: Collection[str] = OUTSIDE_GROUPS) -> UInt64s:
    """(N, G) feature numbers of the outside trees of all nodes."""
    chosen = frozenset(groups)
    return bank.once(("outside", chosen), lambda: _outside_features(bank, chosen))


def _outside_features(bank: Treebank, groups: Collection[str]) -> UInt64s:
    rule = np.append(bank.rule, -1)
    label = np.append(bank.label, -1)
    side = np.append(bank.side, -1)
    up = np.append(bank.parent, -1)  # -1 beyond the root
    parent, grand = bank.parent, up[bank.parent]
    great = up[grand]
    base, tag, word = bank.offset, bank.tag_at, bank.word_at
    before, after = bank.start, bank.length - bank.end
    at_left = np.where(before > 0, base + bank.start - 1, -1)
    at_right = np.where(after > 0, base + bank.end, -1)
    tag, word = np.append(tag, -1), np.append(word, -1)
    head_tag = np.append(tag[base + bank.head], -1)
    head_word = np.append(word[base + bank.head], -1)
    above = _head_above(bank)  # the lowest ancestor whose head lies outside this node
    neighbours = [(18, tag[at_left]), (19, tag[at_right]), (24, word[at_left])]
    next_word = [(25, word[at_right])]
    of_parent, of_grand = (label[parent], bank.side), (label[grand], side[parent])
    templates: _Templates = {
        "parent": [(11, rule[parent], bank.side)],
        "grandparent": [(12, rule[parent], bank.side, rule[grand], side[parent])],
        "path": [
            (13, *of_parent, *of_grand, label[great], side[grand]),
            (14, *of_parent, *of_grand),
        ],
        "sibling": [
            (15, label[bank.sibling], bank.side),
            (16, head_tag[bank.sibling], bank.side),
            (22, head_word[bank.sibling], bank.side),
        ],
        "head_above": [(17, head_tag[above]), (23, head_word[above])],
        "neighbours": [*neighbours, *next_word],
        "next_word": [] if "neighbours" in groups else next_word,  # a part of the neighbours
        "position": [
            (20, np.digitize(before, _PLACE_BUCKETS)),
            (21, np.digitize(after, _PLACE_BUCKETS)),
        ],
    }
    return _columns(templates, groups)


def _head_above(bank: Treebank) -> Int64s:
    """For each node the nearest ancestor whose head word is not this node's; -1 if none."""
    above = np.full(len(bank.label), -1, dtype=np.int64)
    # Nodes are in preorder, so a parent's answer is known before its children need it; the loop
    # runs over depth levels, each in one stroke.
    depth = bank.depth
    order = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[order], np.arange(depth.max() + 2))
    for level in range(1, depth.max() + 1):
        nodes = order[bounds[level] : bounds[level + 1]]
        parents = bank.parent[nodes]
        same = bank.head[parents] == bank.head[nodes]
        above[nodes] = np.where(same, above[parents], parents)
    return above
