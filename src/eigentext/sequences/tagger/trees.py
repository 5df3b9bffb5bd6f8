"""Tagged sentences as right-branching skeletal trees (Cohen et al. 2012, section 8).

A sentence w1/t1 ... wn/tn becomes the tree

    s:t1 -> p:t1 s:t2,   s:t2 -> p:t2 s:t3,   ...   s:tn -> p:tn end

with every word under its ``p:`` label and a mark of the end under ``end``.  So the rules of the
grammar are the tag bigrams, its roots the first tags, its words the words: without states it is
the bigram HMM, and the estimators of ``constituency`` run over it as over any other treebank.
Labels are named by the numbers of the tags: no tag can be mistaken for something else there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.constituency.treebank import FlatTrees, Numbering, Treebank, assemble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Int64s
    from eigentext.features.signatures import Language

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
