"""Keys of the tagger's features, word by word: the twin of ``features.kernels.templates``."""

from __future__ import annotations

from eigentext.base.hashing import mixed
from eigentext.tagging.sequence.features import _AFTER, _BEFORE, REACH, attribute_keys


def plain_keys(table, tokens, templates):
    """A row of keys for each token of a sentence, 0 where a template has none."""
    around = [_BEFORE] * REACH + list(tokens) + [_AFTER] * REACH
    words = [attribute_keys(word, table.cluster_of(word)) for word in around]
    rows = []
    for at in range(REACH, REACH + len(tokens)):
        row = []
        for template, seed in zip(templates.all, templates.seeds.tolist(), strict=True):
            keys = [words[at + item.offset].get(item.attribute, 0) for item in template.items]
            row.append((mixed(seed, keys) or 1) if all(keys) else 0)
        rows.append(row)
    return rows
