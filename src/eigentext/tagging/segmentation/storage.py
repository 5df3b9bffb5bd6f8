"""A segmenter as parts of a model file, and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from eigentext.base.fields import Bits, Ints, Pointers, Strings
from eigentext.base.ragged import pointers
from eigentext.base.records import As, Group, Numbers, stored
from eigentext.base.values import Flag
from eigentext.tagging.segmentation.kernels.squeeze import LINE_BREAK
from eigentext.tagging.segmentation.multiword import MultiwordStage, SplitRule
from eigentext.tagging.segmentation.sentence_ends import SentenceStage
from eigentext.tagging.segmentation.tables import HashedCounts
from eigentext.tagging.segmentation.tokens import TokenStage

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.base.types import Int8s, UInt8s, UInt32s
    from eigentext.base.values import Part
    from eigentext.tagging.segmentation.model import Segmenter

__all__ = ["LINE_BREAK", "SegmenterContent"]


def _used(weights: Int8s) -> SimpleNamespace:
    some = weights != 0
    return SimpleNamespace(mask=np.packbits(some), weights=weights[some])


def _spread(name: str, used: SimpleNamespace) -> Int8s:
    n_bytes = len(used.mask)
    if not n_bytes or n_bytes & (n_bytes - 1):
        raise ValueError(f"the mask of {name} has length {n_bytes}, expected a power of two")
    some = np.unpackbits(used.mask).astype(bool)
    if len(used.weights) != some.sum():
        raise ValueError(f"{len(used.weights)} weights of {name}, expected {some.sum()}")
    weights = np.zeros(len(some), np.int8)
    weights[some] = used.weights
    return weights


def _weights(name: str) -> Part:
    """Weights, of which most are 0: a bit for each whether it is another, and those that are."""
    used = Group(prefix=f"{name}_", mask=Bits(), weights=Ints((None,), ("int8",)))
    return As(used, _used, partial(_spread, name))


def _keys(size: str) -> Ints:
    return Ints((size,), ("uint32",), low=1, rising=True)


def _flat_forms(forms: dict[int, tuple[int, ...]]) -> SimpleNamespace:
    keys = sorted(forms)
    rules = [forms[key] for key in keys]
    return SimpleNamespace(keys=keys, starts=pointers(map(len, rules)), rules=[*chain(*rules)])


def _forms(flat: SimpleNamespace) -> dict[int, tuple[int, ...]]:
    starts = flat.starts.tolist()
    if any(end <= start for start, end in pairwise(starts)):
        raise ValueError("a form has no rule")
    cuts = zip(flat.keys, starts[:-1], starts[1:], strict=True)
    return {key: tuple(flat.rules[start:end]) for key, start, end in cuts}


_FORMS = As(
    Group(
        prefix="form_",
        keys=Numbers(_keys("forms")),
        starts=Pointers("forms", "form_rules", ("int32",), held="int64"),
        rules=Numbers(Ints(("form_rules",), ("uint16",), 0, "rules")),
    ),
    _flat_forms,
    _forms,
)
_WORDS = As(
    Group(
        prefix="word_", keys=Numbers(_keys("words")), counts=Numbers(Ints(("words",), ("uint8",)))
    ),
    lambda words: SimpleNamespace(keys=sorted(words), counts=[words[k] for k in sorted(words)]),
    lambda flat: dict(zip(flat.keys, flat.counts, strict=True)),
)
_RULES = As(
    Strings("rules", distinct=True),
    lambda rules: [json.dumps(rule, ensure_ascii=False) for rule in rules],
    lambda texts: list(map(_rule, texts)),
)


@dataclass
class SegmenterContent:
    """What a file holds."""

    token: Int8s = stored(_weights("token"), of="tokens_.weights")
    sentence: Int8s = stored(_weights("sentence"), of="sentences_.weights")
    rule: Int8s = stored(_weights("rule"), of="multiwords_.weights")
    known_keys: UInt32s = stored(_keys("known"), of="tokens_.vocabulary.keys")
    known_counts: UInt8s = stored(Ints(("known",), ("uint8",)), of="tokens_.vocabulary.values")
    habits: npt.NDArray[np.uint16] = stored(
        Ints(("known",), ("uint16",)), of="sentences_.habits.values"
    )
    sentence_threshold: int = stored(Ints(()), of="sentences_.threshold")
    rules: list[SplitRule] = stored(_RULES, of="multiwords_.rules")
    n_general: int = stored(Ints((), low=0, below="rules"), of="multiwords_.general")
    forms: dict[int, tuple[int, ...]] = stored(_FORMS, of="multiwords_.forms")
    words: dict[int, int] = stored(_WORDS, of="multiwords_.words")
    spaces: bool = stored(Flag(), of="tokens_.spaces")
    line_breaks_: bool = stored(Flag())
    addresses_: bool = stored(Flag())

    def restore(self, segmenter: Segmenter) -> None:
        """Set what ``fit`` would have learned."""
        vocabulary = HashedCounts.of(self.known_keys, self.known_counts)
        habits = HashedCounts.of(self.known_keys, self.habits)
        segmenter.tokens_ = TokenStage(self.token, vocabulary, self.spaces)
        segmenter.sentences_ = SentenceStage(self.sentence, self.sentence_threshold, habits)
        segmenter.multiwords_ = MultiwordStage(
            self.rules, self.n_general, self.forms, self.words, self.rule
        )


def _rule(text: str) -> SplitRule:
    front, before, new_front, new_back, after, back, has_stem = json.loads(text)
    pieces = (front, *before, new_front, new_back, *after, back)
    if not all(isinstance(piece, str) for piece in pieces) or not isinstance(has_stem, bool):
        raise ValueError(f"{text!r} is no rule")
    return SplitRule(front, tuple(before), new_front, new_back, tuple(after), back, has_stem)
