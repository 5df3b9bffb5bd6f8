"""Features of words by templates over the words around them (see ``features.templates``)."""

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Int64s, UInt64s
from eigentext.features.kernels.hashing import mix_some

_NONE = np.uint64(0)


class WordFeatures(NamedTuple):
    """Keys of words and the templates that put them together."""

    # (rows, attributes) 0 for what a word has not; rows 0 and 1 stand before and behind a sentence
    keys: UInt64s
    parts: Int64s  # (T, items, 2) attribute and place of each item, attribute -1 for none
    seeds: UInt64s  # (T,)


@njit
def template_key(t, i, first, last, rows, features):
    """The key of template t at word i of the sentence first..last; 0 if an item has none."""
    key = features.seeds[t]  # the seed of the template, then each item: order counts
    for p in range(features.parts.shape[1]):
        attribute = features.parts[t, p, 0]
        if attribute < 0:
            break
        at = i + features.parts[t, p, 1]
        # beyond the sentence stand its two boundaries
        row = 0 if at < first else 1 if at >= last else rows[at]
        part = features.keys[row, attribute]
        if part == _NONE:
            return _NONE
        key = mix_some(key, part)
    return key


@njit
def feature_keys(rows, starts, features, out):
    """``out`` (words, T): the keys of all templates at the words of sentences."""
    for s in range(len(starts) - 1):
        for i in range(starts[s], starts[s + 1]):
            for t in range(len(features.seeds)):
                out[i, t] = template_key(t, i, starts[s], starts[s + 1], rows, features)
