"""The reranker: among the k best trees of a sentence, that whose features speak for it most.

The training sentences are parsed by parsers that have not seen them (each fold by a parser of the
other folds), and nodes with the same context have their features made once.  Charniak and Johnson
2005 is the pattern.  So that lists of one model and of an ensemble are alike,

    score(tree) = decoder's score / number of models + sum of the weights of its features
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.cores import in_turn, row_blocks
from eigentext.base.folds import held_out
from eigentext.base.hashing import text_key
from eigentext.base.ragged import pointers
from eigentext.base.remembering import Remembering
from eigentext.constituency.transform import user_labels
from eigentext.evaluate.brackets import Bracketing, Rules
from eigentext.features.signatures import signatures
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.trees.binarise import is_intermediate
from eigentext.language.trees.clean import clean
from eigentext.linear.lists import (
    LearningList,
    ListFeatures,
    ListWeights,
    learn_weights,
    list_scores,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Bools, Float64s, Int32s, Int64s, UInt64s
    from eigentext.constituency.chart.decode import DerivationForest
    from eigentext.constituency.kernels.tree_features import FlatTrees
    from eigentext.constituency.model import LPCFG
    from eigentext.features.signatures import Language
    from eigentext.language.trees.constituent import Tree
    from eigentext.language.trees.heads import HeadRules

    Keys = UInt64s

_RULES = Rules.of(EvalbSettings.collins())
_LABEL_END = re.compile("[-=]")


class LabelTable(NamedTuple):
    """The labels of a grammar as the features see them."""

    spliced: Bools  # (labels,) made by binarisation: no node of a tree
    whole: Keys  # (labels,) key of the chain of only children that the label stands for
    top: Keys  # top, bottom: (labels,) keys of its first and its last label
    bottom: Keys
    head_right: Bools  # (rules,) is the head of the rule on the right?
    chain_ptr: Int64s
    chain: Int64s  # keys of the labels of each chain as EVALB names them, at ``chain_ptr``

    @classmethod
    def of(cls, labels: Sequence[str], rules: Int64s, heads: HeadRules) -> LabelTable:
        """The table of a grammar."""
        spliced = np.array([is_intermediate(label) for label in labels])
        chains = [user_labels(label) or ("",) for label in labels]
        head_right = np.zeros(len(rules), bool)
        for number, (a, b, c) in enumerate(rules.tolist()):
            if spliced[b] != spliced[c]:
                head_right[number] = spliced[c]  # the rest of the constituent has the head
            elif spliced[a]:
                head_right[number] = labels[a].startswith("@<")  # a sibling joins on the left
            else:
                names = [chains[b][0], chains[c][0]]
                head_right[number] = heads.head_child(chains[a][-1], names) == 1
        return cls(
            spliced,
            _keys(["\0".join(chain) for chain in chains]),
            _keys([chain[0] for chain in chains]),
            _keys([chain[-1] for chain in chains]),
            head_right,
            pointers(len(chain) for chain in chains),
            np.array([bracket_key(label) for chain in chains for label in chain]),
        )


def _keys(names: Sequence[str]) -> Keys:
    return np.array([text_key(name) for name in names], np.uint64)


class TreeList(NamedTuple):
    """The k best trees of a sentence, and the decoder's scores."""

    trees: FlatTrees
    scores: Float64s


def tree_list(forest: DerivationForest, table: LabelTable) -> TreeList:
    """The trees of a forest."""
    from eigentext.constituency.kernels.tree_features import FlatTrees, flatten

    chart, k = forest.chart, len(forest.roots)
    trees = FlatTrees.room(k, k * 2 * chart.n)  # chains are one node each: no tree has more
    used = flatten(
        *(forest.roots, forest.table, chart.rule, chart.item_label, chart.item_span, chart.spans),
        *(table.spliced, table.head_right, trees),
    )
    return TreeList(trees.cut(used), forest.scores.copy())


@lru_cache(maxsize=1 << 16)
def bracket_key(label: str) -> int:
    """A number for a label of a bracket; labels that EVALB holds equal share it, 0: not counted.

    >>> bracket_key("NP-SBJ") == bracket_key("NP"), bracket_key("TOP")
    (True, 0)
    """
    name = _LABEL_END.split(label, maxsplit=1)[0]
    if not name or name in _RULES.deleted_brackets:
        return 0
    kin = min([name, *(b for a, b in _RULES.equal_labels if a == name)])
    return text_key(kin) >> 1  # fits a signed number


class Gold(NamedTuple):
    """Brackets of a gold tree by EVALB's rules."""

    brackets: Int64s  # (G, 3) label, first word and end, in words that count
    position: Int64s  # (n + 1,) how many words that count come before each word

    @classmethod
    def of(cls, tree: Tree) -> Gold:
        """The brackets of a tree without traces."""
        marked = Bracketing.of(tree, _RULES)
        brackets = [
            (bracket_key(label), start, end) for label, start, end in marked.scored(_RULES)
        ]
        counts = [tag not in _RULES.deleted_tags for tag in tree.tags]
        return cls(np.array(brackets, np.int64).reshape(-1, 3), pointers(counts))

    def counts(self, trees: FlatTrees, table: LabelTable) -> Int64s:
        """(k, 2) brackets of each tree: how many are gold, how many there are."""
        from eigentext.constituency.kernels.tree_features import bracket_counts

        counts = np.empty((len(trees.ptr) - 1, 2), np.int64)
        used = np.empty(len(self.brackets), bool)
        bracket_counts(
            trees, table.chain_ptr, table.chain, self.position, self.brackets, used, counts
        )
        return counts


def _shape(word: str) -> str:
    """What a span's shape is made of: punctuation is itself.

    >>> [_shape(word) for word in ("cat", "Cat", "3.5", ",")]
    ['x', 'X', '9', ',']
    """
    for character in word:
        if character.isalpha():
            return "X" if word[0].isupper() else "x"
        if character.isdigit():
            return "9"
    return word


class WordKeys:
    """Keys of words: those in ``frequent`` are themselves, others their signatures."""

    def __init__(self, frequent: frozenset[str], language: Language) -> None:
        self.frequent, self.language = frequent, language
        self._keys = Remembering(self._keys_of, 1 << 17)

    def of(self, words: Sequence[str]) -> tuple[Keys, Keys]:
        """(n,) keys of the words, and of their shapes."""
        pairs = [self._keys((word, at == 0)) for at, word in enumerate(words)]
        keys = np.array(pairs, np.uint64).reshape(-1, 2)
        return keys[:, 0].copy(), keys[:, 1].copy()

    def _keys_of(self, key: tuple[str, bool]) -> tuple[int, int]:
        name = word = key[0]
        if word not in self.frequent:
            name = "\0" + signatures(word, first=key[1], language=self.language)[0]
        return text_key(name), text_key(_shape(word))


def list_features(trees: FlatTrees, table: LabelTable, words: tuple[Keys, Keys]) -> ListFeatures:
    """The features of the trees of a list; ``words`` are keys of words and of shapes."""
    from eigentext.constituency.kernels.tree_features import (
        PER_CHILD,
        PER_NODE,
        Names,
        group_nodes,
        make_features,
    )

    names = Names(table.whole, table.top, table.bottom, *words)
    n_nodes, k = len(trees.label), len(trees.ptr) - 1
    group = np.empty(n_nodes, np.int32)
    slots = np.full(1 << (2 * n_nodes - 1).bit_length(), -1, np.int32)
    n_groups = group_nodes(trees, names, group, np.empty(n_nodes, np.uint64), slots)
    varies = np.bincount(group, minlength=n_groups) < k
    ptr = np.empty(n_groups + 1, np.int64)
    room = n_groups * PER_NODE + _n_children(trees, group, n_groups) * PER_CHILD
    out = np.empty(room, np.uint64)
    used = make_features(trees, names, group, n_groups, ~varies, ptr, out)
    # the groups that vary are numbered anew
    stays = varies[group]
    before = np.concatenate(([0], np.cumsum(stays)))
    return ListFeatures(
        before[trees.ptr],
        (np.cumsum(varies) - 1)[group[stays]].astype(np.int32),
        np.concatenate(([0], ptr[1:][varies])),
        out[:used].copy(),
    )


def _n_children(trees: FlatTrees, group: Int32s, n_groups: int) -> int:
    """How many children the first node of every group has, all together."""
    first = np.full(n_groups, -1, np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]  # of several, the last assigned holds
    begin = np.repeat(trees.ptr[:-1], np.diff(trees.ptr))
    below = np.flatnonzero(trees.parent >= 0)
    n = np.bincount(begin[below] + trees.parent[below], minlength=len(group))
    return int(n[first].sum())


N_TREES = 20  # of a list; more gave nothing on dev
DECODER = (1.0,)  # weight of the decoder's score; it stays
_FOLDS = 5
_SENTENCES_AT_ONCE = 16  # that one thread parses
_FREQUENT = 5  # words seen less often have the key of their signature


@dataclass(frozen=True, eq=False)
class Reranker:
    """Weights of features."""

    words: tuple[str, ...]  # those that stand for themselves; others are their signatures
    weights: ListWeights  # 64-bit features, rising, and the weight of each
    language: Language

    @cached_property
    def _word_keys(self) -> WordKeys:
        return WordKeys(frozenset(self.words), self.language)

    def order(
        self, trees: TreeList, n_models: int, words: Sequence[str], table: LabelTable
    ) -> Int64s:
        """Ranks of the trees, the best first; of equals the decoder's first."""
        flat, scores = trees
        if len(scores) < 2:
            return np.arange(len(scores))
        features = list_features(flat, table, self._word_keys.of(words))
        total = list_scores(features, scores[:, None] / n_models, self.weights)
        return np.argsort(-total, kind="stable")


class ParsedList(NamedTuple):
    """The best trees of a training sentence, and its gold tree."""

    trees: TreeList
    table: LabelTable
    gold: Tree

    def features(self, words: WordKeys) -> LearningList:
        """What to learn from; a tree's gain is its F1, times the gold brackets."""
        flat, scores = self.trees
        gold = Gold.of(self.gold)
        matched, n_brackets = gold.counts(flat, self.table).T
        n_gold = len(gold.brackets)
        gains = n_gold * 2.0 * matched / np.maximum(n_brackets + n_gold, 1)
        keys = words.of(self.gold.words)
        return LearningList(list_features(flat, self.table, keys), scores[:, None], gains)


def learn_reranker(
    trees: Sequence[Tree],
    fit: Callable[[Sequence[Tree]], LPCFG],
    language: Language,
    *,
    progress: Progress | None = None,
) -> Reranker:
    """Learn from the lists of parsers that ``fit`` makes, of one model each."""
    spoken = [tree for tree in map(clean, trees) if tree is not None]
    frequent = frequent_words(spoken)
    words = WordKeys(frozenset(frequent), language)
    lists = in_turn(
        lambda item: item.features(words), parsed_lists(spoken, fit, progress=progress)
    )
    return Reranker(frequent, learn_weights(lists, DECODER, fixed=True), language)


def frequent_words(trees: Sequence[Tree]) -> tuple[str, ...]:
    """Words that are seen often enough to stand for themselves."""
    counts = Counter(word for tree in trees for word in tree.words)
    return tuple(sorted(word for word, n in counts.items() if n >= _FREQUENT))


def parsed_lists(
    trees: Sequence[Tree],
    fit: Callable[[Sequence[Tree]], LPCFG],
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


def _lists_of(parser: LPCFG, trees: Sequence[Tree]) -> list[ParsedList]:
    """The lists of some sentences; one with a single tree says nothing."""
    lists, table = [], parser.label_table
    for tree in trees:
        forest = parser.forest(tree.words, N_TREES)
        if forest is not None and len(forest.roots) > 1:
            lists.append(ParsedList(tree_list(forest, table), table, tree))
    return lists
