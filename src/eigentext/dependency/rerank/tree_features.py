"""Features of labelled trees for a reranker, and the table of all lists that it learns from, with
the dense columns of each tree: the parser's score, how sure it is of relations, and experts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from eigentext.base.hashing import text_key
from eigentext.base.ragged import pointers
from eigentext.dependency.graph.encode import TokenEncoder, chosen_features
from eigentext.errors import SettingsError
from eigentext.features.attributes import PARSING
from eigentext.linear.lists import LearningList, ListFeatures, list_scores

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from eigentext.base.types import Float64s, Int32s, Int64s, UInt64s
    from eigentext.dependency.kernels.tree_features import Words
    from eigentext.dependency.rerank.lists import KBestLists
    from eigentext.dependency.sentence import TaggedSentence
    from eigentext.linear.lists import ListWeights

    Gold = Sequence[tuple[Sequence[int], Sequence[str]]]

COLUMNS = ("base", "margin", "log_margin")  # of every tree, before those of experts
_AT_ONCE = 256  # sentences whose words are looked up together
_KEYS = [PARSING.column[name] for name in ("upos", "xpos", "lower", "lemma", "feats")]


class TreeFeatures:
    """Features of trees; ``fine`` are the features that stand beside UPOS in the place of XPOS."""

    def __init__(self, fine: Sequence[str] | None = None) -> None:
        self.fine = None if fine is None else tuple(fine)
        self._encoder = TokenEncoder(fine=fine)

    @classmethod
    def of(
        cls, sentences: Sequence[TaggedSentence], relations: Sequence[Sequence[str]]
    ) -> TreeFeatures:
        """What fits the tags of training sentences with such relations."""
        return cls(chosen_features(list(map(_with_coarse, sentences)), relations))

    def of_words(self, sentences: Sequence[TaggedSentence]) -> list[Words]:
        """Keys of the words of each sentence."""
        from eigentext.dependency.kernels.tree_features import Words

        batch = self._encoder.batch(list(map(_with_coarse, sentences)))
        # column by column: the kernels go along the words
        keys = np.ascontiguousarray(batch.keys[:, _KEYS].T)
        return [
            Words(*keys[:, begin:end])
            for begin, end in zip(batch.starts[:-1], batch.starts[1:], strict=True)
        ]


def _with_coarse(sentence: TaggedSentence) -> TaggedSentence:
    return sentence._replace(upos=tuple(sentence.coarse))


def relation_keys(names: Sequence[str]) -> UInt64s:
    """Keys that are the same whatever other relations there are."""
    return np.array([text_key(f"relation\t{name}") for name in names], np.uint64)


def list_features(
    words: Words, heads: npt.NDArray[np.integer], relations: Int32s, names: UInt64s, *, every: bool
) -> ListFeatures:
    """Features of the trees (K, n) of one sentence; ``names`` are keys of the relations.

    ``every``: also of words that have the same children in all trees.
    """
    from eigentext.dependency.kernels.tree_features import (
        PER_CHILD,
        PER_PAIR,
        PER_WORD,
        Trees,
        find_edges,
        group_words,
        make_features,
    )

    n_trees, n = heads.shape
    shape = n_trees, n + 1
    governors = np.ascontiguousarray(heads, np.int32)
    first, last, n_children = (np.empty(shape, np.int32) for _ in range(3))
    find_edges(governors, first, last, n_children)
    trees = Trees(governors, np.ascontiguousarray(relations), first, last, n_children, names)
    group, size = np.empty(shape, np.int32), n_trees * (n + 1)
    slots = np.full(1 << (2 * size - 1).bit_length(), -1, np.int32)
    n_groups = group_words(trees, group, np.empty(size, np.uint64), slots)
    flat = group.ravel()
    kept = np.full(n_groups, every) | (np.bincount(flat, minlength=n_groups) < n_trees)
    # how many children a group has is told by any of its words
    children = np.empty(n_groups, np.int64)
    children[flat] = n_children.ravel()
    pairs = children * (children - 1) // 2
    room = PER_WORD + PER_CHILD * children + PER_PAIR * pairs
    out = np.empty(int(room[kept].sum()), np.uint64)
    ptr = np.empty(n_groups + 1, np.int64)
    used = make_features(trees, words, group, ~kept, ptr, out)
    # the groups that are kept are numbered anew
    stays = kept[group]
    return ListFeatures(
        pointers(stays.sum(1)),
        (np.cumsum(kept) - 1)[group[stays]].astype(np.int32),
        np.concatenate(([0], ptr[1:][kept])),
        out[:used],
    )


@dataclass(frozen=True, eq=False)
class TreeTable:
    """All lists with their dense columns; features are made anew each time they are asked for."""

    sentences: Sequence[TaggedSentence]
    kbest: KBestLists
    features: TreeFeatures
    names: tuple[str, ...]  # of the dense columns
    dense: Float64s  # (trees of all lists, D)
    # (trees of all lists,) right words of each tree; None without gold trees
    gains: Float64s | None
    numbers: Int64s  # (N,) which of the lists are meant

    @classmethod
    def of(
        cls,
        sentences: Sequence[TaggedSentence],
        lists: KBestLists,
        features: TreeFeatures,
        columns: Mapping[str, npt.ArrayLike] | None = None,
        gold: Gold | None = None,
    ) -> TreeTable:
        """The table of lists; ``columns`` are dense ones beside ``COLUMNS``."""
        if len(sentences) != len(lists):
            raise SettingsError(f"{len(sentences)} sentences for {len(lists)} lists")
        for number, sentence in enumerate(sentences):
            if len(sentence.forms) != lists.lengths[number]:
                raise SettingsError(
                    f"sentence {number} has {len(sentence.forms)} words, its list "
                    f"{lists.lengths[number]}"
                )
        labelled = lists.relations
        margins = np.zeros((len(lists.scores), 2)) if labelled is None else labelled.margins
        dense = np.column_stack(
            [lists.scores, margins, *(np.asarray(column) for column in (columns or {}).values())]
        ).astype(np.float64)
        if not np.isfinite(dense).all():
            raise SettingsError("a dense feature is not a finite number")
        gains = None if gold is None else lists.right_words(gold).astype(np.float64)
        names = (*COLUMNS, *(columns or {}))
        return cls(sentences, lists, features, names, dense, gains, np.arange(len(lists)))

    def lists(self, *, every: bool = False) -> Iterator[LearningList]:
        """The features of one list after the other.

        ``every``: also what all trees of a list have, so that the score of a tree does not hang
        on those beside it.
        """
        labelled = self.kbest.relations
        keys = relation_keys(("_",) if labelled is None else labelled.names)
        for begin in range(0, len(self.numbers), _AT_ONCE):
            some = self.numbers[begin : begin + _AT_ONCE].tolist()
            all_words = self.features.of_words([self.sentences[number] for number in some])
            for number, words in zip(some, all_words, strict=True):
                heads = self.kbest[number].heads
                relations = np.zeros(heads.shape, np.int32)
                if labelled is not None:
                    relations = self.kbest.relations_of(number)
                groups = list_features(words, heads, relations, keys, every=every)
                trees = self._trees(number)
                gains = np.zeros(len(heads)) if self.gains is None else self.gains[trees]
                yield LearningList(groups, self.dense[trees], gains)

    def _trees(self, number: int) -> slice:
        return slice(self.kbest.tree_at[number], self.kbest.tree_at[number + 1])

    @property
    def lengths(self) -> Int64s:
        """(N,) words of each sentence."""
        return self.kbest.lengths[self.numbers]

    @property
    def tree_at(self) -> Int64s:
        """(N + 1,) where each sentence's trees begin among all trees."""
        return pointers(self.kbest.sizes[self.numbers])

    @property
    def right(self) -> Float64s | None:
        """(trees,) right words of each tree."""
        if self.gains is None:
            return None
        some = [self.gains[self._trees(number)] for number in self.numbers.tolist()]
        return np.concatenate([*some, np.empty(0)])

    def part(self, numbers: Int64s) -> TreeTable:
        """The same of these sentences alone."""
        return replace(self, numbers=self.numbers[numbers])

    def scores(self, weights: ListWeights) -> Float64s:
        """(trees,) the score of every tree."""
        some = [list_scores(item.features, item.dense, weights) for item in self.lists(every=True)]
        return np.concatenate([*some, np.empty(0)])
