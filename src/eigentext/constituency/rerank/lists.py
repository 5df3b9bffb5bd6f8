"""Lists of trees: the k best of a sentence as flat arrays of numbers.

1. :func:`tree_list` lays the trees of a forest end to end, without binarisation.
2. :class:`LabelTable` says what the reranker needs to know of a grammar's labels: 64-bit keys of
   their names, which are the same in every grammar, and on which side of a rule the head is.
3. :class:`Gold` counts the brackets of each tree that are in a gold tree.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.hashing import text_key
from eigentext.base.ragged import pointers
from eigentext.constituency.transform import user_labels
from eigentext.evaluate.brackets import Bracketing, Rules
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.trees.binarise import is_intermediate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Bools, Float64s, Int64s, UInt64s
    from eigentext.constituency.chart.kbest import Forest
    from eigentext.constituency.kernels.flat_trees import FlatTrees
    from eigentext.language.trees.constituent import Tree
    from eigentext.language.trees.heads import HeadRules

    Keys = UInt64s

_RULES = Rules.of(EvalbSettings.collins())
_LABEL_END = re.compile("[-=]")


class LabelTable(NamedTuple):
    """The labels of a grammar as the features see them.

    ``spliced``     (labels,) made by binarisation: no node of a tree
    ``whole``       (labels,) key of the chain of only children that the label stands for
    ``top, bottom`` (labels,) keys of its first and its last label
    ``head_right``  (rules,) is the head of the rule on the right?
    ``chain``       keys of the labels of each chain as EVALB names them, at ``chain_ptr``
    """

    spliced: Bools
    whole: Keys
    top: Keys
    bottom: Keys
    head_right: Bools
    chain_ptr: Int64s
    chain: Int64s

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


def tree_list(forest: Forest, table: LabelTable) -> TreeList:
    """The trees of a forest."""
    from eigentext.constituency.kernels.flat_trees import FlatTrees, flatten

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
    """Brackets of a gold tree by EVALB's rules.

    ``brackets``  (G, 3) label, first word and end, in words that count
    ``position``  (n + 1,) how many words that count come before each word
    """

    brackets: Int64s
    position: Int64s

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
        from eigentext.constituency.kernels.flat_trees import bracket_counts

        counts = np.empty((len(trees.ptr) - 1, 2), np.int64)
        used = np.empty(len(self.brackets), bool)
        bracket_counts(
            trees, table.chain_ptr, table.chain, self.position, self.brackets, used, counts
        )
        return counts
