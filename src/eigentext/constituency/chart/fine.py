"""Latent-variable inside and outside over the pruned chart.

inside[item][h1]  = sum over its applications of tensor[r][h1, h2, h3] inside[l][h2] inside[r][h3]
posterior[app]    = sum over h1, h2, h3 of outside[parent][h1] tensor[r][h1,h2,h3]
                    inside[l][h2] inside[r][h3] / Z

The moments estimator's numbers are scores, never probabilities: they, Z and the posteriors may be
negative.  Cells are scaled by the largest absolute value (for a proper grammar the largest value),
posteriors are divided by the signed Z, and :func:`settle_negatives` has the last word on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.ragged import pointers
from eigentext.base.types import Float32s, Float64s, Int64s
from eigentext.constituency.chart.coarse import Chart
from eigentext.constituency.lexicon import Emission
from eigentext.constituency.params import LatentParams

_CLIPPED = 1e-3  # of the coarse posterior: what a negative posterior counts for


class FinePass(NamedTuple):
    """Posteriors of applications (A,) and items (I,); log p(sentence) up to the words' p."""

    applications: Float32s
    items: Float32s
    log_z: float
    # share of the applications whose posterior was negative before it was clipped
    negative: float = 0.0
    sign: int = 1  # -1 when Z itself was negative (``log_z`` is then log |Z|), else 1


class Sweeps(NamedTuple):
    """Both sweeps over a chart, cells scaled, ``outside`` divided by Z."""

    item_ptr: Int64s  # (I + 1,) where the states of each item begin in ``inside, outside``
    inside: Float32s
    outside: Float32s
    scale: Float64s  # (S,) log of what each span's ``inside`` was divided by
    applications: Float32s  # (A,) posterior of each application
    log_z: float
    sign: int


def fine_pass(
    chart: Chart, params: LatentParams, emissions: Sequence[Emission]
) -> FinePass | None:
    """Posteriors under one model; None when it gives the pruned chart no weight at all."""
    swept = fine_sweeps(chart, params, emissions)
    if swept is None:
        return None
    items = np.add.reduceat(swept.inside * swept.outside, swept.item_ptr[:-1])
    negative = settle_negatives(swept.applications, items, chart)
    return FinePass(swept.applications, items, swept.log_z, negative, swept.sign)


def fine_sweeps(
    chart: Chart, params: LatentParams, emissions: Sequence[Emission]
) -> Sweeps | None:
    """Inside and outside of every item and state; None as above."""
    from eigentext.constituency.kernels.fine import fine_inside, fine_outside

    item_ptr = pointers(params.m[chart.item_label])  # (I + 1,) m states an item
    inside = np.zeros(int(item_ptr[-1]), np.float32)
    n_spans = len(chart.span_items) - 1
    scale = np.zeros(n_spans)
    over_words = np.flatnonzero(chart.word_of_item >= 0)
    fill_word_states(params, emissions, chart.item_label, chart.word_of_item, item_ptr, inside)
    # Spans of one word, scaled as all others: divided by their largest absolute value.
    for s in np.unique(chart.item_span[over_words]).tolist():
        cell = inside[item_ptr[chart.span_items[s]] : item_ptr[chart.span_items[s + 1]]]
        top = float(np.abs(cell).max())
        if top > 0:
            cell /= np.float32(top)
            scale[s] = np.log(top)
        else:
            scale[s] = -np.inf
    of_chart = chart.applications, params.tensors, chart.item_span, item_ptr
    fine_inside(*of_chart, chart.span_items, chart.weight, inside, scale)
    # Z = sum over root labels and states of root[a, h] inside[root item][h]; outside of the
    # roots is root / Z, and posteriors need no further division
    outside = np.zeros_like(inside)  # outside[item][h], times exp(scale) of its span
    z = 0.0
    for item in chart.root_items:
        a = chart.item_label[item]
        root = params.root[params.label_ptr[a] : params.label_ptr[a + 1]].astype(np.float32)
        outside[item_ptr[item] : item_ptr[item + 1]] = root
        z += float(root @ inside[item_ptr[item] : item_ptr[item + 1]])
    top_scale = scale[chart.n - 1]
    if z == 0 or not np.isfinite(z) or not np.isfinite(top_scale):
        return None
    first, last = item_ptr[chart.root_items.start], item_ptr[chart.root_items.stop]
    outside[first:last] /= np.float32(z)
    applications = np.zeros(len(chart.rule), np.float32)  # p(application | words)
    fine_outside(*of_chart, chart.weight, inside, scale, outside, applications)
    log_z = float(np.log(abs(z)) + top_scale)
    return Sweeps(item_ptr, inside, outside, scale, applications, log_z, 1 if z > 0 else -1)


def fill_word_states(
    params: LatentParams,
    emissions: Sequence[Emission],
    label: Int64s,  # label, word: of each item; word -1 for one that is no tag
    word: Int64s,
    ptr: Int64s,
    into: npt.NDArray[np.floating],
) -> None:
    """Scores of the states of tags over words: of item i at ``into[ptr[i] : ptr[i + 1]]``."""
    lexicon = params.lexicon
    over_word = np.flatnonzero(word >= 0)
    tags = np.searchsorted(lexicon.tags, label[over_word])
    for item, tag in zip(over_word.tolist(), tags.tolist(), strict=True):
        of_tag = slice(lexicon.tag_ptr[tag], lexicon.tag_ptr[tag + 1])
        into[ptr[item] : ptr[item + 1]] = emissions[word[item]].states[of_tag]


def settle_negatives(applications: Float32s, items: Float32s, chart: Chart) -> float:
    """Clip posteriors in place, and say which share of the applications was negative."""
    # The one policy for negative numbers: what has been divided by the signed Z and is still
    # negative means "almost nothing"; it becomes a small share of the coarse posterior, so that a
    # decoder that must choose among clipped applications chooses as the plain PCFG would.  Items
    # become zero.  A proper grammar has no negative posterior, and nothing is touched.
    below = applications < 0
    share = float(below.mean()) if len(below) else 0.0
    if share:
        applications[below] = (_CLIPPED * chart.posterior[below]).astype(np.float32)
        np.maximum(items, 0, out=items)
    return share


def coarse_pass(chart: Chart) -> FinePass | None:
    """The plain PCFG's posteriors in place of a model's that failed; None for a single word."""
    # Pruning took a little from them: the items of one span may sum to slightly less than 1.
    if not len(chart.rule):
        return None
    items = np.zeros(len(chart.item_label))
    np.add.at(items, chart.parent, chart.posterior)
    for child in (chart.left, chart.right):
        over_word = chart.word_of_item[child] >= 0
        np.add.at(items, child[over_word], chart.posterior[over_word])
    return FinePass(chart.posterior.astype(np.float32), items.astype(np.float32), float("nan"))
