"""A reranker as parts of a model file; a file without one has none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.fields import Array, Ints, Pointers, Reals, Strings
from eigentext.base.stored import Packed
from eigentext.constituency.rerank.reranker import DECODER, Reranker
from eigentext.linear.lists import Weights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from eigentext.features.signatures import Language

__all__ = ["RERANKER_ARRAYS", "RERANKER_STRINGS", "pack_reranker", "unpack_reranker"]

_KEYS, _WEIGHTS, _WORDS = "reranker.features", "reranker.weights", "reranker_words"
RERANKER_ARRAYS: dict[str, Array | Pointers] = {
    _KEYS: Ints(("rerank_features",), ("uint64",), rising=True, optional=True),
    _WEIGHTS: Reals(("rerank_features",), ("float32",), -1e6, 1e6, optional=True),
}
RERANKER_STRINGS = {_WORDS: Strings("rerank_words", distinct=True, optional=True)}


def pack_reranker(reranker: Reranker | None) -> Packed:
    """Its arrays and strings."""
    if reranker is None:
        return Packed({}, {}, {})
    weights = reranker.weights
    return Packed({_KEYS: weights.keys, _WEIGHTS: weights.values}, {_WORDS: reranker.words}, {})


def unpack_reranker(
    arrays: Mapping[str, npt.NDArray[Any]],
    strings: Mapping[str, Sequence[str]],
    language: Language,
) -> Reranker | None:
    """What :func:`pack_reranker` packed."""
    if _KEYS not in arrays:
        return None
    weights = Weights(arrays[_KEYS].astype(np.uint64), arrays[_WEIGHTS], np.array(DECODER))
    return Reranker(tuple(strings.get(_WORDS, ())), weights, language)
