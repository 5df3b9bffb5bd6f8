"""Where a parser is right and where not: attachment scores by length, relation and distance.

Each table cuts the words of :class:`~eigentext.evaluate.attachment_counts.AlignedTexts` another
way; added up, its rows are the scores of the whole.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from eigentext.evaluate.alignment import ROOT, Words
from eigentext.evaluate.attachment_counts import AlignedTexts, WordScore

if TYPE_CHECKING:
    from collections.abc import Sequence

DISTANCES = ((0, 0), (1, 1), (2, 2), (3, 6), (7, None))  # 0: from the root


class LengthRow(NamedTuple):
    """Gold sentences of a range of lengths (all words counted), both ends included."""

    shortest: int
    longest: int
    n_sentences: int
    uas: WordScore
    las: WordScore


class RelationRow(NamedTuple):
    """One relation: how often its gold words have the right head, and the right head and label.

    ``las.system`` counts the system's words with this relation, so that precision has a meaning.
    """

    relation: str
    uas: WordScore
    las: WordScore


class DistanceRow(NamedTuple):
    """Words whose head stands so many words away, both ends included; 0 for roots.

    The gold head's distance for recall, the system's for precision; ``longest`` None: any.
    """

    shortest: int
    longest: int | None
    uas: WordScore
    las: WordScore


def by_relation(both: AlignedTexts) -> tuple[RelationRow, ...]:
    """One row per relation, the most frequent of the gold side first."""
    gold, system = both.gold, both.system
    in_gold = Counter(
        r for r, counted in zip(gold.relations, both.gold_kept, strict=True) if counted
    )
    in_system = Counter(
        r for r, counted in zip(system.relations, both.system_kept, strict=True) if counted
    )
    headed: Counter[str] = Counter()
    labelled: Counter[str] = Counter()
    for g, s in both.pairs:
        if both.same_head(g, s):
            headed[gold.relations[g]] += 1
            labelled[gold.relations[g]] += both.same_relation(g, s)
    return tuple(
        RelationRow(
            name,
            WordScore(headed[name], in_gold[name], in_gold[name]),
            WordScore(labelled[name], in_gold[name], in_system[name]),
        )
        for name in sorted({*in_gold, *in_system}, key=lambda name: (-in_gold[name], name))
    )


def by_length(
    sizes: Sequence[int], headed: Sequence[WordScore], labelled: Sequence[WordScore], width: int
) -> tuple[LengthRow, ...]:
    """One row per range of ``width`` lengths, from the scores of each sentence."""
    buckets: dict[int, list[int]] = {}
    for sentence, size in enumerate(sizes):
        buckets.setdefault((size - 1) // width, []).append(sentence)
    return tuple(
        LengthRow(
            bucket * width + 1,
            (bucket + 1) * width,
            len(members),
            added([headed[k] for k in members]),
            added([labelled[k] for k in members]),
        )
        for bucket, members in sorted(buckets.items())
    )


def by_distance(both: AlignedTexts) -> tuple[DistanceRow, ...]:
    """One row per range of distances between a word and its head."""
    in_gold = Counter(
        _range_of(both.gold, g) for g, counted in enumerate(both.gold_kept) if counted
    )
    in_system = Counter(
        _range_of(both.system, s) for s, counted in enumerate(both.system_kept) if counted
    )
    headed: Counter[int] = Counter()
    labelled: Counter[int] = Counter()
    for g, s in both.pairs:
        if both.same_head(g, s):
            headed[_range_of(both.gold, g)] += 1
            labelled[_range_of(both.gold, g)] += both.same_relation(g, s)
    return tuple(
        DistanceRow(
            shortest,
            longest,
            WordScore(headed[k], in_gold[k], in_system[k]),
            WordScore(labelled[k], in_gold[k], in_system[k]),
        )
        for k, (shortest, longest) in enumerate(DISTANCES)
    )


def added(scores: Sequence[WordScore]) -> WordScore:
    """The counts of several scores together.

    >>> added([WordScore(1, 2, 3), WordScore(1, 1, 1)])
    WordScore(correct=2, gold=3, system=4)
    """
    return WordScore(*map(sum, zip(*scores, strict=True))) if scores else WordScore(0, 0, 0)


def _range_of(words: Words, word: int) -> int:
    """The row of DISTANCES for the arc to a word."""
    distance = 0 if words.heads[word] == ROOT else abs(words.heads[word] - word)
    return next(k for k, (_, last) in enumerate(DISTANCES) if last is None or distance <= last)
