"""The next model out of what was decided, and whether it is better than the one there is.

1. Finished sentences are examples; with ``base_treebank`` they are added to the training data that
   the old model was made of.
2. Both models answer for sentences that neither has learned from: of the examples that are new
   since the old model was made, a fold at a time is held out, and a model of all the others
   answers for it.  With many new sentences one fold is enough, with few all of them take turns.
3. The new model, of all examples, is kept if it does no worse; the figures, their difference and
   its interval say how sure that is.  Nothing is replaced unless it is kept, and then in one step.
"""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eigentext.errors import DataError, EigentextError, SettingsError
from eigentext.evaluate.bootstrap import compare
from eigentext.studio.tasks.task import scored

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from eigentext.base.progress import Progress
    from eigentext.evaluate.bootstrap import Comparison
    from eigentext.language import Doc
    from eigentext.studio.tasks.records import Decisions, Finished, Score
    from eigentext.studio.tasks.task import Task

LEAST = 5  # finished sentences that a model can be made of
ENOUGH = 200  # new sentences of which one fold is enough to judge by


@dataclass(frozen=True)
class Retrained:
    """A new model and what is known of it.

    ``kept``          whether it does no worse than the old one (there may be none)
    ``why``           the same in words
    ``new, old``      scores on the same held-out sentences; ``old`` is None without an old model
    ``comparison``    new against old: difference, interval, p (`eigentext.evaluate.bootstrap`)
    ``learned_from``  names of the sentences that it has seen: give them as ``seen`` next time
    ``path``          where it was saved, None if it was not
    """

    model: Any
    kept: bool
    why: str
    new: Score
    old: Score | None
    comparison: Comparison | None
    n_examples: int
    n_held_out: int
    learned_from: tuple[str, ...]
    seconds: float
    path: str | None = None

    def as_record(self) -> dict[str, Any]:
        """The figures, for a database or a page."""
        record: dict[str, Any] = {
            "kept": self.kept,
            "why": self.why,
            "figure": self.new.name,
            "new": self.new.figure,
            "old": None if self.old is None else self.old.figure,
            "n_examples": self.n_examples,
            "n_held_out": self.n_held_out,
            "seconds": round(self.seconds, 2),
            "learned_from": list(self.learned_from),
        }
        if self.comparison is not None:
            one = self.comparison
            record |= {"difference": one.difference, "low": one.low, "high": one.high}
            record["p_value"] = one.p_value
        return record


def name_of(example: Finished) -> str:
    """How a sentence is called in ``learned_from``."""
    return f"{example.document}/{example.number}"


def retrain(
    task: Task,
    documents: Sequence[Doc],
    states: Sequence[Decisions],
    *,
    base_treebank: str | None = None,
    old_model: Any = None,
    seen: Collection[str] = (),
    folds: int = 5,
    output: str | None = None,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Retrained:
    """Make the next model of a task from finished sentences.

    ``states`` are the decisions on each of ``documents``; ``old_model`` is the task's own unless
    given; ``seen`` names sentences that the old model learned from (``learned_from`` of its
    making), which cannot judge it.  A model that is kept is saved as ``output``, if that is given,
    under a temporary name that is then changed: broken off, nothing has happened.  ``progress`` is
    told the steps: a model of each fold, and the new one.

    >>> from eigentext.language import Doc
    >>> from eigentext.studio.tasks import open_task
    >>> task = open_task("tags")
    >>> text = Doc.from_tokens([["the", "dog", "barks"]] * 6)
    >>> done = {"analysis": {"upos": ["DET", "NOUN", "VERB"]}}
    >>> result = retrain(task, [text], [{(s, "done"): done for s in range(6)}])
    >>> result.kept, result.new.figure, result.n_examples
    (True, 100.0, 6)
    """
    if len(documents) != len(states):
        raise SettingsError(f"{len(states)} states for {len(documents)} documents")
    if folds < 2:
        raise SettingsError(f"folds is {folds}, expected at least 2")
    begun = clock()
    old = task.model if old_model is None else old_model
    examples = [
        example
        for document, state in zip(documents, states, strict=True)
        for example in task.finished(document, state)
        if len(example.sentence)
    ]
    if len(examples) < LEAST:
        why = f"{len(examples)} finished sentences, expected at least {LEAST} to learn from"
        raise DataError("<finished sentences>", None, why)
    fresh = [one for one in examples if name_of(one) not in seen] if old is not None else examples
    if len(fresh) < 2:
        why = "no new sentences were finished since the last model was made: nothing to judge by"
        raise DataError("<finished sentences>", None, why)
    parts = _parts(fresh, folds)
    steps = _Steps(len(parts) + 1, progress)
    held_out, new = _judged(task, examples, parts, base_treebank, steps)
    inner = steps.begin("the new model")
    rival = None if old is None else task.score(old, held_out)
    model = task.train(examples, base=base_treebank, progress=inner)
    steps.end()
    comparison = None
    kept, why = True, f"the first model: {new.name} {new.figure:.1f} on held-out sentences"
    if rival is not None:
        comparison = compare(new.counts, rival.counts, n_samples=2000)
        kept = comparison.difference >= -1e-9
        change = "better" if comparison.difference > 1e-9 else "as good" if kept else "worse"
        why = (
            f"{change}: {new.name} {new.figure:.1f} after {rival.figure:.1f} on "
            f"{len(held_out)} held-out sentences (difference {comparison.difference:+.1f}, "
            f"{comparison.confidence:.0%} interval {comparison.low:+.1f} to "
            f"{comparison.high:+.1f})" + ("" if kept else "; the old model stays")
        )
    path = None
    if output is not None and kept:
        model.save(output)
        path = str(output)
    return Retrained(
        model,
        kept,
        why,
        new,
        rival,
        comparison,
        len(examples),
        len(held_out),
        tuple(sorted(map(name_of, examples))),
        clock() - begun,
        path,
    )


class _Steps:
    """Tells how many steps are done, and what the present one is at."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._progress = progress
        self._total = total
        self._begun = 0

    def begin(self, name: str) -> Progress | None:
        """The next step; what is to be told while it is done."""
        tell, done, total = self._progress, self._begun, self._total
        self._begun += 1
        if tell is None:
            return None
        tell(done, total, name)

        def inner(n: int, of: int, stage: str, /) -> None:
            tell(done, total, f"{name}: {stage}" + (f", {n} of {of}" if of else ""))

        return inner

    def end(self) -> None:
        """All is done."""
        if self._progress is not None:
            self._progress(self._total, self._total, "done")


def _parts(fresh: Sequence[Finished], folds: int) -> list[list[Finished]]:
    """What is held out, a fold at a time."""
    ways = min(folds, len(fresh))
    # in the order of their hashes: any order of documents gives the same folds
    order = sorted(fresh, key=lambda one: (zlib.crc32(name_of(one).encode()), name_of(one)))
    parts = [order[way::ways] for way in range(ways)]
    return parts[:1] if len(fresh) >= ENOUGH else parts


def _judged(
    task: Task,
    examples: Sequence[Finished],
    parts: Sequence[Sequence[Finished]],
    base: str | None,
    steps: _Steps,
) -> tuple[list[Finished], Score]:
    """The held-out sentences, and the score of models that have not seen them."""
    held_out: list[Finished] = []
    counts: list[tuple[float, float, float]] = []
    name = ""
    for number, part in enumerate(parts, start=1):
        progress = steps.begin(f"judging {number} of {len(parts)}")
        names = set(map(name_of, part))
        others = [one for one in examples if name_of(one) not in names]
        if not others and base is None:
            continue
        try:
            model = task.train(others, base=base, progress=progress)
        except EigentextError as error:
            if base is not None and base in str(error):  # that file is at fault, and told
                raise
            why = f"no model can be made of {len(others)} sentences yet: {error}"
            raise DataError("<finished sentences>", None, why) from error
        result = task.score(model, part)
        name = result.name
        held_out += part
        counts += result.counts
    return held_out, scored(name, counts)
