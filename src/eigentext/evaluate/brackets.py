"""From a tree to the brackets that EVALB compares, and how it compares them.

Flow of the datum: :class:`Rules` are the settings in the form the comparison needs (sets,
closed under EQ_LABEL) -> :class:`Bracketing` walks a tree in preorder and keeps terminals and
brackets -> ``mend_quotes`` puts back a quote that only one side had deleted, where the settings
name quote tags -> ``scored`` drops what does not count -> ``n_matched`` and ``n_crossing``.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentext.errors import SettingsError
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.trees.constituent import Tree

IntArray = NDArray[np.int64]


_LABEL_END = re.compile("[-=]")
_QUOTE_WORDS = frozenset(("'", '"', "/"))

Bracket = tuple[str, int, int]
Span = tuple[int, int]


def _both_ways(pairs: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    return frozenset(pair for a, b in pairs for pair in ((a, b), (b, a)))


@dataclass(frozen=True)
class Rules:
    """EVALB settings made ready; equality of labels is symmetric, not transitive, as in EVALB."""

    deleted_tags: frozenset[str]
    deleted_brackets: frozenset[str]  # deleted labels and those equal to them
    deleted_for_length: frozenset[str]
    quote_labels: frozenset[str]
    equal_labels: frozenset[tuple[str, str]]
    equal_words: frozenset[tuple[str, str]]
    labeled: bool

    @classmethod
    def of(cls, settings: EvalbSettings) -> Rules:
        """The rules that settings stand for."""
        if settings.disc_only:
            raise SettingsError("DISC_ONLY is on, but these trees have no discontinuous brackets")
        equal = _both_ways(settings.equal_labels)
        deleted = frozenset(settings.delete_labels)
        return cls(
            deleted_tags=deleted,
            deleted_brackets=deleted | {label for label, other in equal if other in deleted},
            deleted_for_length=frozenset(settings.delete_labels_for_length),
            quote_labels=frozenset(settings.quote_labels),
            equal_labels=equal,
            equal_words=_both_ways(settings.equal_words),
            labeled=settings.labeled,
        )

    def same_label(self, a: str, b: str) -> bool:
        """Whether two labels count as equal."""
        return a == b or (a, b) in self.equal_labels

    def same_word(self, a: str, b: str) -> bool:
        """Whether two words count as equal."""
        return a == b or (a, b) in self.equal_words

    def n_matched(self, gold: Sequence[Bracket], test: Sequence[Bracket]) -> int:
        """How many gold brackets find a test bracket of their own, taken in preorder."""
        if not self.labeled:
            gold_spans = Counter((start, end) for _, start, end in gold)
            return (gold_spans & Counter((start, end) for _, start, end in test)).total()
        equals: defaultdict[str, set[str]] = defaultdict(set)
        for label, equal in self.equal_labels:
            equals[label].add(equal)
        unmatched: defaultdict[Bracket, deque[int]] = defaultdict(deque)
        for number, bracket in enumerate(test):
            unmatched[bracket].append(number)
        matched = 0
        for label, start, end in gold:
            queues = (
                unmatched.get((equal, start, end)) for equal in {label, *equals.get(label, ())}
            )
            # every queue is in preorder, so the first of all is the least of their heads
            first = min((queue for queue in queues if queue), key=itemgetter(0), default=None)
            if first is not None:
                first.popleft()
                matched += 1
        return matched

    def n_crossing(self, gold: Sequence[Bracket], test: Sequence[Bracket]) -> int:
        """How many test brackets cross some gold bracket.

        A test bracket (s, e) is crossed if a gold bracket that ends strictly inside begins before
        s, or one that begins strictly inside ends after e: so for every position we keep the
        leftmost start of the gold brackets that end there and the rightmost end of those that
        begin there, and ask for their least and greatest value between s and e.
        """
        if not gold or not test:
            return 0
        gold_spans = np.array([(start, end) for _, start, end in gold])
        starts, ends = np.array([(start, end) for _, start, end in test]).T
        size = 1 + max(int(gold_spans.max()), int(ends.max()))
        leftmost, rightmost = np.arange(size), np.arange(size)
        np.minimum.at(leftmost, gold_spans[:, 1], gold_spans[:, 0])
        np.maximum.at(rightmost, gold_spans[:, 0], gold_spans[:, 1])
        return _n_crossed(leftmost, rightmost, starts, ends)


def _n_crossed(leftmost: IntArray, rightmost: IntArray, starts: IntArray, ends: IntArray) -> int:
    """How many (s, e) have min(leftmost[s+1:e]) < s or max(rightmost[s+1:e]) > e.

    Entry i of the tables is the extreme of ``width`` values from i on; a range of ``width`` to
    2 ``width`` - 1 values is covered by two entries.  Doubling the width gives every range its
    turn: O(n log n) time for n brackets however they nest, and room for one width at a time.
    """
    lengths = ends - starts - 1
    longest = int(lengths.max())
    crossed, width = 0, 1
    while width <= longest:
        chosen = (lengths >= width) & (lengths < 2 * width)
        start, end = starts[chosen], ends[chosen]
        first, last = start + 1, end - width
        least = np.minimum(leftmost[first], leftmost[last])
        greatest = np.maximum(rightmost[first], rightmost[last])
        crossed += int(np.count_nonzero((least < start) | (greatest > end)))
        leftmost = np.minimum(leftmost[:-width], leftmost[width:])
        rightmost = np.maximum(rightmost[:-width], rightmost[width:])
        width *= 2
    return crossed


class _Quote(NamedTuple):
    """A quote sign: tag, word, the terminal and the bracket that come next, what is open."""

    tag: str
    word: str
    position: int
    bracket: int
    open_brackets: tuple[int, ...]


@dataclass
class Bracketing:
    """Terminals that count, and all brackets in preorder as parallel lists."""

    words: list[str]
    tags: list[str]
    labels: list[str]
    starts: list[int]
    ends: list[int]
    quotes: list[_Quote]
    length: int

    @classmethod
    def of(cls, tree: Tree, rules: Rules) -> Bracketing:
        """Walk a tree; a leaf beside other children is a terminal with an empty tag."""
        walked = cls([], [], [], [], [], [], 0)
        words, labels, ends = walked.words, walked.labels, walked.ends
        still_open: list[tuple[int, int]] = []  # (node after the subtree, number of the bracket)
        names, sizes = tree.labels, tree.sizes.tolist()
        node, n_nodes = 0, len(names)
        while node < n_nodes:
            # nodes come in preorder: a bracket ends before the first node behind its subtree
            while still_open and still_open[-1][0] <= node:
                ends[still_open.pop()[1]] = len(words)
            size = sizes[node]
            if size > 2:
                still_open.append((node + size, len(labels)))
                labels.append(names[node])
                walked.starts.append(len(words))
                ends.append(-1)
                node += 1
                continue
            # a preterminal (size 2) with its word, or a leaf beside other children
            tag, word = ("", names[node]) if size == 1 else (names[node], names[node + 1])
            walked.length += tag not in rules.deleted_for_length
            if tag in rules.quote_labels and word in _QUOTE_WORDS:
                opened = tuple(number for _, number in still_open)
                walked.quotes.append(_Quote(tag, word, len(words), len(labels), opened))
            if tag not in rules.deleted_tags:
                words.append(word)
                walked.tags.append(tag)
            node += size
        for _, number in still_open:
            ends[number] = len(words)
        return walked

    def scored(self, rules: Rules) -> list[Bracket]:
        """The brackets that count: not over nothing, and not of a deleted label."""
        brackets = []
        for label, start, end in zip(self.labels, self.starts, self.ends, strict=True):
            if start == end:
                continue
            if "-" in label or "=" in label:  # NP-SBJ=2 counts as NP, as in EVALB
                label = _LABEL_END.split(label, maxsplit=1)[0]
            if label not in rules.deleted_brackets:
                brackets.append((label, start, end))
        return brackets

    def mend_quotes(self, test: Bracketing, rules: Rules) -> None:
        """Put back the quotes that one side deleted and the other, by its tag, did not.

        ``'`` is deleted as a quote (``''``) and kept as a possessive (``POS``); if the two trees
        disagree on the tag of the same word, the word counts on both sides.
        """
        for number in range(len(test.quotes)):
            position = test.quotes[number].position
            for other in range(len(self.quotes)):
                mine, its = self.quotes[other], test.quotes[number]
                if mine.position != position or mine.tag == its.tag:
                    continue
                mine_deleted = mine.tag in rules.deleted_tags
                its_deleted = its.tag in rules.deleted_tags
                if mine_deleted and not its_deleted:
                    self._put_back(other)
                elif its_deleted and not mine_deleted:
                    test._put_back(number)

    def _put_back(self, number: int) -> None:
        quote = self.quotes[number]
        self.words.insert(quote.position, quote.word)
        self.tags.insert(quote.position, quote.tag)
        for later in range(quote.bracket, len(self.labels)):
            self.starts[later] += 1
            self.ends[later] += 1
        for opened in quote.open_brackets:
            self.ends[opened] += 1
        for later in range(number, len(self.quotes)):
            moved = self.quotes[later]
            self.quotes[later] = moved._replace(position=moved.position + 1)


# ---------------------------------------------------------------- without labels


def spans_of(tree: Tree, leave_out: Callable[[str], bool] | None = None) -> set[Span]:
    """The spans of a tree that count, by the conventions of parsing without a treebank.

    Words that ``leave_out`` names, such as punctuation, are taken out.  Of what is left each span
    of a bracket counts once: labels and unary chains do not.  Spans of one word and of the whole
    sentence are in every tree, and are left out.

    >>> from eigentext.language.trees.constituent import Tree
    >>> spans_of(Tree.from_brackets("(S (NP (D a) (N dog)) (VP (V runs) (. .)))"), ".".__eq__)
    {(0, 2)}
    """
    kept = [leave_out is None or not leave_out(word) for word in tree.words]
    before = np.concatenate(([0], np.cumsum(kept))).tolist()
    spans = {(before[start], before[end]) for _, start, end in tree.constituents()}
    return {(start, end) for start, end in spans if 1 < end - start < before[-1]}


def spans_f1(gold: Iterable[set[Span]], predicted: Iterable[set[Span]]) -> float:
    """F1 from 0 to 1 of sets of spans, sentence by sentence; 1 where there are none at all.

    >>> spans_f1([{(0, 2), (2, 4)}], [{(0, 2), (1, 3)}])
    0.5
    """
    matched = total = 0
    for true, parsed in zip(gold, predicted, strict=True):
        matched += len(true & parsed)
        total += len(true) + len(parsed)
    return 2 * matched / total if total else 1.0


def unlabelled_f1(
    gold: Iterable[Tree], parsed: Iterable[Tree], *, leave_out: Callable[[str], bool] | None = None
) -> float:
    """Unlabelled F1 of trees, from 0 to 1."""
    true, tried = ((spans_of(tree, leave_out) for tree in side) for side in (gold, parsed))
    return spans_f1(true, tried)
