"""The parameters of a latent-variable PCFG, and how (expected) counts become them.

With h1, h2, h3 the states of parent, left and right child of rule r = a -> b c:

    tensor[r][h1, h2, h3] = q(r, h2, h3 | a, h1)
    root[a, h]            = q(a, h at the root)
    lexicon               : emits(ts) P(ts | w) / P(ts), see lexicon.py

Back-off of the tensor, n_r,h1 the count of the rule with parent state h1 and
lambda = sqrt(n) / (C_pair + sqrt(n)):

    q(r, h2, h3 | a, h1) = P(r | a, h1) [      lambda  P(h2, h3 | r, h1)
                                         + (1 - lambda) P(h2 | r, h1) P(h3 | r, h1)]

where P(r | a, h1), P(h2 | r, h1) and P(h3 | r, h1) are drawn towards the same without h1.  A label
that stands over words as well as over other labels does the former with the share ``emits``, drawn
towards its share without states likewise; so all that a state may do sums to one.

Roots, N trees and K trees more whose roots are like any constituent (K is ``k_root``): a sentence
that is one full stop, or a phrase that never stood alone in training, still has a tree.

    q(a at the root) = (n(a at the root) + K P(a)) / (N + K)

``Smoothing.none()`` makes every parameter a relative frequency.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from eigentext.base.cores import each, row_blocks
from eigentext.base.ragged import pointers
from eigentext.base.registry import part
from eigentext.base.types import Bools, Float32s, Float64s, Int64s
from eigentext.constituency.lexicon import Lexicon
from eigentext.constituency.low_rank import NOT_LOW, LowRank, expanded, low_rank
from eigentext.constituency.settings import Smoothing
from eigentext.constituency.treebank import Treebank
from eigentext.features.spectrum import Spectra
from eigentext.language.trees.binarise import is_intermediate

_RULES_AT_ONCE = 64  # whose tensors one thread smooths


class Tensors(NamedTuple):
    """Rules and their tensors, as compiled loops take them; see :class:`LatentParams`."""

    rules: Int64s
    m: Int64s
    rule_ptr: Int64s
    tensor: Float32s
    low: LowRank = NOT_LOW  # with ranks, ``tensor`` is empty


class RuleCounts(NamedTuple):
    """(Expected) counts that the tensors of a grammar are smoothed from."""

    # places, numbers: the counts of rules with states that are not 0, and where in the tensors
    # they stand, rising
    places: Int64s
    numbers: Float64s
    states: Float64s  # (sum m,) counts of states
    rules: Float64s  # (R,) and ``labels`` without states
    labels: Float64s
    strengths: tuple[float, float, float]  # of the three steps of smoothing

    def smoothed(self, rules: Int64s, m: Int64s) -> Float32s:
        """q(r, h2, h3 | a, h1) of all rules, flat."""
        from eigentext.constituency.kernels.tensors import smooth_few

        layout = np.ascontiguousarray(rules), tensor_layout(rules, m), pointers(m)
        tensor = np.empty(int(layout[1][-1]), np.float32)
        _each_rule(len(rules), lambda block: smooth_few(layout, block, *self, tensor))
        return tensor


@dataclass(frozen=True, eq=False)
class LatentParams:
    """One latent-variable grammar.

    ``m``          (labels,) states of each nonterminal; ``label_ptr`` (labels + 1,) their places
    """

    m: Int64s
    rules: Int64s  # (R, 3) parent, left, right
    rule_ptr: Int64s  # (R + 1,) places in ``tensor``
    # flat, axis order (parent, left, right); empty where they are in ``low_rank``
    tensor: Float32s
    root: Float64s  # (sum m,)
    lexicon: Lexicon
    # the singular values it was made from; None when it was not, or is not known
    spectra: Spectra | None = None
    low_rank: LowRank | None = None
    # what ``tensor`` was made from, if that is little; a file keeps it instead
    counts: RuleCounts | None = None

    @cached_property
    def tensors(self) -> Tensors:
        """Rules and their tensors."""
        low = NOT_LOW if self.low_rank is None else self.low_rank
        low = low._replace(values=low.values.astype(np.float32))  # in which is calculated
        return Tensors(self.rules, self.m, self.rule_ptr, self.tensor, low)

    def in_low_rank(self) -> LatentParams:
        """The same with tensors in low rank, and nearly the same numbers."""
        low = low_rank(self.tensor, self.m[self.rules])
        return replace(self, tensor=np.empty(0, np.float32), low_rank=low, counts=None)

    def in_products(self, rank: int) -> LatentParams:
        """The same with tensors as sums of at most ``rank`` products of three vectors."""
        tensor = self.whole_tensor
        signed = bool(np.any(tensor < 0))
        low = part("rules in products")(tensor, self.m[self.rules], rank, signed=signed)
        return replace(self, tensor=np.empty(0, np.float32), low_rank=low, counts=None)

    @cached_property
    def whole_tensor(self) -> Float32s:
        """The tensors as they were, or nearly so."""
        if self.low_rank is None:
            return self.tensor
        return expanded(self.low_rank, self.m[self.rules])

    @cached_property
    def label_ptr(self) -> Int64s:
        """(labels + 1,) where each nonterminal's states begin in a vector over all states."""
        return pointers(self.m)


class LatentCounts(NamedTuple):
    """(Expected) counts of rules, nonterminals and roots, each with states."""

    tensor: Float64s
    states: Float64s
    roots: Float64s


class RuleTotals(NamedTuple):
    """(Expected) counts without states.

    ``rules``  (R,);  ``labels, over_words, roots`` (labels,) all nodes of a label, those of them
    that stand over a word, and those on top
    """

    rules: Float64s
    labels: Float64s
    over_words: Float64s
    roots: Float64s

    @classmethod
    def of(cls, bank: Treebank) -> RuleTotals:
        """Counts of a treebank."""
        n = len(bank.labels)
        return cls(
            np.bincount(bank.rule[bank.rule >= 0], minlength=len(bank.rules)).astype(float),
            np.bincount(bank.label, minlength=n).astype(float),
            np.bincount(bank.label[bank.token >= 0], minlength=n).astype(float),
            np.bincount(bank.label[bank.roots], minlength=n).astype(float),
        )

    def plus(self, other: RuleTotals) -> RuleTotals:
        """The sum of both."""
        return RuleTotals(*(mine + more for mine, more in zip(self, other, strict=True)))


def root_prior(labels: Sequence[str], count: Float64s) -> Float64s:
    """(labels,) the share of each among all nodes that binarisation did not make."""
    real = np.where([is_intermediate(label) for label in labels], 0.0, count)
    return np.asarray(real / real.sum())


def few_enough(n_counts: int, n_cells: int) -> bool:
    """May a file keep so many counts in the place of tensors?"""
    # It may not if they would be a file of nothing that fills the memory.
    return n_cells <= 5000 * n_counts + 10**6


def tensor_layout(rules: Int64s, m: Int64s) -> Int64s:
    """(R + 1,) where the tensor of each rule begins."""
    return pointers(m[rules].prod(axis=1))


def count_states(bank: Treebank, state: Int64s, m: Int64s) -> LatentCounts:
    """Counts when every node has one known state."""
    rule_ptr = tensor_layout(bank.rules, m)
    label_ptr = pointers(m)
    inner = np.flatnonzero(bank.rule >= 0)
    rule = bank.rule[inner]
    _, b, c = bank.rules[rule].T
    flat = rule_ptr[rule] + (state[inner] * m[b] + state[bank.left[inner]]) * m[c]
    flat += state[bank.right[inner]]
    at = label_ptr[bank.label] + state
    n_states = int(label_ptr[-1])
    return LatentCounts(
        np.bincount(flat, minlength=int(rule_ptr[-1])).astype(float),
        np.bincount(at, minlength=n_states).astype(float),
        np.bincount(at[bank.roots], minlength=n_states).astype(float),
    )


def estimate(
    bank: Treebank,
    m: Int64s,
    counts: LatentCounts,
    lexicon: Lexicon,
    smoothing: Smoothing,
    totals: RuleTotals | None = None,
    *,
    least: float | None = None,
) -> LatentParams:
    """Smoothed parameters from counts; ``totals`` where they are of more than the treebank.

    ``least``: counts of rules with states that are smaller are left out (:func:`_few_counts`), so
    that few remain for a file to keep.
    """
    from eigentext.constituency.kernels.tensors import smooth_rules

    rule_ptr = tensor_layout(bank.rules, m)
    totals = RuleTotals.of(bank) if totals is None else totals
    proper = totals.over_words == totals.labels
    strengths = smoothing.C_rule, smoothing.C_pair, smoothing.C_single
    kept = None
    if least is None:
        tensor = np.empty(int(rule_ptr[-1]), np.float32)
        layout = np.ascontiguousarray(bank.rules), rule_ptr, pointers(m)
        totals_of = counts.states, totals.rules, totals.labels
        smooth = partial(smooth_rules, layout)
        _each_rule(
            len(bank.rules),
            lambda block: smooth(block, counts.tensor, *totals_of, strengths, tensor),
        )
    else:
        kept = _few_counts(bank.rules, m, counts, least, strengths)
        tensor = kept.smoothed(bank.rules, m)
        counts = counts._replace(states=kept.states)
        totals = totals._replace(rules=kept.rules, labels=kept.labels)
    label_of = np.repeat(np.arange(len(m)), m)
    n_trees = totals.roots.sum()
    within = counts.states / totals.labels[label_of]
    C, K = smoothing.C_root, smoothing.k_root
    added = C * totals.roots / n_trees + K * root_prior(bank.labels, totals.labels)
    root = (counts.roots + added[label_of] * within) / (n_trees + C + K)
    lexicon = replace(lexicon, emits=_emits(totals, m, counts, lexicon, smoothing, proper))
    return LatentParams(m, bank.rules, rule_ptr, tensor, root, lexicon, counts=kept)


def _each_rule(n_rules: int, work: Callable[[tuple[int, int]], None]) -> None:
    """The cores in use share out the rules, some (begin, end) at a time."""
    each(work, [(block.start, block.stop) for block in row_blocks(n_rules, _RULES_AT_ONCE)])


def _few_counts(
    rules: Int64s,
    m: Int64s,
    counts: LatentCounts,
    least: float,
    strengths: tuple[float, float, float],
) -> RuleCounts:
    """Counts without those of rules with states below ``least``; the others are rounded."""
    # Of a rule whose largest count is below 1, those are left out that are below ``least`` times
    # this largest one, so that every rule keeps some.  What is left out is taken from the counts
    # of parents, too: probabilities still sum to 1.
    from eigentext.constituency.kernels.tensors import large_counts

    layout = np.ascontiguousarray(rules), tensor_layout(rules, m), pointers(m)
    lost, of_rules = np.empty(len(counts.states)), np.empty(len(rules))
    places, numbers = np.empty(0, np.int64), np.empty(0)
    for _ in range(2):  # to count them, then to keep them
        used = large_counts(layout, counts.tensor, least, places, numbers, lost, of_rules)
        if len(places) == used:
            break
        places, numbers = np.empty(used, np.int64), np.empty(used)
    states = np.maximum(counts.states - lost, 0.0)
    labels = np.maximum(np.add.reduceat(states, layout[2][:-1]), 1e-30)
    return RuleCounts(places, numbers, states, of_rules, labels, strengths)


def rounded(numbers: Float64s) -> Float64s:
    """To single precision: a file needs half as much room for them."""
    return numbers.astype(np.float32).astype(np.float64)


def _emits(
    totals: RuleTotals,
    m: Int64s,
    counts: LatentCounts,
    lexicon: Lexicon,
    smoothing: Smoothing,
    proper: Bools,  # (labels,): the label does nothing else.
) -> Float64s:
    """(n_ts,) P(a stands over a word | a, h), drawn towards the same without h by C_rule."""
    tags = lexicon.tags
    share = (totals.over_words[tags] / totals.labels[tags])[lexicon.ts_tag]
    label_ptr = pointers(m)
    states = np.arange(lexicon.n_ts) + (label_ptr[tags] - lexicon.tag_ptr[:-1])[lexicon.ts_tag]
    of_state = counts.states[states]
    with_word = np.bincount(lexicon.word_ts, weights=lexicon.word_n, minlength=lexicon.n_ts)
    C = smoothing.C_rule
    emits = (with_word + C * share) / np.maximum(of_state + C, 1e-30)
    # A proper tag does nothing but stand over words, whatever rounding says.
    alone = proper[tags][lexicon.ts_tag]
    return np.asarray(np.where(alone, 1.0, np.minimum(emits, 1.0)))
