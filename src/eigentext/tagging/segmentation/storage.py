"""A segmenter as parts of a model file, and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from eigentext.base.fields import Bits, Ints, Pointers, Strings
from eigentext.base.ragged import pointers
from eigentext.base.records import As, Group, Numbers, stored
from eigentext.base.values import Flag
from eigentext.tagging.segmentation.kernels.squeeze import LINE_BREAK
from eigentext.tagging.segmentation.multiword import MultiwordStage
from eigentext.tagging.segmentation.sentence_ends import SentenceStage
from eigentext.tagging.segmentation.splitting import SplitRule
from eigentext.tagging.segmentation.tables import HashedCounts
from eigentext.tagging.segmentation.tokens import TokenStage

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.base.parts import Part
    from eigentext.tagging.segmentation.model import Segmenter

__all__ = ["LINE_BREAK", "Content"]


def _used(weights: npt.NDArray[np.int8]) -> SimpleNamespace:
    some = weights != 0
    return SimpleNamespace(mask=np.packbits(some), weights=weights[some])


def _spread(name: str, used: SimpleNamespace) -> npt.NDArray[np.int8]:
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


@dataclass
class Content:
    """What a file holds."""

    token: npt.NDArray[np.int8] = stored(_weights("token"))
    sentence: npt.NDArray[np.int8] = stored(_weights("sentence"))
    rule: npt.NDArray[np.int8] = stored(_weights("rule"))
    known_keys: npt.NDArray[np.uint32] = stored(_keys("known"))
    known_counts: npt.NDArray[np.uint8] = stored(Ints(("known",), ("uint8",)))
    habits: npt.NDArray[np.uint16] = stored(Ints(("known",), ("uint16",)))
    sentence_threshold: int = stored(Ints(()))
    rules: list[SplitRule] = stored(
        As(
            Strings("rules", distinct=True),
            lambda rules: [json.dumps(rule, ensure_ascii=False) for rule in rules],
            lambda texts: list(map(_rule, texts)),
        )
    )
    n_general: int = stored(Ints((), low=0, below="rules"))
    form_keys: list[int] = stored(Numbers(_keys("forms")))
    form_starts: npt.NDArray[np.int64] = stored(
        Pointers("forms", "form_rules", ("int32",), held="int64")
    )
    form_rules: list[int] = stored(Numbers(Ints(("form_rules",), ("uint16",), 0, "rules")))
    word_keys: list[int] = stored(Numbers(_keys("words")))
    word_counts: list[int] = stored(Numbers(Ints(("words",), ("uint8",))))
    line_breaks: bool = stored(Flag())
    spaces: bool = stored(Flag())
    addresses: bool = stored(Flag())

    def _holds(self) -> None:
        if bool(np.any(np.diff(self.form_starts) < 1)):
            raise ValueError("a form has no rule")

    @classmethod
    def of(cls, segmenter: Segmenter) -> Content:
        """Everything that segmentation needs."""
        tokens, sentences = segmenter.tokens_, segmenter.sentences_
        multiwords = segmenter.multiwords_
        forms = dict(sorted(multiwords.forms.items()))
        words = dict(sorted(multiwords.words.items()))
        return cls(
            token=tokens.weights,
            sentence=sentences.weights,
            rule=multiwords.weights,
            known_keys=tokens.known.keys,
            known_counts=tokens.known.values,
            habits=sentences.habits.values,
            sentence_threshold=sentences.threshold,
            rules=multiwords.rules,
            n_general=multiwords.general,
            form_keys=list(forms),
            form_starts=pointers(map(len, forms.values())),
            form_rules=[number for rules in forms.values() for number in rules],
            word_keys=list(words),
            word_counts=list(words.values()),
            line_breaks=segmenter.line_breaks_,
            spaces=tokens.spaces,
            addresses=segmenter.addresses_,
        )

    def restore(self, segmenter: Segmenter) -> None:
        """Set what ``fit`` would have learned."""
        segmenter.line_breaks_, segmenter.addresses_ = self.line_breaks, self.addresses
        known = HashedCounts.of(self.known_keys, self.known_counts)
        habits = HashedCounts.of(self.known_keys, self.habits)
        segmenter.tokens_ = TokenStage(self.token, known, self.spaces)
        segmenter.sentences_ = SentenceStage(self.sentence, self.sentence_threshold, habits)
        starts = self.form_starts.tolist()
        forms = zip(self.form_keys, starts[:-1], starts[1:], strict=True)
        segmenter.multiwords_ = MultiwordStage(
            self.rules,
            self.n_general,
            {key: tuple(self.form_rules[first:last]) for key, first, last in forms},
            dict(zip(self.word_keys, self.word_counts, strict=True)),
            self.rule,
        )


def _rule(text: str) -> SplitRule:
    front, before, new_front, new_back, after, back, has_stem = json.loads(text)
    pieces = (front, *before, new_front, new_back, *after, back)
    if not all(isinstance(piece, str) for piece in pieces) or not isinstance(has_stem, bool):
        raise ValueError(f"{text!r} is no rule")
    return SplitRule(front, tuple(before), new_front, new_back, tuple(after), back, has_stem)
