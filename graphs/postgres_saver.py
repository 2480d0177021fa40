"""LangGraph's PostgreSQL saver with what it leaves out: safe set-up, connections that come back, and any text.

Importing this needs the extra ``postgres``; :func:`checkvalve.graphs.checkpoint.postgres_checkpointer` does it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from checkvalve.graphs.errors import CheckpointError
from checkvalve.graphs.in_threads import InThreads

_SETUP_LOCK: Final = 0x6376636B  # one set-up at a time: the library's own fails when two processes start together
_WAIT: Final = 60  # seconds for another process's set-up
_CONNECT: Final = 10
_IDLE: Final = 300
_AGE: Final = 1_800  # seconds; proxies and firewalls forget connections without a word
_CONNECTIONS: Final = 2  # the saver lets one thread of a process work at a time; the other is for when one has died
_OPTIONS: Final[dict[str, Any]] = {
    "autocommit": True,
    "prepare_threshold": 0,
    "row_factory": dict_row,
    "connect_timeout": _CONNECT,
}


class _Text:
    """A text on its way into the table of packed values: as JSON the server would refuse its NUL or half characters."""

    def __init__(self, text: str) -> None:
        self.text = text


class AnyTextSaver(InThreads, PostgresSaver):
    """The library's saver; top-level text that PostgreSQL's JSON cannot hold is packed like any other value."""

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint."""
        values = {name: _packed(value) for name, value in checkpoint["channel_values"].items()}
        return super().put(config, {**checkpoint, "channel_values": values}, metadata, new_versions)

    def _dump_blobs(
        self, thread_id: str, checkpoint_ns: str, values: dict[str, Any], versions: ChannelVersions
    ) -> list[tuple[str, str, str, str, str, bytes | None]]:
        plain = {name: value.text if isinstance(value, _Text) else value for name, value in values.items()}
        return super()._dump_blobs(thread_id, checkpoint_ns, plain, versions)


def _packed(value: object) -> object:
    if isinstance(value, str) and ("\x00" in value or any("\ud800" <= char <= "\udfff" for char in value)):
        return _Text(value)
    return value


@contextmanager
def open_saver(dsn: str, serde: SerializerProtocol) -> Iterator[PostgresSaver]:
    """Open the saver over the database at ``dsn``, and make its tables where they are missing.

    Raises:
        CheckpointError: the server cannot be reached, or this is the database of approvals.
    """
    try:
        with psycopg.connect(dsn, **_OPTIONS) as connection:
            _set_up(connection)
        pool: ConnectionPool[psycopg.Connection[DictRow]] = ConnectionPool(
            dsn,
            kwargs=_OPTIONS,
            min_size=1,
            max_size=_CONNECTIONS,
            max_idle=_IDLE,
            max_lifetime=_AGE,
            timeout=_CONNECT,
            check=ConnectionPool.check_connection,
            open=False,
        )
        pool.open(wait=True, timeout=_CONNECT)
    except (psycopg.Error, PoolTimeout) as error:  # from None: the text of the error may name user and host
        state = getattr(error, "sqlstate", "") or type(error).__name__
        raise CheckpointError(
            f"the database of checkpoints does not answer ({state}); check the address, and that the server runs"
        ) from None
    try:
        yield AnyTextSaver(pool, serde=serde)
    finally:
        pool.close()


def _set_up(connection: psycopg.Connection[DictRow]) -> None:
    if connection.execute("SELECT to_regclass('audit_head') AS found").fetchone() != {"found": None}:
        raise CheckpointError("this is the database of approvals; give checkpoints one of their own, with its own user")
    until = time.monotonic() + _WAIT
    while not _is_set_up(connection):
        # Not the waiting kind of lock: an index is built that waits for every statement, a waiting one included.
        row = connection.execute("SELECT pg_try_advisory_lock(%s) AS mine", (_SETUP_LOCK,)).fetchone()
        if row == {"mine": True}:
            PostgresSaver(connection).setup()
            connection.execute("SELECT pg_advisory_unlock(%s)", (_SETUP_LOCK,))
        elif time.monotonic() > until:
            raise CheckpointError("another process has been making the tables of checkpoints for too long; look at it")
        else:
            time.sleep(0.05)


def _is_set_up(connection: psycopg.Connection[DictRow]) -> bool:
    if connection.execute("SELECT to_regclass('checkpoint_migrations') AS found").fetchone() == {"found": None}:
        return False
    row = connection.execute("SELECT max(v) AS newest FROM checkpoint_migrations").fetchone()
    return row is not None and row["newest"] is not None and row["newest"] >= len(PostgresSaver.MIGRATIONS) - 1
