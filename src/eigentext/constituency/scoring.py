"""The probability of a tree, and of a sentence.

1. :func:`skeleton_of` turns a binarised tree into label and rule numbers; a label or a rule that
   the grammar does not have means probability zero.
2. :func:`skeleton_log_score` runs the inside recursion up that tree (Cohen et al. 2012, figure 2):

       b[node][h1] = sum_{h2,h3} tensor[r][h1, h2, h3] b[left][h2] b[right][h3]
       p(tree)     = sum_h root[a, h] b[root][h] * prod_i p(w_i)

   The lexicon's scores are p(w | ts) / p(w), so the words' constant comes back at the end; see
   ``lexicon`` for p(w) and for its rule for unknown words.
3. Several models: the mean of their probabilities.

p(tree) is the probability of the tree's own binarisation, the one that training makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.constituency.answer import word_emissions
from eigentext.constituency.grammar import prepare_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from eigentext.constituency.lexicon import Emission
    from eigentext.constituency.model import LPCFG
    from eigentext.constituency.params import LatentParams
    from eigentext.trees.constituent import Tree

    Ints = npt.NDArray[np.int64]

__all__ = [
    "RuleNumbers",
    "Skeleton",
    "log_mean",
    "skeleton_log_score",
    "skeleton_of",
    "tree_log_score",
    "words_log_p",
]


class RuleNumbers(NamedTuple):
    """Names to numbers: label -> number, (parent, left, right) numbers -> rule."""

    labels: dict[str, int]
    rules: dict[tuple[int, int, int], int]

    @classmethod
    def of(cls, labels: Sequence[str], rules: Ints) -> RuleNumbers:
        """The numbers of a grammar."""
        triples = {(a, b, c): number for number, (a, b, c) in enumerate(rules.tolist())}
        return cls({label: number for number, label in enumerate(labels)}, triples)


class Skeleton(NamedTuple):
    """A binarised tree in preorder without its words: labels, rules (-1 over a word), children."""

    label: Ints
    rule: Ints
    left: Ints
    right: Ints


def skeleton_of(tree: Tree, numbers: RuleNumbers) -> Skeleton | None:
    """The numbers of a binarised tree; None if the grammar lacks a label or a rule of it."""
    label: list[int] = []
    rule: list[int] = []
    left: list[int] = []
    right: list[int] = []
    ends: list[int] = []  # numbers of finished subtrees to the right, nearest last
    for name, size in zip(reversed(tree.labels), reversed(tree.sizes.tolist()), strict=True):
        if size == 1:
            continue
        a = numbers.labels.get(name)
        if a is None:
            return None
        r, one, two = -1, -1, -1
        if size > 2:
            one, two = ends.pop(), ends.pop()
            found = numbers.rules.get((a, label[one], label[two]))
            if found is None:
                return None
            r = found
        ends.append(len(label))
        label.append(a)
        rule.append(r)
        left.append(one)
        right.append(two)
    last = len(label) - 1  # from bottom-up numbers to preorder
    turned = [np.array(column[::-1], dtype=np.int64) for column in (label, rule, left, right)]
    return Skeleton(
        turned[0],
        turned[1],
        np.where(turned[2] < 0, -1, last - turned[2]),
        np.where(turned[3] < 0, -1, last - turned[3]),
    )


def skeleton_log_score(
    skeleton: Skeleton, params: LatentParams, emissions: Sequence[Emission]
) -> float:
    """log p(tree) up to the words' constant; -inf if the model gives it no weight."""
    from eigentext.constituency.kernels import tree_inside

    lexicon, m = params.lexicon, params.m
    node_ptr = np.concatenate([[0], np.cumsum(m[skeleton.label])])
    inside = np.zeros(int(node_ptr[-1]))
    over_word = np.flatnonzero(skeleton.rule < 0)
    tags = np.searchsorted(lexicon.tags, skeleton.label[over_word])
    for emission, node, tag in zip(emissions, over_word.tolist(), tags.tolist(), strict=True):
        if tag == len(lexicon.tags) or lexicon.tags[tag] != skeleton.label[node]:
            return float("-inf")  # a label that never stood over a word
        place = slice(lexicon.tag_ptr[tag], lexicon.tag_ptr[tag + 1])
        inside[node_ptr[node] : node_ptr[node + 1]] = emission.states[place]
    return float(
        tree_inside(
            *skeleton,
            params.rules,
            m,
            params.rule_ptr,
            params.tensor,
            params.root,
            params.label_ptr,
            node_ptr,
            inside,
        )
    )


def words_log_p(words: Sequence[str], params: LatentParams) -> float:
    """The words' constant, the sum of log p(w)."""
    return sum(params.lexicon.log_p_word(word) for word in words)


def log_mean(values: Sequence[float]) -> float:
    """Log of the mean of exp(values).

    >>> round(log_mean([0.0, float("-inf")]), 4)
    -0.6931
    """
    return float(np.logaddexp.reduce(values) - np.log(len(values)))


def tree_log_score(model: LPCFG, tree: Tree) -> float:
    """log p(tree, words); -inf for a tree with a rule or a tag that the grammar does not have.

    Traces, function tags and the wrapper on top are taken off first, as in training.
    """
    binary = prepare_tree(tree, model.grammar, model.grammar.head_rules())
    skeleton = None if binary is None else skeleton_of(binary, model.rule_numbers)
    if binary is None or skeleton is None:
        return float("-inf")
    words = model.forms(binary.words)
    emissions = word_emissions(model.params_, model.labels_, words, None)
    found = [
        skeleton_log_score(skeleton, *one) for one in zip(model.params_, emissions, strict=True)
    ]
    return log_mean(found) + words_log_p(words, model.params_[0])
