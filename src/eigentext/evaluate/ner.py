"""Scores of named entities: spans of a type, found or not.

An entity is right if the same is in the gold tags; ``micro`` adds the counts of all types up.

- ``conll`` (default) reads any of IOB1, IOB2 (BIO) and BIOES as the CoNLL scorer does: an entity
  also begins at ``I-`` after another type or after ``O``; nothing is refused.
- ``strict`` takes one scheme at its word: in IOB2 an entity is ``B-`` and the ``I-`` of the same
  type after it, in BIOES ``S-`` alone or ``B- (I-)* E-``; any other tag is outside.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.blocks import is_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eigentext.base.files.opening import Source
    from eigentext.language.doc import Doc

Mode = Literal["conll", "strict"]
Scheme = Literal["IOB2", "BIOES"]
_BEGIN = frozenset("BS")
_LAST = frozenset("ES")


class Entity(NamedTuple):
    """An entity: its type and its tokens ``start`` to ``end - 1``."""

    type: str
    start: int
    end: int


class TypeScore(NamedTuple):
    """Counts of one type or tag, or of all; percentages as properties.

    >>> TypeScore("PER", correct=1, gold=2, predicted=1).recall
    50.0
    """

    type: str
    correct: int
    gold: int
    predicted: int

    @property
    def precision(self) -> float:
        """Percentage of the predicted ones that are right."""
        return 100.0 * self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Percentage of the gold ones that were found."""
        return 100.0 * self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of the two, in percent."""
        total = self.gold + self.predicted
        return 200.0 * self.correct / total if total else 0.0


@dataclass(frozen=True)
class NerResult:
    """Scores by type, micro over all entities, and the token accuracy."""

    types: tuple[TypeScore, ...]
    micro: TypeScore
    n_tokens: int
    n_correct_tokens: int
    sentence_counts: tuple[tuple[int, int, int], ...]

    @property
    def f1(self) -> float:
        """Micro F1, the usual figure."""
        return self.micro.f1

    @property
    def macro_f1(self) -> float:
        """Mean F1 over the types that occur, in gold or found."""
        return sum(score.f1 for score in self.types) / len(self.types) if self.types else 0.0

    @property
    def token_accuracy(self) -> float:
        """Percentage of the tokens whose tag is the gold tag."""
        return 100.0 * self.n_correct_tokens / self.n_tokens if self.n_tokens else 0.0


def _parts(tag: str) -> tuple[str, str]:
    """Prefix and type; whatever is not ``X-type`` with a known prefix is outside.

    >>> _parts("B-work-of-art"), _parts("O"), _parts("B")
    (('B', 'work-of-art'), ('O', ''), ('B', '_'))
    """
    prefix, _, kind = tag.partition("-")
    if prefix in ("B", "I", "E", "S"):
        return prefix, kind or "_"
    return "O", ""


def entities(
    tags: Sequence[str], *, mode: Mode = "conll", scheme: Scheme = "IOB2"
) -> list[Entity]:
    """The entities that the tags of one sentence say.

    >>> entities(["I-PER", "I-PER", "O", "B-LOC"])
    [Entity(type='PER', start=0, end=2), Entity(type='LOC', start=3, end=4)]
    >>> entities(["I-PER", "I-PER", "O", "B-LOC"], mode="strict")
    [Entity(type='LOC', start=3, end=4)]
    """
    if isinstance(tags, str):
        raise TypeError("tags must be a sequence of tags, not one str; did you mean [...]?")
    parts = [_parts(tag) for tag in tags]
    if mode == "conll":
        return _loose(parts)
    if mode != "strict" or scheme not in ("IOB2", "BIOES"):
        raise SettingsError(f"mode {mode!r} with scheme {scheme!r} is not known")
    return _strict(parts, closed=scheme == "BIOES")


def _loose(parts: list[tuple[str, str]]) -> list[Entity]:
    """An entity goes on while the type stays, no B or S begins and no E or S has ended it."""
    spans: list[Entity] = []
    start = -1
    previous, kind = "O", ""
    for position, (prefix, this_kind) in enumerate([*parts, ("O", "")]):  # O ends the last one
        ends = prefix in _BEGIN or prefix == "O" or previous in _LAST or this_kind != kind
        if start >= 0 and ends:
            spans.append(Entity(kind, start, position))
            start = -1
        if start < 0 and prefix != "O":
            start = position
        previous, kind = prefix, this_kind
    return spans


def _strict(parts: list[tuple[str, str]], *, closed: bool) -> list[Entity]:
    """``B I*`` is an entity; if they are ``closed`` (BIOES), ``S`` and ``B I* E`` alone are."""
    spans: list[Entity] = []
    position = 0
    while position < len(parts):
        prefix, kind = parts[position]
        start = position
        position += 1
        if prefix == "B":
            while position < len(parts) and parts[position] == ("I", kind):
                position += 1
            if closed and parts[position : position + 1] != [("E", kind)]:
                continue
            position += closed
        elif prefix != "S" or not closed:
            continue
        spans.append(Entity(kind, start, position))
    return spans


def _tags_of(side: Any) -> Iterable[Sequence[str]]:
    """The tags of a side; those of a Doc are its entities."""
    from eigentext.language.doc import Doc

    if is_file(side):
        from eigentext.language.reading import read

        path, side = os.fspath(side), read(side)
    elif isinstance(side, Doc):
        path = side.id or "<doc>"
    else:
        tags: Iterable[Sequence[str]] = side
        return tags
    entities = [sentence.entities for sentence in side.sentences]
    if None in entities:
        raise DataError(path, None, "a sentence without tags of entities, expected some to score")
    return [tags for tags in entities if tags is not None]


def evaluate(
    gold: Source | Doc | Iterable[Sequence[str]],
    predicted: Source | Doc | Iterable[Sequence[str]],
    *,
    mode: Mode = "conll",
    scheme: Scheme = "IOB2",
    names: tuple[str, str] = ("gold tags", "predicted tags"),
) -> NerResult:
    """Score predicted tags, sentence by sentence, against gold tags.

    Either side is lists of tags, a Doc, or a file.  ``names`` are what errors call the two.

    >>> result = evaluate([["B-PER", "I-PER", "O"]], [["B-PER", "O", "B-LOC"]])
    >>> result.f1, round(result.token_accuracy, 1), [score.type for score in result.types]
    (0.0, 33.3, ['LOC', 'PER'])
    """
    gold, predicted = (_tags_of(side) for side in (gold, predicted))
    correct, in_gold, in_predicted = Counter[str](), Counter[str](), Counter[str]()
    counts: list[tuple[int, int, int]] = []
    n_tokens = n_correct = 0
    theirs = iter(predicted)
    number = 0
    for number, gold_tags in enumerate(gold, start=1):
        tags = next(theirs, None)
        if tags is None or len(tags) != len(gold_tags):
            have = "no sentence" if tags is None else f"{len(tags)} tags"
            why = f"sentence {number}: {have} where the gold sentence has {len(gold_tags)} tags"
            raise DataError(names[1], None, why)
        mine = set(entities(gold_tags, mode=mode, scheme=scheme))
        its = set(entities(tags, mode=mode, scheme=scheme))
        both = mine & its
        correct.update(entity.type for entity in both)
        in_gold.update(entity.type for entity in mine)
        in_predicted.update(entity.type for entity in its)
        counts.append((len(both), len(mine), len(its)))
        n_tokens += len(tags)
        n_correct += sum(map(str.__eq__, gold_tags, tags))
    if next(theirs, None) is not None:
        why = f"no sentence {number + 1}, where the predicted tags go on"
        raise DataError(names[0], None, why)
    types = tuple(
        TypeScore(kind, correct[kind], in_gold[kind], in_predicted[kind])
        for kind in sorted({*in_gold, *in_predicted})
    )
    micro = TypeScore("all", correct.total(), in_gold.total(), in_predicted.total())
    return NerResult(types, micro, n_tokens, n_correct, tuple(counts))
