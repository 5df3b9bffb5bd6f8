"""``Segmenter``: raw text in; sentences, tokens and the words of multiword tokens out.

Three stages learn from a treebank laid out as raw text (``raw.py``): where tokens end
(``tokens.py``), which of them end a sentence (``sentence_ends.py``), and which stand for several
words (``multiword.py``).  Text is squeezed into numbers first (``characters.py``).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.fields import Bits, Ints, Pointers, Strings
from eigentext.base.model import Model
from eigentext.base.ragged import pointers
from eigentext.base.records import As, Group, Numbers, stored
from eigentext.base.tokens import checked_tokens
from eigentext.base.values import Flag
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.conll import controls_as_blanks
from eigentext.tagging.segmentation.characters import (
    Squeezed,
    addresses,
    decided_places,
    glued,
    squeezed,
)
from eigentext.tagging.segmentation.kernels.squeeze import LINE_BREAK
from eigentext.tagging.segmentation.multiword import MultiwordStage, SplitRule
from eigentext.tagging.segmentation.raw import lay_out
from eigentext.tagging.segmentation.sentence_ends import SentenceStage
from eigentext.tagging.segmentation.tables import HashedCounts
from eigentext.tagging.segmentation.tokens import TokenStage
from eigentext.tagging.settings import SegmenterSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from eigentext.base.progress import Progress
    from eigentext.base.types import Bools, Int8s, Int64s, UInt8s, UInt32s
    from eigentext.base.values import Part
    from eigentext.language.formats.conllu import Treebank
    from eigentext.tagging.segmentation.raw import Layout


_SPACES = re.compile(r"\s+")
_END_OF = {"sentence": 1, "word": -1}  # what a cut says of the token before it
_UNIT = 0.03  # about what one step of a rounded weight is worth, in log odds


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


class SurfaceToken(NamedTuple):
    """A token: ``text[start:end]`` is what stands in the text."""

    start: int
    end: int
    words: tuple[str, ...]  # two or more of a multiword token, none of an ordinary one


class SegmentedSentence(NamedTuple):
    """The tokens of a sentence; ``new_paragraph``: it is the first of a paragraph."""

    tokens: tuple[SurfaceToken, ...]
    new_paragraph: bool


class Place(NamedTuple):
    """How probable it is that a token begins there, and that a sentence does (None: cannot).

    Rough: whole numbers were made of the weights, and what one of them is worth is not kept.
    """

    token: float
    sentence: float | None


class DecidedSegmentation(NamedTuple):
    """Sentences under decisions, the places that are open, and whether all could be followed."""

    sentences: list[SegmentedSentence]
    places: dict[int, Place]
    followed: bool


@dataclass(eq=False, repr=False)
class Segmenter(Model, SegmenterSettings):
    """Sentences, tokens and multiword tokens of raw text, learned from a treebank.

    Settings: :class:`SegmenterSettings`.

    >>> from eigentext.language.formats.conllu import make_sentence
    >>> misc = ["_", "SpaceAfter=No", "_"]
    >>> treebank = [make_sentence([*pair.split(), "."], misc=misc) for pair in
    ...     ("Ann ran", "Bob sang", "Ben sat", "Eve left", "Tom fell")] * 4
    >>> segmenter = Segmenter().fit(treebank)
    >>> text = "Ann sang. Tom sat."
    >>> for sentence in segmenter.segment(text):
    ...     print([text[token.start:token.end] for token in sentence.tokens])
    ['Ann', 'sang', '.']
    ['Tom', 'sat', '.']
    """

    KIND = "segmenter"
    VERSION = 2
    CONTENT = SegmenterContent

    def fit(self, sentences: Treebank, *, progress: Progress | None = None) -> Segmenter:
        """Learn from the sentences of a treebank, in their order: a list, a file, or Docs."""
        self.check()
        layout = lay_out(sentences)
        if not layout.spans:
            raise DataError("<treebank>", None, "no tokens, expected some to learn from")
        plain = squeezed(layout.text, line_breaks=True)
        self.line_breaks_ = bool(np.any(plain.chars == LINE_BREAK))
        self.addresses_ = _keeps_addresses(layout)
        text = glued(plain, addresses(layout.text)) if self.addresses_ else plain
        places = np.full(len(layout.text) + 1, -1, np.int64)
        real = text.classes > 2
        places[text.at[real]] = np.flatnonzero(real)
        spans = np.array(layout.spans, np.int64)
        starts, ends = places[spans[:, 0]], places[spans[:, 1] - 1] + 1

        def reported(stage: str) -> Callable[[int], None]:
            return lambda epoch: progress(epoch, self.epochs, stage) if progress else None

        self.tokens_ = TokenStage.learn(text, starts, ends, self, reported("tokens"))
        lasts = np.array(layout.ends, np.int64) - 1
        self.sentences_ = SentenceStage.learn(
            text, starts, ends, lasts, self, reported("sentences")
        )
        forms = [form_of(layout.text[start:end]) for start, end in layout.spans]
        self.multiwords_ = MultiwordStage.learn(
            forms, layout.words, layout.lemmas, layout.ends, self
        )
        return self

    def segment(self, text: str) -> list[SegmentedSentence]:
        """The sentences of raw text; a blank line ends a paragraph."""
        self.check_fitted()
        squeezed_text = self._squeezed(text)
        starts, ends = self.tokens_.answer(squeezed_text)
        if not len(starts):
            return []
        ends_of = self.sentences_.answer(squeezed_text, starts, ends)
        return self._sentences(text, squeezed_text, starts, ends, *ends_of)

    def segment_decided(self, text: str, cuts: Mapping[int, str]) -> DecidedSegmentation:
        """Sentences of raw text in which some places are decided; the others follow from that.

        ``cuts``: before a character of the text, by its number, ``sentence`` (a sentence begins
        there, and so a token), ``word`` (a token begins there, no sentence) or ``none`` (neither).

        >>> from eigentext.language.formats.conllu import make_sentence
        >>> misc = ["_", "SpaceAfter=No", "_"]
        >>> treebank = [make_sentence([*pair.split(), "."], misc=misc) for pair in
        ...     ("Ann ran", "Bob sang", "Ben sat", "Eve left", "Tom fell")] * 4
        >>> found = Segmenter().fit(treebank).segment_decided("Ann sang. Tom sat.", {10: "word"})
        >>> len(found.sentences), found.followed
        (1, True)
        """
        self.check_fitted()
        squeezed_text, place_of, lost = decided_places(self._squeezed(text), cuts)
        odds = np.full(len(squeezed_text.chars), np.nan)
        starts, ends = self.tokens_.answer(squeezed_text, odds)
        if not len(starts):
            return DecidedSegmentation([], {}, not cuts)
        cut_of = {index: cuts[offset] for offset, index in place_of.items()}
        next_cut = [cut_of.get(index) for index in starts.tolist()[1:]]
        decided = np.array([_END_OF.get(cut or "", 0) for cut in next_cut] + [0], np.int8)
        end_odds = np.full(len(starts), np.nan)
        is_end, is_last = self.sentences_.answer(squeezed_text, starts, ends, decided, end_odds)
        is_end |= decided > 0
        is_end &= decided >= 0
        spans = text, squeezed_text, starts, ends
        sentences = self._sentences(*spans, is_end, is_last, joined=bool(cuts))
        open_places = np.flatnonzero(~np.isnan(odds)).tolist()
        places = {
            int(squeezed_text.at[index]): Place(_chance(odds[index]), None)
            for index in open_places
        }
        for token in np.flatnonzero(~np.isnan(end_odds)).tolist():
            offset = int(squeezed_text.at[starts[token + 1]])
            token_place = places.get(offset, Place(1.0, None))
            places[offset] = token_place._replace(sentence=_chance(end_odds[token]))
        for offset in cuts:
            places.pop(offset, None)
        return DecidedSegmentation(sentences, places, not lost)

    def segment_sentence(self, text: str) -> SegmentedSentence:
        """The tokens of a text that is one sentence, whatever stands in it."""
        self.check_fitted()
        squeezed_text = self._squeezed(text, paragraphs=False)
        starts, ends = self.tokens_.answer(squeezed_text)
        return SegmentedSentence(tuple(self._tokens(text, squeezed_text, starts, ends, ())), True)

    def words_of(self, forms: Sequence[str]) -> list[tuple[str, ...]]:
        """The words of the tokens of one sentence: none for an ordinary token."""
        self.check_fitted()
        return self.multiwords_.answer(list(map(form_of, checked_tokens(forms))), ())

    def _squeezed(self, text: str, *, paragraphs: bool = True) -> Squeezed:
        if not isinstance(text, str):
            raise SettingsError(f"a text is a string, not {type(text).__name__}")
        text = controls_as_blanks(text)  # as long as it was
        squeezed_text = squeezed(text, paragraphs=paragraphs, line_breaks=self.line_breaks_)
        return glued(squeezed_text, addresses(text)) if self.addresses_ else squeezed_text

    def _sentences(
        self,
        text: str,
        squeezed_text: Squeezed,
        starts: Int64s,
        ends: Int64s,
        is_end: Bools,
        is_last: Bools,
        *,
        joined: bool = False,
    ) -> list[SegmentedSentence]:
        """The tokens as sentences: ``is_end`` of one, ``is_last`` of a paragraph."""
        after = np.flatnonzero(is_end) + 1
        tokens = self._tokens(text, squeezed_text, starts, ends, after.tolist(), joined)
        new = [True, *is_last[after[:-1] - 1].tolist()]
        return [
            SegmentedSentence(tuple(tokens[first:last]), paragraph)
            for (first, last), paragraph in zip(pairwise([0, *after.tolist()]), new, strict=True)
        ]

    def _tokens(
        self,
        text: str,
        squeezed_text: Squeezed,
        starts: Int64s,
        ends: Int64s,
        sentence_ends: Iterable[int],
        joined: bool = False,
    ) -> list[SurfaceToken]:
        """``joined``: white space may be inside of tokens, whatever the treebank has."""
        first, last = squeezed_text.at[starts].tolist(), (squeezed_text.at[ends - 1] + 1).tolist()
        forms = [text[start:end] for start, end in zip(first, last, strict=True)]
        if joined or self.tokens_.spaces:
            forms = list(map(form_of, forms))
        return list(map(SurfaceToken, first, last, self.multiwords_.answer(forms, sentence_ends)))

    def _summary(self) -> str:
        return (
            f"{len(self.tokens_.vocabulary.keys):,} tokens, "
            f"{len(self.multiwords_.rules) - 1:,} rules of multiword tokens"
        )


def _keeps_addresses(layout: Layout) -> bool:
    """Whether addresses are one token: so it is in treebanks, and where this one has none."""
    starts = np.array([start for start, _ in layout.spans])
    spans = np.array(addresses(layout.text)).reshape(-1, 2)
    begun = np.searchsorted(starts, spans[:, 1]) - np.searchsorted(starts, spans[:, 0] + 1)
    return bool(np.count_nonzero(begun) <= len(spans) / 2)


def form_of(piece: str) -> str:
    """FORM of a piece of text: its white space, if it has some, as single spaces.

    >>> form_of("10\\u00a0 000")
    '10 000'
    """
    return _SPACES.sub(" ", controls_as_blanks(piece))


def _chance(score: float) -> float:
    return float(1.0 / (1.0 + np.exp(-np.clip(_UNIT * score, -30.0, 30.0))))
