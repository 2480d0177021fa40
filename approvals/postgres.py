"""PostgreSQL: writers pass one after the other through the audit chain's head row, readers get a snapshot.

Guarantees: a write transaction locks the head row before its first statement and then reads what is committed, so what
it read is still so when it commits, as under SQLite's write lock, and no two of them can deadlock or fail to
serialise; a reader sees one moment and cannot write; a commit that returned is on disk, whatever the server's default.
A writer that hangs in its transaction is cut off by the server, so one stopped process does not stop the others.
"""

from __future__ import annotations

import importlib.util
from typing import Final

import sqlalchemy as sa
from sqlalchemy import event

from checkvalve.approvals.errors import StoreUnreachableError, StoreVersionError

LOCK_SECONDS: Final = 10
"""How long a writer waits for another one; a write takes milliseconds, so this is thousands of them."""
IDLE_SECONDS: Final = 60
"""How long a transaction may do nothing before the server ends it: its process hangs, or its machine is gone."""

_CONNECT_SECONDS: Final = 10
_POOL_AGE: Final = 1_800  # seconds; firewalls and proxies forget idle connections
_OLDEST: Final = 130_000  # the oldest version that its makers still repair
_DRIVERS: Final = frozenset({"postgresql", "postgresql+psycopg"})

_BEGIN_WRITING: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_BEGIN_READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_LIMITS: Final = (
    f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'; SET LOCAL idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'"
)
_DURABLE: Final = (
    "SELECT set_config('synchronous_commit', 'on', true)"
    " WHERE current_setting('synchronous_commit') IN ('off', 'local')"
)
_HEAD: Final = "SELECT id FROM audit_head ORDER BY id FOR UPDATE"


def engine_for(url: sa.URL) -> sa.Engine:
    """Return an engine for the server at ``url``; nothing is connected yet.

    Raises:
        StoreUnreachableError: the driver is not installed, or the address names another one.
    """
    if url.drivername not in _DRIVERS:
        raise StoreUnreachableError(
            f"the driver {url.drivername!r} is not supported", remedy="write postgresql+psycopg://user@host/database"
        )
    if importlib.util.find_spec("psycopg") is None:
        raise StoreUnreachableError("psycopg is not installed", remedy="pip install 'checkvalve[postgres]'")
    engine = sa.create_engine(
        url.set(drivername="postgresql+psycopg"),
        hide_parameters=True,
        isolation_level="AUTOCOMMIT",  # we say BEGIN ourselves, together with what a transaction needs first
        pool_recycle=_POOL_AGE,
        connect_args={"connect_timeout": _CONNECT_SECONDS, "client_encoding": "utf8"},
    )
    event.listen(engine, "begin", _on_begin)
    return engine


def _on_begin(connection: sa.Connection) -> None:
    wanted = connection.get_execution_options()
    writes = wanted.get("checkvalve_write", False)
    first = [_BEGIN_WRITING if writes else _BEGIN_READING, _LIMITS]
    if writes:
        first.append(_DURABLE)
    if wanted.get("checkvalve_lock"):
        first.append(_HEAD)
    connection.exec_driver_sql("; ".join(first))  # one way to the server and back


def check_server(connection: sa.Connection) -> None:
    """Make sure that this server can keep what it is given.

    Raises:
        StoreVersionError: it is too old.
        StoreUnreachableError: its text is not Unicode.
    """
    found = connection.exec_driver_sql("SELECT current_setting('server_version_num')::int").scalar_one()
    if found < _OLDEST:
        raise StoreVersionError("this PostgreSQL is too old", remedy=f"use version {_OLDEST // 10_000} or newer")
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise StoreUnreachableError(
            f"the database keeps text as {encoding}", remedy="make one that keeps any text: createdb --encoding=UTF8"
        )
