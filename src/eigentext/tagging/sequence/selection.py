"""Which margin and which beam suit these entities: asked of the training data itself.

Where entities are long a beam finds ends that a greedy tagger misses, where they are rare it drops
them.  So stretches of sentences are held out (contiguous, since neighbours come from one text),
and the pair of margin and beam with the best F1 over all stretches is taken.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from eigentext.base.folds import held_out
from eigentext.base.parallel import side_by_side
from eigentext.evaluate.ner import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Float64s
    from eigentext.tagging.sequence.tagger import SequenceTagger

    Tags = Sequence[Sequence[str]]
    Tagged = tuple[Sequence[str], Sequence[str]]  # tokens and tags of a sentence

MARGINS = (0.5, 1.0, 2.0)
BEAMS = (1, 4)
FEW = (1.0, 4)  # margin and beam for data too small to ask: best on most tasks measured
_LEAST = 50  # sentences
_STRETCHES = 2

Pair = tuple[float, int]


def cross_validated(
    new_tagger: Callable[[float], SequenceTagger],
    sentences: Sequence[Sequence[str]],
    tags: Tags,
    margins: Sequence[float],
    beams: Sequence[int],
    *,
    progress: Progress | None = None,
) -> dict[Pair, float]:
    """F1 of every pair of margin and beam over all stretches; nothing for too little data.

    ``new_tagger`` makes an untrained tagger with a margin; training in it may be short, since only
    the order of the pairs matters.
    """
    if len(sentences) < _LEAST:
        return {}
    works = []
    for others, inside in held_out(len(sentences), _STRETCHES):
        if not any(tag != "O" for number in others for tag in tags[number]):
            continue  # nothing to learn from
        training, test = ([(sentences[k], tags[k]) for k in part] for part in (others, inside))
        works += [partial(_tried, new_tagger, margin, beams, training, test) for margin in margins]
    counts = {(margin, beam): np.zeros(3) for margin in margins for beam in beams}
    for done, counted in enumerate(side_by_side(works), start=1):
        for pair, correct in counted.items():
            counts[pair] += correct
        if progress is not None:
            progress(done, len(works), "choosing margin and beam")
    return {
        pair: 2.0 * correct / (gold + predicted) if gold + predicted else 0.0
        for pair, (correct, gold, predicted) in counts.items()
    }


def _tried(
    new_tagger: Callable[[float], SequenceTagger],
    margin: float,
    beams: Sequence[int],
    training: Sequence[Tagged],
    test: Sequence[Tagged],
) -> dict[Pair, Float64s]:
    """Correct, gold and predicted entities of the sentences asked, for each beam."""
    tagger = new_tagger(margin).fit(
        [tokens for tokens, _ in training], [tags for _, tags in training]
    )
    counts = {}
    for beam in beams:
        tagger.beam = beam
        predicted = tagger.predict([tokens for tokens, _ in test])
        result = evaluate([tags for _, tags in test], predicted)
        counts[margin, beam] = np.sum(result.sentence_counts, axis=0)
    return counts


def best_pair(scores: dict[Pair, float]) -> Pair:
    """The pair with the highest score, the first of equals.

    >>> best_pair({(0.5, 1): 0.6, (0.5, 4): 0.62, (2.0, 4): 0.62})
    (0.5, 4)
    >>> best_pair({}) == FEW
    True
    """
    return max(scores, key=scores.__getitem__) if any(scores.values()) else FEW
