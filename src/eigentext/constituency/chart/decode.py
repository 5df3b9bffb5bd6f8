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

A label of the grammar stands for a chain of the user's labels, one made by binarisation for none
(:class:`Chains`).  A constituent of the user's tree is there when any item over its span has it in
its chain (:func:`expected_gains`); half of the expected number of right constituents less the
wrong ones is a sum over the items of a tree:

    p(i, j, A) = sum over items (i, j, a) with A in the chain of a of p(item)
    gain(item) = sum over the constituents A in its chain of p(i, j, A) - 1/2
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.constituency.chart.fine import fill_word_states
from eigentext.constituency.transform import user_labels
from eigentext.constituency.treebank import Numbering
from eigentext.features.spectrum import feature_numbers
from eigentext.language.trees.constituent import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eigentext.base.types import Bools, Float64s, Int64s
    from eigentext.constituency.chart.coarse import Chart
    from eigentext.constituency.chart.fine import FinePass
    from eigentext.constituency.grammar import RuleNumbers
    from eigentext.constituency.kernels.decode import Derivations
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
    """Additive scores of applications (A,) and of items taken as leaves (I,)."""
    # Several models: the product of the posteriors of their rules, that is the sum of the
    # logarithms, and the mean of those of their items.  By ``max-constituents`` a tree has
    #     sum over its constituents of p(constituent) - 1/2   +   0.01 * mean log score by rules
    # Nodes made by binarisation are no constituents, and gain nothing: which of them a tree has is
    # left to the rules.  ``chains`` are those of the grammar's labels.
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
    total = np.zeros(len(chart.rule))  # log of the product of the models' posteriors
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
    best, chosen = _best(chart, *scores)
    roots = np.array(chart.root_items)
    root = int(roots[np.argmax(best[roots])])
    return (float(best[root]), _skeleton(chart, chosen, root)) if np.isfinite(best[root]) else None


def _best(chart: Chart, applications: Float64s, leaves: Float64s) -> tuple[Float64s, Int64s]:
    """(I,) the largest sum of scores below each item, and the application on top of it."""
    from eigentext.constituency.kernels.decode import best_by_score

    over_word = chart.word_of_item >= 0
    best = np.where(over_word, leaves, -np.inf)  # of others that of their best application
    chosen = np.empty(len(leaves), np.int64)
    best_by_score(chart.parent, chart.left, chart.right, applications, over_word, best, chosen)
    return best, chosen


def _skeleton(chart: Chart, chosen: Int64s, root: int) -> Skeleton:
    """The tree of the chosen application of each item."""

    def below(item: int) -> tuple[int, int, int, int]:
        if chart.word_of_item[item] >= 0:
            return item, -1, -1, -1
        application = chosen[item]
        return item, application, chart.left[application], chart.right[application]

    return _laid_out(chart, below, root)


def _laid_out(
    chart: Chart, below: Callable[[int], tuple[int, int, int, int]], root: int
) -> Skeleton:
    """Nodes in preorder, without recursion; ``below``: of each its item, application, children."""
    label: list[int] = []
    rule: list[int] = []
    pending = [root]
    while pending:
        item, application, left, right = below(pending.pop())
        label.append(int(chart.item_label[item]))
        rule.append(int(chart.rule[application]) if application >= 0 else -1)
        if application >= 0:
            pending += [right, left]
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
    scaled, top = np.zeros(len(best)), np.full(len(item_ptr) - 1, -np.inf)  # exp(best - top)
    of_chart = chart.applications, tensors, item_ptr, application, scaled
    viterbi_up(*of_chart, chart.span_items, chart.word_of_item, best, top)
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
    chosen = np.full(len(item_ptr) - 1, -1)  # (I,) the application of each item in the tree
    viterbi_down(*of_chart, root, state, chosen)
    return winner, _skeleton(chart, chosen, root)


class Chains(NamedTuple):
    """The constituents that each label of a grammar stands for, tags among them."""

    ptr: Int64s  # (labels + 1,) where those of each label begin in ``number``
    # a number for the user's label; the second NP of a chain NP NP has one of its own, for a tree
    # with one NP has only half of them right
    number: Int64s
    bound: int  # all numbers are smaller

    @classmethod
    def of(cls, labels: Sequence[str]) -> Chains:
        """Those of the labels of a grammar.

        >>> chains = Chains.of(("NP", "NP>NP", "@>NP|PP", "S>NP"))
        >>> chains.ptr.tolist(), chains.number.tolist(), chains.bound
        ([0, 1, 3, 3, 5], [0, 0, 1, 2, 0], 3)
        """
        numbers: Numbering[tuple[str, int]] = Numbering()
        chains: list[list[int]] = []
        for label in labels:
            before: Counter[str] = Counter()
            chains.append([])
            for name in user_labels(label):
                chains[-1].append(numbers[name, before[name]])
                before[name] += 1
        flat = [number for chain in chains for number in chain]
        return cls(pointers(map(len, chains)), np.array(flat, np.int64), len(numbers))


def expected_gains(chart: Chart, posteriors: Float64s, chains: Chains) -> Float64s:
    """(I,) what each item adds to a tree, by the (I,) posteriors of all items; see the module."""
    label = chart.item_label
    n = np.diff(chains.ptr)[label]  # constituents that each item stands for
    item = np.repeat(np.arange(len(label)), n)
    within = np.arange(len(item)) - np.repeat(np.cumsum(n) - n, n)
    number = chains.number[chains.ptr[label[item]] + within]
    _, constituent = np.unique(chart.item_span[item] * chains.bound + number, return_inverse=True)
    p = np.bincount(constituent, weights=posteriors[item])  # p(i, j, A)
    gains = np.bincount(item, weights=p[constituent] - 0.5, minlength=len(label))
    return gains.astype(float)  # of no constituents at all they would be whole numbers


class Skeleton(NamedTuple):
    """A binarised tree in preorder without its words: labels, rules (-1 over a word), children."""

    label: Int64s
    rule: Int64s
    left: Int64s
    right: Int64s

    @classmethod
    def of(cls, label: Sequence[int], rule: Sequence[int]) -> Skeleton:
        """From labels and rules in preorder.

        >>> Skeleton.of([0, 1, 2], [7, -1, -1]).right.tolist()
        [2, -1, -1]
        """
        left, right = _children([number < 0 for number in rule])
        columns = (np.array(column, dtype=np.int64) for column in (label, rule, left, right))
        return cls(*columns)

    def tree(self, labels: Sequence[str], words: Sequence[str]) -> Tree:
        """The tree with the names of its labels, over these words.

        >>> print(Skeleton.of([0, 1, 2], [7, -1, -1]).tree(["S", "A", "B"], ["x", "y"]))
        (S (A x) (B y))
        """
        children = list(zip(self.left.tolist(), self.right.tolist(), strict=True))
        size = [2] * len(children)
        for node in range(len(children) - 1, -1, -1):
            left, right = children[node]
            if left >= 0:
                size[node] = 1 + size[left] + size[right]
        names: list[str] = []
        sizes: list[int] = []
        rest = iter(words)
        for number, n_nodes, (left, _) in zip(self.label.tolist(), size, children, strict=True):
            names.append(labels[number])
            sizes.append(n_nodes)
            if left < 0:
                names.append(next(rest))
                sizes.append(1)
        return Tree.unchecked(names, sizes)


def skeleton_of(tree: Tree, numbers: RuleNumbers) -> Skeleton | None:
    """The numbers of a binarised tree; None if the grammar lacks a label or a rule of it."""
    label: list[int] = []
    over_word: list[bool] = []
    for name, size in zip(tree.labels, tree.sizes.tolist(), strict=True):
        if size == 1:
            continue
        number = numbers.labels.get(name)
        if number is None:
            return None
        label.append(number)
        over_word.append(size == 2)
    rule = [-1] * len(label)
    for node, (left, right) in enumerate(zip(*_children(over_word), strict=True)):
        if left >= 0:
            rule_id = numbers.rules.get((label[node], label[left], label[right]))
            if rule_id is None:
                return None
            rule[node] = rule_id
    return Skeleton.of(label, rule)


def _children(over_word: Sequence[bool]) -> tuple[list[int], list[int]]:
    """Left and right child of every node in preorder, -1 over a word."""
    left, right = [-1] * len(over_word), [-1] * len(over_word)
    finished: list[int] = []  # subtrees to the right, nearest last
    for node in range(len(over_word) - 1, -1, -1):
        if not over_word[node]:
            left[node], right[node] = finished.pop(), finished.pop()
        finished.append(node)
    return left, right


_MORE = 10  # so many binary trees are looked at for each tree wanted


class DerivationForest(NamedTuple):
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
        return _laid_out(
            self.chart, lambda row: (item[row], app[row], left[row], right[row]), self.roots[rank]
        )


def kbest_forest(
    chart: Chart, scores: tuple[Float64s, Float64s], k: int, spliced: Bools | None = None
) -> DerivationForest:
    """At most k trees by falling score; ties in the order of the chart.

    ``scores`` are those of applications and of items taken as leaves.  ``spliced`` (labels,) are
    labels whose nodes are taken out in the end: of trees that differ in them only, the best stays.
    """
    from eigentext.constituency.kernels.decode import first_derivations, kbest_roots, room_for

    applications, n_items = scores[0], len(chart.item_label)
    best, chosen = _best(chart, *scores)
    key = feature_numbers(0, chart.item_span, chart.item_label)  # a tree's key is the sum of these
    if spliced is not None:
        key[spliced[chart.item_label]] = 0
    by_item = (
        pointers(np.bincount(chart.parent, minlength=n_items)),
        np.argsort(chart.parent, kind="stable"),
    )
    roots = np.array(chart.root_items)
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
            return DerivationForest(chart, table, derivations[:n_found])
        room *= 4
