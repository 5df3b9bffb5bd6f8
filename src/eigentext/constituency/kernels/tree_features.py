"""Trees of a forest as flat arrays, their brackets against a gold tree, and 64-bit features.

Most constituents stand in many trees of a list.  So nodes are first put together by all that
their features look at (:func:`group_nodes`), and features are made once a group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.compiling import njit
from eigentext.features.kernels.hashing import (
    EDGE,
    begin,
    bucket,
    hash1,
    hash2,
    hash3,
    hash4,
    hash5,
    hash_more,
    number_of,
)

Ints32 = npt.NDArray[np.int32]


class FlatTrees(NamedTuple):
    """Trees laid end to end, nodes in preorder, chains of only children one node each."""

    ptr: npt.NDArray[np.int64]  # (k + 1,) where each tree begins; what follows is of nodes
    label: Ints32  # number of the label in the grammar
    start: Ints32  # start, end: the words it covers
    end: Ints32
    size: Ints32  # nodes in the subtree, 1 for a tag
    parent: Ints32  # number of the parent within the tree, -1 for the root
    head: Ints32  # the head word
    is_head: npt.NDArray[np.bool_]  # is it the head child of its parent?

    @classmethod
    def room(cls, k: int, n: int) -> FlatTrees:
        """Empty arrays for k trees of n nodes together."""

        def column() -> Ints32:
            return np.empty(n, np.int32)

        columns = column(), column(), column(), column(), column(), column()
        return cls(np.empty(k + 1, np.int64), *columns, np.empty(n, np.bool_))

    def cut(self, n: int) -> FlatTrees:
        """A copy of the first n nodes."""
        label, start, end, size, parent, head = (column[:n].copy() for column in self[1:7])
        return FlatTrees(self.ptr, label, start, end, size, parent, head, self.is_head[:n].copy())


@njit(nogil=True)
def flatten(roots, table, app_rule, item_label, item_span, spans, spliced, head_right, trees):
    """Lay the trees out; nodes with labels ``spliced`` are left out."""
    # ``head_right`` (rules,): is the head on the right?  Returns the nodes used.
    _, row_item, row_app, row_left, row_right, _, _, _, _ = table
    at = 0
    # (row, parent, on the way from its parent to the head)
    pending = np.empty((2 * len(trees.label) + 2, 3), np.int64)
    for t in range(len(roots)):
        begin = at
        trees.ptr[t] = begin
        pending[0, 0], pending[0, 1], pending[0, 2] = roots[t], -1, 0
        n_pending = 1
        while n_pending > 0:
            n_pending -= 1
            row, parent, to_head = (
                pending[n_pending, 0],
                pending[n_pending, 1],
                pending[n_pending, 2],
            )
            item = row_item[row]
            # children of a node that is left out hang from its parent
            node = parent
            kept = not spliced[item_label[item]]
            if kept:
                node = at - begin
                trees.label[at] = item_label[item]
                trees.start[at] = spans[item_span[item], 0]
                trees.end[at] = spans[item_span[item], 1]
                trees.parent[at] = parent
                trees.is_head[at] = to_head == 1
                trees.size[at] = 1
                trees.head[at] = spans[item_span[item], 0]  # right for a word; others below
                at += 1
            app = row_app[row]
            if app >= 0:
                right = 1 if head_right[app_rule[app]] else 0
                # the head of a node that is left out is the head of the node above it
                on = 1 if kept or to_head == 1 else 0
                pending[n_pending, 0], pending[n_pending, 1] = row_right[row], node
                pending[n_pending, 2] = on * right
                pending[n_pending + 1, 0], pending[n_pending + 1, 1] = row_left[row], node
                pending[n_pending + 1, 2] = on * (1 - right)
                n_pending += 2
        # preorder backwards is bottom-up: sizes add up, and heads rise
        for node in range(at - 1, begin, -1):
            above = begin + trees.parent[node]
            trees.size[above] += trees.size[node]
            if trees.is_head[node]:
                trees.head[above] = trees.head[node]
    trees.ptr[len(roots)] = at
    return at


@njit(nogil=True)
def bracket_counts(trees, chain_ptr, chain, position, gold, used, counts):
    """(matched, brackets) of every tree, by EVALB's rules for deleted words."""
    # ``position`` (n + 1,): words that count before each word.  ``chain`` at ``chain_ptr`` has the
    # bracket labels of a grammar label, 0 for one that does not count.  ``gold`` (G, 3): label,
    # start, end in words that count.
    for t in range(len(trees.ptr) - 1):
        used[:] = False
        matched = n = 0
        for node in range(trees.ptr[t], trees.ptr[t + 1]):
            start, end = position[trees.start[node]], position[trees.end[node]]
            if start == end:
                continue
            a = trees.label[node]
            for c in range(chain_ptr[a], chain_ptr[a + 1]):
                if chain[c] == 0 or (trees.size[node] == 1 and c == chain_ptr[a + 1] - 1):
                    continue  # a tag is no bracket
                n += 1
                for g in range(len(gold)):  # each gold bracket is matched once
                    if (
                        not used[g]
                        and gold[g, 0] == chain[c]
                        and gold[g, 1] == start
                        and gold[g, 2] == end
                    ):
                        used[g] = True
                        matched += 1
                        break
        counts[t, 0], counts[t, 1] = matched, n


Keys = npt.NDArray[np.uint64]

_ZERO = np.uint64(0)

# Templates are numbered by what they look at; the numbers are in the hashes of stored models.
TAG = 1  # a tag with its word, its ancestors and its neighbours
NODE, HEAD, LENGTH, EDGE_WORDS, OUTLINE = 20, 30, 40, 50, 80  # a constituent as a whole
SIBLING, BORDER, MODIFIER, NOUN, ALIKE = 90, 100, 110, 116, 120  # each of its children

PER_NODE = 60  # no node has more features than this and
PER_CHILD = 26  # so many more for each child


class Names(NamedTuple):
    """Keys of labels and words."""

    # whole, top, bottom: (labels,) the chain that a label stands for, its first and last label
    whole: Keys
    top: Keys
    bottom: Keys
    word: Keys  # (n,) of each word
    shape: Keys  # (n,) of its shape


@njit
def _longest(trees):
    """Nodes of the largest tree."""
    longest = 0
    for t in range(len(trees.ptr) - 1):
        longest = max(longest, trees.ptr[t + 1] - trees.ptr[t])
    return longest


@njit
def _at(keys, i):
    """The key of word i, or that of the edge of the sentence."""
    return keys[i] if 0 <= i < len(keys) else EDGE


@njit
def tree_context(trees, t, names, tag, rule, second):
    """Of one tree: tags of its words, and of every node its rule and the head of its object."""
    # ``rule`` hashes the chains of a node and its children.  ``second`` is the head word of the
    # last child that is not the head: the noun of ``in Paris``; -1 if there is none.
    a, b = trees.ptr[t], trees.ptr[t + 1]
    for i in range(a, b):
        second[i - a] = -1
        rule[i - a] = names.whole[trees.label[i]]
        if trees.size[i] == 1:  # over a single word: its tag
            tag[trees.start[i]] = names.bottom[trees.label[i]]
    for i in range(a + 1, b):
        above = trees.parent[i]
        # the chain of the node, then those of its children
        rule[above] = hash_more(rule[above], names.whole[trees.label[i]])
        if not trees.is_head[i]:
            second[above] = trees.head[i]


@njit
def _context_key(trees, a, i, names, tag, rule, second):
    """A hash of all that the features of node i look at; ``a`` is where its tree begins."""
    s, e = trees.start[i], trees.end[i]
    key = hash_more(hash_more(begin(0), names.whole[trees.label[i]]), np.uint64(s * 65536 + e))
    above = trees.parent[i]
    top = -1
    if above >= 0:
        key = hash_more(key, names.bottom[trees.label[a + above]])
        top = trees.parent[a + above]
    if top >= 0:
        key = hash_more(key, names.bottom[trees.label[a + top]])
    key = hash_more(hash_more(key, _at(tag, s - 1)), _at(tag, e))  # this much for a tag, too
    if trees.size[i] == 1:
        return key
    key = hash_more(hash_more(key, tag[s]), tag[e - 1])
    key = hash_more(hash_more(key, np.uint64(trees.head[i])), tag[trees.head[i]])
    key = hash_more(key, np.uint64(trees.is_head[i]))
    if above >= 0:
        key = hash_more(hash_more(key, rule[above]), np.uint64(trees.head[a + above]))
        key = hash_more(key, tag[trees.head[a + above]])
    child = i + 1
    while child < i + trees.size[i]:
        key = hash_more(hash_more(key, rule[child - a]), np.uint64(trees.end[child]))
        key = hash_more(hash_more(key, tag[trees.head[child]]), np.uint64(trees.head[child]))
        other = second[child - a]  # the noun below a preposition
        if other >= 0:
            key = hash_more(hash_more(key, np.uint64(other)), tag[other])
        child += trees.size[child]
    return key


@njit(nogil=True)
def group_nodes(trees, names, group, keys, slots):
    """Give nodes with the same context the same number; how many there are."""
    # ``group`` (nodes,) gets the numbers; ``slots`` is an empty (-1) table of a power of two.
    n = len(names.word)
    tag = np.zeros(n, np.uint64)
    rule, second = np.empty(_longest(trees), np.uint64), np.empty(_longest(trees), np.int64)
    n_groups = 0
    for t in range(len(trees.ptr) - 1):
        tree_context(trees, t, names, tag, rule, second)
        a = trees.ptr[t]
        for i in range(a, trees.ptr[t + 1]):
            key = _context_key(trees, a, i, names, tag, rule, second)
            group[i] = number_of(key, slots, keys, n_groups)
            n_groups += group[i] == n_groups
    return n_groups


@njit(nogil=True)
def make_features(trees, names, group, n_groups, skipped, ptr, out):
    """Features of every group but those ``skipped``: ``out`` at ``ptr``."""
    n = len(names.word)
    tag = np.zeros(n, np.uint64)
    rule, second = np.empty(_longest(trees), np.uint64), np.empty(_longest(trees), np.int64)
    # groups are numbered as they come: each is made when its first node comes by
    at = done = 0
    ptr[0] = 0
    for t in range(len(trees.ptr) - 1):
        a = trees.ptr[t]
        fresh = False
        for i in range(a, trees.ptr[t + 1]):
            fresh = fresh or group[i] >= done
        if not fresh:
            continue
        tree_context(trees, t, names, tag, rule, second)
        for i in range(a, trees.ptr[t + 1]):
            if group[i] == done:
                if not skipped[done]:
                    if trees.size[i] == 1:
                        at = _of_tag(trees, a, i, names, tag, out, at)
                    else:
                        at = _of_node(trees, a, i, names, tag, rule, second, out, at)
                done += 1
                ptr[done] = at
    return at


@njit
def _of_tag(trees, a, i, names, tag, out, at):
    """Features of a tag: its word, its ancestors, its neighbours."""
    s = trees.start[i]
    whole, bare, word = names.whole[trees.label[i]], tag[s], names.word[s]
    above = trees.parent[i]
    parent = top = EDGE
    if above >= 0:
        parent = names.bottom[trees.label[a + above]]
        if trees.parent[a + above] >= 0:
            top = names.bottom[trees.label[a + trees.parent[a + above]]]
    before, after = _at(tag, s - 1), _at(tag, s + 1)
    word_before, word_after = _at(names.word, s - 1), _at(names.word, s + 1)
    out[at] = hash1(TAG, whole)
    out[at + 1] = hash2(TAG + 1, whole, word)
    out[at + 2] = hash3(TAG + 2, whole, word, parent)
    out[at + 3] = hash4(TAG + 3, whole, word, parent, top)
    out[at + 4] = hash3(TAG + 4, whole, parent, top)
    out[at + 5] = hash2(TAG + 5, bare, before)
    out[at + 6] = hash3(TAG + 6, bare, before, after)
    out[at + 7] = hash2(TAG + 7, bare, word_before)
    out[at + 8] = hash2(TAG + 8, bare, word_after)
    out[at + 9] = hash3(TAG + 9, bare, word, word_before)
    out[at + 10] = hash3(TAG + 10, bare, word, word_after)
    out[at + 11] = hash2(TAG + 11, bare, names.shape[s])
    return at + 12


@njit
def _of_node(trees, a, i, names, tag, rule, second, out, at):
    """Features of a constituent."""
    n = len(tag)
    s, e, head = trees.start[i], trees.end[i], trees.head[i]
    whole, bottom = names.whole[trees.label[i]], names.bottom[trees.label[i]]
    above = trees.parent[i]
    parent = top = parent_rule = parent_word = parent_tag = EDGE
    if above >= 0:
        parent = names.bottom[trees.label[a + above]]
        parent_rule = rule[above]
        parent_word = names.word[trees.head[a + above]]
        parent_tag = tag[trees.head[a + above]]
        if trees.parent[a + above] >= 0:
            top = names.bottom[trees.label[a + trees.parent[a + above]]]
    own_rule = rule[i - a]
    head_word, head_tag = names.word[head], tag[head]
    out[at] = hash1(NODE, whole)
    out[at + 1] = hash2(NODE + 1, whole, parent)
    out[at + 2] = hash3(NODE + 2, whole, parent, top)
    out[at + 3] = hash1(NODE + 3, own_rule)
    out[at + 4] = hash2(NODE + 4, own_rule, parent)
    out[at + 5] = hash3(NODE + 5, own_rule, parent, top)
    out[at + 6] = hash2(NODE + 6, own_rule, parent_rule)
    at += 7
    out[at] = hash2(HEAD, own_rule, head_tag)
    out[at + 1] = hash2(HEAD + 1, own_rule, head_word)
    out[at + 2] = hash3(HEAD + 2, whole, parent, head_word)
    out[at + 3] = hash3(HEAD + 3, whole, parent, head_tag)
    at += 4
    if not trees.is_head[i]:
        # the largest constituent of its head word
        out[at] = hash4(HEAD + 4, whole, parent, head_word, parent_word)
        out[at + 1] = hash4(HEAD + 5, whole, parent, head_tag, parent_word)
        out[at + 2] = hash4(HEAD + 6, whole, parent, head_word, parent_tag)
        out[at + 3] = hash4(HEAD + 7, whole, parent, head_tag, parent_tag)
        out[at + 4] = hash2(HEAD + 8, whole, head_word)
        at += 5
    length, rest = bucket(e - s), bucket(n - e)
    before_tag, after_tag = _at(tag, s - 1), _at(tag, e)
    out[at] = hash3(LENGTH, whole, length, rest)
    out[at + 1] = hash3(LENGTH + 1, whole, length, after_tag)
    out[at + 2] = hash4(LENGTH + 2, whole, length, before_tag, after_tag)
    out[at + 3] = hash3(LENGTH + 3, whole, parent, length)
    right = np.uint64(e == n or (e == n - 1 and names.shape[n - 1] == names.word[n - 1]))
    out[at + 4] = hash1(LENGTH + 4, right)
    out[at + 5] = hash2(LENGTH + 5, right, whole)
    at += 6
    first, last, first_tag, last_tag = names.word[s], names.word[e - 1], tag[s], tag[e - 1]
    before, after = _at(names.word, s - 1), _at(names.word, e)
    edges = (first, last, before, after, first_tag, last_tag, before_tag, after_tag)
    for f in range(8):
        out[at + f] = hash2(EDGE_WORDS + f, whole, edges[f])
    out[at + 8] = hash3(EDGE_WORDS + 8, whole, before_tag, first_tag)
    out[at + 9] = hash3(EDGE_WORDS + 9, whole, last_tag, after_tag)
    out[at + 10] = hash3(EDGE_WORDS + 10, whole, before, first)
    out[at + 11] = hash3(EDGE_WORDS + 11, whole, last, after)
    out[at + 12] = hash3(EDGE_WORDS + 12, whole, before_tag, after_tag)
    out[at + 13] = hash3(EDGE_WORDS + 13, whole, first_tag, last_tag)
    out[at + 14] = hash5(EDGE_WORDS + 14, whole, before_tag, first_tag, last_tag, after_tag)
    out[at + 15] = hash3(EDGE_WORDS + 15, whole, first, length)
    out[at + 16] = hash3(EDGE_WORDS + 16, whole, after, length)
    out[at + 17] = hash3(EDGE_WORDS + 17, whole, parent, first)
    out[at + 18] = hash3(EDGE_WORDS + 18, whole, parent, after)
    out[at + 19] = hash3(EDGE_WORDS + 19, whole, parent, before)
    out[at + 20] = hash3(EDGE_WORDS + 20, whole, before, after)
    at += 21
    # runs of the same shape count once
    shape = hash1(OUTLINE, whole)
    for w in range(s, e):
        if w == s or names.shape[w] != names.shape[w - 1]:
            shape = hash_more(shape, names.shape[w])
    out[at] = shape
    out[at + 1] = hash_more(hash_more(shape, _at(names.shape, s - 1)), _at(names.shape, e))
    at += 2
    # over the children, two at a time
    end = i + trees.size[i]
    before_last, last = EDGE, EDGE  # labels of the two siblings to the left
    left = -1
    head_at = i + 1
    while not trees.is_head[head_at]:
        head_at += trees.size[head_at]
    head_label = names.top[trees.label[head_at]]  # siblings are seen with the head child
    child = i + 1
    while child < end:
        label = names.top[trees.label[child]]
        side = np.uint64(child > head_at)
        chain = names.whole[trees.label[child]]
        out[at] = hash3(SIBLING, bottom, last, label)
        out[at + 1] = hash4(SIBLING + 1, bottom, before_last, last, label)
        out[at + 2] = hash5(SIBLING + 2, bottom, last, label, head_label, side)
        out[at + 3] = hash4(SIBLING + 3, bottom, chain, head_tag, side)
        out[at + 4] = hash4(SIBLING + 4, bottom, chain, head_word, side)
        out[at + 5] = hash5(SIBLING + 5, bottom, last, label, head_word, side)
        at += 6
        if left >= 0:
            m = trees.start[child]  # the border between child and the sibling before it
            out[at] = hash4(BORDER, bottom, last, label, names.word[m - 1])
            out[at + 1] = hash4(BORDER + 1, bottom, last, label, names.word[m])
            out[at + 2] = hash4(BORDER + 2, bottom, last, label, bucket(m - s))
            out[at + 3] = hash4(BORDER + 3, bottom, last, label, bucket(e - m))
            out[at + 4] = hash4(BORDER + 4, bottom, names.word[m - 1], names.word[m], label)
            at += 5
        if child != head_at:
            word, its = names.word[trees.head[child]], tag[trees.head[child]]
            far = bucket(abs(trees.head[child] - head))
            out[at] = hash5(MODIFIER, bottom, label, head_tag, its, side)
            out[at + 1] = hash5(MODIFIER + 1, bottom, label, head_word, its, side)
            out[at + 2] = hash5(MODIFIER + 2, bottom, label, head_tag, word, side)
            out[at + 3] = hash5(MODIFIER + 3, bottom, label, head_word, word, side)
            out[at + 4] = hash3(MODIFIER + 4, head_word, word, side)
            out[at + 5] = hash5(MODIFIER + 5, label, head_tag, its, far, side)
            at += 6
            other = second[child - a]
            if other >= 0:
                out[at] = hash4(NOUN, label, head_word, word, tag[other])
                out[at + 1] = hash4(NOUN + 1, label, head_tag, word, names.word[other])
                out[at + 2] = hash4(NOUN + 2, label, head_word, word, names.word[other])
                out[at + 3] = hash4(NOUN + 3, label, head_tag, word, tag[other])
                at += 4
        # the next sibling to the right with the same label
        other = child + trees.size[child]
        while other < end and names.top[trees.label[other]] != label:
            other += trees.size[other]
        if other < end and trees.size[child] > 1:
            same = np.uint64(rule[other - a] == rule[child - a])
            longer = trees.end[other] - trees.start[other]
            longer -= trees.end[child] - trees.start[child]
            # longer or shorter, by how much
            by = bucket(abs(longer)) + np.uint64(100 * (longer > 0))
            between = names.word[trees.start[other] - 1]
            out[at] = hash3(ALIKE, bottom, label, same)
            out[at + 1] = hash3(ALIKE + 1, label, same, between)
            out[at + 2] = hash2(ALIKE + 2, label, by)
            out[at + 3] = hash3(ALIKE + 3, label, by, between)
            out[at + 4] = hash3(ALIKE + 4, label, tag[trees.head[child]], tag[trees.head[other]])
            at += 5
        before_last, last, left = last, label, child
        child += trees.size[child]
    out[at] = hash3(SIBLING, bottom, last, EDGE)
    out[at + 1] = hash4(SIBLING + 1, bottom, before_last, last, EDGE)
    at += 2
    return at
