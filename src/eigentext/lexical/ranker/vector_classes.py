"""Word vectors as classes for the ranker: vectors in, bits by word out.

k-means with eight means, then eight within each, then eight within those: a word has three bits a
level, so that the templates of clusters, which look at the first 3, 6 and all bits, read them as
they read the paths of a Brown clustering.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.tagging.resources import vectors_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

__all__ = ["bits_of_vectors"]

_MEANS = 8
_LEVELS = 3


def bits_of_vectors(
    vectors: str | os.PathLike[str] | Mapping[str, Sequence[float]], *, seed: int = 0
) -> dict[str, str]:
    """Nine bits for each word of a file or mapping; near vectors share their first bits.

    >>> bits = bits_of_vectors({"a": [1.0, 0.0], "b": [2.0, 0.0], "c": [0.0, 1.0]})
    >>> bits["a"] == bits["b"] != bits["c"], len(bits["c"])
    (True, 9)
    """
    words, X = vectors_of(vectors, scale=1.0)
    groups = np.zeros(len(words), np.int64)
    for _ in range(_LEVELS):
        below = np.zeros_like(groups)
        for group in np.unique(groups).tolist():
            rows = np.flatnonzero(groups == group)
            below[rows] = _nearest_means(X[rows], seed)
        groups = groups * _MEANS + below
    width = 3 * _LEVELS
    return {word: f"{group:0{width}b}" for word, group in zip(words, groups.tolist(), strict=True)}


def _nearest_means(X: npt.NDArray[np.float32], seed: int) -> npt.NDArray[np.int64]:
    """Which of at most eight means each row is nearest to."""
    from sklearn.cluster import KMeans

    from eigentext.linalg.determinism import single_threaded
    from eigentext.linalg.ties import number_alike

    alike = number_alike(X, _MEANS)
    n = _MEANS if alike is None else int(alike.max()) + 1
    with single_threaded():
        fitted = KMeans(n, n_init=1, max_iter=30, random_state=seed).fit(X)
    return np.asarray(fitted.labels_, np.int64)
