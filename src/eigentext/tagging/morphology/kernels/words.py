"""Keys of beginnings and endings of words, and which tags a word may have: arrays only.

Endings.  The key of the last k characters is rolled from the end of the word, the key of the first
k from its beginning; ``codes`` holds the characters of all words end to end.

Candidates.  A word goes through levels from coarse to fine: its shape, ever longer endings, its
form in lower case, the form.  Level e has counts c(e, t) of tags, N(e) their sum and D(e) their
number, and refines the level before it (Witten and Bell):

    p(t | e) = (c(e, t) + D(e) p(t | level before)) / (N(e) + D(e))

A word of the training text is held out of all counts that it is in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Float32s, Int32s, Int64s, UInt64s
from eigentext.features.kernels.hashing import mix_some

_ONE = np.uint64(1)


@njit
def edge_keys(codes, starts, endings, beginnings):
    """Keys of the last 1, 2, ... characters (words, n) and of the first (words, m).

    0 where the word is too short; a key one character longer than the word stands for all of it.
    """
    for w in range(len(starts) - 1):
        first, last = starts[w], starts[w + 1]
        length = last - first
        key = _ONE
        for k in range(endings.shape[1]):
            if k > length:
                endings[w, k] = 0
                continue
            # the character before the word is the number 1, which no text has
            part = np.uint64(codes[last - 1 - k]) if k < length else _ONE
            key = mix_some(key, part)
            endings[w, k] = key
        key = np.uint64(2)
        for k in range(beginnings.shape[1]):
            if k >= length:
                beginnings[w, k] = 0
                continue
            key = mix_some(key, np.uint64(codes[first + k]))
            beginnings[w, k] = key


class Counts(NamedTuple):
    """Counts of tags by node."""

    ptr: Int64s  # node v has tags[ptr[v] : ptr[v + 1]]
    tags: Int32s
    counts: Float32s  # of each of these


class Lists(NamedTuple):
    """The candidates of each word, best first."""

    n: Int64s  # (rows,) how many there are
    tags: Int32s  # (rows, most)
    shares: Float32s  # (rows, most) their logarithms
    keys: UInt64s  # (rows, most) what is known of the lemma that the word would have


@njit
def candidate_lists(levels, n_types, held_tags, own_last, nodes, n_tags, least, lists):
    """Fill ``lists`` for words whose nodes are ``levels`` (rows, L), -1 for none.

    The first ``n_types`` levels count different words, the others words of the text.
    ``held_tags`` (rows,) is a tag that is held out once of every level of the text, -1 for none;
    ``own_last`` says that no other word of the text has this form and tag, so it leaves the levels
    of types too.  Before any level all tags are alike; one with less than ``least`` of the best
    one's share is no candidate.
    """
    most = lists.tags.shape[1]
    share = np.empty(n_tags)
    for w in range(levels.shape[0]):
        for t in range(n_tags):
            share[t] = 1.0 / n_tags  # before any level all tags are alike
        for level in range(levels.shape[1]):
            v = levels[w, level]
            if v < 0:
                continue
            held = held_tags[w] if level >= n_types or own_last[w] else -1
            total, kinds = 0.0, 0
            for e in range(nodes.ptr[v], nodes.ptr[v + 1]):
                # c(e, t), less the word itself
                count = nodes.counts[e] - (1.0 if nodes.tags[e] == held else 0.0)
                if count > 0.0:
                    total += count
                    kinds += 1
            if kinds == 0:
                continue
            weight = kinds / (total + kinds)  # D / (N + D): what the coarser level keeps
            for t in range(n_tags):
                share[t] *= weight
            for e in range(nodes.ptr[v], nodes.ptr[v + 1]):
                count = nodes.counts[e] - (1.0 if nodes.tags[e] == held else 0.0)
                if count > 0.0:
                    share[nodes.tags[e]] += count / (total + kinds)  # c / (N + D)
        n = 0
        tags, shares = lists.tags[w], lists.shares[w]
        for t in range(n_tags):
            value = share[t]
            if value <= 0.0 or (n == most and value <= shares[n - 1]):
                continue
            if n < most:
                n += 1
            at = n - 1  # sorted as they come: among equals the tag of lower number is first
            while at > 0 and shares[at - 1] < value:
                shares[at] = shares[at - 1]
                tags[at] = tags[at - 1]
                at -= 1
            shares[at] = value
            tags[at] = t
        while n > 1 and shares[n - 1] < least * shares[0]:
            n -= 1
        lists.n[w] = n
        for c in range(n):
            shares[c] = np.log(shares[c])


@njit
def class_keys(lists, upos_keys, tag_keys, likely, ambiguity, best, best_upos):
    """Keys (rows,) of the parts of speech of likely tags, of the best tag and of its own."""
    for w in range(len(ambiguity)):
        key = np.uint64(0)
        for c in range(lists.n[w]):
            if lists.shares[w, c] < lists.shares[w, 0] + likely:
                break
            upos = upos_keys[lists.tags[w, c]]
            is_again = False
            for d in range(c):
                is_again = is_again or upos_keys[lists.tags[w, d]] == upos
            if not is_again:
                key += upos  # a sum: their order does not count
        ambiguity[w] = mix_some(key, np.uint64(3))
        best[w] = tag_keys[lists.tags[w, 0]]
        best_upos[w] = upos_keys[lists.tags[w, 0]]
