"""The tables of a store of annotations, the same in SQLite and in PostgreSQL.

Times are text, UTC with milliseconds, so that they sort as they are and read the same everywhere.
Rows of ``decisions`` and ``audit`` are only added; of a decision nothing is changed but the
``undone`` fields.  What users delete is marked as deleted and can be had back until it is purged.

A change of this file needs a migration in ``migrations/versions``.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

ROLES = ("reader", "annotator", "adjudicator", "admin")
KINDS = ("annotator", "adjudication")
VERSION_TABLE = "eigentext_annotation_version"

_Id = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()


def _of(column: str, table: str, **options: Any) -> Column[int]:
    return Column(column, _Id, ForeignKey(f"{table}.id", ondelete="CASCADE"), **options)


def _filled(*names: str, kind: Any = Text) -> list[Column[Any]]:
    return [Column(name, kind, nullable=False) for name in names]


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_is_known")


def _numbered(name: str, *parts: Column[int] | Column[str] | object) -> Table:
    number = Column("id", _Id, primary_key=True)
    # it is never given twice, also when what had it is gone
    return Table(name, metadata, number, *parts, sqlite_autoincrement=True)  # type: ignore[arg-type]


def _unique(name: str, where: str, *columns: Column[Any]) -> None:
    """No two of the rows for which this holds are alike in these columns."""
    Index(name, *columns, unique=True, sqlite_where=text(where), postgresql_where=text(where))


users = _numbered(
    "users",
    Column("name", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("password", Text),  # argon2; NULL: cannot log in by a password
    Column("active", Boolean, nullable=False),
    Column("created", Text, nullable=False),
    Column("failures", Integer, nullable=False),  # since the last good login
    Column("locked_until", Text),
    _one_of("role", ROLES),
)

tokens = _numbered(
    "tokens",
    _of("user", "users", nullable=False),
    Column("name", Text, nullable=False),
    Column("hash", Text, nullable=False, unique=True),  # sha256 of the secret
    Column("scope", Text, nullable=False),  # the most that it may do: a role
    Column("created", Text, nullable=False),
    *(Column(name, Text) for name in ("used", "expires", "revoked")),
    _one_of("scope", ROLES),
)

sessions = Table(
    "sessions",
    metadata,
    Column("hash", Text, primary_key=True),  # sha256 of the secret in the cookie
    _of("user", "users", nullable=False),
    *_filled("csrf", "created", "seen", "expires"),
)

audit = _numbered(
    "audit",
    Column("at", Text, nullable=False),
    Column("user", _Id, ForeignKey("users.id")),  # NULL: nobody who is known, or the command line
    Column("action", Text, nullable=False),
    Column("about", JSON, nullable=False),
)

projects = _numbered(
    "projects",
    *_filled("name", "task", "language", "guidelines"),
    Column("settings", JSON, nullable=False),
    Column("model", Text, nullable=False),  # the one that proposes, by name; '' is none
    Column("created", Text, nullable=False),
    Column("deleted", Text),
)
_unique("projects_name", "deleted IS NULL", projects.c.name)

documents = _numbered(
    "documents",
    _of("project", "projects", nullable=False),
    Column("name", Text, nullable=False),
    *_filled("n_sentences", "n_words", kind=Integer),
    Column("about", JSON, nullable=False),  # where it came from: format, scheme, elements, ...
    Column("created", Text, nullable=False),
    Column("deleted", Text),
)
_unique("documents_name", "deleted IS NULL", documents.c.project, documents.c.name)

contents = Table(
    "contents",
    metadata,
    _of("document", "documents", primary_key=True),
    Column("text", Text),
    Column("sentences", JSON, nullable=False),
)

assignments = Table(
    "assignments",
    metadata,
    _of("document", "documents", primary_key=True),
    _of("user", "users", primary_key=True),
)

layers = _numbered(
    "layers",
    _of("document", "documents", nullable=False),
    Column("kind", Text, nullable=False),
    # whose it is; the adjudication of a document belongs to nobody, and there is one
    Column("user", _Id, ForeignKey("users.id")),
    Column("version", Integer, nullable=False),
    Column("created", Text, nullable=False),
    Column("done", Text),
    Column("saw", Integer),  # its version when its annotator first saw the adjudication
    # of what holds now: sentences that are done, and all other items
    Column("decided", Integer, nullable=False, server_default="0"),
    Column("done_sentences", Integer, nullable=False, server_default="0"),
    _one_of("kind", KINDS),
    CheckConstraint("(kind = 'annotator') = (\"user\" IS NOT NULL)", name="whose_layer"),
)
Index("layers_of", layers.c.document, layers.c.kind, layers.c.user, unique=True)
_unique("one_adjudication", "kind = 'adjudication'", layers.c.document)

decisions = _numbered(
    "decisions",
    _of("layer", "layers", nullable=False),
    Column("version", Integer, nullable=False),  # of the layer: those made together share it
    Column("sentence", Integer, nullable=False),
    Column("item", Text, nullable=False),
    Column("value", JSON, nullable=False),
    Column("rank", Integer),  # place of the value in the proposals, from 1
    Column("ranked", Boolean, nullable=False),  # were they shown in the model's order?
    Column("seconds", Float),
    Column("keys", Integer),
    Column("note", Text, nullable=False),
    Column("user", _Id, ForeignKey("users.id")),
    Column("at", Text, nullable=False),
    Column("undone", Text),
    Column("undone_version", Integer),
    Column("undone_by", _Id, ForeignKey("users.id")),
    Column("redo_of", _Id),  # the decision, taken back, that this one brings back
    UniqueConstraint("layer", "version", "sentence", "item"),
)
Index("decisions_of_sentence", decisions.c.layer, decisions.c.sentence)
Index("decisions_undone", decisions.c.layer, decisions.c.undone_version)
Index("decisions_redone", decisions.c.redo_of)

models = _numbered(
    "models",
    _of("project", "projects", nullable=False),
    *_filled("file", "made"),
    Column("user", _Id, ForeignKey("users.id")),
    Column("scores", JSON, nullable=False),
    Column("in_use", Boolean, nullable=False),
)

# those that are referred to come first
TABLES = tuple(metadata.sorted_tables)
