"""Models that learn from the decisions of a project: from the store to a file, and back.

1. `gather` takes the finished sentences out of the store, each once: as adjudicated, else as the
   annotator who came first has it.
2. `learn` makes the next model and holds it against the present one (`tasks.retrain`); it needs no
   store, so that another process can do it.
3. `note` tells the store; the new model proposes from then on if it does no worse.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.errors import SettingsError
from eigentext.studio.tasks import open_task, task_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from eigentext.base.progress import Progress
    from eigentext.studio.store.records import MadeModel, Place, State, StoredDocument
    from eigentext.studio.store.store import AnnotationStore
    from eigentext.studio.tasks.task import Task

LAYERS = ("all", "adjudication")


def _is_list_of_text(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(label, str) for label in value)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


#: The settings of a project, and what each can be.
SETTINGS: dict[str, Callable[[object], bool]] = {
    "labels": _is_list_of_text,
    "scheme": _is_text,
    "compare": _is_flag,
    "checks": _is_flag,
    "passed": _is_flag,
    "base_treebank": _is_text,
}


class Lesson(NamedTuple):
    """All that the next model is made of.

    ``model``  the file of the model that the project began with; empty: none
    ``file``   that of the one learned from decisions that is in use; empty: none
    ``seen``   names of the sentences that ``file`` has learned from
    ``base``   a treebank of which the first model was made; empty: none
    ``texts``  documents, and what was decided in each
    """

    project: int
    task: str
    settings: dict[str, Any]
    model: str
    file: str
    seen: tuple[str, ...]
    base: str
    texts: tuple[tuple[StoredDocument, dict[Place, Any]], ...]


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


def task_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those settings of a project that are the task's; a foreign dump may have any.

    >>> task_settings({"labels": ["NP"], "compare": True})
    {'labels': ['NP']}
    """
    for key in [key for key in SETTINGS if key in settings]:
        if not SETTINGS[key](settings[key]):
            shown = str(settings[key])[:60]
            raise SettingsError(f"the setting {key} of a project cannot be {shown!r}")
    return {key: value for key, value in settings.items() if key in ("labels", "scheme")}


def open_with(task: str, served: Any, file: str, settings: Mapping[str, Any]) -> Task:
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
    used = next((one for one in store.models(number) if one.in_use), None)
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
    for state in sorted(states, key=lambda one: one.layer.kind != "adjudication"):
        values = state.values
        done = {s for (s, item), value in values.items() if item == "done" and value is not None}
        done -= taken
        chosen |= {place: value for place, value in values.items() if place[0] in done}
        taken |= done
    return chosen


def learn(lesson: Lesson, folder: Path, *, progress: Progress | None = None) -> dict[str, Any]:
    """Make the next model, save it in ``folder``, and tell how it does beside the present one.

    The report has ``file``, ``kept`` (whether it does no worse), ``said`` (that in a sentence),
    and the figures of `tasks.retrain.Retrained`.
    """
    from eigentext.studio.tasks.retrain import retrain

    task = open_with(lesson.task, lesson.model or None, lesson.file, lesson.settings)
    result = retrain(
        task,
        [replace(stored.doc, id=str(stored.id)) for stored, _ in lesson.texts],
        [decided for _, decided in lesson.texts],
        base_treebank=lesson.base or None,
        seen=lesson.seen,
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


def verdict(report: Mapping[str, Any], made: MadeModel) -> str:
    """What came of it, in a sentence or two.

    >>> from eigentext.studio.store.records import MadeModel
    >>> made = MadeModel(2, 1, "a.model", "", None, {}, in_use=False)
    >>> verdict({"said": "The new model is as good.", "kept": True}, made)
    'The new model is as good. It is not in use: another was chosen while it was made.'
    """
    said = str(report["said"])
    if report["kept"] and not made.in_use:
        said += " It is not in use: another was chosen while it was made."
    return said
