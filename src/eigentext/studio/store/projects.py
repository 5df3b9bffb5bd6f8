"""The part of a store that is no decision: projects, documents, assignments, models, the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from sqlalchemy import and_, delete, insert, select, update

from eigentext.errors import SettingsError, shortened
from eigentext.studio.store.database import Database, reads, writes
from eigentext.studio.store.problems import MissingError
from eigentext.studio.store.records import (
    AuditEntry,
    DocumentFacts,
    MadeModel,
    Project,
    StoredDocument,
)
from eigentext.studio.store.rows import (
    LARGEST,
    check_json,
    check_name,
    check_text,
    find_facts,
    find_project,
    find_row,
    find_user,
    insert_row,
    is_storable,
    log,
    there,
    update_row,
)
from eigentext.studio.store.schema import assignments, audit, contents, documents, models, projects
from eigentext.studio.tasks import TASKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy.engine import Connection

    from eigentext.base.types import Json

_WHOLE = [
    (contents if name in contents.c else documents).c[name] for name in StoredDocument._fields
]

Kind = Literal["project", "document"]
_TABLES = {"project": projects, "document": documents}


class ProjectStore(Database):
    """Projects and what is in them, but for the layers."""

    # ---- projects

    def create_project(
        self,
        name: str,
        task: str,
        *,
        language: str = "",
        guidelines: str = "",
        settings: Mapping[str, object] | None = None,
        model: str = "",
        by: int | None = None,
    ) -> Project:
        """A new project."""
        check_name(name, "the name of a project")
        if task not in TASKS:
            raise SettingsError(
                f"task {shortened(str(task), 50)!r} is not one of {', '.join(TASKS)}"
            )
        row = {
            "name": name,
            "task": task,
            "language": check_text(language, "the language"),
            "guidelines": check_text(guidelines, "guidelines"),
            "settings": check_json(dict(settings or {}), "settings"),
            "model": check_text(model, "the model"),
            "created": self.now(),
        }

        def work(c: Connection) -> Project:
            number = insert_row(c, projects, row, f"there is a project {name!r} already")
            log(c, self.now(), by, "project.create", {"project": number, "name": name})
            return find_project(c, number)

        return self.writing(work)

    def projects(self, *, deleted: bool = False) -> list[Project]:
        """All projects by name; with ``deleted`` those that were deleted instead."""
        there = projects.c.deleted.is_not(None) if deleted else projects.c.deleted.is_(None)
        query = select(projects).where(there).order_by(projects.c.name, projects.c.id)
        return self.reading(lambda c: [Project(*row) for row in c.execute(query)])

    def project(self, number: int) -> Project:
        """The project of this number, deleted or not."""
        return self.reading(lambda c: find_project(c, number))

    @reads
    def project_named(self, c: Connection, name: str) -> Project:
        """The project of this name."""
        query = select(projects).where(projects.c.name == name, projects.c.deleted.is_(None))
        row = c.execute(query).first() if is_storable(name) else None
        if row is None:
            raise MissingError(f"there is no project {shortened(name, 100)!r}")
        return Project(*row)

    def change_project(
        self,
        number: int,
        *,
        name: str | None = None,
        language: str | None = None,
        guidelines: str | None = None,
        settings: Mapping[str, object] | None = None,
        model: str | None = None,
        by: int | None = None,
    ) -> Project:
        """Change what is given and not None; the task stays what it is."""
        if name is not None:
            check_name(name, "the name of a project")
        values: Json = {
            "name": name,
            "language": check_text(language or "", "the language")
            if language is not None
            else None,
            "guidelines": None if guidelines is None else check_text(guidelines, "guidelines"),
            "settings": None if settings is None else check_json(dict(settings), "settings"),
            "model": None if model is None else check_text(model, "the model"),
        }
        values = {field: value for field, value in values.items() if value is not None}

        def work(c: Connection) -> Project:
            there(find_project(c, number), "project")
            if values:
                update_row(c, projects, number, values, f"there is a project {name!r} already")
            about = {"project": number, **{k: v for k, v in values.items() if k != "guidelines"}}
            log(c, self.now(), by, "project.change", about | {"fields": sorted(values)})
            return find_project(c, number)

        return self.writing(work)

    # ---- documents

    def add_documents(
        self, project: int, new: Iterable[StoredDocument], *, by: int | None = None
    ) -> list[DocumentFacts]:
        """New documents, all or none; of each name, text, sentences and ``about`` are taken."""
        added = list(new)
        for document in added:
            _check_document(document)

        def work(c: Connection) -> list[DocumentFacts]:
            there(find_project(c, project), "project")
            facts = []
            for document in added:
                taken = f"there is a document {document.name!r} in this project already"
                row = {
                    "project": project,
                    "name": document.name,
                    "n_sentences": len(document.sentences),
                    "n_words": document.n_words,
                    "about": document.about,
                    "created": self.now(),
                }
                number = insert_row(c, documents, row, taken)
                content = {
                    "document": number,
                    "text": document.text,
                    "sentences": document.sentences,
                }
                c.execute(insert(contents).values(content))
                log(c, self.now(), by, "document.add", {"document": number, "name": document.name})
                facts.append(find_facts(c, number))
            return facts

        return self.writing(work)

    @reads
    def documents(
        self, c: Connection, project: int, *, deleted: bool = False
    ) -> list[DocumentFacts]:
        """The documents of a project in the order they came in, without their texts."""
        find_project(c, project)
        there = documents.c.deleted.is_not(None) if deleted else documents.c.deleted.is_(None)
        query = select(documents).where(documents.c.project == project, there)
        return [DocumentFacts(*row) for row in c.execute(query.order_by(documents.c.id))]

    @reads
    def document(self, c: Connection, number: int) -> StoredDocument:
        """The document of this number, deleted or not."""
        query = select(*_WHOLE).join(contents)
        return StoredDocument(*find_row(c, documents, number, query))

    def document_facts(self, number: int) -> DocumentFacts:
        """The document of this number, deleted or not, without its text."""
        return self.reading(lambda c: find_facts(c, number))

    def document_named(self, project: int, name: str) -> DocumentFacts:
        """The document of this name."""
        for facts in self.documents(project):
            if facts.name == name:
                return facts
        raise MissingError(f"there is no document {shortened(name, 100)!r} in this project")

    # ---- assignments

    @writes
    def assign(self, c: Connection, document: int, user: int, *, by: int | None = None) -> None:
        """Give a document to an annotator; twice is as good as once."""
        there(find_facts(c, document), "document")
        find_user(c, user)
        row = {"document": document, "user": user}
        if c.execute(select(assignments).filter_by(**row)).first() is None:
            insert_row(c, assignments, row, "it was assigned at the same moment")
            log(c, self.now(), by, "document.assign", row)

    @writes
    def unassign(self, c: Connection, document: int, user: int, *, by: int | None = None) -> None:
        """Take a document from an annotator; what they decided stays."""
        find_facts(c, document)
        find_user(c, user)
        here = and_(assignments.c.document == document, assignments.c.user == user)
        if c.execute(delete(assignments).where(here)).rowcount:
            about = {"document": document, "user": user}
            log(c, self.now(), by, "document.unassign", about)

    @reads
    def assignments(self, c: Connection, project: int) -> dict[int, list[int]]:
        """The users that each document of a project is assigned to; nobody: not in there."""
        find_project(c, project)
        query = (
            select(assignments.c.document, assignments.c.user)
            .join(documents, documents.c.id == assignments.c.document)
            .where(documents.c.project == project, documents.c.deleted.is_(None))
            .order_by(assignments.c.document, assignments.c.user)
        )
        by_document: dict[int, list[int]] = {}
        for document, user in c.execute(query):
            by_document.setdefault(document, []).append(user)
        return by_document

    @reads
    def open_to(self, c: Connection, document: int, user: int) -> bool:
        """May an annotator work on a document: is it theirs, or assigned to nobody?"""
        find_facts(c, document)
        query = select(assignments.c.user).where(assignments.c.document == document)
        assigned = set(c.execute(query).scalars())
        return not assigned or user in assigned

    # ---- models that were learned from decisions

    def add_model(
        self,
        project: int,
        file: str,
        scores: Mapping[str, object],
        *,
        use: bool = False,
        instead_of: str | None = None,
        by: int | None = None,
    ) -> MadeModel:
        """Note a model that was made for a project; ``use`` puts it in the place of the others.

        With ``instead_of``, a file ("": none), only if that is still the one in use: somebody may
        have chosen another while this one was made, and knew why.
        """
        check_text(file, "the file of a model")
        row = {"file": file, "scores": check_json(dict(scores), "scores"), "user": by}

        def work(c: Connection) -> MadeModel:
            there(find_project(c, project), "project")
            values = {**row, "project": project, "made": self.now(), "in_use": False}
            number = insert_row(c, models, values, "")
            log(c, self.now(), by, "model.add", {"project": project, "model": number})
            if use and instead_of in (None, self._used(c, project)):
                self._use(c, _model(c, number), by)
            return _model(c, number)

        return self.writing(work)

    @writes
    def use_model(self, c: Connection, number: int, *, by: int | None = None) -> MadeModel:
        """Let a model propose from now on."""
        self._use(c, _model(c, number), by)
        return _model(c, number)

    @reads
    def models(self, c: Connection, project: int) -> list[MadeModel]:
        """The models that were made for a project, the newest last."""
        find_project(c, project)
        query = select(models).where(models.c.project == project).order_by(models.c.id)
        return [MadeModel(*row) for row in c.execute(query)]

    @staticmethod
    def _used(c: Connection, project: int) -> str:
        """The file of the model in use, which stays so until the end of the transaction."""
        c.execute(select(projects.c.id).where(projects.c.id == project).with_for_update())
        query = select(models.c.file).where(models.c.project == project, models.c.in_use)
        return c.execute(query).scalar() or ""

    def _use(self, c: Connection, model: MadeModel, by: int | None) -> None:
        of_project = models.c.project == model.project
        # the project's row first: two who do this at a time take turns
        c.execute(select(projects.c.id).where(projects.c.id == model.project).with_for_update())
        c.execute(update(models).where(of_project).values(in_use=models.c.id == model.id))
        log(c, self.now(), by, "model.use", {"project": model.project, "model": model.id})

    # ---- the audit log

    def audit(
        self, *, limit: int = 1000, before: int | None = None, user: int | None = None
    ) -> list[AuditEntry]:
        """The newest entries first; ``before`` is the number of one, to go on from there."""
        query = select(audit).order_by(audit.c.id.desc()).limit(max(0, min(limit, 10**6)))
        if before is not None:
            query = query.where(audit.c.id < max(0, min(before, LARGEST)))
        if user is not None:
            query = query.where(audit.c.user == user)
        return self.reading(lambda c: [AuditEntry(*row) for row in c.execute(query)])

    def note(self, action: str, about: Mapping[str, object], *, by: int | None = None) -> None:
        """Write an entry of the caller's own."""
        checked = check_json(dict(about), "what is noted")
        self.writing(lambda c: log(c, self.now(), by, action, checked))

    # ---- deletion

    @writes
    def delete(
        self, c: Connection, kind: Kind, number: int, *, confirm: str, by: int | None = None
    ) -> None:
        """Take a project or a document away; ``confirm`` is its name.  It can be had back."""
        row = there(_of_kind(c, kind, number), kind)
        _check_confirmed(row.name, confirm, kind)
        update_row(c, _TABLES[kind], number, {"deleted": self.now()}, "")
        log(c, self.now(), by, f"{kind}.delete", {kind: number, "name": row.name})

    @writes
    def restore(self, c: Connection, kind: Kind, number: int, *, by: int | None = None) -> None:
        """Take back that it was deleted."""
        row = _of_kind(c, kind, number)
        if row.deleted is None:
            return
        taken = f"another {kind} is called {row.name!r} now: rename or delete that first"
        update_row(c, _TABLES[kind], number, {"deleted": None}, taken)
        log(c, self.now(), by, f"{kind}.restore", {kind: number, "name": row.name})

    @writes
    def purge(
        self, c: Connection, kind: Kind, number: int, *, confirm: str, by: int | None = None
    ) -> None:
        """Remove what was deleted, with all that is in it, for good."""
        row = _of_kind(c, kind, number)
        if row.deleted is None:
            raise SettingsError(f"{kind} {row.name!r} is not deleted: delete it first")
        _check_confirmed(row.name, confirm, kind)
        c.execute(delete(_TABLES[kind]).where(_TABLES[kind].c.id == number))
        log(c, self.now(), by, f"{kind}.purge", {kind: number, "name": row.name})


def _check_confirmed(name: str, confirm: str, kind: str) -> None:
    if confirm != name:
        raise SettingsError(
            f"to delete the {kind} {name!r}, confirm with its name, not with "
            f"{shortened(confirm, 100)!r}"
        )


def _check_document(document: StoredDocument) -> None:
    """Refuse a document that cannot be stored."""
    check_name(document.name, "the name of a document")
    what = f"document {document.name!r}"
    if document.text is not None:
        check_text(document.text, what)
    check_json(document.sentences, what)
    check_json(document.about, what)
    for number, sentence in enumerate(document.sentences):
        if not isinstance(sentence, dict) or not isinstance(sentence.get("tokens"), list):
            raise SettingsError(f"{what}: sentence {number} has no tokens")


def _of_kind(c: Connection, kind: Kind, number: int) -> Project | DocumentFacts:
    return find_project(c, number) if kind == "project" else find_facts(c, number)


def _model(c: Connection, number: int) -> MadeModel:
    return MadeModel(*find_row(c, models, number))
