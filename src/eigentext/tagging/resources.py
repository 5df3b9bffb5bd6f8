"""Clusters and vectors, from a file or from memory, as the tagger keeps them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from eigentext.errors import DataError, SettingsError

__all__ = ["clusters_of", "vectors_of"]


def clusters_of(source: str | os.PathLike[str] | Mapping[str, str] | None) -> dict[str, str]:
    """Word -> bits; an empty table for None.

    >>> clusters_of({"cat": "010"})
    {'cat': '010'}
    """
    if source is None:
        return {}
    if isinstance(source, Mapping):
        for word, bits in source.items():
            if not isinstance(bits, str) or set(bits) - {"0", "1"}:
                raise SettingsError(f"cluster of {word!r} is {bits!r}, expected a str of 0 and 1")
        return dict(source)
    from eigentext.formats.brown_paths import read_paths

    found = {entry.word: entry.bits for entry in read_paths(source)}
    if not found:
        raise DataError(os.fspath(source), None, "no clusters in this file")
    return found


def vectors_of(
    source: str | os.PathLike[str] | Mapping[str, Any] | None, scale: float
) -> tuple[list[str], npt.NDArray[np.float32]]:
    """Words, and their vectors, each scaled to the length ``scale``.

    >>> words, matrix = vectors_of({"a": [3.0, 4.0], "b": [0.0, 5.0]}, scale=1.0)
    >>> words, np.linalg.norm(matrix, axis=1).tolist()
    (['a', 'b'], [1.0, 1.0])
    """
    if source is None:
        return [], np.zeros((0, 0), np.float32)
    if isinstance(source, Mapping):
        words = list(source)
        rows = [np.asarray(source[word], np.float32) for word in words]
        if not rows or len({row.shape for row in rows}) != 1 or rows[0].ndim != 1:
            raise SettingsError("vectors must be one or more, all of the same size")
        matrix = np.stack(rows)
        name = "<vectors>"
    else:
        from eigentext.formats.word2vec import load_vectors

        words, matrix = load_vectors(source)
        name = os.fspath(source)
    if not matrix.size or not np.isfinite(matrix).all():
        raise DataError(name, None, "no vectors, or some that are not finite numbers")
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
    if not lengths.any():
        raise DataError(name, None, "all vectors are zero")
    return words, (matrix * (scale / np.maximum(lengths, 1e-30))).astype(np.float32)
