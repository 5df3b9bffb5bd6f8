"""Coherence of topics: do their words stand in the same documents?

    npmi(u, v) = log(p(u, v) / (p(u) p(v))) / -log p(u, v)

with p the share of documents in which a word, or both words, stand: 1 where one never stands
without the other, 0 where they are independent, -1 where they never meet (Bouma 2009; Lau, Newman
and Baldwin 2014).  The coherence of a topic is the mean over all pairs of its leading words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from eigentext.base.types import Float64s


def npmi_coherence(topics: Sequence[Sequence[int]] | npt.NDArray[Any], counts: Any) -> Float64s:
    """(k,) the coherence of topics, each given as columns of ``counts`` (documents, words).

    A pair of which one word stands in no document says nothing and counts as 0.

    >>> from scipy.sparse import csr_array
    >>> documents = csr_array(np.array([[1, 2, 0], [3, 1, 0], [0, 0, 1], [0, 0, 0]]))
    >>> npmi_coherence([[0, 1], [0, 2]], documents).tolist()
    [1.0, -1.0]
    """
    n = counts.shape[0]
    values = []
    for words in topics:
        there = counts[:, list(words)].toarray() > 0
        joint = there.T.astype(np.float64) @ there / n
        alone = np.diag(joint)
        pairs = [
            _npmi(float(joint[i, j]), float(alone[i]), float(alone[j]))
            for i in range(len(alone))
            for j in range(i)
        ]
        values.append(float(np.mean(pairs)) if pairs else 0.0)
    return np.array(values)


def _npmi(both: float, first: float, second: float) -> float:
    if first == 0 or second == 0:
        return 0.0
    if both == 0:
        return -1.0
    if both == 1:
        return 1.0
    return float(np.log(both / (first * second)) / -np.log(both))
