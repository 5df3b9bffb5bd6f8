"""The exact form of any tensor as a sum of products."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigentext.lab.products.rules import Products


def cp_of_slices(tensors: Any) -> Products:
    """The exact form that every tensor has: of each pair of the two shorter axes one product.

    >>> tensors = np.arange(12.0).reshape(1, 2, 3, 2)
    >>> found = cp_of_slices(tensors)
    >>> found.A.shape, bool(np.array_equal(found.whole(), tensors))
    ((1, 2, 4), True)
    """
    n, *shape = tensors.shape
    longest = int(np.argmax(shape))
    first, second = (axis for axis in range(3) if axis != longest)
    rank = shape[first] * shape[second]
    slices = np.moveaxis(tensors, longest + 1, 1).reshape(n, shape[longest], rank)
    one, other = np.divmod(np.arange(rank), shape[second])
    factors: list[Any] = [slices] * 3
    for axis, at in ((first, one), (second, other)):
        unit = np.eye(shape[axis])[:, at]
        factors[axis] = np.broadcast_to(unit, (n, *unit.shape))
    return Products(*factors)
