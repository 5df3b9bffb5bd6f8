"""Projects, documents, layers and what people decided, in one database.

1. A project has one task and documents; a document is stored once and not changed.
2. Each annotator of a document has a layer, adjudication one more.  A decision is a row that is
   never changed, but for being taken back: what holds for an item of a sentence is the newest
   decision about it that was not taken back.
3. Every change (decisions made together, an undo, a redo) raises the layer's version by one.
   Who sends the version they saw, and decides about a sentence (in lexical projects: a word) that
   changed since, gets a :class:`ConflictError`, and nothing is saved.
4. What is deleted can be had back until it is purged; both need the name as a confirmation.
5. A finished layer whose annotator has seen the adjudication is closed.
6. Whatever is no decision is written to the audit log.

``by`` is everywhere the number of the user who acts, None for the command line.  Who may do what
is not asked here: see :mod:`eigentext.studio.store.permissions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, select, update

from eigentext.errors import SettingsError
from eigentext.studio.store.database import reads, writes
from eigentext.studio.store.problems import ClosedError, MissingError, TakenError
from eigentext.studio.store.projects import ProjectStore
from eigentext.studio.store.records import Change, Layer, OpenLayer
from eigentext.studio.store.rows import (
    find_facts,
    find_layer,
    find_project,
    find_user,
    insert_row,
    log,
    there,
    update_row,
)
from eigentext.studio.store.schema import decisions, documents, layers, models, users
from eigentext.studio.store.versions import (
    append,
    check_change,
    check_seen,
    counted,
    find_decisions,
    held,
    keep_version,
    last_change,
    next_version,
    redoable_change,
    state_of,
    work_of,
)
from eigentext.studio.tasks import task_class

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy.engine import Connection

    from eigentext.base.types import Json
    from eigentext.studio.store.records import Decision, Place, State


class AnnotationStore(ProjectStore):
    """A store of annotations: a file, or a database on a server.

    >>> import tempfile, pathlib
    >>> from eigentext.studio.store.records import StoredDocument
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = AnnotationStore(pathlib.Path(folder.name, "a.db"))
    >>> project = store.create_project("Trees", "dependency", language="en")
    >>> sentence = {"tokens": [{"text": "It", "start": 0, "end": 2}]}
    >>> (text,) = store.add_documents(project.id, [StoredDocument("one", "It", [sentence], {})])
    >>> layer = store.layer(text.id, kind="adjudication")
    >>> store.decide(layer.id, Change(0, "a1", {"head": 0, "deprel": "root"}), base_version=0)
    1
    >>> store.state(layer.id).values
    {(0, 'a1'): {'head': 0, 'deprel': 'root'}}
    >>> store.undo(layer.id)[0].item
    'a1'
    >>> store.state(layer.id).values, store.state(layer.id).version
    ({}, 2)
    >>> store.close()
    >>> folder.cleanup()
    """

    # ---- layers

    def layer(self, document: int, *, kind: str = "annotator", user: int | None = None) -> Layer:
        """The layer of a user, or of adjudication, in a document; made when first asked for."""
        _check_owner(kind, user)

        def look(c: Connection) -> Layer | None:
            return _layer_of(c, document, kind, user)

        def make(c: Connection) -> Layer | None:
            stored = look(c)  # another may have made it
            if stored is not None:
                return stored
            row = {"document": document, "kind": kind, "user": user, "version": 0}
            number = insert_row(c, layers, row | {"created": self.now()}, "")
            return find_layer(c, number)

        stored = self.reading(look)
        if stored is not None:
            return stored
        try:
            stored = self.writing(make)
        except TakenError:  # in PostgreSQL, in the same moment
            stored = self.reading(look)
        if stored is None:
            raise MissingError(f"the layer of document {document} was removed just now")
        return stored

    def layer_to_see(
        self, document: int, *, kind: str = "annotator", user: int | None = None
    ) -> Layer:
        """The same for those who only look: nothing is written.

        A layer in which nobody decided yet has the number and the version 0.
        """
        _check_owner(kind, user)
        stored = self.reading(lambda c: _layer_of(c, document, kind, user))
        return stored or Layer(0, document, kind, user, 0, "", None)

    def layer_numbered(self, number: int) -> Layer:
        """The layer of this number."""
        return self.reading(lambda c: find_layer(c, number))

    @reads
    def layers(self, c: Connection, document: int) -> list[Layer]:
        """The layers of a document: annotators in the order they began, then adjudication."""
        find_facts(c, document)
        return _layers(c, layers.c.document == document)

    @writes
    def mark_done(
        self,
        c: Connection,
        layer: int,
        done: bool = True,
        *,
        by: int | None = None,
        reopen: bool = True,
    ) -> Layer:
        """Say that a layer is finished, or that it is not; decisions stay possible.

        A closed one is opened again only with ``reopen``.
        """
        work_of(c, layer)
        before = c.execute(select(layers).where(layers.c.id == layer).with_for_update()).one()
        if not (done or reopen) and Layer(*before).closed:
            raise ClosedError
        update_row(c, layers, layer, {"done": self.now() if done else None}, "")
        log(c, self.now(), by, "layer.done" if done else "layer.open", {"layer": layer})
        return find_layer(c, layer)

    def see_adjudication(self, document: int, user: int) -> bool:
        """Whether an annotator, who is about to look, has finished their own layer.

        If so, and if anything was adjudicated, the layer is closed from now on.
        """

        def look(c: Connection, *, lock: bool = False) -> tuple[Layer | None, bool]:
            mine = _layer_of(c, document, "annotator", user, lock=lock)
            final = _layer_of(c, document, "adjudication", None)
            news = mine is not None and mine.saw is None and final is not None
            return mine, news and final.version > 0  # type: ignore[union-attr]

        def work(c: Connection) -> Layer | None:
            mine, news = look(c, lock=True)
            if mine is not None and mine.done is not None and news:
                update_row(c, layers, mine.id, {"saw": mine.version}, "")
                log(c, self.now(), user, "adjudication.see", {"layer": mine.id})
            return mine

        mine, news = self.reading(look)
        if mine is not None and mine.done is not None and news:
            mine = self.writing(work)
        return mine is not None and mine.done is not None

    @reads
    def layers_of(
        self, c: Connection, project: int, document: int | None = None
    ) -> dict[int, list[Layer]]:
        """The layers of each document of a project (or of one), without those nobody began."""
        find_project(c, project)
        chosen = [documents.c.project == project, documents.c.deleted.is_(None)]
        if document is not None:
            chosen.append(documents.c.id == document)
        by_document: dict[int, list[Layer]] = {}
        for layer in _layers(c, *chosen):
            by_document.setdefault(layer.document, []).append(layer)
        return by_document

    @reads
    def open_layer(
        self, c: Connection, layer: Layer, sentences: Collection[int] | None = None
    ) -> OpenLayer:
        """A layer with what holds in these sentences, or in all of them."""
        document = find_facts(c, layer.document)
        project = there(find_project(c, document.project), "project")
        there(document, "document")
        now = layer
        decided: dict[Place, Decision] = {}
        if layer.id:
            now = find_layer(c, layer.id)
            decided = held(c, layer.id, sentences)
        query = select(models.c.file).where(models.c.project == project.id, models.c.in_use)
        file = c.execute(query).scalar() or ""
        people = {row.id: row.name for row in c.execute(select(users.c.id, users.c.name))}
        return OpenLayer(project, document, now, file, people, decided)

    def steps(self, layer: int) -> tuple[bool, bool]:
        """Whether there is a change to take back, and one to bring back."""
        return self.reading(
            lambda c: (bool(last_change(c, layer)), bool(redoable_change(c, layer)))
        )

    # ---- decisions

    def decide(
        self,
        layer: int,
        change: Change | Sequence[Change],
        *,
        base_version: int | None = None,
        by: int | None = None,
    ) -> int:
        """Store a decision, or several that belong together, and give the new version.

        ``base_version`` is the one that the change was made for: a ConflictError says that a
        sentence in question (in lexical projects: a word) changed since.  None: no such check.
        """
        new = [change] if isinstance(change, Change) else list(change)
        if not new:
            raise SettingsError("a change needs at least one decision")
        places = {(decision.sentence, decision.item) for decision in new}
        if len(places) < len(new):
            raise SettingsError("a change has two decisions about the same item")

        def work(c: Connection) -> int:
            version, n_sentences, task = next_version(c, layer)
            for decision in new:
                check_change(decision, n_sentences)
            if base_version is not None:
                separate = task_class(task).SEPARATE_ITEMS
                check_seen(c, layer, base_version, version, places if separate else None, new)
            append(c, layer, version, new, by, self.now())
            return version

        return self.writing(work)

    @writes
    def undo(
        self, c: Connection, layer: int, *, base_version: int | None = None, by: int | None = None
    ) -> tuple[Decision, ...]:
        """Take the newest change back; the decisions that no longer hold, none if there was none.

        With ``base_version`` nothing at all may have changed since that version: what would be
        taken back is another change than the one that was seen.
        """
        version, _, _ = next_version(c, layer)
        if base_version is not None:
            check_seen(c, layer, base_version, version, None, None)
        last = last_change(c, layer)
        if not last:
            keep_version(c, layer, version)
            return ()
        mark: Json = {"undone": self.now(), "undone_version": version, "undone_by": by}
        chosen = decisions.c.id.in_([decision.id for decision in last])
        with counted(c, layer, {decision.sentence for decision in last}):
            c.execute(update(decisions).where(chosen).values(mark))
        return tuple(decision._replace(**mark) for decision in last)

    @writes
    def redo(
        self, c: Connection, layer: int, *, base_version: int | None = None, by: int | None = None
    ) -> tuple[Decision, ...]:
        """Bring back the change that was undone last, as a new one; none after a new decision."""
        version, _, _ = next_version(c, layer)
        if base_version is not None:
            check_seen(c, layer, base_version, version, None, None)
        back = redoable_change(c, layer)
        if not back:
            keep_version(c, layer, version)
            return ()
        changes = [
            Change(*(getattr(decision, name) for name in Change._fields)) for decision in back
        ]
        append(c, layer, version, changes, by, self.now(), [decision.id for decision in back])
        return tuple(find_decisions(c, decisions.c.layer == layer, decisions.c.version == version))

    def state(self, layer: int) -> State:
        """What holds in a layer."""
        return self.reading(lambda c: state_of(c, find_layer(c, layer)))

    @reads
    def states(self, c: Connection, project: int) -> dict[int, list[State]]:
        """What holds in all layers of a project, by document."""
        find_project(c, project)
        chosen = (documents.c.project == project, documents.c.deleted.is_(None))
        states: dict[int, list[State]] = {}
        for layer in _layers(c, *chosen):
            states.setdefault(layer.document, []).append(state_of(c, layer))
        return states

    @reads
    def history(self, c: Connection, layer: int, *, sentence: int | None = None) -> list[Decision]:
        """All decisions of a layer in the order they were made, those taken back too."""
        find_layer(c, layer)
        conditions = [decisions.c.layer == layer]
        if sentence is not None:
            if not 0 <= sentence < 2**31:
                return []
            conditions.append(decisions.c.sentence == sentence)
        return find_decisions(c, *conditions)


def _layers(c: Connection, *conditions: Any) -> list[Layer]:
    """Layers by document: annotators in the order they began, then adjudication."""
    order = layers.c.document, layers.c.kind.desc(), layers.c.id
    query = select(layers).join(documents, documents.c.id == layers.c.document)
    return [Layer(*row) for row in c.execute(query.where(*conditions).order_by(*order))]


def _layer_of(
    c: Connection, document: int, kind: str, user: int | None, *, lock: bool = False
) -> Layer | None:
    there(find_facts(c, document), "document")
    if user is not None:
        find_user(c, user)
    here = and_(layers.c.document == document, layers.c.kind == kind)
    here = and_(here, layers.c.user.is_(None) if user is None else layers.c.user == user)
    query = select(layers).where(here)
    row = c.execute(query.with_for_update() if lock else query).first()
    return None if row is None else Layer(*row)


def _check_owner(kind: str, user: int | None) -> None:
    if kind == "annotator" and user is None:
        raise SettingsError("the layer of an annotator needs a user")
    if kind == "adjudication" and user is not None:
        raise SettingsError("the layer of adjudication belongs to no user")
    if kind not in ("annotator", "adjudication"):
        raise SettingsError(f"a layer is of kind annotator or adjudication, not {kind!r}")
