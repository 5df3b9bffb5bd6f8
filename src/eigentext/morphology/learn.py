"""The weights of the chain: trained, brought to bytes, and used."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.morphology.templates import compiled

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.base.progress import Progress
    from eigentext.morphology.kernels.chain import Slots, Weights
    from eigentext.morphology.levels import Ints
    from eigentext.morphology.settings import MorphTaggerSettings
    from eigentext.morphology.tags import TagSet
    from eigentext.morphology.words import WordTable

__all__ = ["ChainWeights", "shares", "tagged", "trained"]

PRIOR = 1.0  # weight of the log shares of candidates
_SNAPSHOTS = 4  # of the weights in a pass, for their mean
_STEPS = 127  # of a byte on either side of 0
_CLIPPED = 1e-5  # share of weights that may be brought nearer to 0


class ChainWeights(NamedTuple):
    """Weights in bytes: ``table`` (2 ** bits,) int8, times ``scale``."""

    table: npt.NDArray[np.int8]
    scale: float

    @classmethod
    def rounded(cls, weights: npt.NDArray[np.floating]) -> ChainWeights:
        """The nearest bytes; the few largest weights are cut."""
        sizes = np.abs(weights[weights != 0])
        top = float(np.quantile(sizes, 1 - _CLIPPED, method="lower")) if len(sizes) else 1.0
        scale = max(top, 1e-30) / _STEPS
        table = np.clip(np.rint(weights / scale), -_STEPS, _STEPS)
        return cls(table.astype(np.int8), scale)

    def arrays(self) -> Weights:
        """For the kernels."""
        from eigentext.morphology.kernels.chain import Weights

        return Weights(self.table, np.float32(self.scale), PRIOR)


def trained(
    table: WordTable,
    tags: TagSet,
    rows: Ints,
    gold_tags: Ints,
    starts: Ints,
    settings: MorphTaggerSettings,
    progress: Progress | None = None,
) -> ChainWeights:
    """The mean of the weights over all passes but the first."""
    from eigentext.morphology.kernels.chain import Text, Weights
    from eigentext.morphology.kernels.training import train

    size = 1 << settings.bits
    weights, squares = np.zeros(size, np.float32), np.ones(size, np.float32)
    hits = table.lists.tags[rows] == gold_tags[:, None]
    hits &= np.arange(hits.shape[1]) < table.lists.n[rows][:, None]
    gold = np.where(hits.any(axis=1), hits.argmax(axis=1), -1)
    text, slots = Text(starts, rows), _slots(table)
    total, taken = np.zeros(size), 0
    for epoch in range(settings.epochs):
        order = np.random.default_rng([settings.seed, epoch]).permutation(len(starts) - 1)
        for part in np.array_split(order, _SNAPSHOTS):
            train(
                part,
                text,
                gold,
                slots,
                table.lists,
                tags.arrays,
                Weights(weights, np.float32(1.0), PRIOR),
                squares,
                settings.rate,
            )
            if epoch > 0 or settings.epochs == 1:
                total += weights
                taken += 1
        if progress is not None:
            progress(epoch + 1, settings.epochs, "training the tagger")
    return ChainWeights.rounded(total / taken)


def _slots(table: WordTable) -> Slots:
    from eigentext.morphology.kernels.chain import Slots

    return Slots(table.keys, *compiled())


def tagged(
    table: WordTable, tags: TagSet, rows: Ints, starts: Ints, weights: ChainWeights
) -> Ints:
    """The number of the best tag of each word."""
    from eigentext.morphology.kernels.chain import Text
    from eigentext.morphology.kernels.training import tag_text

    answers = np.zeros(len(rows), np.int64)
    text = Text(starts, rows)
    tag_text(text, _slots(table), table.lists, tags.arrays, weights.arrays(), answers)
    return answers


def shares(
    table: WordTable,
    tags: TagSet,
    rows: Ints,
    starts: Ints,
    weights: ChainWeights,
    heat: float,
) -> npt.NDArray[np.float64]:
    """(words, candidates) the probability of each candidate in its sentence."""
    from eigentext.morphology.kernels.chain import Text
    from eigentext.morphology.kernels.training import tag_shares

    answers = np.zeros((len(rows), table.lists.tags.shape[1]))
    text = Text(starts, rows)
    tag_shares(text, _slots(table), table.lists, tags.arrays, weights.arrays(), heat, answers)
    return answers
