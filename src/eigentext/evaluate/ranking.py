"""A1 and A2: is the right label first, or among the first two?

1. Each word comes with its gold label, its candidates' labels and their scores.
2. Candidates are ordered by score; equal scores by a fixed hash of the label's own values, which
   knows nothing of the gold and nothing of the order in which candidates came.
3. A1 and A2 are counted over all words, per element (the first two distinct values), without some
   elements, for words seen and unseen in training, and by document.
"""

from __future__ import annotations

import math
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Label = tuple[str, ...]


class RankedItem(NamedTuple):
    """A word's gold label, and its candidates with their scores."""

    gold: Label
    labels: Sequence[Label]
    scores: Sequence[float]
    in_training: bool = True
    document: str = ""


@dataclass
class Accuracy:
    """How many words, how often the right answer was first, and among the first two."""

    words: int = 0
    first: int = 0
    first_two: int = 0

    def add(self, rank: int) -> None:
        """One more word, whose right answer stands at this rank (0 is best, -1 nowhere)."""
        self.words += 1
        self.first += rank == 0
        self.first_two += rank in (0, 1)

    @property
    def a1(self) -> float:
        """Percent of words whose right answer is first."""
        return 100.0 * self.first / self.words if self.words else math.nan

    @property
    def a2(self) -> float:
        """Percent of words whose right answer is among the first two."""
        return 100.0 * self.first_two / self.words if self.words else math.nan

    def __add__(self, other: Accuracy) -> Accuracy:
        return Accuracy(
            self.words + other.words, self.first + other.first, self.first_two + other.first_two
        )

    def as_record(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"words": self.words, "a1": _rounded(self.a1), "a2": _rounded(self.a2)}


@dataclass
class RankingScores:
    """All figures of one evaluation; two of them can be added (folds)."""

    full: Accuracy = field(default_factory=Accuracy)
    reduced: Accuracy = field(default_factory=Accuracy)
    trained: Accuracy = field(default_factory=Accuracy)
    untrained: Accuracy = field(default_factory=Accuracy)
    covered: Accuracy = field(default_factory=Accuracy)
    elements: dict[str, Accuracy] = field(default_factory=dict)
    documents: dict[str, Accuracy] = field(default_factory=dict)

    @property
    def coverage(self) -> float:
        """Percent of words whose gold label is among the candidates."""
        return self.covered.a1

    def __add__(self, other: RankingScores) -> RankingScores:
        sums: dict[str, Any] = {
            name: _joined(mine, its) if isinstance(mine, dict) else mine + its
            for (name, mine), its in zip(vars(self).items(), vars(other).values(), strict=True)
        }
        return RankingScores(**sums)

    def as_record(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            **self.full.as_record(),
            "coverage": _rounded(self.coverage),
            "reduced": self.reduced.as_record(),
            "seen": self.trained.as_record(),
            "unseen": self.untrained.as_record(),
            "elements": {name: accuracy.as_record() for name, accuracy in self.elements.items()},
            "documents": {name: accuracy.as_record() for name, accuracy in self.documents.items()},
        }


def _rounded(percent: float) -> float | None:
    return None if math.isnan(percent) else round(percent, 3)


def _joined(left: dict[str, Accuracy], right: dict[str, Accuracy]) -> dict[str, Accuracy]:
    names = [*left, *(name for name in right if name not in left)]
    return {name: left.get(name, Accuracy()) + right.get(name, Accuracy()) for name in names}


def _tie(label: Label) -> int:
    return zlib.crc32("\x1f".join(label).encode("utf-8", "surrogatepass"))


def in_order(labels: Sequence[Label], scores: Sequence[float]) -> list[Label]:
    """The labels, best first; equals in the order of a fixed hash.

    >>> in_order([("a",), ("b",)], [0.1, 0.2])
    [('b',), ('a',)]
    >>> in_order([("a",), ("b",)], [0.0, 0.0]) == in_order([("b",), ("a",)], [0.0, 0.0])
    True
    """
    if len(labels) != len(scores):
        raise ValueError(f"expected a score for each of {len(labels)} labels, found {len(scores)}")
    pairs = sorted(zip(labels, scores, strict=True), key=lambda p: (-p[1], _tie(p[0]), p[0]))
    return [label for label, _ in pairs]


def score_ranking(
    items: Iterable[RankedItem], elements: Sequence[str], *, without: Sequence[str] = ("cas",)
) -> RankingScores:
    """Count A1 and A2 of ranked words.

    ``without`` names the elements that the reduced figures do not look at (case).

    >>> word = RankedItem(("x", "n"), [("x", "n"), ("x", "a")], [0.4, 0.6])
    >>> found = score_ranking([word], ["lemma", "cas"])
    >>> found.full.a1, found.full.a2, found.reduced.a1, found.elements["lemma"].a1
    (0.0, 100.0, 100.0, 100.0)
    """
    reduced = [index for index, name in enumerate(elements) if name not in without]
    scores = RankingScores(elements={name: Accuracy() for name in elements})
    by_document: defaultdict[str, Accuracy] = defaultdict(Accuracy)
    for item in items:
        ranked = in_order(item.labels, item.scores)
        rank = ranked.index(item.gold) if item.gold in ranked else -1
        scores.full.add(rank)
        scores.covered.add(0 if rank >= 0 else -1)
        (scores.trained if item.in_training else scores.untrained).add(rank)
        by_document[item.document].add(rank)
        for index, name in enumerate(elements):
            values = [label[index] for label in ranked]
            scores.elements[name].add(_distinct_rank(values, item.gold[index]))
        less = [tuple(label[p] for p in reduced) for label in ranked]
        scores.reduced.add(_distinct_rank(less, tuple(item.gold[p] for p in reduced)))
    scores.documents = dict(sorted(by_document.items()))
    return scores


def _distinct_rank(values: Sequence[object], gold: object) -> int:
    """Among the distinct values, where the right one stands; only 0 and 1 matter."""
    if not values:
        return -1
    if values[0] == gold:
        return 0
    for value in values[1:]:
        if value != values[0]:
            return 1 if value == gold else 2
    return -1
