"""Alembic runs this: the migration of the connection that it was handed."""

from __future__ import annotations

from alembic import context

from eigentext.studio.store.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
    render_as_batch=True,  # SQLite makes a table anew to change it
)
context.run_migrations()
