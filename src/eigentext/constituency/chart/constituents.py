"""What the constituents of the user's tree stand to gain: right or wrong, by their posteriors.

A label of the grammar stands for a chain of the user's labels, one made by binarisation for none
(:class:`Chains`).  A constituent of the user's tree is there when any item over its span has it in
its chain, so its posterior is a sum over items (:func:`expected_gains`):

    p(i, j, A) = sum over items (i, j, a) with A in the chain of a of p(item)
    gain(item) = sum over the constituents A in its chain of p(i, j, A) - 1/2

The sum of gains over a tree is half of its expected number of right constituents less wrong ones.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.constituency.transform import user_labels
from eigentext.constituency.treebank import Numbering

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Float64s, Int64s
    from eigentext.constituency.chart.coarse import Chart


class Chains(NamedTuple):
    """The constituents that each label of a grammar stands for, tags among them.

    ``ptr``     (labels + 1,) where those of each label begin in ``number``
    ``number``  a number for the user's label; the second NP of a chain NP NP has one of its own,
                for a tree with one NP has only half of them right
    ``bound``   all numbers are smaller
    """

    ptr: Int64s
    number: Int64s
    bound: int

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
    n = np.diff(chains.ptr)[label]
    item = np.repeat(np.arange(len(label)), n)
    within = np.arange(len(item)) - np.repeat(np.cumsum(n) - n, n)
    number = chains.number[chains.ptr[label[item]] + within]
    _, constituent = np.unique(chart.item_span[item] * chains.bound + number, return_inverse=True)
    p = np.bincount(constituent, weights=posteriors[item])
    gains = np.bincount(item, weights=p[constituent] - 0.5, minlength=len(label))
    return gains.astype(float)  # of no constituents at all they would be whole numbers
