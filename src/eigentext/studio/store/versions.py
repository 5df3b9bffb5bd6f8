"""The versions of a layer, inside a transaction: how a change is added, and what then holds."""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, exists, func, insert, or_, select, update

from eigentext.errors import SettingsError, shortened
from eigentext.studio.store.problems import ClosedError, ConflictError, MissingError
from eigentext.studio.store.records import Change, Decision, Layer, State
from eigentext.studio.store.rows import (
    check_json,
    check_name,
    check_text,
    find_facts,
    find_layer,
    find_project,
    there,
)
from eigentext.studio.store.schema import decisions, layers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection

    from eigentext.studio.store.records import Place


def check_change(change: Change, n_sentences: int) -> None:
    """Refuse a decision that cannot be stored."""
    if not 0 <= change.sentence < n_sentences:
        raise SettingsError(
            f"there is no sentence {change.sentence}: the document has {n_sentences}, from 0"
        )
    check_name(change.item, "the item of a decision")
    check_text(change.note, "the note")
    check_json(change.value, "the value")
    for what, number in (("rank", change.rank), ("keys", change.keys)):
        if number is not None and not 0 <= number < 2**31:
            raise SettingsError(f"{what} {number} is out of range")
    if change.seconds is not None and not 0 <= change.seconds < math.inf:
        raise SettingsError(f"seconds {change.seconds} is out of range")


def work_of(c: Connection, number: int) -> tuple[int, str]:
    """Sentences and task of a layer's document, if neither that nor its project was deleted."""
    document = there(find_facts(c, find_layer(c, number).document), "document")
    project = there(find_project(c, document.project), "project")
    return document.n_sentences, project.task


def next_version(c: Connection, layer: int) -> tuple[int, int, str]:
    """Raise the version; whoever else wants to change the layer waits until we are done.

    Besides the new version: the sentences of the document, and the task.
    """
    n_sentences, task = work_of(c, layer)
    raised = update(layers).where(layers.c.id == layer).values(version=layers.c.version + 1)
    row = c.execute(raised.returning(*layers.c)).first()
    if row is None:
        raise MissingError(f"there is no layer {layer}")
    changed = Layer(*row)
    if changed.closed:
        raise ClosedError
    return changed.version, n_sentences, task


def keep_version(c: Connection, layer: int, version: int) -> None:
    """Take back that the version was raised: nothing was changed."""
    c.execute(update(layers).where(layers.c.id == layer).values(version=version - 1))


def check_seen(
    c: Connection,
    layer: int,
    base_version: int,
    version: int,
    places: set[Place] | None,
    new: Sequence[Change] | None,
) -> None:
    """Refuse a change whose sentences (or ``places``; without ``new``: anything) changed since.

    ``done`` speaks of a whole sentence: it is in the way of every item there, and they of it.
    """
    if not 0 <= base_version < version:
        raise ConflictError(f"version {base_version} is not one of this layer", version - 1, ())
    if base_version == version - 1:
        return
    since = or_(decisions.c.version > base_version, decisions.c.undone_version > base_version)
    changed = find_decisions(c, decisions.c.layer == layer, since)
    if new is not None:
        whole = {change.sentence for change in new if places is None or change.item == "done"}
        sentences = {change.sentence for change in new}
        changed = [
            decision
            for decision in changed
            if decision.sentence in whole
            or (places is not None and decision.place in places)
            or (decision.item == "done" and decision.sentence in sentences)
        ]
    if changed:
        where = ", ".join(dict.fromkeys(f"{d.item} of sentence {d.sentence + 1}" for d in changed))
        raise ConflictError(
            f"something else was stored since version {base_version}: {shortened(where, 200)}; "
            "nothing was saved",
            version - 1,
            changed,
        )


def append(
    c: Connection,
    layer: int,
    version: int,
    new: Sequence[Change],
    by: int | None,
    at: str,
    redo_of: Sequence[int | None] | None = None,
) -> None:
    """Add the rows of a change."""
    rows = [
        {
            "layer": layer,
            "version": version,
            **change._asdict(),
            "user": by,
            "at": at,
            "redo_of": original,
        }
        for change, original in zip(new, redo_of or [None] * len(new), strict=True)
    ]
    with counted(c, layer, {change.sentence for change in new}):
        c.execute(insert(decisions), rows)


def held(
    c: Connection, layer: int, sentences: Collection[int] | None = None
) -> dict[Place, Decision]:
    """What holds in some sentences of a layer, or in all, in the order of the text."""
    conditions = [decisions.c.layer == layer, decisions.c.undone.is_(None)]
    if sentences is not None:
        conditions.append(decisions.c.sentence.in_(sentences))
    return _holding(find_decisions(c, *conditions))


@contextmanager
def counted(c: Connection, layer: int, sentences: Collection[int]) -> Iterator[None]:
    """Keep the counts of a layer right while decisions on these sentences change."""
    before = _counts(held(c, layer, sentences))
    yield
    more = [new - old for new, old in zip(_counts(held(c, layer, sentences)), before, strict=True)]
    columns = layers.c.decided, layers.c.done_sentences
    changes = {column: column + n for column, n in zip(columns, more, strict=True) if n}
    if changes:
        c.execute(update(layers).where(layers.c.id == layer).values(changes))


def _counts(values: Mapping[Place, Decision]) -> tuple[int, int]:
    """Items that are decided, and sentences that are done."""
    items = [item for (_, item), decision in values.items() if decision.value is not None]
    n_done = items.count("done")
    return len(items) - n_done, n_done


def find_decisions(c: Connection, *conditions: Any) -> list[Decision]:
    """Decisions in the order they were made."""
    query = select(decisions).where(*conditions).order_by(decisions.c.version, decisions.c.id)
    return [Decision(*row) for row in c.execute(query)]


def last_change(c: Connection, layer: int) -> list[Decision]:
    """The decisions that an undo takes back: those of the newest change that still hold."""
    holding = and_(decisions.c.layer == layer, decisions.c.undone.is_(None))
    newest = _newest(decisions.c.version, holding)
    return find_decisions(c, holding, decisions.c.version == newest)


def redoable_change(c: Connection, layer: int) -> list[Decision]:
    """The change taken back last that was not brought back, if no new one was made since."""
    mine = decisions.c.layer == layer
    fresh = _newest(decisions.c.version, mine, decisions.c.redo_of.is_(None))
    again = decisions.alias()
    waiting = and_(
        mine,
        decisions.c.undone_version > func.coalesce(fresh, 0),
        ~exists().where(again.c.redo_of == decisions.c.id),
    )
    newest = _newest(decisions.c.undone_version, waiting)
    return find_decisions(c, waiting, decisions.c.undone_version == newest)


def _newest(column: Any, *conditions: Any) -> Any:
    """The largest value of a column, found by an index from its end."""
    return select(column).where(*conditions).order_by(column.desc()).limit(1).scalar_subquery()


def state_of(c: Connection, layer: Layer) -> State:
    """What holds in a layer."""
    rows = find_decisions(c, decisions.c.layer == layer.id, decisions.c.undone.is_(None))
    last = tuple(row for row in rows if row.version == rows[-1].version)
    redoable = tuple(redoable_change(c, layer.id))
    return State(layer, _holding(rows), last, redoable)


def _holding(rows: Sequence[Decision]) -> dict[Place, Decision]:
    """Of decisions in the order of time the last about each item, in the order of the text."""
    newest = {decision.place: decision for decision in rows}
    return {key: newest[key] for key in sorted(newest, key=_text_order)}


def _text_order(key: Place) -> tuple[int, list[tuple[int, int, str]]]:
    """Items by the numbers in them: w10 comes behind w9."""
    sentence, item = key
    pieces = re.findall(r"(\d+)|(\D+)", item)
    return sentence, [(0, int(n[:18]), "") if n else (1, 0, text) for n, text in pieces]
