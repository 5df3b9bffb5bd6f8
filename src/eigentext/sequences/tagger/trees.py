"""Tagged sentences as right-branching skeletal trees (Cohen et al. 2012, section 8).

A sentence w1/t1 ... wn/tn becomes the tree

    s:t1 -> p:t1 s:t2,   s:t2 -> p:t2 s:t3,   ...   s:tn -> p:tn end

with every word under its ``p:`` label and a mark of the end under ``end``.  So the rules of the
grammar are the tag bigrams, its roots the first tags, its words the words: without states it is
the bigram HMM, and the estimators of ``constituency`` run over it as over any other treebank.
Labels are named by the numbers of the tags: no tag can be mistaken for something else there.

Every node has two views, as integers (:func:`chain_views`).  The chain node of token i has below
it the word i and all that follows, above it all that went before; the tag node of token i has
below it its word alone, and all the rest outside:

* inside: word, endings, signature; of chain nodes also the next tag, the next two, the next word,
  and the word with the next tag
* outside: the tags and words before; of tag nodes also the tags and the word behind
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eigentext.base.types import Int64s, UInt64s
from eigentext.constituency.features import give_features
from eigentext.constituency.treebank import FlatTrees, Numbering, Treebank, assemble
from eigentext.features.signatures import Language
from eigentext.features.spectrum import feature_numbers

END = "end"
END_WORD = "\n"  # no token of a sentence


def skeletal_trees(
    sentences: Sequence[Sequence[str]],
    tags: Sequence[Sequence[int]],
    n_tags: int,
    *,
    language: Language,
    rare: int = 1,
) -> Treebank:
    """The treebank of sentences (none of them empty) and the numbers of their tags.

    >>> bank = skeletal_trees([["the", "cat"]], [[0, 1]], 2, language="generic")
    >>> [bank.labels[label] for label in bank.label]
    ['s0', 'p0', 's1', 'p1', 'end']
    >>> [[bank.labels[label] for label in rule] for rule in bank.rules]
    [['s0', 'p0', 's1'], ['s1', 'p1', 'end']]
    """
    n = np.array([len(tokens) for tokens in sentences])
    tag = np.concatenate([np.asarray(row, dtype=np.int64) for row in tags])
    sentence = np.repeat(np.arange(len(n)), n)
    position = np.arange(len(tag)) - np.repeat(np.cumsum(n) - n, n)
    # sentence s has 2 n + 1 nodes: spine, tag, spine, tag, ..., end
    first = np.cumsum(2 * n + 1) - (2 * n + 1)
    spine = first[sentence] + 2 * position
    total = int((2 * n + 1).sum())
    sizes = np.ones(total, dtype=np.int64)
    label = np.full(total, 2 * n_tags)
    head = np.empty(total, dtype=np.int64)
    sizes[spine] = 2 * (n[sentence] - position) + 1
    label[spine], label[spine + 1] = n_tags + tag, tag
    at = np.arange(len(tag)) + sentence  # in the running text, where each sentence has an end mark
    head[spine] = head[spine + 1] = at
    head[first + 2 * n] = np.cumsum(n + 1) - 1
    numbers = Numbering[str]()
    word = [numbers[token] for tokens in sentences for token in (*tokens, END_WORD)]
    names = [f"p{t}" for t in range(n_tags)] + [f"s{t}" for t in range(n_tags)] + [END]
    flat = FlatTrees(sizes, label, names, head, np.array(word), list(numbers))
    return assemble(flat, rare=rare, language=language)


def label_places(labels: Sequence[str], n_tags: int) -> tuple[Int64s, Int64s, int]:
    """Numbers of the ``p:`` and ``s:`` labels of each tag in the grammar, and that of ``end``."""
    number = {label: at for at, label in enumerate(labels)}
    words = np.array([number[f"p{t}"] for t in range(n_tags)], dtype=np.int64)
    spines = np.array([number[f"s{t}"] for t in range(n_tags)], dtype=np.int64)
    return words, spines, number[END]


_NOTHING = -1  # beyond the sentence
_UNSEEN = -2  # belongs to the other view


class _Around:
    """Columns of the running text, looked up from every node at a distance from its token."""

    def __init__(self, bank: Treebank) -> None:
        self._token = bank.offset + bank.head
        self._sentence = np.append(np.cumsum(bank.first_in_sentence), -1)

    def at(self, column: Int64s, distance: int) -> Int64s:
        n = len(column)
        position = self._token + distance
        position = np.where((position >= 0) & (position < n), position, n)
        same = self._sentence[position] == self._sentence[self._token]
        return np.where(same, np.append(column, _NOTHING)[position], _NOTHING)


def chain_views(bank: Treebank) -> tuple[UInt64s, UInt64s]:
    """Inside and outside features (N, 8) and (N, 10); those of the end mark are always the
    same, since it needs no states."""
    around = _Around(bank)
    chain = bank.left >= 0
    over_word = np.flatnonzero(bank.token >= 0)
    n = len(bank.word_at)
    suffix2, suffix3, shape = (np.zeros(n, dtype=np.int64) for _ in range(3))
    here = bank.token[over_word]
    suffix2[here], suffix3[here] = bank.suffix2[over_word], bank.suffix3[over_word]
    shape[here] = bank.signature[over_word]
    tag, word = bank.tag_at, bank.word_at
    word_here = around.at(word, 0)
    tag_before, tag_before2, tag_before3 = (around.at(tag, -k) for k in (1, 2, 3))
    word_before, word_before2 = around.at(word, -1), around.at(word, -2)
    tag_next, tag_next2, word_next = around.at(tag, 1), around.at(tag, 2), around.at(word, 1)
    below = [np.where(chain, x, _UNSEEN) for x in (tag_next, tag_next2, word_next, word_here)]
    beside = [np.where(chain, _UNSEEN, x) for x in (tag_next, tag_next2, word_next, tag_before)]
    inside = [
        feature_numbers(1, word_here),
        feature_numbers(2, around.at(suffix2, 0)),
        feature_numbers(3, around.at(suffix3, 0)),
        feature_numbers(4, around.at(shape, 0)),
        feature_numbers(5, below[0]),
        feature_numbers(6, below[0], below[1]),
        feature_numbers(7, below[2]),
        feature_numbers(8, below[3], below[0]),
    ]
    outside = [
        feature_numbers(11, tag_before),
        feature_numbers(12, tag_before, tag_before2),
        feature_numbers(13, word_before),
        feature_numbers(14, tag_before, tag_before2, tag_before3),
        feature_numbers(15, word_before, tag_before2),
        feature_numbers(19, word_before2),
        feature_numbers(16, beside[0]),
        feature_numbers(17, beside[0], beside[1]),
        feature_numbers(18, beside[2]),
        feature_numbers(20, beside[3], beside[0]),
    ]
    of_end = bank.label == bank.label[-1]  # the last node of every tree
    views = np.stack(inside, axis=1), np.stack(outside, axis=1)
    for view in views:
        view[of_end] = 0
    return views


def give_chain_views(bank: Treebank) -> Treebank:
    """The treebank, with these features for the estimators.

    >>> bank = skeletal_trees([["a", "b"]], [[0, 0]], 1, language="generic")
    >>> [view.shape for view in chain_views(give_chain_views(bank))]
    [(5, 8), (5, 10)]
    """
    give_features(bank, *chain_views(bank))
    return bank
