"""Which margin and which beam suit these entities: asked of the training data itself.

Texts differ: where entities are long a beam finds ends that a greedy tagger misses, where they are
rare it drops them.  So neither is a constant: the sentences are cut into stretches, taggers with
each margin learn from the others and tag a stretch with each beam, and the pair with the best F1
over all stretches is taken.  Stretches are contiguous, since neighbours come from one text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.base.folds import held_out
from eigentext.evaluate.ner import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eigentext.base.progress import Progress
    from eigentext.tagging.tagger import SequenceTagger

    Tags = Sequence[Sequence[str]]

__all__ = ["BEAMS", "FEW", "MARGINS", "best_pair", "cross_validated"]

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
    done = 0
    counts = {(margin, beam): np.zeros(3) for margin in margins for beam in beams}
    for others, inside in held_out(len(sentences), _STRETCHES):
        gold = [tags[number] for number in inside]
        if not any(tag != "O" for number in others for tag in tags[number]):
            continue  # nothing to learn from
        for margin in margins:
            tagger = new_tagger(margin).fit(
                [sentences[number] for number in others], [tags[number] for number in others]
            )
            for beam in beams:
                tagger.beam = beam
                result = evaluate(gold, tagger.predict([sentences[number] for number in inside]))
                counts[margin, beam] += np.sum(result.sentence_counts, axis=0)
            done += 1
            if progress is not None:
                progress(done, _STRETCHES * len(margins), "choosing margin and beam")
    return {pair: _f1(*sums) for pair, sums in counts.items()}


def best_pair(scores: dict[Pair, float]) -> Pair:
    """The pair with the highest score, the first of equals.

    >>> best_pair({(0.5, 1): 0.6, (0.5, 4): 0.62, (2.0, 4): 0.62})
    (0.5, 4)
    >>> best_pair({}) == FEW
    True
    """
    return max(scores, key=scores.__getitem__) if any(scores.values()) else FEW


def _f1(correct: float, gold: float, predicted: float) -> float:
    return 2.0 * correct / (gold + predicted) if gold + predicted else 0.0
