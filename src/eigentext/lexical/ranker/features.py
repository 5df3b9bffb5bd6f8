"""Context features of words as 64-bit hashes: sentences in, a table of features out.

A template (``templates``) is a list of ``KIND@OFFSET``.  Kinds of what was typed are ``form``,
``norm`` (as the analyzer matches it), ``first`` and ``last`` (letters), ``start2``, ``start3``,
``end1`` to ``end5``; ``cluster``, ``cluster6`` and ``cluster3`` are bits of the word's cluster.
``class`` is the set of values of hard elements that the candidates leave
open.  Any other kind is a label target (``label``, ``morph``, ``hard`` or an element) of the label
predicted there, which only a second pass knows.  Beyond the sentence stands a boundary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from eigentext.base.hashing import MIXER, text_key
from eigentext.base.remembering import Remembering
from eigentext.base.types import Int64s, UInt64s
from eigentext.errors import SettingsError
from eigentext.features.attributes import RANKING, KeyedWord
from eigentext.lexical.ranker.templates import parse

Hashes = UInt64s

_MULTIPLY = np.uint64(MIXER)
_SPREAD = np.uint64(0xD6E8FEB86659FD93)


@lru_cache(maxsize=1 << 15)
def hash64(text: str) -> int:
    """A hash that is the same on every machine, and never zero.

    >>> hash64("a") == hash64("a") != hash64("b")
    True
    """
    return text_key(text) | 1


FORMS_KEPT = 1 << 15
"""How many forms' hashes are remembered: about 10 MB."""


class Typed(NamedTuple):
    """Words as typed: the number of each word's form, and the hashes [forms, kinds]."""

    numbers: Int64s
    hashes: Hashes


class Forms:
    """Hashes of the pieces of forms; those met last are remembered.

    >>> typed = Forms(str.lower)(["Ab", "ab", "Ab"])
    >>> typed.numbers.tolist()
    [0, 1, 0]
    >>> norm = typed.hashes[:, RANKING.column["norm"]]
    >>> bool(norm[0] == norm[1])
    True
    """

    def __init__(
        self, normalise: Callable[[str], str], clusters: Mapping[str, str] | None = None
    ) -> None:
        self.normalise = normalise
        self.clusters = clusters or {}
        self._hashed = Remembering(self._hashes, FORMS_KEPT)

    def __call__(self, words: Sequence[str]) -> Typed:
        """The words as numbers and hashes."""
        number_of: dict[str, int] = {}
        numbers = np.array(
            [number_of.setdefault(word, len(number_of)) for word in words], np.int64
        )
        rows = [self._hashed(form) for form in number_of]
        return Typed(numbers, np.stack(rows) if rows else np.zeros((0, len(RANKING)), "u8"))

    def _hashes(self, form: str) -> Hashes:
        word = KeyedWord(form, bits=self.clusters.get(form, ""), norm=self.normalise(form))
        texts = RANKING.texts(word).items()
        return np.array([hash64(f"{name}\x1f{text}") for name, text in texts], np.uint64)


def table(
    templates: Sequence[str],
    typed: Typed,
    sentence_of: Int64s,
    predicted: Mapping[str, Hashes] | None = None,
) -> Hashes:
    """The features [n, templates] of n words; ``predicted``: the target hashes of their labels."""
    n = len(typed.numbers)
    out = np.zeros((n, len(templates)), np.uint64)
    shifts: dict[int, Int64s] = {}
    columns: dict[str, Hashes] = {}
    position = np.arange(n)
    for column, template in enumerate(templates):
        mixed = np.full(n, hash64(f"template\x1f{template}"), np.uint64)
        for kind, offset in parse(template):
            if kind not in columns:
                columns[kind] = _column(kind, typed, predicted)
            if offset not in shifts:
                there = np.clip(position + offset, 0, max(n - 1, 0))
                inside = (position + offset == there) & (sentence_of[there] == sentence_of)
                shifts[offset] = np.where(inside, there, n)  # n: beyond the sentence
            mixed = (mixed ^ columns[kind][shifts[offset]]) * _MULTIPLY
            mixed ^= mixed >> np.uint64(31)
            mixed *= _SPREAD
        out[:, column] = mixed | np.uint64(1)  # never 0, which is no feature
    return out


def _column(kind: str, typed: Typed, predicted: Mapping[str, Hashes] | None) -> Hashes:
    """The hashes of one kind for every word, and of the boundary after them."""
    boundary = np.array([hash64(f"boundary\x1f{kind}")], np.uint64)
    if kind in RANKING.column:
        hashes = typed.hashes[:, RANKING.column[kind]]
        return np.concatenate([hashes[typed.numbers], boundary])
    if predicted is None or kind not in predicted:
        kinds = ", ".join((*RANKING.names, *(predicted or ())))
        raise SettingsError(f"no feature kind {kind!r} here; known: {kinds}")
    return np.concatenate([predicted[kind], boundary])
