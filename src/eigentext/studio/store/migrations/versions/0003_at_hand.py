"""What a decision needs is at hand: rows of documents without their texts, layers with counts.

1. Texts and sentences are in a table of their own: rows of documents stay small.
2. A layer counts what is decided in it, so that nobody has to count all decisions.
3. Decisions are found by sentence, and those taken back by when they were.
4. Any task may have projects: which tasks there are is no business of the database.
"""

from __future__ import annotations

import re

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_COUNT = """
UPDATE layers SET {column} = (
    SELECT count(*) FROM decisions WHERE id IN (
        SELECT max(id) FROM decisions
        WHERE layer = layers.id AND undone IS NULL GROUP BY sentence, item
    ) AND CAST(value AS TEXT) != 'null' AND item {which} 'done'
)
"""


def upgrade() -> None:
    """Nothing is lost: texts move, the rest is added."""
    op.create_table(
        "contents",
        sa.Column("document", _ID, nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("sentences", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["document"], ["documents.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("document"),
    )
    op.execute(
        "INSERT INTO contents (document, text, sentences) "
        "SELECT id, text, sentences FROM documents"
    )
    for column in ("text", "sentences"):
        op.execute(f"ALTER TABLE documents DROP COLUMN {column}")
    for column, which in (("decided", "!="), ("done_sentences", "=")):
        op.add_column(
            "layers", sa.Column(column, sa.Integer(), nullable=False, server_default="0")
        )
        op.execute(_COUNT.format(column=column, which=which))
    op.create_index("decisions_of_sentence", "decisions", ["layer", "sentence"])
    op.create_index("decisions_undone", "decisions", ["layer", "undone_version"])
    op.create_index("decisions_redone", "decisions", ["redo_of"])
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        op.drop_constraint("task_is_known", "projects")
        return
    # the way that SQLite's documentation names for constraints, which it cannot drop otherwise
    query = sa.text("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'projects'")
    without = re.sub(
        r",\s*CONSTRAINT task_is_known CHECK \(task IN \([^)]*\)\)",
        "",
        connection.execute(query).scalar_one(),
    )
    op.execute("PRAGMA writable_schema = ON")
    change = "UPDATE sqlite_master SET sql = :sql WHERE type = 'table' AND name = 'projects'"
    connection.execute(sa.text(change), {"sql": without})
    op.execute("PRAGMA writable_schema = RESET")
