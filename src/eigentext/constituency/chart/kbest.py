"""The k best trees of a chart as derivations that share their parts.

A derivation is an application of a rule and the derivations of both children; most of them stand
in many of the k trees, and what is worked out for one of them holds for all of those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.constituency.chart.skeleton import Skeleton
from eigentext.features.sparse_rows import feature_numbers

if TYPE_CHECKING:
    from eigentext.base.types import Bools, Float64s, Int64s
    from eigentext.constituency.chart.coarse import Chart
    from eigentext.constituency.kernels.kbest import Derivations

_MORE = 10  # so many binary trees are looked at for each tree wanted


class Forest(NamedTuple):
    """Derivations, and which of them are whole trees, the best first."""

    chart: Chart
    table: Derivations
    roots: Int64s

    @property
    def scores(self) -> Float64s:
        """(k,) the decoder's scores of the trees."""
        return self.table.score[self.roots]

    def skeleton(self, rank: int) -> Skeleton:
        """The binarised tree with that rank."""
        item, app, left, right = self.table[1:5]
        label: list[int] = []
        rule: list[int] = []
        pending = [int(self.roots[rank])]
        while pending:
            row = pending.pop()
            label.append(int(self.chart.item_label[item[row]]))
            if app[row] < 0:
                rule.append(-1)
                continue
            rule.append(int(self.chart.rule[app[row]]))
            pending += [int(right[row]), int(left[row])]
        return Skeleton.of(label, rule)


def kbest_forest(
    chart: Chart, scores: tuple[Float64s, Float64s], k: int, spliced: Bools | None = None
) -> Forest:
    """At most k trees by falling score; ties in the order of the chart.

    ``scores`` are those of applications and of items taken as leaves.  ``spliced`` (labels,) are
    labels whose nodes are taken out in the end: of trees that differ in them only, the best stays.
    """
    from eigentext.constituency.kernels.decode import best_by_score
    from eigentext.constituency.kernels.kbest import first_derivations, kbest_roots, room_for

    applications, leaves = scores
    n_items = len(leaves)
    over_word = chart.word_of_item >= 0
    best = np.where(over_word, leaves, -np.inf)
    chosen = np.empty(n_items, np.int64)
    best_by_score(chart.parent, chart.left, chart.right, applications, over_word, best, chosen)
    key = feature_numbers(0, chart.item_span, chart.item_label)
    if spliced is not None:
        key[spliced[chart.item_label]] = 0
    by_item = (
        pointers(np.bincount(chart.parent, minlength=n_items)),
        np.argsort(chart.parent, kind="stable"),
    )
    roots = np.arange(chart.root_items.start, chart.root_items.stop)
    # The room for derivations is a guess: when it is too small, all is done again with more.
    room = 2 * n_items + len(applications) + 64 * k
    while True:
        table = room_for(room)
        first_derivations(chart.left, chart.right, best, chosen, key, table)
        derivations = np.empty(k, np.int64)
        top = np.full(n_items, -3)
        most = k if spliced is None else k * _MORE
        n_found = kbest_roots(
            *(chart.applications, by_item, applications, key, roots),
            *(k, most, table, n_items, top, derivations),
        )
        if n_found >= 0:
            return Forest(chart, table, derivations[:n_found])
        room *= 4
