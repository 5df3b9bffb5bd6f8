"""A segmenter as parts of a model file, and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.fields import (
    Array,
    Bits,
    Flag,
    Ints,
    Parts,
    Pointers,
    Sparse,
    Spec,
    Strings,
)
from eigentext.base.model import Packed
from eigentext.base.ragged import pointers
from eigentext.tagging.segmentation.kernels.squeeze import LINE_BREAK
from eigentext.tagging.segmentation.multiword import MultiwordStage
from eigentext.tagging.segmentation.sentence_ends import SentenceStage
from eigentext.tagging.segmentation.splitting import SplitRule
from eigentext.tagging.segmentation.tables import HashedCounts
from eigentext.tagging.segmentation.tokens import TokenStage

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from eigentext.tagging.segmentation.model import Segmenter

__all__ = ["LINE_BREAK", "SPEC", "pack_segmenter", "restore_segmenter"]


_STAGES = ("token", "sentence", "rule")


def _keys(size: str) -> Ints:
    return Ints((size,), ("uint32",), low=1, rising=True)


def _weights(name: str) -> dict[str, Array | Pointers | Sparse]:
    """Weights, of which most are 0: a bit for each whether it is another, and those that are."""
    return {
        f"{name}_mask": Bits((f"{name}_bytes",)),
        f"{name}_weights": Ints((f"{name}_others",), ("int8",)),
    }


def _pack_weights(name: str, weights: npt.NDArray[np.int8]) -> dict[str, np.ndarray]:
    some = weights != 0
    return {f"{name}_mask": np.packbits(some), f"{name}_weights": weights[some]}


def _unpack_weights(name: str, arrays: Mapping[str, np.ndarray]) -> npt.NDArray[np.int8]:
    some = np.unpackbits(arrays[f"{name}_mask"]).astype(bool)
    weights = np.zeros(len(some), np.int8)
    weights[some] = arrays[f"{name}_weights"]
    return weights


def _holds(arrays: Mapping[str, np.ndarray], strings: Any, settings: Any) -> None:
    for name in _STAGES:
        mask = arrays[f"{name}_mask"]
        if not len(mask) or len(mask) & (len(mask) - 1):
            raise ValueError(f"the mask of {name} has length {len(mask)}, expected a power of two")
        found, expected = len(arrays[f"{name}_weights"]), int(np.unpackbits(mask).sum())
        if found != expected:
            raise ValueError(f"{found} weights of {name}, expected {expected}")
    if bool(np.any(np.diff(arrays["form_starts"]) < 1)):
        raise ValueError("a form has no rule")


SPEC = Spec(
    {"line_breaks": Flag(), "spaces": Flag(), "addresses": Flag()},
    Parts(
        {
            **{key: part for name in _STAGES for key, part in _weights(name).items()},
            "known_keys": _keys("known"),
            "known_counts": Ints(("known",), ("uint8",)),
            "habits": Ints(("known",), ("uint16",)),
            "sentence_threshold": Ints(()),
            "n_general": Ints((), low=0, below="rules"),
            "form_keys": _keys("forms"),
            "form_starts": Pointers("forms", "form_rules", ("int32",)),
            "form_rules": Ints(("form_rules",), ("uint16",), 0, "rules"),
            "word_keys": _keys("words"),
            "word_counts": Ints(("words",), ("uint8",)),
        },
        {"rules": Strings("rules", distinct=True)},
    ),
    _holds,
)


def pack_segmenter(segmenter: Segmenter) -> Packed:
    """Everything that segmentation needs."""
    tokens, sentences = segmenter.tokens_, segmenter.sentences_
    multiwords = segmenter.multiwords_
    forms = dict(sorted(multiwords.forms.items()))
    words = dict(sorted(multiwords.words.items()))
    tables = tokens.weights, sentences.weights, multiwords.weights
    packed = [_pack_weights(name, table) for name, table in zip(_STAGES, tables, strict=True)]
    return Packed(
        {
            **{key: array for one in packed for key, array in one.items()},
            "known_keys": tokens.known.keys,
            "known_counts": tokens.known.values,
            "habits": sentences.habits.values,
            "sentence_threshold": np.array(sentences.threshold),
            "n_general": np.array(multiwords.general),
            "form_keys": np.array(list(forms), np.uint32),
            "form_starts": pointers(map(len, forms.values())).astype(np.int32),
            "form_rules": np.array([n for rules in forms.values() for n in rules], np.uint16),
            "word_keys": np.array(list(words), np.uint32),
            "word_counts": np.array(list(words.values()), np.uint8),
        },
        {"rules": [json.dumps(rule, ensure_ascii=False) for rule in multiwords.rules]},
        {
            "line_breaks": segmenter.line_breaks_,
            "spaces": tokens.spaces,
            "addresses": segmenter.addresses_,
        },
    )


def restore_segmenter(segmenter: Segmenter, packed: Packed) -> None:
    """Set what :func:`pack_segmenter` kept."""
    a, strings = packed.arrays, packed.strings
    segmenter.line_breaks_ = bool(packed.facts["line_breaks"])
    segmenter.addresses_ = bool(packed.facts["addresses"])
    known = HashedCounts.of(a["known_keys"], a["known_counts"])
    habits = HashedCounts.of(a["known_keys"], a["habits"])
    weights = {name: _unpack_weights(name, a) for name in _STAGES}
    segmenter.tokens_ = TokenStage(weights["token"], known, bool(packed.facts["spaces"]))
    segmenter.sentences_ = SentenceStage(weights["sentence"], int(a["sentence_threshold"]), habits)
    starts, numbers = a["form_starts"].tolist(), a["form_rules"].tolist()
    forms = zip(a["form_keys"].tolist(), starts[:-1], starts[1:], strict=True)
    segmenter.multiwords_ = MultiwordStage(
        list(map(_rule, strings["rules"])),
        int(a["n_general"]),
        {key: tuple(numbers[first:last]) for key, first, last in forms},
        dict(zip(a["word_keys"].tolist(), a["word_counts"].tolist(), strict=True)),
        weights["rule"],
    )


def _rule(text: str) -> SplitRule:
    front, before, new_front, new_back, after, back, has_stem = json.loads(text)
    pieces = (front, *before, new_front, new_back, *after, back)
    if not all(isinstance(piece, str) for piece in pieces) or not isinstance(has_stem, bool):
        raise ValueError(f"{text!r} is no rule")
    return SplitRule(front, tuple(before), new_front, new_back, tuple(after), back, has_stem)
