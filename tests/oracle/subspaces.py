"""How near two subspaces are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def subspace_overlap(U1: NDArray[Any], U2: NDArray[Any]) -> float:
    """Mean squared cosine of the principal angles, ``|U1' U2|_F^2 / rank``, of two bases.

    Both must have orthonormal columns; 1 is the same subspace, 0 an orthogonal one.

    >>> subspace_overlap(np.eye(3)[:, :2], np.eye(3)[:, 1:])
    0.5
    """
    return float(np.square(U1.T @ U2, dtype=np.float64).sum() / min(U1.shape[1], U2.shape[1]))
