"""The weights of the chain: trained, brought to bytes (a quarter of the room), and used.

The tagger looks at a word and around it by templates over ``features.attributes.MORPHOLOGY``: one
to three attributes of words at places around it, such as ``lower[-1]&ending3[0]``.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.ragged import pointers
from eigentext.features.attributes import CLUSTER_BITS, MORPHOLOGY, N_BEGINNINGS, N_ENDINGS
from eigentext.features.templates import TemplateGrammar, seeds_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.base.progress import Progress
    from eigentext.base.types import Float64s, Int8s, Int64s, UInt64s
    from eigentext.tagging.morphology.kernels.chain import Chain, Text
    from eigentext.tagging.morphology.tags import MorphTagSet
    from eigentext.tagging.morphology.words import DecidedRows, MorphTable
    from eigentext.tagging.settings import MorphTaggerSettings

_GRAMMAR = TemplateGrammar("attribute[offset]", MORPHOLOGY.names)


def _names() -> tuple[str, ...]:
    alone = ["word", "lower", "shape", "kind", "analysis", "ambiguity", "best"]
    alone += [f"ending{n}" for n in range(1, N_ENDINGS + 1)]
    alone += [f"beginning{n}" for n in range(1, N_BEGINNINGS + 1)]
    names = [f"{name}[0]" for name in alone]
    for at in ("-1", "+1"):
        names += [f"{name}[{at}]" for name in ("lower", "best", "ambiguity", "ending3", "shape")]
        names += [f"{name}[0]&{name}[{at}]" for name in ("best", "ending3", "shape")]
        names += [f"lower[0]&best[{at}]", f"ending3[0]&best[{at}]", f"shape[0]&best[{at}]"]
        names += [f"best[0]&lower[{at}]"]
    names += ["lower[-2]", "lower[+2]", "best[-2]", "best[+2]"]
    names += ["lower[-1]&lower[+1]", "best[-1]&best[+1]", "best[-2]&best[-1]"]
    names += ["best[+1]&best[+2]", "best[-1]&best[0]&best[+1]"]
    for bits in CLUSTER_BITS:
        names += [f"{name}[{at}]" for name in bits for at in ("-1", "0", "+1")]
    return tuple(names)


TEMPLATES = _names()


@cache
def compiled(names: tuple[str, ...] = TEMPLATES) -> tuple[Int64s, UInt64s]:
    """Templates as arrays: (n, 3, 2) attribute and place of each part, -1 for none; their keys.

    >>> parts, seeds = compiled(("lower[-1]&ending3[0]",))
    >>> [(MORPHOLOGY.names[column], place) for column, place in parts[0, :2].tolist()]
    [('lower', -1), ('ending3', 0)]
    """
    templates = [_GRAMMAR.parse(name) for name in names]
    return _GRAMMAR.places(templates), seeds_of("template", templates)


_STEPS = 127  # of a byte on either side of 0
_CUT = 1e-5  # share of weights that may be brought nearer to 0


class ByteWeights(NamedTuple):
    """``table`` (2 ** bits,) int8, times ``scale``."""

    table: Int8s
    scale: float

    @classmethod
    def rounded(cls, weights: npt.NDArray[np.floating]) -> ByteWeights:
        """The nearest bytes; the few largest weights are cut.

        >>> ByteWeights.rounded(np.array([0.0, -1.27, 0.5])).table.tolist()
        [0, -127, 50]
        """
        sizes = np.abs(weights[weights != 0])
        top = float(np.quantile(sizes, 1 - _CUT, method="higher")) if len(sizes) else 1.0
        scale = max(top, 1e-30) / _STEPS
        table = np.clip(np.rint(weights / scale), -_STEPS, _STEPS)
        return cls(table.astype(np.int8), scale)


WIDTH = 6.0  # candidates whose score is so far below the best are left out of the chain
PRIOR = 0.5  # weight of the log shares of candidates
_SNAPSHOTS = 4  # of the weights in a pass, for their mean
_EVERY, _MOST_LEFT = 20, 300  # sentences that the heat is fitted on
_HEATS = tuple(2.0 ** (k / 6) for k in range(-6, 19))


class ChainText(NamedTuple):
    """Sentences by the ``rows`` (words,) of their words in a table; where each one ``starts``."""

    table: MorphTable | DecidedRows
    rows: Int64s
    starts: Int64s

    @property
    def text(self) -> Text:
        """Rows and starts as the kernels take them."""
        from eigentext.tagging.morphology.kernels.chain import Text

        return Text(self.starts, self.rows)

    def part(self, numbers: Int64s) -> tuple[ChainText, Int64s]:
        """The sentences of these numbers, and which words of all they have."""
        starts = self.starts
        words = np.concatenate([np.arange(starts[k], starts[k + 1]) for k in numbers])
        lengths = pointers(starts[numbers + 1] - starts[numbers])
        return ChainText(self.table, self.rows[words], lengths), words

    def chain(self, tags: MorphTagSet, table: npt.NDArray[Any], scale: float = 1.0) -> Chain:
        """What their candidates are scored by, with this table of weights."""
        from eigentext.features.kernels.templates import WordFeatures
        from eigentext.tagging.morphology.kernels.chain import Chain, Weights

        weights = Weights(table, np.float32(scale), PRIOR)
        features = WordFeatures(self.table.keys, *compiled())
        return Chain(features, self.table.lists, tags.arrays, weights, WIDTH)


def gold_candidates(table: MorphTable, rows: Int64s, tags: Int64s) -> Int64s:
    """Which candidate of each word is its tag, -1 where none is."""
    hits = table.lists.tags[rows] == tags[:, None]
    hits &= np.arange(hits.shape[1]) < table.lists.n[rows][:, None]
    return np.where(hits.any(axis=1), hits.argmax(axis=1), -1)


def trained(
    sentences: ChainText,
    tags: MorphTagSet,
    gold: Int64s,
    settings: MorphTaggerSettings,
    progress: Progress | None = None,
) -> tuple[ByteWeights, float]:
    """The mean of the weights over all passes but the first, and the heat of their shares.

    ``gold`` (words,): which candidate is right (:func:`gold_candidates`).
    Some sentences are left to the last pass: before it, the heat is fitted on them.
    """
    from eigentext.tagging.morphology.kernels.training import train

    size, n = 1 << settings.bits, len(sentences.starts) - 1
    # a weight and its squares lie side by side: they are changed together
    weights, squares = np.zeros((size, 2), np.float32).T
    squares[:] = 1.0
    text, chain = sentences.text, sentences.chain(tags, weights)
    left = np.arange(_EVERY - 1, n if settings.epochs > 1 else 0, _EVERY)[:_MOST_LEFT]
    total, taken, heat = np.zeros(size), 0, 1.0
    for epoch in range(settings.epochs):
        order = np.random.default_rng([settings.seed, epoch]).permutation(n)
        if len(left) and epoch == settings.epochs - 1:
            now = ByteWeights.rounded(total / taken if taken else weights)
            heat = _fitted_heat(*sentences.part(left), tags, gold, now)
        elif len(left):
            order = order[~np.isin(order, left)]
        for part in np.array_split(order, _SNAPSHOTS):
            train(part, text, gold, chain, squares, settings.rate)
            if epoch > 0 or settings.epochs == 1:
                total += weights
                taken += 1
        if progress is not None:
            progress(epoch + 1, settings.epochs, "training the tagger")
    return ByteWeights.rounded(total / taken), heat


def _fitted_heat(
    sentences: ChainText, words: Int64s, tags: MorphTagSet, gold: Int64s, weights: ByteWeights
) -> float:
    """The heat that makes the gold candidates of sentences with these words most probable."""
    right = np.flatnonzero(gold[words] >= 0)
    best, fitted = -np.inf, 1.0
    for heat in _HEATS:
        probabilities = shares(sentences, tags, weights, heat)[right, gold[words[right]]]
        value = float(np.log(np.maximum(probabilities, 1e-12)).sum())
        if value > best + 1e-9 * abs(value):
            best, fitted = value, heat
    return fitted


class ChainTags(NamedTuple):
    """Numbers of the tags of words."""

    best: Int64s  # (words,) of the best sequence
    others: Int64s  # (words,) a tag of the most probable other part of speech; -1: there is none
    chances: Float64s  # (words, 2) of the part of speech of the best tag, and of the other


def tagged(
    sentences: ChainText, tags: MorphTagSet, weights: ByteWeights, heat: float
) -> ChainTags:
    """The best tag of each word, and the runner-up."""
    from eigentext.tagging.morphology.kernels.training import tag_text

    n = len(sentences.rows)
    answers = ChainTags(np.zeros(n, np.int64), np.full(n, -1, np.int64), np.zeros((n, 2)))
    tag_text(sentences.text, sentences.chain(tags, *weights), heat, *answers)
    return answers


def shares(sentences: ChainText, tags: MorphTagSet, weights: ByteWeights, heat: float) -> Float64s:
    """(words, candidates) the probability of each candidate in its sentence."""
    from eigentext.tagging.morphology.kernels.training import tag_shares

    answers = np.zeros((len(sentences.rows), sentences.table.lists.tags.shape[1]))
    tag_shares(sentences.text, sentences.chain(tags, *weights), heat, answers)
    return answers
