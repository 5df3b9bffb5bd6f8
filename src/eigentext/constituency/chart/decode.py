"""From posteriors to trees: the best one, or the k best.

* ``max-constituents``  the tree of which most constituents are right and fewest wrong, as expected
                        by their posteriors (default)
* ``max-rule-product``  the tree whose rule posteriors have the largest product
* ``max-recall``        the tree with the largest sum of item posteriors (Goodman 1996)
* ``viterbi``           the best derivation with states written out

The first three give additive scores to applications (and tags); one bottom-up pass, or a lazy
k-best enumeration (Huang and Chiang 2005, algorithm 3), finds the trees.  The last takes the
maximum over states where the inside pass takes the sum:

    best[item][h1] = max over applications, h2, h3 of tensor[r][h1,h2,h3] best[l][h2] best[r][h3]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.constituency.chart.constituents import expected_gains
from eigentext.constituency.chart.fine import fill_word_states
from eigentext.constituency.chart.skeleton import Skeleton

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Float64s, Int64s
    from eigentext.constituency.chart.coarse import Chart
    from eigentext.constituency.chart.constituents import Chains
    from eigentext.constituency.chart.fine import FinePass
    from eigentext.constituency.lexicon import Emission
    from eigentext.constituency.params import LatentParams


_TINY = 1e-30
LIKELY = 0.01  # weight of the rules beside the constituents: of trees alike in these the likelier


def decoder_scores(
    chart: Chart,
    passes: Sequence[FinePass],
    decoder: Literal["max-constituents", "max-rule-product", "max-recall"],
    chains: Chains,
) -> tuple[Float64s, Float64s]:
    """Additive scores of applications (A,) and of items taken as leaves (I,).

    Several models: the product of the posteriors of their rules, that is the sum of the
    logarithms, and the mean of those of their items.  By ``max-constituents`` a tree has

        sum over its constituents of p(constituent) - 1/2   +   0.01 * mean log score by rules

    Nodes made by binarisation are no constituents, and gain nothing: which of them a tree has is
    left to the rules.  ``chains`` are those of the grammar's labels.
    """
    if decoder == "max-rule-product":
        return _rule_scores(chart, passes)
    items = np.mean([p.items for p in passes], axis=0).astype(float)
    if decoder == "max-recall":
        return items[chart.parent], items
    gains = expected_gains(chart, items, chains)
    applications, leaves = _rule_scores(chart, passes)
    weight = LIKELY / len(passes)
    return gains[chart.parent] + weight * applications, gains + weight * leaves


def _rule_scores(chart: Chart, passes: Sequence[FinePass]) -> tuple[Float64s, Float64s]:
    total = np.zeros(len(chart.rule))
    for p in passes:
        total += np.log(np.maximum(p.applications, _TINY))
    # A tag's posterior is already part of the rule above it, except when there is none.
    leaves = np.zeros(len(chart.item_label))
    if chart.n == 1:
        for p in passes:
            leaves += np.log(np.maximum(p.items, _TINY))
    return total, leaves


def best_skeleton(
    chart: Chart, scores: tuple[Float64s, Float64s]
) -> tuple[float, Skeleton] | None:
    """The binarised tree with the largest sum of additive scores; of equals that of the chart."""
    from eigentext.constituency.kernels.decode import best_by_score

    applications, leaves = scores
    over_word = chart.word_of_item >= 0
    item_score = np.where(over_word, leaves, -np.inf)
    chosen = np.empty(len(leaves), np.int64)
    best_by_score(
        chart.parent, chart.left, chart.right, applications, over_word, item_score, chosen
    )
    roots = np.arange(chart.root_items.start, chart.root_items.stop)
    root = int(roots[np.argmax(item_score[roots])])
    if not np.isfinite(item_score[root]):
        return None
    return float(item_score[root]), _skeleton(chart, chosen, root)


def _skeleton(chart: Chart, chosen: Int64s, root: int) -> Skeleton:
    """Lay the chosen application of each item out in preorder, without recursion."""
    label: list[int] = []
    rule: list[int] = []
    pending = [root]
    while pending:
        item = pending.pop()
        label.append(int(chart.item_label[item]))
        if chart.word_of_item[item] >= 0:
            rule.append(-1)
            continue
        application = chosen[item]
        rule.append(int(chart.rule[application]))
        pending += [int(chart.right[application]), int(chart.left[application])]
    return Skeleton.of(label, rule)


def viterbi_skeleton(
    chart: Chart, params: LatentParams, emissions: Sequence[Emission]
) -> tuple[float, Skeleton] | None:
    """The tree of the best derivation with states, and its log weight; None if all have none."""
    from eigentext.constituency.kernels.decode import viterbi_down, viterbi_up

    item_ptr = pointers(params.m[chart.item_label])
    tensors = params.tensors._replace(tensor=params.whole_tensor)  # a maximum has no low rank
    words = np.zeros(int(item_ptr[-1]))
    fill_word_states(params, emissions, chart.item_label, chart.word_of_item, item_ptr, words)
    with np.errstate(divide="ignore"):
        best = np.log(words)
        root_weight = np.log(params.root)
    application = np.full(len(best), -1)
    scaled, top = np.zeros(len(best)), np.full(len(item_ptr) - 1, -np.inf)
    viterbi_up(
        chart.applications,
        tensors,
        chart.span_items,
        chart.word_of_item,
        item_ptr,
        best,
        application,
        scaled,
        top,
    )
    winner, root, state = -np.inf, -1, -1
    for item in chart.root_items:
        a = chart.item_label[item]
        # the best root state of this label
        total = best[item_ptr[item] : item_ptr[item + 1]]
        total = total + root_weight[params.label_ptr[a] : params.label_ptr[a + 1]]
        if total.max() > winner:
            winner, root, state = float(total.max()), item, int(total.argmax())
    if root < 0:
        return None
    chosen = np.full(len(item_ptr) - 1, -1)
    viterbi_down(chart.applications, tensors, item_ptr, application, scaled, root, state, chosen)
    return winner, _skeleton(chart, chosen, root)
