"""Weights for a reranker from lists of trees: averaged perceptron and log-linear.

Score of tree y: s(y) = v . dense(y) + sum of w over its templates.  Dense columns are first
divided by their spread within lists, so that one step means the same for each.

``perceptron`` (Dhillon et al. 2012; Collins 2002): y* has most right heads of the list,

    y = argmax s;  if y has fewer right heads:  weights += f(y*) - f(y);  answer: mean of weights

``log_linear``: p(y) = exp s(y) / sum over the list; maximises, with an L2 penalty, the sum over
lists of log p(trees with most right heads).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from eigentext.base.averaging import Averaged
from eigentext.base.folds import held_out
from eigentext.errors import SettingsError
from eigentext.linear.lists import spread

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from eigentext.base.types import Float32s, Float64s, Int64s
    from eigentext.dependency.rerank.features import TagTable
    from eigentext.dependency.rerank.tree_features import TreeTable

Table: TypeAlias = "TreeTable | TagTable"  # features of the trees of many lists


class HeldOut(NamedTuple):
    """Words of sentences that weights have not seen, and how many of them are right there.

    Right is a word with the right head, and the right relation if lists have relations.
    """

    words: int
    first: int  # in the first tree of each list, the base parser's own
    chosen: int  # in the tree that the weights choose

    @property
    def better(self) -> bool:
        """Does choosing pay?"""
        return self.chosen > self.first

    @property
    def attachment(self) -> tuple[float, float]:
        """The share of right words in the first and in the chosen trees, in per cent.

        >>> HeldOut(words=200, first=150, chosen=151).attachment
        (75.0, 75.5)
        """
        words = max(self.words, 1)
        return 100.0 * self.first / words, 100.0 * self.chosen / words


@dataclass(frozen=True, eq=False)
class TagWeights:
    """``dense`` (D,) of the raw columns named ``names``; ``templates`` (numbers,)."""

    names: tuple[str, ...]
    dense: Float64s
    templates: Float32s


def checked_right(table: Table) -> npt.NDArray[np.number]:
    """Right words of each tree; SettingsError if there are no gold trees, or no lists."""
    if table.right is None:
        raise SettingsError("training lists need gold trees")
    if not len(table.lengths):
        raise SettingsError("no training lists")
    return table.right


def choose(table: Table, scores: Float64s) -> Int64s:
    """(N,) the place of each list's best tree; of equal ones the first."""
    at = table.tree_at
    return np.array([int(scores[a:b].argmax()) for a, b in pairwise(at)])


def held_out_words(table: Table, learn: Callable[[Any], Any], folds: int) -> HeldOut:
    """Right words in each fold of the lists, chosen by weights of the other folds."""
    first = chosen = 0
    right = checked_right(table)
    for others, numbers in held_out(len(table.lengths), folds):
        fold = table.part(numbers)
        best = choose(fold, fold.scores(learn(table.part(others))))
        begins = table.tree_at[numbers]
        first += int(right[begins].sum())
        chosen += int(right[begins + best].sum())
    return HeldOut(int(table.lengths.sum()), first, chosen)


def perceptron(
    table: TagTable, size: int, *, epochs: int = 10, base: float = 10.0, seed: int = 0
) -> TagWeights:
    """Averaged perceptron over lists; ``base`` is the first weight of the base score."""
    right = checked_right(table)
    unit = spread(table.dense, table.tree_at)
    dense = table.dense / unit
    of_columns = Averaged.zeros(dense.shape[1], np.float64)
    of_templates = Averaged.zeros(size, np.float64)
    v, w = of_columns.weights, of_templates.weights
    v[0] = base
    at, indptr, codes = table.tree_at, table.indptr, table.codes
    oracle = [int(right[a:b].argmax()) for a, b in pairwise(at)]
    time = 0
    for epoch in range(epochs):
        rng = np.random.default_rng([seed, epoch])
        for number in rng.permutation(len(oracle)):
            a, b = at[number], at[number + 1]
            time += 1
            if b - a == 1:
                continue
            # scores of the trees a to b of one list: dense columns, and the sums of its templates
            first = indptr[a]
            parts = w[codes[first : indptr[b]]]
            scores = dense[a:b] @ v + np.add.reduceat(parts, indptr[a:b] - first)
            best, gold = a + int(scores.argmax()), a + oracle[number]
            if right[best] >= right[gold]:
                continue
            step = dense[gold] - dense[best]
            v += step
            of_columns.sums[:] += time * step
            for tree, sign in ((gold, 1.0), (best, -1.0)):
                those = codes[indptr[tree] : indptr[tree + 1]]
                np.add.at(w, those, sign)
                np.add.at(of_templates.sums, those, sign * time)
    mean_v, mean_w = of_columns.mean(time + 1), of_templates.mean(time + 1)
    return TagWeights(table.names, mean_v / unit, mean_w.astype(np.float32))


def log_linear(
    table: TagTable,
    size: int,
    *,
    l2: float = 1.0,
    iterations: int = 100,
    templates: bool = True,
    start: TagWeights | None = None,
) -> TagWeights:
    """Log-linear weights by L-BFGS; ``l2`` is the penalty of one template's squared weight.

    ``start``: weights to begin with, e.g. of fewer columns; without, only the base score counts.
    """
    from scipy.optimize import minimize
    from scipy.sparse import csr_array

    right = checked_right(table)
    unit = spread(table.dense, table.tree_at)
    dense = table.dense / unit
    D = dense.shape[1]
    # L-BFGS sees the templates that occur, numbered anew: X[tree, template] counts them
    used, columns = np.unique(table.codes, return_inverse=True)
    if not templates:
        used, columns = used[:0], columns[:0]
    indptr = table.indptr if templates else np.zeros_like(table.indptr)
    ones = np.ones(len(columns), np.float32)
    X = csr_array((ones, columns.astype(np.int32), indptr), shape=(len(dense), len(used)))
    X_turned = X.T.tocsr()
    starts, sizes = table.tree_at[:-1], np.diff(table.tree_at)
    most = np.maximum.reduceat(right, starts)
    is_best = right == np.repeat(most, sizes)
    list_of = np.repeat(np.arange(len(sizes)), sizes)

    def normal(scores: Float64s) -> tuple[Float64s, Float64s]:
        """Probabilities within each list, and the log of each list's sum."""
        top = np.maximum.reduceat(scores, starts)
        raised = np.exp(scores - top[list_of])
        total = np.add.reduceat(raised, starts)
        return raised / total[list_of], np.log(total) + top

    def loss(x: Float64s) -> tuple[float, Float64s]:
        v, w = x[:D], x[D:]
        scores = dense @ v + X @ w
        p, log_sum = normal(scores)
        # -log p(trees with most right heads); by the scores its slope is p - p given those
        good, good_sum = normal(np.where(is_best, scores, -np.inf))
        value = float((log_sum - good_sum).sum())
        slope = p - good
        # dense columns are few and have the spread 1: a hundredth of the templates' penalty
        value += 0.5 * l2 * float(w @ w) + 0.005 * l2 * float(v @ v)
        return value, np.concatenate(
            [slope @ dense + 0.01 * l2 * v, X_turned @ slope.astype(np.float32) + l2 * w]
        )

    first = np.zeros(D + len(used))
    first[0] = 1.0
    if start is not None:
        for name, value in zip(start.names, start.dense, strict=True):
            if name in table.names:
                at = table.names.index(name)
                first[at] = value * unit[at]
        first[D:] = start.templates[used]
    solution = minimize(
        loss, first, jac=True, method="L-BFGS-B", options={"maxiter": iterations, "maxcor": 8}
    ).x
    full = np.zeros(size, np.float32)
    full[used] = solution[D:]
    return TagWeights(table.names, solution[:D] / unit, full)
