"""The one store: short transactions over SQLAlchemy Core, and every database error turned into one with a remedy.

Guarantees: a write transaction holds the database's write lock from its first statement, so what it read is still so
when it commits; a commit that returned is on disk; nothing is ever deleted or overwritten to make an opening succeed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import sqlalchemy as sa

from checkvalve.approvals import schema, sqlite_file
from checkvalve.approvals.errors import StoreBusyError, StoreCorruptError, StoreError, StoreUnreachableError

_CORRUPT: Final = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR", "SQLITE_MISMATCH")
_BUSY: Final = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")


class Store:
    """An open database. Make one with :meth:`open`; close it, or use it as a context manager."""

    def __init__(self, engine: sa.Engine, path: Path | None) -> None:
        """Wrap an engine whose database is already up to date; callers use :meth:`open`."""
        self._engine = engine
        self._path = path
        self._pid = os.getpid()
        self._inherited: list[sa.Pool] = []

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> Self:
        """Open the database at ``url`` and bring its tables up to date.

        Raises:
            StoreUnreachableError: it cannot be opened, or is missing and ``create`` is false.
            StoreCorruptError: it is damaged, or no database at all.
            StoreVersionError: another program or a newer version wrote it.
            StoreBusyError: somebody else holds it.
        """
        parsed = _parse(url)
        path = Path(parsed.database) if parsed.get_backend_name() == "sqlite" and parsed.database else None
        with _translated():
            if path is not None:
                sqlite_file.prepare(path, create=create)
                sqlite_file.use_wal(path)
        engine = sqlite_file.engine_for(parsed) if path is not None else sa.create_engine(parsed, hide_parameters=True)
        store = cls(engine, path)
        try:
            store._check()
        except BaseException:
            store.close()
            raise
        return store

    def _check(self) -> None:
        with self.read() as connection:
            if self._path is not None:
                sqlite_file.check_pages(connection, self._path)
            current = schema.is_current(connection)
        if not current:
            with self.write() as connection:
                schema.upgrade(connection)

    @property
    def path(self) -> Path | None:
        """The database file, or None where a server keeps it."""
        return self._path

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Give one consistent snapshot."""
        with self._begin(write=False) as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Give the write lock; commits when the block ends, rolls back when it raises."""
        with self._begin(write=True) as connection:
            yield connection

    @contextmanager
    def _begin(self, *, write: bool) -> Iterator[sa.Connection]:
        self._leave_parent()
        with _translated(), self._engine.connect() as plain:
            connection = plain.execution_options(checkvalve_write=write)
            with connection.begin():
                yield connection

    def _leave_parent(self) -> None:
        """Never use or close a connection that belongs to the process we were forked from."""
        if self._pid != os.getpid():
            self._inherited.append(self._engine.pool)
            self._engine.dispose(close=False)
            self._pid = os.getpid()

    def close(self) -> None:
        """Let go of every connection."""
        self._engine.dispose(close=self._pid == os.getpid())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _parse(url: str) -> sa.URL:
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise StoreUnreachableError(
            "the store's address is not a database URL", remedy="write sqlite:////path/to/file.db"
        ) from error
    backend = parsed.get_backend_name()
    if backend == "sqlite" and parsed.database in {None, "", ":memory:"}:
        raise StoreUnreachableError(
            "a database in memory would lose every decision", remedy="write sqlite:////path/to/file.db"
        )
    if backend not in {"sqlite", "postgresql"}:
        raise StoreUnreachableError(f"a {backend} database is not supported", remedy="use SQLite or PostgreSQL")
    return parsed


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sa.exc.IntegrityError:
        raise  # a constraint did its work; the caller knows which
    except sa.exc.DBAPIError as error:
        raise _as_store_error(error.orig) from error
    except sqlite3.Error as error:
        raise _as_store_error(error) from error
    except sa.exc.TimeoutError as error:
        raise StoreBusyError("every connection to the database is in use", remedy="try again in a moment") from error


def _as_store_error(error: BaseException | None) -> StoreError:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(_BUSY):
        return StoreBusyError(
            "another process holds the database", remedy="try again; if it stays, end the process that holds it"
        )
    if name.startswith(_CORRUPT):
        return StoreCorruptError(
            "the database is damaged or not a Checkvalve database",
            remedy="nothing was changed; restore a backup, or move the file away to start an empty one",
        )
    detail = name or type(error).__name__
    return StoreUnreachableError(
        f"the database cannot be used ({detail})", remedy="check disk space, permissions and the address"
    )
