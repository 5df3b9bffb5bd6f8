"""Users, projects, documents, layers, decisions: the first version of the tables."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_TYPES: dict[str, Any] = {
    "id": sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
    "text": sa.Text(),
    "json": sa.JSON(),
    "int": sa.Integer(),
    "flag": sa.Boolean(),
    "real": sa.Float(),
}


def _table(name: str, columns: str, *constraints: sa.Constraint, key: str = "id") -> None:
    """Make a table of columns such as ``name:text``; ``?`` behind one: it may be null."""
    typed = [column.partition(":")[::2] for column in columns.split()]
    op.create_table(
        name,
        *(
            sa.Column(column, _TYPES[kind.rstrip("?")], nullable=kind.endswith("?"))
            for column, kind in typed
        ),
        *constraints,
        sa.PrimaryKeyConstraint(*key.split()),
        sqlite_autoincrement=key == "id",
    )


def _of(column: str, table: str, ondelete: str | None = "CASCADE") -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{table}.id"], ondelete=ondelete)


def upgrade() -> None:
    """Make the tables."""
    _table(
        "projects",
        "id:id name:text task:text language:text guidelines:text settings:json model:text "
        "created:text deleted:text?",
        sa.CheckConstraint(
            "task IN ('lexical', 'dependency', 'constituency', 'tags', 'entities', "
            "'segmentation')",
            name="task_is_known",
        ),
    )
    op.create_index(
        "projects_name",
        "projects",
        ["name"],
        unique=True,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    _table(
        "users",
        "id:id name:text role:text password:text? active:flag created:text failures:int "
        "locked_until:text?",
        sa.CheckConstraint(
            "role IN ('reader', 'annotator', 'adjudicator', 'admin')", name="role_is_known"
        ),
        sa.UniqueConstraint("name"),
    )
    _table(
        "audit",
        "id:id at:text user:id? action:text about:json",
        _of("user", "users", ondelete=None),
    )
    _table(
        "documents",
        "id:id project:id name:text text:text? sentences:json n_sentences:int n_words:int "
        "about:json created:text deleted:text?",
        _of("project", "projects"),
    )
    op.create_index(
        "documents_name",
        "documents",
        ["project", "name"],
        unique=True,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    _table(
        "models",
        "id:id project:id file:text made:text user:id? scores:json in_use:flag",
        _of("project", "projects"),
        _of("user", "users", ondelete=None),
    )
    _table(
        "sessions",
        "hash:text user:id csrf:text created:text seen:text expires:text",
        _of("user", "users"),
        key="hash",
    )
    _table(
        "tokens",
        "id:id user:id name:text hash:text scope:text created:text used:text? "
        "expires:text? revoked:text?",
        sa.CheckConstraint(
            "scope IN ('reader', 'annotator', 'adjudicator', 'admin')", name="scope_is_known"
        ),
        _of("user", "users"),
        sa.UniqueConstraint("hash"),
    )
    _table(
        "assignments",
        "document:id user:id",
        _of("document", "documents"),
        _of("user", "users"),
        key="document user",
    )
    _table(
        "layers",
        "id:id document:id kind:text user:id? version:int created:text done:text?",
        sa.CheckConstraint("kind IN ('annotator', 'adjudication')", name="kind_is_known"),
        sa.CheckConstraint("(kind = 'annotator') = (\"user\" IS NOT NULL)", name="whose_layer"),
        _of("document", "documents"),
        _of("user", "users", ondelete=None),
    )
    op.create_index("layers_of", "layers", ["document", "kind", "user"], unique=True)
    op.create_index(
        "one_adjudication",
        "layers",
        ["document"],
        unique=True,
        sqlite_where=sa.text("kind = 'adjudication'"),
        postgresql_where=sa.text("kind = 'adjudication'"),
    )
    _table(
        "decisions",
        "id:id layer:id version:int sentence:int item:text value:json rank:int? "
        "ranked:flag seconds:real? keys:int? note:text user:id? at:text undone:text? "
        "undone_version:int? undone_by:id? redo_of:id?",
        _of("layer", "layers"),
        _of("undone_by", "users", ondelete=None),
        _of("user", "users", ondelete=None),
        sa.UniqueConstraint("layer", "version", "sentence", "item"),
    )
