"""Alembic's entry point. The store hands over its connection, inside its own transaction; there is no alembic.ini."""

from __future__ import annotations

from alembic import context

from checkvalve.approvals.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
