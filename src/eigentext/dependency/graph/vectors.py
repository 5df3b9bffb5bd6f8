"""Vectors of words as bits, so that they serve as clusters do (after Bansal et al. 2014).

A set of vectors of length 1 is halved along its main axis (the first eigenvector of its
covariance, at the mean), and so are the halves: a word's bits say on which side it lay each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.errors import SettingsError
from eigentext.linalg.determinism import single_threaded
from eigentext.linalg.ties import principal_axes
from eigentext.tagging.resources import clusters_of, vectors_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["bits_of_vectors", "vector_bits"]


def vector_bits(source: Any) -> dict[str, str]:
    """Bits of every word of a word2vec file, or of a mapping from words to vectors.

    A mapping from words to bits, as a stored parser has them, is taken as it is.

    >>> vector_bits({"a": "01"}), vector_bits(None)
    ({'a': '01'}, {})
    """
    if isinstance(source, Mapping) and source and isinstance(next(iter(source.values())), str):
        return clusters_of(source)
    words, vectors = vectors_of(source, 1.0)
    return bits_of_vectors(words, vectors) if words else {}


def bits_of_vectors(
    words: Sequence[str], vectors: npt.NDArray[np.floating], *, depth: int = 9
) -> dict[str, str]:
    """Bits of every word, at most ``depth``.

    >>> bits = bits_of_vectors(["a", "b", "c"], np.eye(3)[[0, 0, 1]])
    >>> bits["a"] == bits["b"] != bits["c"]
    True
    """
    if len(words) != len(vectors):
        raise SettingsError(f"{len(words)} words, but {len(vectors)} vectors")
    if depth < 1:
        raise SettingsError(f"depth must be 1 or more, found {depth}")
    X = np.asarray(vectors, np.float64)
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    bits = [""] * len(words)
    waiting = [np.arange(len(words))]
    while waiting:
        rows = waiting.pop()
        centred = X[rows] - X[rows].mean(axis=0)
        if len(rows) < 2 or not np.any(np.abs(centred) > 1e-9):
            continue
        with single_threaded():
            axis = principal_axes(centred.T @ centred)[1][:, 0]
        above = centred @ axis > 1e-9  # on the middle is below: rounding must not decide
        for side, half in (("0", rows[~above]), ("1", rows[above])):
            for row in half.tolist():
                bits[row] += side
            if len(half) and len(bits[half[0]]) < depth:
                waiting.append(half)
    return dict(zip(words, bits, strict=True))
