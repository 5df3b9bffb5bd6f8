"""One layer of a project as a file: what `Task.lines` makes of it, document by document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eigentext.studio.store.accounts import Accounts
from eigentext.studio.store.problems import MissingError
from eigentext.studio.tasks import open_task
from eigentext.studio.tasks.learning import task_settings
from eigentext.studio.tasks.records import AnnotatedDocument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eigentext.studio.store.records import Layer, Project
    from eigentext.studio.store.store import AnnotationStore
    from eigentext.studio.tasks.task import Task


def task_of(project: Project) -> Task:
    """The task of a project, without a model: what is exported is what was decided."""
    return open_task(project.task, **task_settings(project.settings))


def annotated(
    store: AnnotationStore,
    layer: Layer,
    format: str | None,  # noqa: A002
) -> AnnotatedDocument:
    """A layer as it is exported."""
    opened = store.open_layer(layer)
    document = store.document(layer.document)
    history: list[dict[str, Any]] = []
    if format == "decisions" and layer.id:
        for decision in store.history(layer.id):
            row = decision._asdict()
            people = {name: opened.people.get(row[name]) for name in ("user", "undone_by")}
            history.append({**row, **people, "layer": layer.kind})
    annotator = "" if layer.user is None else opened.people[layer.user]
    return AnnotatedDocument(document.doc, opened.values, annotator, tuple(history))


def export_lines(
    store: AnnotationStore,
    project: int,
    *,
    layer: str = "adjudication",
    format: str | None = None,  # noqa: A002
    documents: Sequence[int] | None = None,
    unfinished: bool = False,
) -> Iterator[str]:
    """Lines, without line ends, of a layer: ``adjudication``, or the name of an annotator.

    Sentences that are not done are left out unless ``unfinished``.
    """
    exported = store.project(project)
    task = task_of(exported)
    task.check_format(format)
    user = None if layer == "adjudication" else Accounts(store).user_named(layer).id
    kind = "adjudication" if user is None else "annotator"
    numbers = [facts.id for facts in store.documents(project)]
    for number in documents or ():
        if number not in numbers:
            raise MissingError(f"there is no document {number} in the project {exported.name!r}")

    def lines() -> Iterator[str]:
        for number in documents or numbers:
            of_user = store.layer_to_see(number, kind=kind, user=user)
            yield from task.lines(
                annotated(store, of_user, format), format=format, unfinished=unfinished
            )

    return lines()
