"""Features of the labelled trees of one list, as 64-bit numbers.

A word with its children stands in many trees of a list.  So words are first put together by all
that their features look at (:func:`group_words`), and features are made once a group
(:func:`make_features`).  They say what the parser's own arcs, siblings and grandparents do not:
relations of neighbours, three siblings, siblings with their grandparent, all relations below a
word, the span of a subtree and the words at its edges.
"""

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Int32s, UInt64s
from eigentext.features.kernels.hashing import (
    EDGE,
    begin,
    bucket,
    hash2,
    hash3,
    hash4,
    hash5,
    hash6,
    hash_more,
    number_of,
)

# Templates are numbered by what they look at; the numbers are in the hashes of stored models.
ARC, GRANDPARENT, SIBLING, THREE, SPAN, ALIKE = 1, 10, 20, 30, 40, 60  # each child of a word
FRAME = 50  # a word with all its children together

# No word has more features than these, so many more for each child and each pair of children.
PER_WORD, PER_CHILD, PER_PAIR = 6, 38, 3


class Words(NamedTuple):
    """Keys of a sentence's words, the root's in front: (n + 1,) each."""

    upos: UInt64s
    xpos: UInt64s
    lower: UInt64s
    lemma: UInt64s
    feats: UInt64s


class Trees(NamedTuple):
    """The K trees of a sentence of n words, numbered from 1 as their places are."""

    heads: Int32s  # (K, n) head of each word, 0 for the root
    relations: Int32s  # (K, n) its relation, a place in ``names``
    first: Int32s  # (K, n + 1) the first word below each, itself included
    last: Int32s  # (K, n + 1) and the last
    n_children: Int32s  # (K, n + 1)
    names: UInt64s  # keys of relations


@njit
def find_edges(heads, first, last, n_children):
    """Fill the other three arrays of :class:`Trees`."""
    n_trees, n = heads.shape
    n_children[:] = 0
    for k in range(n_trees):
        for w in range(n + 1):
            first[k, w] = w
            last[k, w] = w
        for d in range(1, n + 1):
            above = heads[k, d - 1]
            n_children[k, above] += 1
            steps = 0
            while above > 0 and steps < n:  # a cycle, which no tree has, would not end
                first[k, above] = min(first[k, above], d)
                last[k, above] = max(last[k, above], d)
                above = heads[k, above - 1]
                steps += 1


@njit(inline="always")
def _relation(trees, k, w):
    return trees.names[trees.relations[k, w - 1]] if w > 0 else EDGE


@njit
def group_words(trees, group, keys, slots):
    """Give words with the same context the same number; how many there are."""
    # ``group`` (K, n + 1) gets the numbers; ``keys`` has room for as many hashes; ``slots`` is an
    # empty (-1) table of a power of two.
    n_trees, n = trees.heads.shape
    context = np.empty(n + 1, np.uint64)
    n_groups = 0
    for k in range(n_trees):
        context[0] = begin(0)
        for h in range(1, n + 1):
            above = trees.heads[k, h - 1]
            key = hash_more(hash_more(begin(h), np.uint64(above)), _relation(trees, k, h))
            context[h] = hash_more(key, _relation(trees, k, above))
        for d in range(1, n + 1):
            h = trees.heads[k, d - 1]
            key = hash_more(hash_more(context[h], np.uint64(d)), _relation(trees, k, d))
            key = hash_more(
                hash_more(key, np.uint64(trees.first[k, d])), np.uint64(trees.last[k, d])
            )
            context[h] = hash_more(key, np.uint64(trees.n_children[k, d]))
        for h in range(n + 1):
            group[k, h] = number_of(context[h], slots, keys, n_groups)
            n_groups += group[k, h] == n_groups
    return n_groups


@njit
def make_features(trees, words, group, skipped, ptr, out):
    """Features of every group but those ``skipped``: ``out`` at ``ptr``; how many."""
    n_trees, n = trees.heads.shape
    children = np.empty(n, np.int64)
    # groups are numbered as they come: each is made when its first word comes by
    done, at = 0, np.int64(0)
    ptr[0] = 0
    for k in range(n_trees):
        for h in range(n + 1):
            if group[k, h] < done:
                continue
            if not skipped[done]:
                n_children = 0
                for d in range(1, n + 1):
                    if trees.heads[k, d - 1] == h:
                        children[n_children] = d
                        n_children += 1
                at = _of_children(trees, words, k, h, children[:n_children], out, at)
                at = _of_word(trees, words, k, h, children[:n_children], out, at)
            done += 1
            ptr[done] = at
    return at


@njit
def _of_children(trees, words, k, h, children, out, at):
    """Features of each child of h; where the next one goes."""
    n = trees.heads.shape[1]
    upos, xpos, lower, lemma = words.upos, words.xpos, words.lower, words.lemma
    above = trees.heads[k, h - 1] if h > 0 else -1
    of_head = _relation(trees, k, h)
    of_above = _relation(trees, k, max(above, 0))
    upos_above = upos[above] if above >= 0 else EDGE
    xpos_above = xpos[above] if above >= 0 else EDGE
    lemma_above = lemma[above] if above >= 0 else EDGE
    head_side = np.uint64(h > above)
    n_left = 0
    while n_left < len(children) and children[n_left] < h:
        n_left += 1
    for rank in range(len(children)):
        d = children[rank]
        right = rank >= n_left
        relation = hash_more(trees.names[trees.relations[k, d - 1]], np.uint64(right))
        far = bucket(abs(d - h))
        # the arc with its relation
        out[at] = hash4(ARC, relation, upos[h], upos[d], far)
        out[at + 1] = hash3(ARC + 1, relation, lemma[h], upos[d])
        out[at + 2] = hash3(ARC + 2, relation, upos[h], lemma[d])
        out[at + 3] = hash3(ARC + 3, relation, lemma[h], lemma[d])
        out[at + 4] = hash4(ARC + 4, relation, xpos[h], xpos[d], far)
        out[at + 5] = hash3(ARC + 5, relation, words.feats[h], words.feats[d])
        # with the head's head
        out[at + 6] = hash5(GRANDPARENT, relation, of_head, upos_above, upos[h], upos[d])
        out[at + 7] = hash4(GRANDPARENT + 1, relation, of_head, of_above, upos[h])
        out[at + 8] = hash4(GRANDPARENT + 2, relation, of_head, lemma[h], upos[d])
        out[at + 9] = hash4(GRANDPARENT + 3, relation, of_head, upos[h], lemma[d])
        out[at + 10] = hash4(GRANDPARENT + 4, relation, of_head, lemma_above, lemma[d])
        out[at + 11] = hash6(
            GRANDPARENT + 5, relation, head_side, xpos_above, xpos[h], xpos[d], of_head
        )
        out[at + 12] = hash4(GRANDPARENT + 6, relation, of_head, lemma_above, upos[d])
        # with the sibling before it on the same side, and the one before that
        before = children[rank - 1] if rank > right * n_left else 0
        second = children[rank - 2] if rank - 1 > right * n_left else 0
        of_before = _relation(trees, k, before)
        of_second = _relation(trees, k, second)
        upos_before = upos[before] if before > 0 else EDGE
        xpos_before = xpos[before] if before > 0 else EDGE
        lemma_before = lemma[before] if before > 0 else EDGE
        upos_second = upos[second] if second > 0 else EDGE
        out[at + 13] = hash4(SIBLING, relation, of_before, upos[h], upos[d])
        out[at + 14] = hash5(SIBLING + 1, relation, of_before, upos[h], upos_before, upos[d])
        out[at + 15] = hash4(SIBLING + 2, relation, of_before, lemma[h], upos[d])
        out[at + 16] = hash4(SIBLING + 3, relation, of_before, lemma_before, lemma[d])
        out[at + 17] = hash5(SIBLING + 4, relation, of_before, xpos[h], xpos_before, xpos[d])
        out[at + 18] = hash3(SIBLING + 5, relation, of_before, lemma[h])
        out[at + 19] = hash4(SIBLING + 6, relation, of_before, upos_before, lemma[d])
        out[at + 20] = hash4(SIBLING + 7, relation, of_before, lemma_before, upos[d])
        out[at + 21] = hash6(THREE, relation, of_before, of_head, upos[h], upos_before, upos[d])
        out[at + 22] = hash5(THREE + 1, relation, of_before, of_head, upos_above, upos[h])
        out[at + 23] = hash4(THREE + 2, relation, of_before, of_second, upos[h])
        out[at + 24] = hash5(THREE + 3, relation, upos_second, upos_before, upos[d], upos[h])
        out[at + 25] = hash4(THREE + 4, relation, of_before, of_second, lemma[h])
        # the words below d as a span, and those at its edges
        first, last = trees.first[k, d], trees.last[k, d]
        size, rest = bucket(last - first + 1), np.uint64(min(n - last, 2))
        upos_left = upos[first - 1]  # of the root at the beginning
        upos_right = upos[last + 1] if last < n else EDGE
        out[at + 26] = hash3(SPAN, relation, upos[d], size)
        out[at + 27] = hash4(SPAN + 1, relation, upos_left, upos[first], upos[d])
        out[at + 28] = hash4(SPAN + 2, relation, upos[last], upos_right, upos[d])
        out[at + 29] = hash4(SPAN + 3, relation, upos_left, upos_right, size)
        out[at + 30] = hash2(SPAN + 4, relation, lower[first])
        out[at + 31] = hash2(SPAN + 5, relation, lower[first - 1])
        out[at + 32] = hash2(SPAN + 6, relation, lower[last + 1] if last < n else EDGE)
        out[at + 33] = hash4(SPAN + 7, relation, upos[h], size, rest)
        out[at + 34] = hash3(SPAN + 8, relation, lower[first], lemma[h])
        # are h and d alike, as the parts of a coordination are?
        size_of_head = bucket(trees.last[k, h] - trees.first[k, h] + 1)
        many = np.uint64(min(len(children), 5) * 6 + min(trees.n_children[k, d], 5))
        plain = trees.names[trees.relations[k, d - 1]]
        out[at + 35] = hash4(ALIKE, plain, of_head, words.feats[d], words.feats[h])
        out[at + 36] = hash4(ALIKE + 1, plain, upos[h], upos[d], many)
        out[at + 37] = hash3(ALIKE + 2, plain, size_of_head, size)
        at += PER_CHILD
    return at


@njit
def _of_word(trees, words, k, h, children, out, at):
    """Features of h and of all its children together; where the next one goes."""
    of_head = _relation(trees, k, h)
    frame = begin(7)  # the relations of the children with their sides
    n_left = 0
    for d in children:
        n_left += d < h
        frame = hash_more(
            hash_more(frame, trees.names[trees.relations[k, d - 1]]), np.uint64(d > h)
        )
    n_right = len(children) - n_left
    valence = np.uint64(min(n_left, 4) * 5 + min(n_right, 4))
    out[at] = hash2(FRAME, frame, words.upos[h])
    out[at + 1] = hash2(FRAME + 1, frame, words.lemma[h])
    out[at + 2] = hash3(FRAME + 2, frame, of_head, words.upos[h])
    out[at + 3] = hash3(FRAME + 3, words.upos[h], of_head, valence)
    out[at + 4] = hash2(FRAME + 4, words.xpos[h], valence)
    out[at + 5] = hash2(FRAME + 5, words.lemma[h], valence)
    at += PER_WORD
    for i in range(len(children)):
        a = trees.names[trees.relations[k, children[i] - 1]]
        for j in range(i + 1, len(children)):
            b = trees.names[trees.relations[k, children[j] - 1]]
            sides = np.uint64((children[i] > h) + 2 * (children[j] > h))
            out[at] = hash4(FRAME + 6, a, b, words.upos[h], sides)
            at += 1
            if a == b:  # two subjects are one too many
                out[at] = hash2(FRAME + 7, a, of_head)
                out[at + 1] = hash2(FRAME + 8, a, words.upos[h])
                at += 2
    return at
