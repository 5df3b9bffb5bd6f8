"""The pruned chart: one list of rule applications per sentence, shared by every model.

1. The plain PCFG (one state a nonterminal) fills a chart, with a beam in each cell.
2. Rule applications whose posterior exceeds a threshold survive; the cells they touch become
   items (label, span), numbered, words first.
3. When no parse survives, beam, threshold and that of closed spans are lowered in steps, each of
   which takes little longer than the one before; :func:`best_pieces` says what is there when
   nothing spans the sentence then.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.constituency.chart.constraints import span_number
from eigentext.constituency.params import RuleTotals, root_prior

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Bools, Float64s, Int32s, Int64s
    from eigentext.constituency.chart.constraints import Masks
    from eigentext.constituency.kernels.coarse import Cells, Survivors, WordTags
    from eigentext.constituency.lexicon import Emission, Lexicon
    from eigentext.constituency.treebank import Treebank

_LONG = 60  # words: sentences up to here have the beam that was asked for
_MOST_PAIRED = 2000  # labels of which there is a table of pairs, 16 MB at the most
_WIDEST = 0.02  # and no sentence a beam that cuts more than this
STEPS = (1.0, 0.1, 0.01)  # of all thresholds, while there is no tree
_LEAST = -1e4  # log weight of a piece that the grammar does not have


class RulesByLeft(NamedTuple):
    """Rules with left child b stand at ``ptr[b]`` to ``ptr[b + 1]``; ``rule`` is their number.

    Those with right child c as well stand at ``pair[b, c]`` to ``pair[b, c + 1]``; no rows: there
    are too many labels for a table of pairs.
    """

    ptr: Int64s
    pair: Int32s
    right: Int32s
    parent: Int32s
    p: Float64s
    rule: Int32s


@dataclass(frozen=True, eq=False)
class CoarseGrammar:
    """The plain PCFG, its rules sorted by left child."""

    rules: Int64s
    rule_p: Float64s  # (R,) p(a -> b c | a)
    root_p: Float64s  # (labels,)
    prior: Float64s  # (labels,) share of nodes
    emits: Float64s  # (labels,) p(a stands over a word | a)

    @cached_property
    def by_left(self) -> RulesByLeft:
        """The rules in the order in which the coarse pass runs through them."""
        _, left, right = self.rules.T
        order = np.lexsort((right, left))  # by left child, then by right child
        n_labels = len(self.prior)
        pair = np.zeros((0, 0), np.int32)
        if n_labels <= _MOST_PAIRED:
            # a column more than there are labels: where the rules of the last one end
            counts = np.zeros((n_labels, n_labels + 1), np.int32)
            np.add.at(counts, (left, right), 1)
            ends = np.cumsum(counts, dtype=np.int32).reshape(counts.shape)
            pair = ends - counts  # where the rules of each pair begin
        return RulesByLeft(
            ptr=np.searchsorted(left[order], np.arange(n_labels + 1)),
            pair=pair,
            right=self.rules[order, 2].astype(np.int32),
            parent=self.rules[order, 0].astype(np.int32),
            p=self.rule_p[order],
            rule=order.astype(np.int32),
        )

    @classmethod
    def from_treebank(
        cls, bank: Treebank, k_root: float = 0.0, totals: RuleTotals | None = None
    ) -> CoarseGrammar:
        """Relative frequencies of the rules, the roots and the nonterminals."""
        # ``k_root`` adds so many trees whose roots are like any constituent, see ``params``;
        # ``totals`` are counts of more than the treebank.
        totals = RuleTotals.of(bank) if totals is None else totals
        roots = totals.roots + k_root * root_prior(bank.labels, totals.labels)
        return cls(
            rules=bank.rules,
            rule_p=totals.rules / totals.labels[bank.rules[:, 0]],
            root_p=roots / roots.sum(),
            prior=totals.labels / totals.labels.sum(),
            emits=totals.over_words / totals.labels,
        )


@dataclass(frozen=True, eq=False)
class Chart:
    """What survived the coarse pass, bottom-up."""

    n: int
    # rule, parent, left, right: (A,) rule number and item numbers of each application
    rule: Int64s
    parent: Int64s
    left: Int64s
    right: Int64s
    # group_ptr, group_span: applications with the same parent span stand together
    group_ptr: Int64s
    group_span: Int64s
    item_label: Int64s  # item_label, item_span: (I,) items, sorted by span
    item_span: Int64s
    span_items: Int64s  # (S + 1,) their bounds
    word_of_item: Int64s  # (I,) the word under a tag item, else -1
    posterior: Float64s  # (A,) of the application under the coarse grammar
    weight: Float64s  # (S,) log weight of the bracket over each span
    relaxed: int
    log_z: float  # log p(sentence) under the coarse grammar, without the words'

    @property
    def applications(self) -> tuple[Int64s, ...]:
        """What the compiled loops run over."""
        return self.rule, self.parent, self.left, self.right, self.group_ptr, self.group_span

    @property
    def root_items(self) -> range:
        """Items that span the whole sentence."""
        return range(int(self.span_items[self.n - 1]), int(self.span_items[self.n]))

    @property
    def spans(self) -> Int64s:
        """(S, 2) first word and end of every span number."""
        first, last = np.triu_indices(self.n)  # row by row, as ``span_number`` numbers them
        return np.stack([first, last + 1], axis=1)


def beam_for(beam: float, n: int) -> float:
    """The beam for a sentence of n words: the longer, the more is cut, since time grows with n^3.

    >>> beam_for(1e-4, 40), beam_for(1e-4, 240), beam_for(0.0, 240)
    (0.0001, 0.0064, 0.0)
    """
    if n <= _LONG or beam == 0:
        return beam
    return max(beam, min(beam * (n / _LONG) ** 3, _WIDEST))


def build_chart(
    grammar: CoarseGrammar,
    lexicon: Lexicon,
    emissions: Sequence[Emission],
    *,
    beam: float,
    threshold: float,
    masks: Masks,
    steps: Sequence[float] = STEPS,
) -> Chart | None:
    """Prune; None when the grammar has no parse after all steps."""
    tags = _word_tags(grammar, lexicon, emissions)
    for relaxed, share in enumerate(steps):
        cells, used = _inside(grammar, tags, beam * share, masks.opened(share))
        survivors, log_z = _outside(grammar, len(emissions), cells, used, threshold * share, masks)
        if survivors is None:
            continue
        labels = cells.label[: used if len(emissions) == 1 else 0].astype(np.int64)
        chart = _chart(grammar, len(emissions), survivors, labels, masks.weight, relaxed, log_z)
        if len(chart.root_items):
            return chart
    return None


def best_pieces(
    grammar: CoarseGrammar,
    lexicon: Lexicon,
    emissions: Sequence[Emission],
    *,
    beam: float,
    masks: Masks,
    cuts: Bools,
) -> list[tuple[int, int]]:
    """(start, end) of the constituents, two or more, that best make up what has no parse."""
    # The best has the largest product of p(label) inside(label) over its pieces, of the user's
    # labels.  ``cuts``  (n + 1,) where a piece may begin and end; between two neighbours of them a
    # piece may stand in any case.
    n = len(emissions)
    cells, used = _inside(grammar, _word_tags(grammar, lexicon, emissions), beam, masks)
    # labels that binarisation made are no roots
    prior = np.where(grammar.root_p > 0, grammar.prior, 0.0)
    value = np.append(cells.value[:used] * prior[cells.label[:used]], 0.0)
    best = np.full(n + 1, -np.inf)
    best[0] = 0.0  # log of the best product over the words before each place
    back = np.zeros(n + 1, np.int64)  # where the last piece of it begins
    ends = np.flatnonzero(cuts).tolist()
    for at, end in enumerate(ends[1:], start=1):
        for start in ends[:at]:
            if (start, end) == (0, n):
                continue
            s = span_number(start, end, n)
            first, last = cells.ptr[s]
            p = value[first:last].max() if last > first else 0.0
            score = np.log(p) + cells.scale[s] if p > 0 else -np.inf
            if start == ends[at - 1]:
                score = max(score, _LEAST)
            if best[start] + score > best[end]:
                best[end], back[end] = best[start] + score, start
    spans = []
    end = n
    while end:
        spans.append((int(back[end]), end))
        end = spans[-1][0]
    return spans[::-1]


def _word_tags(
    grammar: CoarseGrammar, lexicon: Lexicon, emissions: Sequence[Emission]
) -> WordTags:
    """What the words may be, as the kernels take it."""
    from eigentext.constituency.kernels.coarse import WordTags

    label = lexicon.tags[np.concatenate([e.tags for e in emissions])]
    scores = np.concatenate([e.scores for e in emissions]) * grammar.emits[label]
    return WordTags(pointers(len(e.tags) for e in emissions), label, scores)


def _inside(
    grammar: CoarseGrammar, tags: WordTags, beam: float, masks: Masks
) -> tuple[Cells, int]:
    """The cells of a sentence, and how many entries are used."""
    from eigentext.constituency.kernels.coarse import Cells, coarse_inside

    n = len(tags.ptr) - 1
    n_spans = n * (n + 1) // 2
    # The room for entries is a guess, and so is that for applications below: when it is too
    # small the pass is run again with four times as much.
    capacity = n_spans * 64 + 4 * len(grammar.prior)
    while True:
        cells = Cells(
            ptr=np.empty((n_spans, 2), np.int64),
            scale=np.empty(n_spans),
            label=np.empty(capacity, np.int32),
            value=np.empty(capacity, np.float32),
        )
        used = coarse_inside(n, grammar.by_left, grammar.prior, tags, masks, beam, cells)
        if used >= 0:
            return cells, used
        capacity *= 4


def _outside(
    grammar: CoarseGrammar, n: int, cells: Cells, used: int, threshold: float, masks: Masks
) -> tuple[Survivors | None, float]:
    """Rule applications above the threshold, and log Z; None where there is no parse."""
    from eigentext.constituency.kernels.coarse import Survivors, coarse_outside

    capacity = 4096 + 400 * n
    while True:
        outside = np.zeros(used)  # of each entry, times what its inside was divided by
        survivors = Survivors(
            rule=np.empty(capacity, np.int32),
            cut=np.empty((capacity, 3), np.int64),
            posterior=np.empty(capacity),
        )
        n_apps, z = coarse_outside(
            n, grammar.by_left, grammar.root_p, masks.weight, cells, threshold, outside, survivors
        )
        if n_apps >= 0:
            break
        capacity *= 4
    if z <= 0.0 or (n_apps == 0 and n > 1):
        return None, -np.inf
    kept = (survivors.rule[:n_apps], survivors.cut[:n_apps], survivors.posterior[:n_apps])
    return Survivors(*kept), float(np.log(z) + cells.scale[n - 1])


def _chart(
    grammar: CoarseGrammar,
    n: int,
    survivors: Survivors,
    labels: Int64s,  # of a sentence of one word, which has no applications: its tags
    weight: Float64s,
    relaxed: int,
    log_z: float,
) -> Chart:
    """The chart of these applications: the labels and spans that they touch become items."""
    n_labels = len(grammar.prior)
    i, k, j = survivors.cut.T
    # Bottom-up: by length of the parent's span; applications of one span stand together.
    order = np.lexsort((i, j - i))
    i, k, j, posterior = i[order], k[order], j[order], survivors.posterior[order]
    rule = survivors.rule[order].astype(np.int64)

    # An item is a (span, label) that is the parent or a child of some application: one number,
    # span * labels + label, whose order is that of spans.
    children = grammar.rules[rule]
    parent_span = span_number(i, j, n)
    keys = np.concatenate(
        [
            parent_span * n_labels + children[:, 0],
            span_number(i, k, n) * n_labels + children[:, 1],
            span_number(k, j, n) * n_labels + children[:, 2],
            labels,
        ]
    )
    items, number = np.unique(keys, return_inverse=True)
    parent, left, right = number[: 3 * len(rule)].reshape(3, -1)
    cuts = np.flatnonzero(np.diff(parent_span)) + 1
    group_ptr = np.unique(np.concatenate([[0], cuts, [len(rule)]]))  # no applications: 0 alone
    item_span, item_label = items // n_labels, items % n_labels  # the number of an item, undone
    n_spans = n * (n + 1) // 2
    words = np.arange(n)
    word_at = np.full(n_spans, -1)
    word_at[span_number(words, words + 1, n)] = words
    return Chart(
        n=n,
        rule=rule,
        parent=parent,
        left=left,
        right=right,
        group_ptr=group_ptr,
        group_span=parent_span[group_ptr[:-1]],
        item_label=item_label,
        item_span=item_span,
        span_items=np.searchsorted(item_span, np.arange(n_spans + 1)),
        word_of_item=word_at[item_span],
        posterior=posterior,
        weight=weight,
        relaxed=relaxed,
        log_z=log_z,
    )
