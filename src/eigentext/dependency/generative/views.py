"""Two views of every word in a tree, in which the generative parser's first states are found.

Given the state of a word, the word itself, its dependents on the left, those on the right, and
what is above it are independent in the model.  So any two groups of these are two views whose
cross moments have no larger a rank than there are states:

    spectral   word, left, right   x   above
    automata   word, left          x   right, above

The second is the Hankel block of a head (Luque, Quattoni, Balle, Carreras 2012): the dependents of
a head make a string ``left ... head ... right``, a row of the block is a way in which the string
can come to the head, a column a way in which it can go on::

    H_t[l, r] = p(left = l, right = r | tag t) = sum_h p(h | t) p(l | h) p(r | h)

Strings are seen by their pieces, outwards from the head, with the mark of the end where they have
it: the nearest one, two and three, and the farthest one and two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.features.spectrum import feature_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from eigentext.base.types import Int64s, UInt64s

    Features = UInt64s

N_LENGTHS = 4  # words covered so far: up to 1, 2-3, 4-7, 8 and more


class Corpus(NamedTuple):
    """Gold trees end to end; sentence s is at ``ptr[s]:ptr[s + 1]``."""

    ptr: Int64s
    word: Int64s  # numbers of (word, tag) pairs
    tag: Int64s  # numbers of tags
    heads: Int64s  # 1.. within the sentence, 0 = root
    relation: Int64s  # numbers of relations, 0 where there is none
    tag_of: Int64s  # (words,) the tag of every (word, tag) pair
    kind_of: Int64s  # (tags,) the sibling class of a tag, 1 and up


def length_classes(longest: int) -> Int64s:
    """Class of every number of words up to ``longest``.

    >>> length_classes(9).tolist()
    [0, 0, 1, 1, 2, 2, 2, 2, 3, 3]
    """
    widths = np.maximum(np.arange(longest + 1), 1)
    return np.minimum(np.log2(widths).astype(np.int64), N_LENGTHS - 1)


class _Links(NamedTuple):
    """Places of words in the corpus, -1: there is none."""

    head: Int64s  # (N,)
    side: Int64s  # (N,) 1: the word is left of its head
    near: Int64s  # (2, N) nearest dependent, left and right
    far: Int64s  # (2, N) farthest
    previous: Int64s  # (N,) the sibling nearer to the head
    following: Int64s  # the one farther from it
    number: Int64s  # (2, N) of dependents on each side


def _links(corpus: Corpus) -> _Links:
    N = len(corpus.word)
    start = np.repeat(corpus.ptr[:-1], np.diff(corpus.ptr))
    head = np.where(corpus.heads > 0, start + corpus.heads - 1, -1)
    near = np.full((2, N), -1, np.int64)  # nearest child on each side
    far = np.full((2, N), -1, np.int64)
    previous = np.full(N, -1, np.int64)  # sibling nearer to the head, and farther from it
    following = np.full(N, -1, np.int64)
    number = np.zeros((2, N), np.int64)
    for right, outwards in ((1, range(N)), (0, range(N - 1, -1, -1))):
        for d in outwards:
            h = int(head[d])
            if h < 0 or (h < d) != right:
                continue
            if far[right, h] < 0:
                near[right, h] = d
            else:
                previous[d], following[far[right, h]] = far[right, h], d
            far[right, h] = d
            number[right, h] += 1
    side = (head > np.arange(N)).astype(np.int64)
    return _Links(head, side, near, far, previous, following, number)


class _Numbers(NamedTuple):
    """Numbers of words by their places; the last is that of no word."""

    tag: Int64s
    word: Int64s
    relation: Int64s

    @classmethod
    def of(cls, corpus: Corpus) -> _Numbers:
        return cls(
            np.append(corpus.tag, len(corpus.kind_of)),  # index -1: none
            np.append(corpus.word, len(corpus.tag_of)),
            np.append(corpus.relation, 0),
        )


def _rows(*columns: Int64s) -> Features:
    """(N, F) numbers of features with their template."""
    return np.stack([feature_numbers(k, x) for k, x in enumerate(columns)], axis=1)


def _above(corpus: Corpus, links: _Links, numbers: _Numbers) -> list[Int64s]:
    """What is outside of the words below a word."""
    head, side, previous = links.head, links.side, links.previous
    tag, word, relation = numbers
    grand = np.where(head >= 0, head[head], -1)
    distance = length_classes(int(np.diff(corpus.ptr).max(initial=1)))[
        np.where(head >= 0, np.abs(head - np.arange(len(head))), 0)
    ]
    K = len(corpus.kind_of) + 1
    return [
        tag[head] * 2 + side,
        word[head] * 2 + side,
        relation[:-1],
        tag[grand] * 2 + side,
        relation[head] * 2 + side,
        tag[previous],
        tag[links.following],
        side * 8 + distance,
        (tag[head] * K + tag[previous]) * 2 + side,
    ]


def _inside_outside(corpus: Corpus) -> tuple[Features, Features]:
    """What is below every word, and what is above it, (N, F) each."""
    links, numbers = _links(corpus), _Numbers.of(corpus)
    tag, word, relation = numbers
    near, far = links.near, links.far
    cap = np.minimum(links.number, 3)
    K = len(corpus.kind_of) + 1
    inside = _rows(
        word[:-1],
        cap[0] * 4 + cap[1],
        tag[near[0]],
        tag[near[1]],
        tag[far[0]],
        tag[far[1]],
        word[near[0]],
        word[near[1]],
        relation[near[0]],
        relation[near[1]],
        relation[far[0]],
        relation[far[1]],
        tag[near[0]] * K + tag[near[1]],
    )
    return inside, _rows(*_above(corpus, links, numbers))


def _pieces(links: _Links, symbol: Int64s, side: int) -> list[Int64s]:
    """Pieces of the strings of dependents on one side; -1 in a piece is the end of the string."""
    following, previous = (np.append(x, -1) for x in (links.following, links.previous))
    first = links.near[side]
    second = following[first]
    last = links.far[side]
    K = int(symbol.max()) + 1
    nearest_two = symbol[first] * K + symbol[second]
    return [
        symbol[first],
        nearest_two,
        nearest_two * K + symbol[following[second]],
        symbol[last],
        symbol[last] * K + symbol[previous[last]],
    ]


def _left_right(corpus: Corpus) -> tuple[Features, Features]:
    """The word with its left dependents, and its right dependents with what is above it."""
    links, numbers = _links(corpus), _Numbers.of(corpus)
    strings = [
        [x for symbol in (numbers.tag, numbers.relation) for x in _pieces(links, symbol, side)]
        for side in (0, 1)
    ]
    left = _rows(numbers.word[:-1], np.minimum(links.number[0], 3), *strings[0])
    right = _rows(np.minimum(links.number[1], 3), *strings[1], *_above(corpus, links, numbers))
    return left, right


VIEWS: dict[str, Callable[[Corpus], tuple[Features, Features]]] = {
    "spectral": _inside_outside,
    "automata": _left_right,
}
