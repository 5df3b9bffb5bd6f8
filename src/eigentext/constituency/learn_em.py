"""EM over trees whose skeleton is known: expected states of every node, then smoothed counts.

E-step: inside and outside of each tree under the present parameters give the posterior of every
node's state and of every rule's three states.  M-step: ``params.estimate`` on those expected counts
and a lexicon counted with expected states.  With smoothing this is maximum a posteriori rather than
maximum likelihood; with ``Smoothing(0, 0, 0, 0)``-like settings the likelihood never falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eigentext.constituency.lexicon import build_lexicon
from eigentext.constituency.params import (
    LatentCounts,
    LatentParams,
    Smoothing,
    estimate,
    tensor_layout,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from eigentext.constituency.lexicon import Lexicon
    from eigentext.constituency.treebank import Treebank

    Ints = npt.NDArray[np.int64]

__all__ = ["EMResult", "random_start", "run_em"]


@dataclass(frozen=True)
class EMResult:
    """Parameters after the last iteration, and the log-likelihood of the trees before each."""

    params: LatentParams
    log_likelihoods: tuple[float, ...]


def _tag_scores(
    bank: Treebank, lexicon: Lexicon, node_ptr: Ints, inside: npt.NDArray[np.float32]
) -> None:
    """Fill in the inside vectors of preterminals: p(w | tag, state) up to p(w)."""
    place = np.full(len(bank.labels), -1)
    place[lexicon.tags] = np.arange(len(lexicon.tags))
    for node in np.flatnonzero(bank.token >= 0).tolist():
        token = int(bank.token[node])
        emission = lexicon.emission(bank.words[token], first=bool(bank.first_in_sentence[token]))
        t = place[bank.label[node]]
        inside[node_ptr[node] : node_ptr[node + 1]] = emission.states[
            lexicon.tag_ptr[t] : lexicon.tag_ptr[t + 1]
        ]


def run_em(
    bank: Treebank,
    params: LatentParams,
    iterations: int,
    smoothing: Smoothing,
    language: str,
    *,
    progress: Callable[[int, int, str], None] | None = None,
) -> EMResult:
    """So many iterations from these parameters."""
    from eigentext.constituency.kernels_fine import expected_counts

    m = params.m
    node_ptr = np.concatenate([[0], np.cumsum(m[bank.label])])
    mask = np.repeat(bank.token >= 0, m[bank.label])
    history = []
    for iteration in range(iterations):
        if progress is not None:
            progress(iteration, iterations, "EM")
        inside = np.zeros(int(node_ptr[-1]), np.float32)
        outside = np.zeros_like(inside)
        _tag_scores(bank, params.lexicon, node_ptr, inside)
        counts = LatentCounts(
            np.zeros(len(params.tensor)), np.zeros(int(m.sum())), np.zeros(int(m.sum()))
        )
        likelihood = np.zeros(bank.n_trees)
        expected_counts(
            bank.label, bank.rule, bank.left, bank.right, bank.roots, len(bank.label), m,
            node_ptr, bank.rules, params.rule_ptr, params.tensor, params.root, params.label_ptr,
            inside, np.zeros(len(bank.label)), outside, counts.tensor, counts.states, counts.roots,
            likelihood,
        )  # fmt: skip
        history.append(float(likelihood[np.isfinite(likelihood)].sum()))
        lexicon = build_lexicon(bank, m, None, outside[mask].astype(float), language=language)
        params = estimate(bank, m, counts, lexicon, smoothing)
    return EMResult(params, tuple(history))


def random_start(
    bank: Treebank, m: Ints, *, seed: int, smoothing: Smoothing, language: str
) -> LatentParams:
    """Parameters near the plain PCFG, jittered: where EM without a spectral start begins."""
    rng = np.random.default_rng(seed)
    rule_ptr = tensor_layout(bank.rules, m)
    rule = np.repeat(np.arange(len(bank.rules)), np.diff(rule_ptr))
    of_rule = np.bincount(bank.rule[bank.rule >= 0], minlength=len(bank.rules))
    spread = of_rule[rule] / np.diff(rule_ptr)[rule]
    tensor = spread * rng.uniform(0.5, 1.5, len(rule))
    label = np.repeat(np.arange(len(m)), m)
    of_label = np.bincount(bank.label, minlength=len(m))
    of_root = np.bincount(bank.label[bank.roots], minlength=len(m))
    tags = bank.label[bank.token >= 0]
    weights = np.concatenate([rng.dirichlet(np.full(k, 5.0)) for k in m[tags]])
    counts = LatentCounts(
        tensor, (of_label / m)[label].astype(float), (of_root / m)[label].astype(float)
    )
    lexicon = build_lexicon(bank, m, None, weights, language=language)
    return estimate(bank, m, counts, lexicon, smoothing)
