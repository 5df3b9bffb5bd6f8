"""Latent-variable inside and outside over the pruned chart.

inside[item][h1]  = sum over its applications of tensor[r][h1, h2, h3] inside[l][h2] inside[r][h3]
posterior[app]    = sum_{h1,h2,h3} outside[parent][h1] tensor[r][h1,h2,h3] inside[..] inside[..] / Z
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from eigentext.constituency.chart import Chart
    from eigentext.constituency.lexicon import Emission
    from eigentext.constituency.params import LatentParams

    Floats32 = npt.NDArray[np.float32]

__all__ = ["FinePass", "fine_pass"]


class FinePass(NamedTuple):
    """Posteriors of applications (A,) and items (I,), and log p(sentence) up to the words' constant."""

    applications: Floats32
    items: Floats32
    log_z: float


def fine_pass(
    chart: Chart, params: LatentParams, emissions: Sequence[Emission]
) -> FinePass | None:
    """Posteriors under one model; None when it gives the pruned chart no weight at all."""
    from eigentext.constituency.kernels_fine import fine_inside, fine_outside

    m, lexicon = params.m, params.lexicon
    item_ptr = np.concatenate([[0], np.cumsum(m[chart.item_label])])
    inside = np.zeros(int(item_ptr[-1]), np.float32)
    n_spans = len(chart.span_items) - 1
    scale = np.zeros(n_spans)
    over_words = np.flatnonzero(chart.word_of_item >= 0)
    tag = np.searchsorted(lexicon.tags, chart.item_label[over_words])
    for item, t in zip(over_words.tolist(), tag.tolist(), strict=True):
        states = emissions[chart.word_of_item[item]].states
        inside[item_ptr[item] : item_ptr[item + 1]] = states[
            lexicon.tag_ptr[t] : lexicon.tag_ptr[t + 1]
        ]
    for s in np.unique(chart.item_span[over_words]).tolist():
        cell = inside[item_ptr[chart.span_items[s]] : item_ptr[chart.span_items[s + 1]]]
        top = float(cell.max())
        if top > 0:
            cell /= np.float32(top)
            scale[s] = np.log(top)
        else:
            scale[s] = -np.inf
    fine_inside(
        chart.rule, chart.parent, chart.left, chart.right, chart.group_ptr, params.rules, m,
        params.rule_ptr, params.tensor, chart.item_span, item_ptr, chart.group_span,
        chart.span_items, inside, scale,
    )  # fmt: skip
    outside = np.zeros_like(inside)
    label_ptr = params.label_ptr
    z = 0.0
    for item in chart.root_items:
        a = chart.item_label[item]
        root = params.root[label_ptr[a] : label_ptr[a + 1]].astype(np.float32)
        outside[item_ptr[item] : item_ptr[item + 1]] = root
        z += float(root @ inside[item_ptr[item] : item_ptr[item + 1]])
    top_scale = scale[chart.n - 1]
    if not z > 0 or not np.isfinite(top_scale):
        return None
    first, last = item_ptr[chart.root_items.start], item_ptr[chart.root_items.stop]
    outside[first:last] /= np.float32(z)
    applications = np.zeros(len(chart.rule), np.float32)
    fine_outside(
        chart.rule, chart.parent, chart.left, chart.right, chart.group_ptr, params.rules, m,
        params.rule_ptr, params.tensor, chart.item_span, item_ptr, chart.group_span,
        inside, scale, outside, applications,
    )  # fmt: skip
    items = np.add.reduceat(inside * outside, item_ptr[:-1])
    return FinePass(applications, items, float(np.log(z) + top_scale))
