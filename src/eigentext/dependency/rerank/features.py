"""What a reranker looks at in the trees of a list: the base parser's score, what experts say of a
tree, and two families of templates over tags (Dhillon et al. 2012, section 4.3)::

    left modifier, head, right modifier      every left child with every right child of a head
    side, modifier, head, grandparent        every word

Tags are numbered, so a template is a number and needs no dictionary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from eigentext.base.ragged import pointers
from eigentext.base.types import Float32s, Float64s, Int32s, Int64s
from eigentext.dependency.rerank.learners import TagWeights
from eigentext.dependency.rerank.lists import KBestLists
from eigentext.dependency.sentence import TaggedSentence
from eigentext.errors import SettingsError

_MOST_TAGS = 150  # of templates: 10 million numbers


class Expert(Protocol):
    """A model of trees; ``heads`` (K, n), one answer for each tree of one sentence."""

    def log_probs(self, sentence: TaggedSentence, heads: npt.NDArray[np.integer]) -> Float64s:
        """(K,) log p."""
        ...


@dataclass(frozen=True)
class TagCodes:
    """Numbers of the two template families over ``tags``; unseen tags share number 0.

    >>> templates = TagCodes(("DT", "NN", "VB"))
    >>> rows, codes = templates.codes(("DT", "NN", "VB"), np.array([[2, 3, 0], [2, 0, 2]]))
    >>> rows.tolist()  # three words and no pair in the first tree; one pair in the second
    [0, 0, 0, 1, 1, 1, 1]
    """

    tags: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Iterable[TaggedSentence]) -> TagCodes:
        """The tags that occur; of very many the most frequent, for numbers grow by their cube."""
        counts = Counter(tag for sentence in sentences for tag in sentence.fine)
        kept = sorted(counts, key=lambda tag: (-counts[tag], tag))[:_MOST_TAGS]
        return cls(tuple(sorted(kept)))

    @cached_property
    def _number(self) -> dict[str, int]:
        return {tag: number for number, tag in enumerate(self.tags, start=1)}

    @property
    def size(self) -> int:
        """How many different numbers there are."""
        return 3 * (len(self.tags) + 2) ** 3

    def codes(self, tags: Sequence[str], heads: npt.NDArray[np.integer]) -> tuple[Int32s, Int32s]:
        """The tree and the number of every template that applies, sorted by tree."""
        # tags are digits in base A: 0 unknown, A - 1 the root; the first A^3 numbers are pairs of
        # children, the other 2 A^3 (side, modifier, head, grandparent)
        A = len(self.tags) + 2
        tag = np.array([A - 1, *(self._number.get(name, 0) for name in tags)], np.int64)
        K, n = heads.shape
        words = np.arange(1, n + 1)
        above = heads.astype(np.int64)
        with_root = np.concatenate([np.zeros((K, 1), np.int64), above], axis=1)
        grand = np.take_along_axis(with_root, above, axis=1)
        side = (above < words).astype(np.int64)
        trios = ((side * A + tag[1:]) * A + tag[above]) * A + tag[grand] + A**3  # (K, n)
        # every left child a with every right child b of the same head
        left, right = above > words, (above < words) & (above > 0)
        tree, a, b = np.nonzero(
            left[:, :, None] & right[:, None, :] & (above[:, :, None] == above[:, None, :])
        )
        pairs = (tag[1 + a] * A + tag[above[tree, a]]) * A + tag[1 + b]
        rows = np.concatenate([np.repeat(np.arange(K), n), tree])
        order = np.argsort(rows, kind="stable")
        codes = np.concatenate([trios.ravel(), pairs])[order]
        return rows[order].astype(np.int32), codes.astype(np.int32)


class CountedEvents(ABC):
    """log p(outcome | condition) from counts: added ``alpha``, backed off to p(outcome)."""

    alpha = 5.0

    @classmethod
    def of(cls, trees: Iterable[tuple[TaggedSentence, Sequence[int]]]) -> Self:
        """Count gold trees."""
        return cls(Counter(event for tree in trees for event in cls.events(*tree)))

    @staticmethod
    @abstractmethod
    def events(sentence: TaggedSentence, heads: Sequence[int]) -> Iterator[tuple[str, int]]:
        """Conditions and outcomes in a tree."""

    def __init__(self, counts: Mapping[tuple[str, int], int]) -> None:
        self.counts = dict(counts)
        outcomes: Counter[int] = Counter()
        conditions: Counter[str] = Counter()
        for (condition, outcome), n in counts.items():
            outcomes[outcome] += n
            conditions[condition] += n
        total = sum(outcomes.values())
        self._plain = {
            o: (n + 0.5) / (total + 0.5 * len(outcomes) + 1) for o, n in outcomes.items()
        }
        self._least = 0.5 / (total + 0.5 * len(outcomes) + 1)
        self._conditions = conditions
        self._cache: dict[tuple[str, int], float] = {}

    def log(self, condition: str, outcome: int) -> float:
        """The smoothed log probability."""
        value = self._cache.get((condition, outcome))
        if value is None:
            plain = self._plain.get(outcome, self._least)
            n = self.counts.get((condition, outcome), 0)
            total = self._conditions.get(condition, 0)
            value = float(np.log((n + self.alpha * plain) / (total + self.alpha)))
            self._cache[condition, outcome] = value
        return value


def _length(distance: int) -> int:
    """1, 2, 3, 4 (to 6), 5 (to 10), 6."""
    return distance if distance < 4 else 4 if distance < 7 else 5 if distance < 11 else 6


class Valence(CountedEvents):
    """log p of the numbers of left and right children of every word, given its tag.

    >>> from eigentext.dependency.sentence import TaggedSentence
    >>> alone = TaggedSentence.of(["a"], upos=["X"])
    >>> lonely = Valence.of([(alone, [0])])
    >>> bool(np.exp(lonely.log_probs(alone, np.array([[0]])))[0] > 0.5)
    True
    """

    @staticmethod
    def events(sentence: TaggedSentence, heads: Sequence[int]) -> Iterator[tuple[str, int]]:
        """Tags, with numbers of children."""
        return zip(sentence.fine, _valences(np.array([heads]))[0].tolist(), strict=True)

    def log_probs(self, sentence: TaggedSentence, heads: npt.NDArray[np.integer]) -> Float64s:
        """(K,) log p of the valences of each tree."""
        log, tags = self.log, sentence.fine
        return np.array(
            [sum(map(log, tags, row)) for row in _valences(heads).tolist()], dtype=np.float64
        )


def _valences(heads: npt.NDArray[np.integer], cap: int = 4) -> Int64s:
    """(K, n): number of left children, capped, times (cap + 1), plus those on the right."""
    K, n = heads.shape
    words = np.arange(1, n + 1)
    counts = np.zeros((2, K, n + 1), np.int64)
    rows = np.broadcast_to(np.arange(K)[:, None], (K, n))
    side = (heads < words).astype(np.int64)
    np.add.at(counts, (side, rows, heads), 1)
    capped = np.minimum(counts[:, :, 1:], cap)
    return np.asarray(capped[0] * (cap + 1) + capped[1])


class Distance(CountedEvents):
    """log p of side and length class of every arc, given the tags of both ends."""

    @staticmethod
    def events(sentence: TaggedSentence, heads: Sequence[int]) -> Iterator[tuple[str, int]]:
        """Tags of both ends, with side and length class."""
        tags = ("", *sentence.fine)
        return (
            (f"{tags[h]} {tags[d]}", _side_length(d, h)) for d, h in enumerate(heads, start=1) if h
        )

    def log_probs(self, sentence: TaggedSentence, heads: npt.NDArray[np.integer]) -> Float64s:
        """(K,) log p of the lengths of each tree's arcs."""
        tags, log = ("", *sentence.fine), self.log
        n = len(sentence.forms)
        table = np.zeros((n + 1, n + 1))
        for d in range(1, n + 1):
            for h in set(heads[:, d - 1].tolist()) - {0}:
                table[h, d] = log(f"{tags[h]} {tags[d]}", _side_length(d, h))
        return np.asarray(table[heads, np.arange(1, n + 1)].sum(1))


def _side_length(d: int, h: int) -> int:
    return _length(d - h) if d > h else -_length(h - d)


@dataclass(frozen=True, eq=False)
class TagTable:
    """Features of all trees of all lists, end to end."""

    tree_at: Int64s  # (N + 1,) where each sentence's trees begin
    indptr: Int64s  # with ``codes``: template numbers of each tree, as in a CSR matrix of ones
    codes: Int32s
    dense: Float32s  # (trees, D) columns named by ``names``; the base score comes first
    names: tuple[str, ...]
    right: Int32s | None  # (trees,) right heads of each tree; None without gold trees
    lengths: Int64s  # (N,) words of each sentence

    @classmethod
    def of(
        cls,
        sentences: Sequence[TaggedSentence],
        lists: KBestLists,
        templates: TagCodes,
        columns: Mapping[str, npt.ArrayLike] | None = None,
        gold: Sequence[Sequence[int]] | None = None,
    ) -> TagTable:
        """Templates of all lists; ``columns`` are dense ones beside the base score."""
        if len(sentences) != len(lists):
            raise SettingsError(f"{len(sentences)} sentences for {len(lists)} lists")
        codes, widths = [], []
        for number, sentence in enumerate(sentences):
            heads = lists[number].heads
            rows, of_list = templates.codes(sentence.fine, heads)
            codes.append(of_list)
            widths.append(np.bincount(rows, minlength=len(heads)))
        width = np.concatenate([*widths, np.empty(0, np.int64)])
        indptr = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
        dense = np.column_stack(
            [lists.scores, *(np.asarray(column) for column in (columns or {}).values())]
        )
        if not np.isfinite(dense).all():
            raise SettingsError("a dense feature is not a finite number")
        return cls(
            lists.tree_at,
            indptr,
            np.concatenate([*codes, np.empty(0, np.int32)]),
            dense.astype(np.float32),
            ("base", *(columns or {})),
            None if gold is None else lists.right(gold),
            lists.lengths,
        )

    def part(self, numbers: Int64s) -> TagTable:
        """The same of these sentences alone."""
        sizes, widths = np.diff(self.tree_at)[numbers], np.diff(self.indptr)
        trees = _stretches(self.tree_at, numbers)
        return TagTable(
            pointers(sizes),
            pointers(widths[trees]),
            self.codes[_stretches(self.indptr, trees)],
            self.dense[trees],
            self.names,
            None if self.right is None else self.right[trees],
            self.lengths[numbers],
        )

    def scores(self, weights: TagWeights) -> Float64s:
        """(trees,) the score of every tree."""
        if self.names != weights.names:
            raise SettingsError(f"columns {self.names}, the weights are for {weights.names}")
        # column by column: the score of a tree does not hang on those beside it, to the last bit
        dense = np.zeros(len(self.dense))
        for column, weight in zip(self.dense.T, weights.dense, strict=True):
            dense += column.astype(np.float64) * weight
        if not len(self.codes):
            return dense
        # a tree has at least one template, so no stretch is empty
        parts = weights.templates[self.codes].astype(np.float64)
        return np.asarray(dense + np.add.reduceat(parts, self.indptr[:-1]))


def _stretches(starts: Int64s, numbers: Int64s) -> Int64s:
    """All places from ``starts[k]`` to ``starts[k + 1]``, for each of these k in turn."""
    sizes = np.diff(starts)[numbers]
    before = pointers(sizes)
    shift = np.repeat(starts[numbers] - before[:-1], sizes)
    return np.asarray(np.arange(before[-1]) + shift, np.int64)


def expert_column(
    expert: Expert, sentences: Sequence[TaggedSentence], lists: KBestLists, least: float = -1e4
) -> Float32s:
    """log p of every tree of every list; what is impossible counts ``least``."""
    columns = [
        np.maximum(expert.log_probs(sentence, lists[number].heads.astype(np.int32)), least)
        for number, sentence in enumerate(sentences)
    ]
    return np.concatenate([*columns, np.empty(0)]).astype(np.float32)
