"""Probabilities that mean something: one temperature, and how far off they are.

p(l | t) = softmax(s / T); T is chosen so that held-out gold labels are most probable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.lexical.ranker.softmax import probabilities

if TYPE_CHECKING:
    from eigentext.base.types import Bools, Float64s, Int64s


def temperature(first: Int64s, row_scores: Float64s, gold_row: Int64s, words: Int64s) -> float:
    """The temperature that makes the gold rows of these words most probable.

    >>> first = np.arange(0, 402, 2)
    >>> sharp = np.tile([5.0, 0.0], 200)
    >>> gold = first[:-1] + (np.arange(200) % 4 == 0)
    >>> 4.0 < temperature(first, sharp, gold, np.arange(200)) < 5.0
    True
    """
    from scipy.optimize import minimize_scalar

    def loss(log_temperature: float) -> float:
        shares = probabilities(first, row_scores / np.exp(log_temperature))
        return float(-np.log(np.maximum(shares[gold_row[words]], 1e-12)).mean())

    optimum = minimize_scalar(loss, bounds=(-0.7, 3.0), method="bounded", options={"xatol": 1e-3})
    return float(np.exp(optimum.x))


def calibration_error(sure: Float64s, right: Bools, bins: int = 10) -> float:
    """Expected calibration error: the mean gap between how sure and how often right, by tenths.

    >>> calibration_error(np.array([0.75] * 4), np.array([True, True, True, False]))
    0.0
    """
    if not len(sure):
        return 0.0
    bin_index = np.minimum((sure * bins).astype(int), bins - 1)
    size = np.bincount(bin_index, minlength=bins)
    gap = np.bincount(bin_index, sure, bins) - np.bincount(bin_index, right.astype(float), bins)
    return float(np.abs(gap[size > 0]).sum() / len(sure))
