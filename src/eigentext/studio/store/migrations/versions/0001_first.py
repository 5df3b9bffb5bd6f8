"""Users, projects, documents, layers, decisions: the first version of the tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "projects",
        sa.Column("id", _ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("guidelines", sa.Text(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("deleted", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "task IN ('lexical', 'dependency', 'constituency', 'tags', 'entities', "
            "'segmentation')",
            name="task_is_known",
        ),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "projects_name",
        "projects",
        ["name"],
        unique=True,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_table(
        "users",
        sa.Column("id", _ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("locked_until", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "role IN ('reader', 'annotator', 'adjudicator', 'admin')", name="role_is_known"
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "audit",
        sa.Column("id", _ID, nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("user", _ID, nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("about", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["user"], ["users.id"]),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "documents",
        sa.Column("id", _ID, nullable=False),
        sa.Column("project", _ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("sentences", sa.JSON(), nullable=False),
        sa.Column("n_sentences", sa.Integer(), nullable=False),
        sa.Column("n_words", sa.Integer(), nullable=False),
        sa.Column("about", sa.JSON(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("deleted", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "documents_name",
        "documents",
        ["project", "name"],
        unique=True,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_table(
        "models",
        sa.Column("id", _ID, nullable=False),
        sa.Column("project", _ID, nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("made", sa.Text(), nullable=False),
        sa.Column("user", _ID, nullable=True),
        sa.Column("scores", sa.JSON(), nullable=False),
        sa.Column("in_use", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user"], ["users.id"]),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "sessions",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("user", _ID, nullable=False),
        sa.Column("csrf", sa.Text(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("seen", sa.Text(), nullable=False),
        sa.Column("expires", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["user"], ["users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("hash"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", _ID, nullable=False),
        sa.Column("user", _ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("used", sa.Text(), nullable=True),
        sa.Column("expires", sa.Text(), nullable=True),
        sa.Column("revoked", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "scope IN ('reader', 'annotator', 'adjudicator', 'admin')", name="scope_is_known"
        ),
        sa.ForeignKeyConstraint(["user"], ["users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("hash"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "assignments",
        sa.Column("document", _ID, nullable=False),
        sa.Column("user", _ID, nullable=False),
        sa.ForeignKeyConstraint(["document"], ["documents.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user"], ["users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("document", "user"),
    )
    op.create_table(
        "layers",
        sa.Column("id", _ID, nullable=False),
        sa.Column("document", _ID, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("user", _ID, nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("done", sa.Text(), nullable=True),
        sa.CheckConstraint("kind IN ('annotator', 'adjudication')", name="kind_is_known"),
        sa.CheckConstraint("(kind = 'annotator') = (\"user\" IS NOT NULL)", name="whose_layer"),
        sa.ForeignKeyConstraint(["document"], ["documents.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user"], ["users.id"]),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
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
    op.create_table(
        "decisions",
        sa.Column("id", _ID, nullable=False),
        sa.Column("layer", _ID, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("sentence", sa.Integer(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=True),
        sa.Column("ranked", sa.Boolean(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("keys", sa.Integer(), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("user", _ID, nullable=True),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("undone", sa.Text(), nullable=True),
        sa.Column("undone_version", sa.Integer(), nullable=True),
        sa.Column("undone_by", _ID, nullable=True),
        sa.Column("redo_of", _ID, nullable=True),
        sa.ForeignKeyConstraint(["layer"], ["layers.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["undone_by"], ["users.id"]),
        sa.ForeignKeyConstraint(["user"], ["users.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("layer", "version", "sentence", "item"),
        sqlite_autoincrement=True,
    )
