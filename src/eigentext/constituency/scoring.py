"""The probability of a tree, and of a sentence.

:func:`skeleton_log_score` runs the inside recursion up a tree (Cohen et al. 2012, figure 2):

    b[node][h1] = sum_{h2,h3} tensor[r][h1, h2, h3] b[left][h2] b[right][h3]
    p(tree)     = sum_h root[a, h] b[root][h] * prod_i p(w_i)

The lexicon's scores are p(w | ts) / p(w), so the words' constant comes back at the end; see
``lexicon`` for p(w) and for its rule for unknown words.  p(tree) is the probability of the tree's
own binarisation, the one that training makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.base.types import Float64s, Int64s
from eigentext.constituency.answer import word_emissions
from eigentext.constituency.chart.decode import DerivationForest, Skeleton, skeleton_of
from eigentext.constituency.chart.fine import fill_word_states
from eigentext.constituency.grammar import Grammar
from eigentext.constituency.lexicon import Emission
from eigentext.constituency.params import LatentParams
from eigentext.language.trees.constituent import Tree


def skeleton_log_score(
    skeleton: Skeleton, params: LatentParams, emissions: Sequence[Emission]
) -> float:
    """log p(tree) up to the words' constant; -inf if the model gives it no weight."""
    from eigentext.constituency.kernels.trees import tree_inside

    node_ptr = pointers(params.m[skeleton.label])
    inside = np.zeros(int(node_ptr[-1]))
    over_word = skeleton.rule < 0
    if not np.isin(skeleton.label[over_word], params.lexicon.tags).all():
        return float("-inf")  # a label that never stood over a word
    word = np.where(over_word, np.cumsum(over_word) - 1, -1)
    fill_word_states(params, emissions, skeleton.label, word, node_ptr, inside)
    return float(
        tree_inside(skeleton, params.tensors, params.root, params.label_ptr, node_ptr, inside)
    )


def words_log_p(words: Sequence[str], grammar: Grammar) -> float:
    """The words' constant, the sum of log p(w)."""
    return sum(map(grammar.lexicon.log_p_word, words))


def log_mean(values: Sequence[float]) -> float:
    """Log of the mean of exp(values).

    >>> round(log_mean([0.0, float("-inf")]), 4)
    -0.6931
    """
    return float(np.logaddexp.reduce(values) - np.log(len(values)))


def tree_log_p(grammar: Grammar, binary: Tree) -> float:
    """log p(tree, words); -inf for a tree with a rule or a tag that the grammar does not have."""
    # The tree is binarised as in training.
    skeleton = skeleton_of(binary, grammar.rule_numbers)
    if skeleton is None:
        return float("-inf")
    words = grammar.forms(binary.words)
    emissions = word_emissions(grammar.params, grammar.labels, words, None)
    log_p = skeleton_log_p(grammar, skeleton, emissions)
    if log_p == float("-inf"):
        log_p = plain_log_p(grammar, skeleton, emissions[0])
    return log_p + words_log_p(words, grammar)


def skeleton_log_p(
    grammar: Grammar, skeleton: Skeleton, emissions: Sequence[Sequence[Emission]]
) -> float:
    """log p(tree) up to the words' constant, the mean of the models' p."""
    models = zip(grammar.params, emissions, strict=True)
    return log_mean([skeleton_log_score(skeleton, *model) for model in models])


def plain_log_p(grammar: Grammar, skeleton: Skeleton, emissions: Sequence[Emission]) -> float:
    """log p(tree) up to the words' constant under the plain PCFG, which prunes."""
    # -inf only for a tag that the word cannot have.
    coarse, lexicon = grammar.coarse, grammar.params[0].lexicon
    over_word = np.flatnonzero(skeleton.rule < 0)
    label = skeleton.label[over_word]
    score = np.zeros(len(label))
    for word, (emission, tag) in enumerate(
        zip(emissions, np.searchsorted(lexicon.tags, label).tolist(), strict=True)
    ):
        score[word] = emission.scores[emission.tags == tag].sum()
    with np.errstate(divide="ignore"):
        of_words = np.log(score * coarse.emits[label]).sum()
        of_rules = np.log(coarse.rule_p[skeleton.rule[skeleton.rule >= 0]]).sum()
        return float(np.log(coarse.root_p[skeleton.label[0]]) + of_rules + of_words)


def forest_log_p(
    grammar: Grammar, forest: DerivationForest, emissions: Sequence[Sequence[Emission]]
) -> Float64s:
    """(k,) the same for all trees of a forest at once: what they share is worked out once."""
    from eigentext.constituency.kernels.trees import bottom_up

    chart, table = forest.chart, forest.table
    order = np.empty(len(table.app), np.int64)
    order = order[: bottom_up(forest.roots, table, order)]
    position = np.full(len(table.app), -1)
    position[order] = np.arange(len(order))
    item = table.item[order]
    rows = _Rows(order, position, chart.item_label[item], chart.word_of_item[item])
    models = zip(grammar.params, emissions, strict=True)
    scores = [_forest_log_scores(forest, rows, *model) for model in models]
    return np.array([log_mean(of_tree) for of_tree in zip(*scores, strict=True)])


class _Rows(NamedTuple):
    """Rows of a forest, children first: their places, labels, and words (-1 over none)."""

    order: Int64s
    position: Int64s
    label: Int64s
    word: Int64s


def _forest_log_scores(
    forest: DerivationForest, rows: _Rows, params: LatentParams, emissions: Sequence[Emission]
) -> list[float]:
    from eigentext.constituency.kernels.trees import inside_rows

    row_ptr = pointers(params.m[rows.label])
    inside, scale = np.zeros(int(row_ptr[-1])), np.empty(len(rows.order))
    fill_word_states(params, emissions, rows.label, rows.word, row_ptr, inside)
    inside_rows(
        *(rows.order, forest.table, forest.chart.rule, rows.label, params.tensors),
        *(rows.position, row_ptr, inside, scale),
    )
    log_scores = []
    for at in rows.position[forest.roots].tolist():
        a = rows.label[at]
        root = params.root[params.label_ptr[a] : params.label_ptr[a + 1]]
        weight = float(root @ inside[row_ptr[at] : row_ptr[at + 1]])
        log_scores.append(float(scale[at]) + np.log(weight) if weight > 0 else float("-inf"))
    return log_scores
