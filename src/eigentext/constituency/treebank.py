"""All nodes of all training trees in flat arrays: what features, counts and EM run over.

Trees are binarised (``transform``) and lie end to end in preorder without their words, so that a
parent always comes before its children.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from eigentext.base.types import Bools, Int64s
from eigentext.features.signatures import Language, signatures
from eigentext.features.word_classes import WordClasses

T = TypeVar("T")


@dataclass(frozen=True)
class Treebank:
    """N nodes of T binarised trees, in preorder, trees one after the other.

    ``labels``       names of the nonterminals; ``label[i]`` is a place in it
    ``rules``        (R, 3) parent, left, right label of each binary rule; ``rule[i]`` or -1
    """

    labels: tuple[str, ...]
    rules: Int64s
    label: Int64s
    rule: Int64s
    left: Int64s  # left, right, parent, sibling: node numbers or -1
    right: Int64s
    parent: Int64s
    sibling: Int64s
    side: Int64s  # 0 left child, 1 right, -1 root
    start: Int64s  # start, end: words under the node, counted in its sentence
    end: Int64s
    head: Int64s  # its head word likewise
    offset: Int64s  # place of the sentence's first word in the running text ``word_at, tag_at``
    length: Int64s  # number of words of the sentence
    depth: Int64s  # 0 at the root
    token: Int64s  # place in the running text of a preterminal's word; -1 elsewhere
    roots: Int64s
    words: tuple[str, ...]  # the running text, one string a token
    first_in_sentence: Bools
    word_at: Int64s
    tag_at: Int64s
    # word_class, signature, suffix2, suffix3: numbers for the word of a preterminal; 0 elsewhere
    word_class: Int64s
    signature: Int64s
    suffix2: Int64s
    suffix3: Int64s
    language: Language
    classes: WordClasses | None = None  # of words, from elsewhere
    _once: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` makes from this treebank, made for the first model of an ensemble only."""
        if key not in self._once:
            self._once[key] = make()
        value: T = self._once[key]
        return value


class Numbering(dict[T, int]):
    """Numbers for what is looked up, in the order of its first coming.

    >>> numbers = Numbering()
    >>> [numbers[label] for label in ("NP", "VP", "NP")]
    [0, 1, 0]
    """

    def __missing__(self, key: T) -> int:
        number = self[key] = len(self)
        return number


class FlatTrees(NamedTuple):
    """Binarised trees end to end in preorder, words apart; names in any order, used or not."""

    # (N,) nodes of the subtree, itself included and words left out: 1 for a preterminal
    sizes: Int64s
    label: Int64s  # (N,) places in ``label_names``
    label_names: Sequence[str]
    head: Int64s  # (N,) the head word's place in the running text
    word: Int64s  # (n tokens,) places in ``word_names``
    word_names: Sequence[str]


def assemble(flat: FlatTrees, *, rare: int, language: Language) -> Treebank:
    """Work out all arrays of the treebank from binarised trees laid end to end."""
    sizes = flat.sizes
    n = len(sizes)
    at = np.arange(n)
    preterminal = sizes == 1
    inner = np.flatnonzero(~preterminal)
    # first child at i + 1, second child behind the first's subtree
    left, right, parent, side, sibling = (np.full(n, -1) for _ in range(5))
    left[inner] = inner + 1
    right[inner] = inner + 1 + sizes[inner + 1]
    first_child, second_child = left[inner], right[inner]
    parent[first_child] = parent[second_child] = inner
    side[first_child], side[second_child] = 0, 1
    sibling[first_child], sibling[second_child] = second_child, first_child
    roots = np.flatnonzero(parent < 0)

    words_before = np.concatenate(([0], np.cumsum(preterminal)))
    n_nodes = sizes[roots]
    offset = np.repeat(words_before[roots], n_nodes)
    length = np.repeat(words_before[roots + n_nodes] - words_before[roots], n_nodes)
    token = np.where(preterminal, words_before[:-1], -1)

    used, label = _as_they_come(flat.label, len(flat.label_names))
    rules, number = _rules(label[inner], label[first_child], label[second_child], len(used))
    rule = np.full(n, -1)
    rule[inner] = number

    first = np.zeros(len(flat.word), dtype=bool)
    first[words_before[roots]] = True
    words = tuple(map(flat.word_names.__getitem__, flat.word.tolist()))
    numbers = _word_numbers(flat.word, flat.word_names, first, rare, language)
    at_preterminals = np.zeros((4, n), dtype=np.int64)
    at_preterminals[:, preterminal] = numbers
    return Treebank(
        labels=tuple(flat.label_names[name] for name in used.tolist()),
        rules=rules,
        label=label,
        rule=rule,
        left=left,
        right=right,
        parent=parent,
        sibling=sibling,
        side=side,
        start=words_before[:-1] - offset,
        end=words_before[at + sizes] - offset,
        head=flat.head - offset,
        offset=offset,
        length=length,
        depth=depths(sizes),
        token=token,
        roots=roots,
        words=words,
        first_in_sentence=first,
        word_at=numbers[0],
        tag_at=label[preterminal],
        word_class=at_preterminals[0],
        signature=at_preterminals[1],
        suffix2=at_preterminals[2],
        suffix3=at_preterminals[3],
        language=language,
    )


def depths(sizes: Int64s) -> Int64s:
    """Number of ancestors: of the nodes before, those whose subtrees have not ended."""
    n = len(sizes)
    at = np.arange(n)
    return at - np.cumsum(np.bincount(at + sizes, minlength=n + 1)[:n])


def _as_they_come(numbers: Int64s, bound: int) -> tuple[Int64s, Int64s]:
    """The distinct numbers in the order of their first coming, and for each number its place."""
    first = np.full(bound, len(numbers))
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # of several, the last assigned holds
    used = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(numbers))]
    rank_of = np.empty(bound, dtype=np.int64)
    rank_of[used] = np.arange(len(used))
    return used, rank_of[numbers]


def _rules(parent: Int64s, left: Int64s, right: Int64s, n_labels: int) -> tuple[Int64s, Int64s]:
    """The distinct (parent, left, right) in order, and for each node the place of its own."""
    if n_labels >= 1 << 21:  # three of them do not fit into one int64
        pairs, right = np.unique(left * n_labels + right, return_inverse=True)
        keys, number = np.unique(parent * len(pairs) + right, return_inverse=True)
        above, pair = np.divmod(keys, max(1, len(pairs)))
        below = pairs[pair]
    else:
        keys, number = np.unique(
            (parent * n_labels + left) * n_labels + right, return_inverse=True
        )
        above, below = np.divmod(keys, n_labels * n_labels)
    return np.stack([above, *np.divmod(below, n_labels)], axis=1), number


def _word_numbers(
    word: Int64s, names: Sequence[str], first: Bools, rare: int, language: Language
) -> Int64s:
    """(4, n tokens): numbers of word classes, signatures, endings of two and three letters."""
    counts = np.bincount(word, minlength=len(names))
    pairs, pair_at = _as_they_come(2 * word + first, 2 * len(names))
    numbers = Numbering[str]()
    rows = []
    for pair in pairs.tolist():
        name = names[pair >> 1]
        shape = "\0sig " + signatures(name, first=bool(pair & 1), language=language)[0]
        of_word = shape if counts[pair >> 1] <= rare else name
        low = name.lower()
        rows.append([numbers[x] for x in (of_word, shape, "\0-2 " + low[-2:], "\0-3 " + low[-3:])])
    return np.take(1 + np.array(rows, dtype=np.int64).T, pair_at, axis=1)
