"""What the parser answers: the best tree and its scores, the k best, and marginals.

There is always a tree.  When the grammar has none for a sentence (or none that meets the
constraints), :func:`flat_tree` makes one of the words' likeliest tags and the required brackets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.constituency.forms import capitals_tell
from eigentext.constituency.transform import user_labels, with_wrapper
from eigentext.trees.constituent import Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.constituency.chart.coarse import Chart
    from eigentext.constituency.chart.constraints import Constraints, Span
    from eigentext.constituency.chart.fine import FinePass
    from eigentext.constituency.lexicon import Emission, Lexicon
    from eigentext.constituency.params import LatentParams

__all__ = [
    "Candidate",
    "Parse",
    "constituent_marginals",
    "flat_tree",
    "likeliest_tags",
    "word_emissions",
]


class Candidate(NamedTuple):
    """One of the k best: the decoder's score, the tree, and log p(tree) under the model."""

    log_score: float
    tree: Tree
    log_prob: float


@dataclass(frozen=True)
class Parse:
    """The answer for one sentence.

    ``tree``       the best tree; its words are the tokens as they were given
    ``log_score``  what the decoder maximised: half of the right constituents less the wrong ones
                   that are expected, and a hundredth of the next (max-constituents), log of the
                   product of rule posteriors (max-rule-product), the sum of posteriors
                   (max-recall), or log of the weight of the best derivation, p(w) left out
                   (viterbi); with a reranker still that of the decoder, though the trees come in
                   the reranker's order
    ``log_prob``   log p(tree, words) under the model; the mean of p over the models of an
                   ensemble; -inf where there is none, and then a flag says why: ``negative``,
                   ``coarse``, ``fallback`` or ``split``
    ``kbest``      the k best different trees, the best first
    ``marginals``  (start, end, label) -> probability of that constituent
    ``flags``      ``relaxed`` pruning had to be loosened, ``coarse`` the models give no tree any
                   weight: the plain PCFG's, ``fallback`` the grammar has no such tree: words under
                   their tags and what brackets were required, ``unknown`` a word was never seen in
                   training, ``negative`` the models' score of the tree is not above
                   zero, as those of the moments estimator may be, ``split`` the
                   sentence is too long and was parsed in pieces, with one node ``X`` over them
    """

    tree: Tree
    log_score: float
    log_prob: float = float("-inf")
    kbest: tuple[Candidate, ...] = ()
    marginals: dict[tuple[int, int, str], float] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()

    def _repr_svg_(self) -> str:
        """The tree as a notebook shows it."""
        from eigentext.drawing.constituents import tree_svg

        return tree_svg(self.tree)


def constituent_marginals(
    chart: Chart, passes: Sequence[FinePass], labels: Sequence[str]
) -> dict[tuple[int, int, str], float]:
    """(start, end, label) -> marginal, the mean over the models; a chain counts for all of it."""
    posterior = np.mean([p.items for p in passes], axis=0)
    spans = chart.spans[chart.item_span].tolist()
    posteriors: dict[tuple[int, int, str], float] = {}
    for number, (start, end), value in zip(
        chart.item_label.tolist(), spans, posterior.tolist(), strict=True
    ):
        for name in dict.fromkeys(user_labels(labels[number])):
            key = (start, end, name)
            posteriors[key] = posteriors.get(key, 0.0) + value
    return posteriors


def likeliest_tags(
    lexicon: Lexicon, emissions: Sequence[Emission], labels: Sequence[str]
) -> list[str]:
    """For each word the label of the grammar with the largest P(tag | word)."""
    tags = []
    for emission in emissions:
        share = emission.scores * lexicon.p_tag[emission.tags]
        tags.append(labels[lexicon.tags[emission.tags[int(np.argmax(share))]]])
    return tags


def flat_tree(
    tags: Sequence[str], words: Sequence[str], required: Sequence[Span], wrapper: str | None
) -> Tree:
    """Words under their tags, the required brackets over them, and one node ``X`` over all."""
    n = len(words)
    brackets = sorted(required, key=lambda span: (span[0], -span[1]))
    if not any((start, end) == (0, n) for start, end, *_ in brackets):
        brackets = [(0, n), *brackets]
    opens: dict[int, list[tuple[int, str]]] = {}
    for start, end, *label in brackets:
        if end - start > 1 or n == 1 or (label and label[0] not in user_labels(tags[start])):
            opens.setdefault(start, []).append((end, label[0] if label else "X"))
    labels: list[str] = []
    sizes: list[int] = []
    still_open: list[tuple[int, int]] = []  # (end, node)
    for at, (tag, word) in enumerate(zip(tags, words, strict=True)):
        for end, name in opens.get(at, ()):
            still_open.append((end, len(labels)))
            labels.append(name)
            sizes.append(0)
        chain = user_labels(tag)
        labels += [*chain, word]
        sizes += range(len(chain) + 1, 0, -1)
        while still_open and still_open[-1][0] == at + 1:
            _, node = still_open.pop()
            sizes[node] = len(labels) - node
    return with_wrapper(Tree.unchecked(labels, sizes), wrapper)


def word_emissions(
    params: Sequence[LatentParams],
    labels: Sequence[str],
    words: Sequence[str],
    constraints: Constraints | None,
) -> list[list[Emission]]:
    """What each word may be, for each model."""
    folded = not capitals_tell(words, params[0].lexicon.seen)
    emissions = [
        [model.lexicon.emission(word, first=i == 0, folded=folded) for i, word in enumerate(words)]
        for model in params
    ]
    for i, tag in ((constraints.tags if constraints else None) or {}).items():
        if not 0 <= i < len(words):
            continue  # build_masks will complain
        for model, of_model in zip(params, emissions, strict=True):
            chains = [user_labels(labels[label]) for label in model.lexicon.tags]
            admitted = np.flatnonzero([chain[-1] == tag for chain in chains])
            if len(admitted):
                of_model[i] = model.lexicon.emission_as(
                    words[i], admitted, first=i == 0, folded=folded
                )
    return emissions
