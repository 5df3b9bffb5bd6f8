"""Models that learn from the decisions of a project: from the store to a file, and back.

1. `gather` takes the finished sentences out of the store, each once: as adjudicated, else as the
   annotator who came first has it.
2. `retrain` makes the next model; with ``base_treebank`` the training data of the old one is
   added.  Both models answer for sentences that neither has learned from: of the examples that
   are new since the old model was made, a fold at a time is held out, and a model of all the
   others answers for it.  With many new sentences one fold is enough, with few all take turns.
3. The new model, of all examples, is kept if it does no worse; the figures, their difference and
   its interval say how sure that is.  Nothing is replaced unless it is kept, and then in one step.
4. `learn` does that without a store, so that another process can; `note` tells the store.
"""

from __future__ import annotations

import json
import time
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.base.values import Flag, Listed, Text, Value
from eigentext.errors import DataError, EigentextError, SettingsError
from eigentext.evaluate.bootstrap import compare
from eigentext.studio.tasks import open_task, task_class
from eigentext.studio.tasks.task import scored

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Json
    from eigentext.evaluate.bootstrap import Comparison
    from eigentext.language import Doc
    from eigentext.studio.store.records import MadeModel, Place, State, StoredDocument
    from eigentext.studio.store.store import AnnotationStore
    from eigentext.studio.tasks.records import Decisions, Finished, TaskScore
    from eigentext.studio.tasks.task import Task

LAYERS = ("all", "adjudication")


#: The settings of a project, and what each can be.
SETTINGS: dict[str, Value] = {
    "labels": Listed(Text(), most=2**62),
    "scheme": Text(),
    "compare": Flag(),
    "checks": Flag(),
    "passed": Flag(),
    "base_treebank": Text(),
}


class Lesson(NamedTuple):
    """All that the next model is made of."""

    project: int
    task: str
    settings: Json
    model: str  # the file of the model that the project began with; empty: none
    file: str  # that of the one learned from decisions that is in use; empty: none
    learned_from: tuple[str, ...]  # names of the sentences that ``file`` has learned from
    base: str  # a treebank of which the first model was made; empty: none
    texts: tuple[tuple[StoredDocument, dict[Place, Any]], ...]  # and what is decided in each


def models_folder(store: AnnotationStore, folder: str | None = None) -> Path:
    """Where the models of a store are kept: beside its file unless a folder is given."""
    if folder is not None:
        return Path(folder)
    if store.is_file:
        return Path(f"{store.path}.models")
    raise SettingsError(
        "the annotations are in a database: say where models are to be kept, by "
        "--annotation-models FOLDER"
    )


def task_settings(settings: Mapping[str, object]) -> Json:
    """Those settings of a project that are the task's; a foreign dump may have any.

    >>> task_settings({"labels": ["NP"], "compare": True})
    {'labels': ['NP']}
    """
    for key in [key for key in SETTINGS if key in settings]:
        try:
            SETTINGS[key].check(key, settings[key])
        except ValueError as error:
            shown = str(settings[key])[:60]
            raise SettingsError(f"the setting {key} of a project cannot be {shown!r}") from error
    return {key: value for key, value in settings.items() if key in ("labels", "scheme")}


def open_with(task: str, served: object, file: str, settings: Mapping[str, object]) -> Task:
    """The task with the model in ``file`` if there is one, else with ``served``."""
    if not file:
        return open_task(task, served, **settings)
    if isinstance(served, str):
        from eigentext.base.model import load

        served = load(served)
    return open_task(task, file, **settings, **task_class(task).beside_learned(served))


def gather(
    store: AnnotationStore,
    number: int,
    *,
    layers: str = "all",
    model: str = "",
    base: str | None = None,
) -> Lesson:
    """The finished sentences of a project, of all layers or the adjudication alone."""
    if layers not in LAYERS:
        raise SettingsError(f"layers is {layers!r}, expected one of {', '.join(LAYERS)}")
    project = store.project(number)
    used = next((candidate for candidate in store.models(number) if candidate.in_use), None)
    states = store.states(number)
    texts = []
    for facts in store.documents(number):
        of_layers = [
            state
            for state in states.get(facts.id, ())
            if layers == "all" or state.layer.kind == "adjudication"
        ]
        texts.append((store.document(facts.id), once(of_layers)))
    return Lesson(
        number,
        project.task,
        task_settings(project.settings),
        model,
        used.file if used else "",
        tuple(used.scores.get("learned_from", ())) if used else (),
        base or project.settings.get("base_treebank", ""),
        tuple(texts),
    )


def once(states: Iterable[State]) -> dict[Place, Any]:
    """The decisions on each sentence of the first layer that has it done, adjudication before."""
    chosen: dict[Place, Any] = {}
    taken: set[int] = set()
    for state in sorted(states, key=lambda state: state.layer.kind != "adjudication"):
        values = state.values
        done = {s for (s, item), value in values.items() if item == "done" and value is not None}
        done -= taken
        chosen |= {key: value for key, value in values.items() if key[0] in done}
        taken |= done
    return chosen


def learn(lesson: Lesson, folder: Path, *, progress: Progress | None = None) -> Json:
    """Make the next model, save it in ``folder``, and tell how it does beside the present one.

    The report has ``file``, ``kept`` (whether it does no worse), ``said`` (that in a sentence),
    and the figures of `Retrained`.
    """
    task = open_with(lesson.task, lesson.model or None, lesson.file, lesson.settings)
    result = retrain(
        task,
        [replace(stored.doc, id=str(stored.id)) for stored, _ in lesson.texts],
        [decided for _, decided in lesson.texts],
        base_treebank=lesson.base or None,
        learned_from=lesson.learned_from,
        progress=progress,
    )
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"project-{lesson.project}-{token_hex(6)}.model"
    result.model.save(path)
    said = f"The new model is {result.why}."
    return {**json.loads(json.dumps(result.as_record())), "said": said, "file": str(path)}


def note(
    store: AnnotationStore, lesson: Lesson, report: Mapping[str, Any], *, by: int | None = None
) -> MadeModel:
    """Keep what was learned; the new model proposes from now on if it does no worse.

    A model that somebody chose while this one was made stays: see ``in_use`` of the answer.
    """
    scores = {key: value for key, value in report.items() if key != "file"}
    return store.add_model(
        lesson.project,
        report["file"],
        scores,
        use=bool(report["kept"]),
        instead_of=lesson.file,
        by=by,
    )


def verdict(report: Mapping[str, object], learned: MadeModel) -> str:
    """What came of it, in a sentence or two.

    >>> from eigentext.studio.store.records import MadeModel
    >>> made = MadeModel(2, 1, "a.model", "", None, {}, in_use=False)
    >>> verdict({"said": "The new model is as good.", "kept": True}, made)
    'The new model is as good. It is not in use: another was chosen while it was made.'
    """
    said = str(report["said"])
    if report["kept"] and not learned.in_use:
        said += " It is not in use: another was chosen while it was made."
    return said


LEAST = 5  # finished sentences that a model can be made of
ENOUGH = 200  # new sentences of which one fold is enough to judge by


@dataclass(frozen=True)
class Retrained:
    """A new model and what is known of it."""

    model: Any
    kept: bool  # whether it does no worse than the old one (there may be none)
    why: str  # the same in words
    new: TaskScore
    old: TaskScore | None  # on the same held-out sentences; None without an old model
    comparison: Comparison | None  # new against old: difference, interval, p
    n_examples: int
    n_held_out: int
    learned_from: tuple[str, ...]  # sentences it has seen: give them to the next retraining
    seconds: float

    def as_record(self) -> Json:
        """The figures, for a database or a page."""
        record: Json = {
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
            names = ("difference", "low", "high", "p_value")
            record |= {name: getattr(self.comparison, name) for name in names}
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
    learned_from: Collection[str] = (),
    folds: int = 5,
    progress: Progress | None = None,
) -> Retrained:
    """Make the next model of a task from finished sentences.

    ``states`` are the decisions on each of ``documents``; ``learned_from`` names sentences that
    the task's own model, the old one, learned from (those of its making), which cannot judge it.
    ``progress`` is told the steps: a model of each fold, and the new one.

    >>> from eigentext.language import Doc
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
    begun, old = time.monotonic(), task.model
    examples = [
        example
        for document, state in zip(documents, states, strict=True)
        for example in task.finished(document, state)
        if len(example.sentence)
    ]
    if len(examples) < LEAST:
        why = f"{len(examples)} finished sentences, expected at least {LEAST} to learn from"
        raise DataError("<finished sentences>", None, why)
    fresh = (
        [example for example in examples if name_of(example) not in learned_from]
        if old is not None
        else examples
    )
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
        time.monotonic() - begun,
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
    order = sorted(
        fresh, key=lambda example: (zlib.crc32(name_of(example).encode()), name_of(example))
    )
    parts = [order[way::ways] for way in range(ways)]
    return parts[:1] if len(fresh) >= ENOUGH else parts


def _judged(
    task: Task,
    examples: Sequence[Finished],
    parts: Sequence[Sequence[Finished]],
    base: str | None,
    steps: _Steps,
) -> tuple[list[Finished], TaskScore]:
    """The held-out sentences, and the score of models that have not seen them."""
    held_out: list[Finished] = []
    counts: list[tuple[float, float, float]] = []
    name = ""
    for number, part in enumerate(parts, start=1):
        progress = steps.begin(f"judging {number} of {len(parts)}")
        names = set(map(name_of, part))
        others = [example for example in examples if name_of(example) not in names]
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
