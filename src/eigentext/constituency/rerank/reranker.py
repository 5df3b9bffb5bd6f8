"""The reranker: among the best trees of a sentence it takes the one with most right features.

1. :func:`learn_reranker` parses the training sentences by parsers that have not seen them (each
   fold by a parser of the other folds), and learns weights of the features of their trees.
2. :meth:`Reranker.order` puts the trees of a list in the order of their scores,

       score(tree) = decoder's score / number of models + sum of the weights of its features

   so that lists of one model and of an ensemble are alike.

Charniak and Johnson 2005 is the pattern.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from eigentext.base.cores import in_turn, row_blocks
from eigentext.base.folds import held_out
from eigentext.constituency.rerank.features import ALL, WordKeys, list_features
from eigentext.constituency.rerank.lists import Gold, LabelTable, TreeList, tree_list
from eigentext.language.trees.clean import clean
from eigentext.linear.lists import LearningList, Weights, learn_weights, list_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Int64s
    from eigentext.constituency.chart.kbest import Forest
    from eigentext.features.signatures import Language
    from eigentext.language.trees.constituent import Tree

N_TREES = 20  # of a list; more gave nothing on dev
DECODER = (1.0,)  # weight of the decoder's score; it stays
_FOLDS = 5
_SENTENCES_AT_ONCE = 16  # that one thread parses
_FREQUENT = 5  # words seen less often have the key of their signature


@dataclass(frozen=True, eq=False)
class Reranker:
    """Weights of features.

    ``words``    words that stand for themselves; others are known by their signatures
    ``weights``  64-bit features, rising, and the weight of each
    """

    words: tuple[str, ...]
    weights: Weights
    language: Language
    groups: int = ALL  # of features; fewer only in experiments

    @cached_property
    def word_keys(self) -> WordKeys:
        """Keys of words."""
        return WordKeys(frozenset(self.words), self.language)

    def order(
        self, trees: TreeList, n_models: int, words: Sequence[str], table: LabelTable
    ) -> Int64s:
        """Ranks of the trees, the best first; of equals the decoder's first."""
        flat, scores = trees
        if len(scores) < 2:
            return np.arange(len(scores))
        features = list_features(flat, table, self.word_keys.of(words), self.groups)
        total = list_scores(features, scores[:, None] / n_models, self.weights)
        return np.argsort(-total, kind="stable")


class ListParser(Protocol):
    """Such as ``LPCFG``."""

    @property
    def label_table(self) -> LabelTable:
        """What the reranker knows of its labels."""

    def forest(self, tokens: Sequence[str], k: int) -> Forest | None:
        """The k best trees; None where there are none."""


class ParsedList(NamedTuple):
    """The best trees of a training sentence, and its gold tree."""

    trees: TreeList
    table: LabelTable
    gold: Tree

    def features(self, words: WordKeys, groups: int = ALL) -> LearningList:
        """What to learn from; a tree's gain is its F1, times the gold brackets."""
        flat, scores = self.trees
        gold = Gold.of(self.gold)
        matched, n_brackets = gold.counts(flat, self.table).T
        n_gold = len(gold.brackets)
        gains = n_gold * 2.0 * matched / np.maximum(n_brackets + n_gold, 1)
        keys = words.of(self.gold.words)
        return LearningList(list_features(flat, self.table, keys, groups), scores[:, None], gains)


def learn_reranker(
    trees: Sequence[Tree],
    fit: Callable[[Sequence[Tree]], ListParser],
    language: Language,
    *,
    progress: Progress | None = None,
) -> Reranker:
    """Learn from the lists of parsers that ``fit`` makes, of one model each."""
    spoken = [tree for tree in map(clean, trees) if tree is not None]
    frequent = frequent_words(spoken)
    words = WordKeys(frozenset(frequent), language)
    lists = parsed_lists(spoken, fit, progress=progress)
    return Reranker(
        frequent,
        learn_weights(in_turn(lambda item: item.features(words), lists), DECODER, fixed=True),
        language,
    )


def frequent_words(trees: Sequence[Tree]) -> tuple[str, ...]:
    """Words that are seen often enough to stand for themselves."""
    counts = Counter(word for tree in trees for word in tree.words)
    return tuple(sorted(word for word, n in counts.items() if n >= _FREQUENT))


def parsed_lists(
    trees: Sequence[Tree],
    fit: Callable[[Sequence[Tree]], ListParser],
    *,
    progress: Progress | None = None,
) -> Iterator[ParsedList]:
    """Lists of the trees' sentences, each by a parser of the other folds."""
    if len(trees) < _FOLDS:
        return
    done = 0
    for others, fold in held_out(len(trees), _FOLDS):
        parser = fit([trees[at] for at in others.tolist()])
        part = [trees[at] for at in fold.tolist()]
        blocks = [part[block] for block in row_blocks(len(part), _SENTENCES_AT_ONCE)]
        for lists in in_turn(partial(_lists_of, parser), blocks):
            yield from lists
            done += _SENTENCES_AT_ONCE
            if progress is not None:
                progress(min(done, len(trees)), len(trees), "parsing for the reranker")


def _lists_of(parser: ListParser, trees: Sequence[Tree]) -> list[ParsedList]:
    """The lists of some sentences; one with a single tree says nothing."""
    lists, table = [], parser.label_table
    for tree in trees:
        forest = parser.forest(tree.words, N_TREES)
        if forest is not None and len(forest.roots) > 1:
            lists.append(ParsedList(tree_list(forest, table), table, tree))
    return lists
