"""From posteriors to trees: the best one, or the k best.

* ``max-rule-product``  the tree whose rule posteriors have the largest product (default)
* ``max-recall``        the tree with the largest sum of item posteriors (Goodman 1996)
* ``viterbi``           the best derivation with states written out

The first two give additive scores to applications (and tags); one bottom-up pass, or a lazy k-best
enumeration (Huang and Chiang 2005, algorithm 3), finds the trees.  The last takes the maximum over
states where the inside pass takes the sum:

    best[item][h1] = max over applications, h2, h3 of tensor[r][h1,h2,h3] best[l][h2] best[r][h3]
"""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from eigentext.trees.constituent import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from eigentext.constituency.chart import Chart
    from eigentext.constituency.fine import FinePass
    from eigentext.constituency.lexicon import Emission
    from eigentext.constituency.params import LatentParams

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

__all__ = ["DECODERS", "Decoder", "best_trees", "decoder_scores", "viterbi_tree"]

Decoder = Literal["max-rule-product", "max-recall", "viterbi"]
DECODERS: tuple[Decoder, ...] = get_args(Decoder)
_TINY = 1e-30


def decoder_scores(
    chart: Chart, passes: Sequence[FinePass], decoder: Literal["max-rule-product", "max-recall"]
) -> tuple[Floats, Floats]:
    """Additive scores of applications (A,) and of items taken as leaves (I,).

    Several models: the product of their posteriors, that is the sum of the logarithms.
    """
    if decoder == "max-recall":
        items = np.mean([p.items for p in passes], axis=0).astype(float)
        return items[chart.parent], items
    total = np.zeros(len(chart.rule))
    for p in passes:
        total += np.log(np.maximum(p.applications, _TINY))
    # A tag's posterior is already part of the rule above it, except when there is none.
    leaves = np.zeros(len(chart.item_label))
    if chart.n == 1:
        for p in passes:
            leaves += np.log(np.maximum(p.items, _TINY))
    return total, leaves


def best_trees(
    chart: Chart,
    scores: tuple[Floats, Floats],
    labels: Sequence[str],
    words: Sequence[str],
    k: int,
) -> Iterator[tuple[float, Tree]]:
    """Binarised trees by falling score, at most k; ties in the order of the chart."""
    if k == 1:
        found = _best(chart, *scores)
        if found is not None:
            score, chosen, root = found
            yield score, _tree(chart, lambda item: int(chosen[item]), root, labels, words)
        return
    lazy = _Lazy(chart, *scores)
    for score, derivation in lazy.roots(k):
        yield score, lazy.tree(derivation, labels, words)


def _best(chart: Chart, applications: Floats, leaves: Floats) -> tuple[float, Ints, int] | None:
    from eigentext.constituency.kernels_fine import best_by_score

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
    return float(item_score[root]), chosen, root


def _tree(
    chart: Chart,
    application_of: Callable[[int], int],
    root: int,
    labels: Sequence[str],
    words: Sequence[str],
) -> Tree:
    """Lay the chosen applications out in preorder, without recursion."""
    out: list[str] = []
    sizes: list[int] = []
    pending = [root]
    while pending:
        item = pending.pop()
        word = int(chart.word_of_item[item])
        out.append(labels[chart.item_label[item]])
        if word >= 0:
            out.append(words[word])
            sizes += [2, 1]
            continue
        sizes.append(0)
        application = application_of(item)
        pending += [int(chart.right[application]), int(chart.left[application])]
    return Tree.unchecked(out, _sizes_of_binary(sizes))


def viterbi_tree(
    chart: Chart,
    params: LatentParams,
    emissions: Sequence[Emission],
    labels: Sequence[str],
    words: Sequence[str],
) -> tuple[float, Tree] | None:
    """The tree of the best derivation with states, and its log weight; None if all have none."""
    from eigentext.constituency.kernels import viterbi_down, viterbi_up

    item_ptr = np.concatenate([[0], np.cumsum(params.m[chart.item_label])])
    with np.errstate(divide="ignore"):
        best = np.log(_word_states(chart, params, emissions, item_ptr))
        root_weight = np.log(params.root)
    application = np.full(len(best), -1)
    scaled, top = np.zeros(len(best)), np.full(len(item_ptr) - 1, -np.inf)
    viterbi_up(
        chart.rule,
        chart.parent,
        chart.left,
        chart.right,
        chart.group_ptr,
        chart.group_span,
        chart.span_items,
        chart.word_of_item,
        params.rules,
        params.m,
        params.rule_ptr,
        params.tensor,
        item_ptr,
        best,
        application,
        scaled,
        top,
    )
    winner, root, state = -np.inf, -1, -1
    for item in chart.root_items:
        a = chart.item_label[item]
        total = best[item_ptr[item] : item_ptr[item + 1]]
        total = total + root_weight[params.label_ptr[a] : params.label_ptr[a + 1]]
        if total.max() > winner:
            winner, root, state = float(total.max()), item, int(total.argmax())
    if root < 0:
        return None
    chosen = np.full(len(item_ptr) - 1, -1)
    viterbi_down(
        chart.rule,
        chart.left,
        chart.right,
        params.rules,
        params.m,
        params.rule_ptr,
        params.tensor,
        item_ptr,
        application,
        scaled,
        root,
        state,
        chosen,
    )
    return winner, _tree(chart, lambda item: int(chosen[item]), root, labels, words)


def _word_states(
    chart: Chart, params: LatentParams, emissions: Sequence[Emission], item_ptr: Ints
) -> Floats:
    """Scores of the states of tag items; zero elsewhere."""
    lexicon = params.lexicon
    found = np.zeros(int(item_ptr[-1]))
    over_words = np.flatnonzero(chart.word_of_item >= 0)
    tags = np.searchsorted(lexicon.tags, chart.item_label[over_words])
    for item, t in zip(over_words.tolist(), tags.tolist(), strict=True):
        states = emissions[chart.word_of_item[item]].states
        place = slice(lexicon.tag_ptr[t], lexicon.tag_ptr[t + 1])
        found[item_ptr[item] : item_ptr[item + 1]] = states[place]
    return found


def _sizes_of_binary(sizes: list[int]) -> list[int]:
    """Fill in the sizes of inner nodes (marked 0), whose two children follow in preorder."""
    done = list(sizes)
    stack: list[int] = []  # sizes of finished subtrees to the right, nearest last
    for at in range(len(done) - 1, -1, -1):
        if done[at] == 1:
            continue
        if done[at] == 0:
            done[at] = 1 + stack.pop() + stack.pop()
        stack.append(done[at])
    return done


class _Lazy:
    """Lazy k-best over the applications of a chart."""

    def __init__(self, chart: Chart, applications: Floats, leaves: Floats) -> None:
        self.chart = chart
        self.scores = applications
        self.leaves = leaves
        order = np.argsort(chart.parent, kind="stable")
        bounds = np.searchsorted(chart.parent[order], np.arange(len(leaves) + 1))
        self.of_item = [order[a:b].tolist() for a, b in pairwise(bounds.tolist())]
        self.found: dict[int, list[tuple[float, int, int, int]]] = {}
        self.heaps: dict[int, list[tuple[float, int, int, int]]] = {}
        self.seen: dict[int, set[tuple[int, int, int]]] = {}
        # Bottom-up order makes every item's best derivation known before it is asked for, so that
        # the lazy part never recurses deeply.
        parents = dict.fromkeys(chart.parent.tolist())
        for item in parents:
            self._start(item)

    def _derivation(self, item: int, rank: int) -> tuple[float, int, int, int] | None:
        """(score, application, ranks left and right) of the rank-th best; None beyond the last."""
        if self.chart.word_of_item[item] >= 0:
            return (float(self.leaves[item]), -1, 0, 0) if rank == 0 else None
        if item not in self.found:
            return None
        done, heap = self.found[item], self.heaps[item]
        while len(done) <= rank and heap:
            score, application, left, right = heapq.heappop(heap)
            done.append((-score, application, left, right))
            self._push(item, application, left + 1, right)
            self._push(item, application, left, right + 1)
        return done[rank] if rank < len(done) else None

    def _push(self, item: int, application: int, left: int, right: int) -> None:
        if (application, left, right) in self.seen[item]:
            return
        self.seen[item].add((application, left, right))
        of_left = self._derivation(int(self.chart.left[application]), left)
        of_right = self._derivation(int(self.chart.right[application]), right)
        if of_left is not None and of_right is not None:
            score = self.scores[application] + of_left[0] + of_right[0]
            heapq.heappush(self.heaps[item], (-float(score), application, left, right))

    def _start(self, item: int) -> None:
        self.found[item], self.heaps[item], self.seen[item] = [], [], set()
        for application in self.of_item[item]:
            self._push(item, application, 0, 0)

    def roots(self, k: int) -> Iterator[tuple[float, tuple[int, int]]]:
        """(score, (root item, rank)) of the k best derivations of the sentence."""
        heap = []
        for item in self.chart.root_items:
            best = self._derivation(item, 0)
            if best is not None:
                heap.append((-best[0], item, 0))
        heapq.heapify(heap)
        for _ in range(k):
            if not heap:
                return
            score, item, rank = heapq.heappop(heap)
            yield -score, (item, rank)
            following = self._derivation(item, rank + 1)
            if following is not None:
                heapq.heappush(heap, (-following[0], item, rank + 1))

    def tree(
        self, derivation: tuple[int, int], labels: Sequence[str], words: Sequence[str]
    ) -> Tree:
        """The binarised tree of a derivation."""
        out: list[str] = []
        sizes: list[int] = []
        pending = [derivation]
        while pending:
            item, rank = pending.pop()
            out.append(labels[self.chart.item_label[item]])
            word = int(self.chart.word_of_item[item])
            if word >= 0:
                out.append(words[word])
                sizes += [2, 1]
                continue
            sizes.append(0)
            found = self._derivation(item, rank)
            if found is None:
                raise LookupError("a derivation was asked for that was never enumerated")
            _, application, left, right = found
            pending.append((int(self.chart.right[application]), right))
            pending.append((int(self.chart.left[application]), left))
        return Tree.unchecked(out, _sizes_of_binary(sizes))
