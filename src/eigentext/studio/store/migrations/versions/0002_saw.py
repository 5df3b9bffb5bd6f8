"""Which version a layer had when its annotator first saw the adjudication."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Nobody is held to have seen it before."""
    op.add_column("layers", sa.Column("saw", sa.Integer(), nullable=True))
