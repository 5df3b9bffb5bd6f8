"""A segmenter as parts of a model file, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.fields import Flag, Ints, Parts, Pointers, Spec, Strings
from eigentext.base.model import Packed
from eigentext.base.ragged import pointers
from eigentext.segmentation.kernels.squeeze import LINE_BREAK
from eigentext.segmentation.multiword import MultiwordStage
from eigentext.segmentation.sentence_ends import SentenceStage
from eigentext.segmentation.tables import HashedCounts
from eigentext.segmentation.tokens import TokenStage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eigentext.segmentation.model import Segmenter

__all__ = ["LINE_BREAK", "SPEC", "pack_segmenter", "restore_segmenter"]


def _keys(size: str) -> Ints:
    return Ints((size,), ("uint32",), low=1, rising=True)


def _holds(arrays: Mapping[str, np.ndarray], strings: Any, settings: Any) -> None:
    for name in ("token_weights", "sentence_weights"):
        size = len(arrays[name])
        if size < 2 or size & (size - 1):
            raise ValueError(f"array {name!r} has length {size}, expected a power of two")
    counts = np.diff(arrays["word_starts"])
    if bool(np.any(counts < 2)):
        raise ValueError("a multiword token has fewer than two words")


SPEC = Spec(
    {"line_breaks": Flag(), "spaces": Flag()},
    Parts(
        {
            "token_weights": Ints(("token_table",), ("int8",)),
            "sentence_weights": Ints(("sentence_table",), ("int8",)),
            "known_keys": _keys("known"),
            "known_counts": Ints(("known",), ("uint8",)),
            "case_keys": _keys("cases"),
            "case_counts": Ints(("cases",), ("uint8",)),
            "word_starts": Pointers("multiwords", "words"),
        },
        {"multiwords": Strings("multiwords", distinct=True), "words": Strings("words")},
    ),
    _holds,
)


def pack_segmenter(segmenter: Segmenter) -> Packed:
    """Everything that segmentation needs."""
    tokens, sentences = segmenter.tokens_, segmenter.sentences_
    table = segmenter.multiwords_.table
    return Packed(
        {
            "token_weights": tokens.weights,
            "sentence_weights": sentences.weights,
            "known_keys": tokens.known.keys,
            "known_counts": tokens.known.values,
            "case_keys": sentences.cases.keys,
            "case_counts": sentences.cases.values,
            "word_starts": pointers(map(len, table.values())),
        },
        {
            "multiwords": list(table),
            "words": [word for words in table.values() for word in words],
        },
        {"line_breaks": segmenter.line_breaks_, "spaces": tokens.spaces},
    )


def restore_segmenter(segmenter: Segmenter, packed: Packed) -> None:
    """Set what :func:`pack_segmenter` kept."""
    a, strings = packed.arrays, packed.strings
    segmenter.line_breaks_ = bool(packed.facts["line_breaks"])
    known = HashedCounts.of(a["known_keys"], a["known_counts"])
    cases = HashedCounts.of(a["case_keys"], a["case_counts"])
    segmenter.tokens_ = TokenStage(a["token_weights"], known, bool(packed.facts["spaces"]))
    segmenter.sentences_ = SentenceStage(a["sentence_weights"], cases)
    words, starts = strings["words"], a["word_starts"].tolist()
    segmenter.multiwords_ = MultiwordStage(
        {
            form: tuple(words[first:last])
            for form, first, last in zip(
                strings["multiwords"], starts[:-1], starts[1:], strict=True
            )
        }
    )
