"""What was decided, as files: one layer of a project, in the formats of its task.

Besides the formats of a task there are two of every task, both JSON Lines:

``jsonl``      a line a sentence: document, number, tokens, the value of every item that was
               decided, whether it is done (lexical and entities have a form of their own)
``decisions``  a line a decision with all that is stored of it: who, when, rank, seconds, keys,
               note, version, and when it was taken back
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eigentext.errors import SettingsError
from eigentext.studio.store.accounts import Accounts
from eigentext.studio.store.problems import MissingError
from eigentext.studio.tasks import open_task
from eigentext.studio.tasks.records import Document as TaskDocument
from eigentext.studio.tasks.records import Sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eigentext.studio.store.records import Document, Layer, Project, State
    from eigentext.studio.store.store import AnnotationStore

__all__ = ["export_lines", "formats_of", "task_document"]


def task_document(document: Document, language: str = "") -> TaskDocument:
    """A stored document as tasks take it."""
    sentences = tuple(Sentence.from_record(record) for record in document.sentences)
    return TaskDocument(document.name, sentences, document.text or "", language)


def formats_of(task: str) -> tuple[str, ...]:
    """The formats of a task; the first is taken unless told.

    >>> formats_of("dependency")
    ('conllu', 'jsonl', 'decisions')
    """
    return tuple(dict.fromkeys([*open_task(task).formats, "jsonl", "decisions"]))


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
    found = store.project(project)
    chosen = format or formats_of(found.task)[0]
    if chosen not in formats_of(found.task):
        known = ", ".join(formats_of(found.task))
        raise SettingsError(f"{found.task} is not exported as {chosen!r}: expected {known}")
    user = None if layer == "adjudication" else Accounts(store).user_named(layer).id
    wanted = [facts.id for facts in store.documents(project)]
    for number in documents or ():
        if number not in wanted:
            raise MissingError(f"there is no document {number} in the project {found.name!r}")
    return _lines(store, found, user, chosen, documents or wanted, unfinished, layer)


def _lines(
    store: AnnotationStore,
    project: Project,
    user: int | None,
    chosen: str,
    wanted: Sequence[int],
    unfinished: bool,
    layer_name: str,
) -> Iterator[str]:
    names = {user.id: user.name for user in Accounts(store).users()}
    for number in wanted:
        layer = _layer(store.layers(number), user)
        if layer is None:
            continue
        document = store.document(number)
        if chosen == "decisions":
            yield from _decisions(store, document, layer, names)
            continue
        state = store.state(layer.id)
        task = open_task(project.task)
        if chosen in task.formats:
            yield from task.export(
                task_document(document, project.language),
                state.values,
                annotator="" if user is None else layer_name,
                format=chosen,
                unfinished=unfinished,
            )
        else:
            yield from _sentences(document, state, unfinished)


def _layer(layers: Sequence[Layer], user: int | None) -> Layer | None:
    return next((layer for layer in layers if layer.user == user), None)


def _sentences(document: Document, state: State, unfinished: bool) -> Iterator[str]:
    for number, sentence in enumerate(document.sentences):
        items = state.of(number)
        done = items.get("done") is not None
        if done or (unfinished and items):
            yield _line(
                document=document.name,
                sentence=number,
                tokens=[token["text"] for token in sentence["tokens"]],
                items=items,
                done=done,
            )


def _decisions(
    store: AnnotationStore, document: Document, layer: Layer, names: dict[int, str]
) -> Iterator[str]:
    for decision in store.history(layer.id):
        record = decision._asdict()
        for field in ("user", "undone_by"):
            record[field] = names.get(record[field])
        yield _line(document=document.name, **{**record, "layer": layer.kind})


def _line(**record: Any) -> str:
    return json.dumps(record, ensure_ascii=False)
