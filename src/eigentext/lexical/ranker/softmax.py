"""Stage 2 as a conditional softmax over each word's candidates.

p(l | t) = exp s(l) / sum_{l' in C(t)} exp s(l'),
s(l) = sum_k g_k x_k(l) + sum_{units u of l} sum_a b(a, target u, bucket) z_a(u) [+ w(a, u)].

b are the shrinkage weights of features and g those of the row's numbers; w, one weight for each
(feature, value) pair in a table of 2^bits, is learned in later passes only.  AdaGrad, one word
at a time, in an order that the seed fixes.  Probabilities are softmax(s / T), T so that held-out
gold labels are most probable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eigentext.lexical.ranker.records import CandidateRows, CountColumns, RankWeights, UnitTable

if TYPE_CHECKING:
    from eigentext.base.types import Bools, Float32s, Float64s, Int8s, Int64s
    from eigentext.lexical.ranker.encoding import WordArrays
    from eigentext.lexical.ranker.features import Hashes

_RATE = 0.05  # of AdaGrad's steps


@dataclass
class PassInputs:
    """What is weighed: words and candidates, features, and the columns made of counts."""

    encoded: WordArrays
    atoms: Hashes  # [n, A]
    used: Bools  # [A, T]
    z: Float32s  # [U, C]
    bucket: Int8s  # [n, C]
    noise: Float32s | None = None  # [U, C] the variance of z, for James-Stein weights alone
    first_pass: int = 0  # columns of the first pass
    first_pass_atoms: int = 0

    @property
    def records(self) -> tuple[UnitTable, CandidateRows, CountColumns]:
        """The same for compiled loops."""
        table = self.encoded.feature_table(self.atoms, self.used)
        return table, self.encoded.rows, CountColumns(self.z, self.bucket)


def scores(inputs: PassInputs, weights: RankWeights) -> Float64s:
    """The score of every row."""
    from eigentext.lexical.ranker.kernels import weighing

    out = np.zeros(len(inputs.encoded.row_hash))
    weighing.score(np.arange(len(inputs.encoded.words)), *inputs.records, weights, out)
    return out


def fit_softmax(
    inputs: PassInputs, words: Int64s, *, bits: int, epochs: int, seed: int
) -> RankWeights:
    """Learn weights from these words."""
    from eigentext.lexical.ranker.kernels import weighing

    e = inputs.encoded
    sizes = inputs.z.shape[1], e.row_hash.shape[1], e.numeric.shape[1], bits
    weights, squares = RankWeights.full(0.0, *sizes), RankWeights.full(1.0, *sizes)
    random = np.random.default_rng(seed)
    scratch = np.zeros(len(e.row_hash))
    for _ in range(epochs):
        order = random.permutation(words)
        weighing.learn(order, e.gold_row, *inputs.records, weights, squares, _RATE, scratch)
    # as files hold them
    return weights._replace(sparse=weights.sparse.astype(np.float16).astype(np.float32))


def probabilities(first: Int64s, row_scores: Float64s) -> Float64s:
    """Softmax within each word's rows; ``first`` [n + 1] tells where they begin.

    >>> probabilities(np.array([0, 2, 3]), np.array([0.0, 0.0, 7.0])).tolist()
    [0.5, 0.5, 1.0]
    """
    if len(row_scores) == 0:
        return row_scores
    sizes = np.diff(first)
    top = np.repeat(np.maximum.reduceat(row_scores, first[:-1]), sizes)
    raised = np.exp(row_scores - top)
    total = np.repeat(np.add.reduceat(raised, first[:-1]), sizes)
    shares: Float64s = raised / total
    return shares


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
