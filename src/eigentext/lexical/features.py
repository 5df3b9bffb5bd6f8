"""Context features of words as 64-bit hashes: sentences in, a table of features out.

A template is a list of parts ``KIND@OFFSET``, for instance ``form@0 form@-1``: the word with the
word before it.  Kinds of what was typed are ``form``, ``norm`` (as the analyzer matches it),
``first`` and ``last`` (letters), ``start2``, ``start3``, ``end1`` to ``end5``; ``cluster``,
``cluster6`` and ``cluster3`` are the bits of the word's cluster, or the first of them, where the
ranker was given clusters.  ``class`` is the set of values of hard elements that the candidates
leave open.  Any other kind is a label target (``label``, ``morph``, ``hard`` or an element) of the
label predicted there, which only a second pass knows.  Beyond the sentence stands a boundary.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "CLUSTERED", "PAPER", "SECOND_PASS", "SUFFIXING", "TYPED_KINDS", "WIDE", "Forms", "hash64",
    "parse", "table",
]  # fmt: skip

Hashes = npt.NDArray[np.uint64]

TYPED_KINDS = (
    "form", "norm", "first", "last", "start2", "start3", "end1", "end2", "end3", "end4", "end5",
    "cluster", "cluster6", "cluster3",
)  # fmt: skip
_CUT = {
    "first": slice(0, 1), "last": slice(-1, None), "start2": slice(0, 2), "start3": slice(0, 3),
    "end1": slice(-1, None), "end2": slice(-2, None), "end3": slice(-3, None),
    "end4": slice(-4, None), "end5": slice(-5, None),
}  # fmt: skip

PAPER = (
    "form@0",
    "form@0 form@-1",
    "form@0 form@1",
    "form@0 first@-1",
    "form@0 first@1",
    "form@0 last@-1",
    "form@0 last@1",
    "form@-1",
    "form@1",
    "first@-1",
    "first@1",
    "last@-1",
    "last@1",
)
"""The seven statistics of the paper's table 3, and the contexts without the word (section 2)."""

WIDE = (
    "form@0",
    "form@0 form@-1",
    "form@0 form@1",
    "norm@0",
    "class@0",
    "class@-1",
    "class@1",
    "class@0 class@-1",
    "class@0 class@1",
    "class@-1 class@0 class@1",
    "class@0 form@-1",
    "class@0 form@1",
    "class@0 class@-1 class@-2",
    "form@-1",
    "form@1",
    "form@-2",
    "form@2",
    "form@-1 form@1",
    "start2@0",
    "start3@0",
    "end1@0",
    "end2@0",
    "end3@0",
    "start2@0 end1@0",
    "start2@0 end2@0",
    "start2@0 form@-1",
    "start2@0 form@1",
    "start2@0 form@-2",
    "start2@0 start2@-1",
    "start2@0 start2@1",
    "start2@0 end2@-1",
    "start2@0 end2@1",
    "start2@0 end1@0 form@-1",
    "start2@-1 end1@-1 start2@1",
    "form@-2 form@-1",
)
"""With token-free contexts, the word's own affixes, and what its candidates leave open."""

SUFFIXING = (
    "end4@0",
    "end5@0",
    "end3@-1",
    "end3@1",
    "end3@0 end3@-1",
    "end3@0 end3@1",
)
"""For languages with many suffixes, beside ``WIDE``."""

CLUSTERED = (
    "cluster@0",
    "cluster@-1",
    "cluster@1",
    "cluster6@0 cluster6@-1",
    "cluster6@0 cluster6@1",
    "cluster3@-1 cluster3@1",
    "class@0 cluster@-1",
    "class@0 cluster@1",
    "start2@0 cluster@-1",
)
"""What clusters of the words add, where there are some."""

SECOND_PASS = (
    "lemma@-1",
    "lemma@1",
    "morph@-1",
    "morph@1",
    "hard@-1",
    "hard@1",
    "hard@-2",
    "hard@-1 hard@-2",
    "hard@-1 hard@1",
    "hard@1 hard@2",
    "hard@-1 start2@0 end1@0",
    "morph@-1 start2@0 end1@0",
    "hard@-1 start2@0 hard@1",
    "lemma@-1 start2@0",
    "lemma@-1 hard@1",
    "lemma@-2 hard@-1",
    "lemma@-2 hard@-1 start2@0",
    "hard@-3 hard@-2 hard@-1",
    "lemma@-2 lemma@-1",
    "form@0 hard@-1",
    "form@0 hard@1",
    "class@0 hard@-1",
    "class@0 hard@1",
    "class@0 hard@-1 hard@1",
    "class@0 hard@-1 hard@-2",
    "class@0 hard@1 hard@2",
    "class@0 morph@-1",
    "class@0 morph@1",
    "class@0 lemma@-1",
    "class@0 lemma@1",
    "class@0 lemma@-2 hard@-1",
)
"""What the neighbours' predicted labels add."""

_MULTIPLY = np.uint64(0x9E3779B97F4A7C15)
_SPREAD = np.uint64(0xD6E8FEB86659FD93)


@lru_cache(maxsize=1 << 20)
def hash64(text: str) -> int:
    """A hash that is the same on every machine, and never zero.

    >>> hash64("a") == hash64("a") != hash64("b")
    True
    """
    raw = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(raw, "little") | 1


@lru_cache(maxsize=4096)
def parse(template: str) -> tuple[tuple[str, int], ...]:
    """The parts of a template.

    >>> parse("form@0 pos@-1")
    (('form', 0), ('pos', -1))
    """
    parts = []
    for piece in template.split():
        kind, at, offset = piece.partition("@")
        try:
            parts.append((kind, int(offset)))
        except ValueError:
            at = ""
        if not at or not kind:
            raise SettingsError(
                f"feature template {template!r}: expected KIND@OFFSET, found {piece!r}"
            )
    if not parts:
        raise SettingsError("a feature template is empty: expected KIND@OFFSET, found nothing")
    return tuple(parts)


class Forms:
    """Hashes of the pieces of every form met so far.

    >>> forms = Forms(str.lower)
    >>> forms.number(["Ab", "ab", "Ab"]).tolist()
    [0, 1, 0]
    >>> bool(forms.hashes("norm")[0] == forms.hashes("norm")[1])
    True
    """

    def __init__(
        self, normalise: Callable[[str], str], clusters: Mapping[str, str] | None = None
    ) -> None:
        self.normalise = normalise
        self.clusters = clusters or {}
        self._number: dict[str, int] = {}
        self._hashes = np.zeros((1024, len(TYPED_KINDS)), np.uint64)

    def number(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """The number of each word's form."""
        known = self._number
        for word in words:
            if word not in known:
                number = known[word] = len(known)
                if number == len(self._hashes):
                    self._hashes = np.concatenate([self._hashes, np.zeros_like(self._hashes)])
                bits = self.clusters.get(word, "")
                pieces = [word, self.normalise(word), *(word[cut] for cut in _CUT.values())]
                pieces += [bits, bits[:6], bits[:3]]
                self._hashes[number] = [
                    hash64(f"{kind}\x1f{piece}")
                    for kind, piece in zip(TYPED_KINDS, pieces, strict=True)
                ]
        return np.array([known[word] for word in words], np.int64)

    def hashes(self, kind: str) -> Hashes:
        """The hashes of one kind, by form number."""
        return self._hashes[: len(self._number), TYPED_KINDS.index(kind)]


def table(
    templates: Sequence[str],
    forms: Forms,
    numbers: npt.NDArray[np.int64],
    sentence_of: npt.NDArray[np.int64],
    predicted: Mapping[str, Hashes] | None = None,
) -> Hashes:
    """The features [n, templates] of n words.

    ``sentence_of`` tells each word's sentence, ``predicted`` the target hashes of its label.
    """
    n = len(numbers)
    out = np.zeros((n, len(templates)), np.uint64)
    shifts: dict[int, npt.NDArray[np.int64]] = {}
    columns: dict[str, Hashes] = {}
    place = np.arange(n)
    for column, template in enumerate(templates):
        mixed = np.full(n, hash64(f"template\x1f{template}"), np.uint64)
        for kind, offset in parse(template):
            if kind not in columns:
                columns[kind] = _column(kind, forms, numbers, predicted)
            if offset not in shifts:
                there = np.clip(place + offset, 0, max(n - 1, 0))
                inside = (place + offset == there) & (sentence_of[there] == sentence_of)
                shifts[offset] = np.where(inside, there, n)
            mixed = (mixed ^ columns[kind][shifts[offset]]) * _MULTIPLY
            mixed ^= mixed >> np.uint64(31)
            mixed *= _SPREAD
        out[:, column] = mixed | np.uint64(1)
    return out


def _column(
    kind: str,
    forms: Forms,
    numbers: npt.NDArray[np.int64],
    predicted: Mapping[str, Hashes] | None,
) -> Hashes:
    """The hashes of one kind for every word, and of the boundary after them."""
    boundary = np.array([hash64(f"boundary\x1f{kind}")], np.uint64)
    if kind in TYPED_KINDS:
        return np.concatenate([forms.hashes(kind)[numbers], boundary])
    if predicted is None or kind not in predicted:
        known = ", ".join((*TYPED_KINDS, *(predicted or ())))
        raise SettingsError(f"no feature kind {kind!r} here; known: {known}")
    return np.concatenate([predicted[kind], boundary])
