"""Seconds and keys a word, and whether ranked proposals save any: the A/B comparison.

1. :func:`arm` deals sentences out, half to *ranked* and half to *unranked* presentation, by a hash
   of project, annotator, document and sentence: the same at every call, and a sentence that one
   annotator sees ranked another may see unranked.
2. :func:`efforts`: decision rows of a layer -> for each sentence its words, seconds and keys.
   Decisions that were undone cost time as well; those that a redo brought back cost it once, and
   so do those that were made together (one version of the layer).
3. :func:`effort_record`: medians over sentences with intervals; :func:`comparison`: what the two
   arms cost and how much less ranked does, with the interval of sentences drawn anew in each arm.

**Pauses**: a decision that took longer than ``PAUSE`` seconds counts as ``PAUSE``; how many were
cut off is told.  A sentence with a decision whose time is not known is left out.  A finished
sentence has all of its words; of another one the words count that were decided, where words are
what is decided (readings, tags), else it is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from eigentext.base.hashing import text_key
from eigentext.evaluate.bootstrap import difference, interval, median_interval
from eigentext.studio.tasks.records import DONE, newest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eigentext.base.types import Json
    from eigentext.evaluate.bootstrap import Counts, Interval
    from eigentext.studio.store.records import Decision
    from eigentext.studio.tasks.task import Task

PAUSE = 60.0
"""Seconds: what a longer decision counts for; the annotator was away."""

DRAWS: Json = {"n_samples": 1_000, "seed": 0}
"""How often sentences are drawn anew for intervals, and from which seed."""

FEWEST = 10
"""Sentences in each arm, below which nothing is said of a gain."""

Arm = Literal["ranked", "unranked"]
_ARMS: tuple[Arm, Arm] = ("ranked", "unranked")


def arm(project: object, annotator: object, document: object, sentence: int) -> Arm:
    """How proposals for a sentence are shown to an annotator in a comparison.

    >>> arm(1, "A", 7, 0) == arm(1, "A", 7, 0)
    True
    >>> sorted({arm(1, "A", 7, sentence) for sentence in range(20)})
    ['ranked', 'unranked']
    """
    key = text_key("\t".join(map(str, ("arm", project, annotator, document, sentence))))
    return "ranked" if key & 1 else "unranked"


class Effort(NamedTuple):
    """What one sentence cost one annotator; ``arm`` is None where both kinds were shown."""

    words: int
    seconds: float | None
    keys: float | None
    arm: Arm | None


class Efforts(NamedTuple):
    """What the sentences of a layer cost, and how many pauses were cut off."""

    sentences: list[Effort]
    n_cut: int


def efforts(
    task: Task, sentences: Sequence[Mapping[str, Any]], rows: Iterable[Decision]
) -> Efforts:
    """Words, seconds and keys of each sentence in which a layer has decisions that count."""
    by_sentence: dict[int, list[Decision]] = {}
    for row in rows:
        by_sentence.setdefault(row.sentence, []).append(row)
    costs, n_cut = [], 0
    for number, of_sentence in sorted(by_sentence.items()):
        state = newest(of_sentence)
        n = len(sentences[number]["tokens"])
        words = n if (number, DONE) in state else len(task.decided_words(state, number))
        if not words:
            continue
        acts: dict[int, list[Decision]] = {}  # what was decided together, in one version
        for row in of_sentence:
            if row.redo_of is None:
                acts.setdefault(row.version, []).append(row)
        seconds = [_most(row.seconds for row in act) for act in acts.values()]
        keys = [_most(row.keys for row in act) for act in acts.values()]
        n_cut += sum(cost is not None and cost > PAUSE for cost in seconds)
        shown: set[Arm] = {"ranked" if row.ranked else "unranked" for row in of_sentence}
        costs.append(
            Effort(
                words,
                _sum(None if cost is None else min(cost, PAUSE) for cost in seconds),
                _sum(keys),
                shown.pop() if len(shown) == 1 else None,
            )
        )
    return Efforts(costs, n_cut)


def _most(costs: Iterable[float | None]) -> float | None:
    """What an act took: it may be told with each of its decisions, or with one of them."""
    return max((cost for cost in costs if cost is not None), default=None)


def _sum(costs: Iterable[float | None]) -> float | None:
    """The sum, if all are known."""
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


def rounded(figure: Interval) -> dict[str, float | None]:
    """A figure with its interval as plain data."""
    numbers = {"value": figure.value, "low": figure.low, "high": figure.high}
    return {name: None if np.isnan(n) else round(n, 4) for name, n in numbers.items()}


def _costs(sentences: Iterable[Effort], what: str) -> list[tuple[float, float]]:
    """(seconds or keys, words) of the sentences for which they are known."""
    pairs = ((getattr(effort, what), effort.words) for effort in sentences)
    return [(float(cost), float(words)) for cost, words in pairs if cost is not None]


def effort_record(spent: Efforts) -> Json:
    """Median seconds and keys a word over sentences, with intervals, as plain data.

    >>> both = Efforts([Effort(4, 8.0, 4, "ranked"), Effort(2, 6.0, 2, "ranked")], 0)
    >>> effort_record(both)["seconds_a_word"]["value"]
    2.5
    """
    record: Json = {
        "sentences": len(spent.sentences),
        "words": sum(effort.words for effort in spent.sentences),
        "pauses_cut_off": spent.n_cut,
    }
    for what in ("seconds", "keys"):
        rates = [cost / words for cost, words in _costs(spent.sentences, what)]
        record[f"{what}_a_word"] = rounded(median_interval(rates, **DRAWS)) if rates else None
    return record


def _a_word(counts: Counts) -> Counts:
    return counts[..., 0] / counts[..., 1]


def comparison(sentences: Sequence[Effort]) -> Json | None:
    """Ranked against unranked: cost a word in each arm, the gain, and that in plain words.

    The cost of an arm is its seconds (keys) over its words; the gain is unranked less ranked, so
    above 0 where ranking helps.  None where nothing was shown unranked.
    """
    by_arm = {name: [effort for effort in sentences if effort.arm == name] for name in _ARMS}
    if not by_arm["unranked"]:
        return None
    record: Json = {
        "sentences": {name: len(some) for name, some in by_arm.items()},
        "words": {name: sum(effort.words for effort in some) for name, some in by_arm.items()},
        "mixed": sum(effort.arm is None for effort in sentences),
        "in_words": [],
    }
    for what in ("seconds", "keys"):
        ranked, unranked = (_costs(by_arm[name], what) for name in _ARMS)
        few = min(len(ranked), len(unranked))
        if few < FEWEST:
            record[what] = None
            record["in_words"].append(
                f"Too few sentences to compare {what}: {len(ranked)} ranked and "
                f"{len(unranked)} unranked, {FEWEST} of each are the least."
            )
            continue
        draws: Json = {"figure": _a_word, **DRAWS}
        gain = difference(unranked, ranked, **draws)
        record[what] = {
            "ranked": rounded(interval(ranked, **draws)),
            "unranked": rounded(interval(unranked, **draws)),
            "gain": rounded(gain),
        }
        record["in_words"].append(_told(what, record[what]))
    return record


def _told(what: str, record: Mapping[str, Any]) -> str:
    ranked, unranked, gain = (record[name] for name in ("ranked", "unranked", "gain"))
    costs = (
        f"A word takes {ranked['value']:.2f} {what} ranked and {unranked['value']:.2f} unranked: "
    )
    between = f"95% interval {gain['low']:.2f} to {gain['high']:.2f}"
    if gain["low"] > 0:
        return costs + f"ranking saves {gain['value']:.2f} {what} a word ({between})."
    if gain["high"] < 0:
        return costs + f"ranking costs {-gain['value']:.2f} {what} a word ({between})."
    return costs + f"no difference can be told yet ({between} for the gain)."
