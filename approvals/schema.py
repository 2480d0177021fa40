"""Bringing the tables up to date with the packaged migrations, inside one transaction of the store."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import account_tables, closed_tables, review_tables
from checkvalve.approvals.errors import StoreVersionError
from checkvalve.approvals.tables import SCHEMA_REVISION

_MIGRATIONS: Final = "checkvalve.approvals:migrations"
_ADVISORY_LOCK: Final = 0x636865636B  # "check": one migration at a time on a server
_VERSION_TABLE: Final = "alembic_version"


NEWEST: Final = SCHEMA_REVISION
ALL: Final = (review_tables, account_tables, closed_tables)
"""The modules that add their tables to those of ``tables``: whoever looks at the metadata needs them too."""


def revision(connection: sa.Connection) -> str | None:
    """Return which tables the database has: those of which migration, or None when it has none at all.

    Raises:
        StoreVersionError: another program's tables are in it.
    """
    tables = set(sa.inspect(connection).get_table_names())
    if _VERSION_TABLE in tables:
        return str(connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar())
    if tables:
        raise StoreVersionError(
            "this database belongs to another program", remedy="give Checkvalve a database of its own"
        )
    return None


def upgrade(connection: sa.Connection) -> None:
    """Run the missing migrations on a connection that holds the write lock.

    Raises:
        StoreVersionError: a newer version of Checkvalve wrote the database.
    """
    from alembic import command  # noqa: PLC0415  # a second of start-up that an up-to-date database does not need
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
    if revision(connection) == NEWEST:
        return  # another process was faster
    config = Config()
    config.set_main_option("script_location", _MIGRATIONS)
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise StoreVersionError(
            "a newer version of Checkvalve wrote this database", remedy="upgrade Checkvalve; nothing was changed"
        ) from error
