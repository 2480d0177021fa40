"""The one store: short transactions over SQLAlchemy Core, and every database error turned into one with a remedy.

Guarantees: write transactions pass one after the other, so what one read is still so when it commits; a commit that
returned is on disk; nothing is ever deleted or overwritten to make an opening succeed. This holds in one SQLite file
(``sqlite_file``) and on a PostgreSQL server (``postgres``) alike.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

import sqlalchemy as sa

from checkvalve.approvals import postgres, schema, sqlite_file, turns
from checkvalve.approvals.addresses import shown_address
from checkvalve.approvals.chainend import OPTION, ChainEnd
from checkvalve.approvals.errors import StoreBusyError, StoreCorruptError, StoreUnreachableError
from checkvalve.approvals.faults import translated

_PAUSES: Final = (0.05, 0.5, 2.0)  # seconds between tries: a lost race, a lost connection, a server that starts again

T = TypeVar("T")


class Store:
    """An open database. Make one with :meth:`open`; close it, or use it as a context manager."""

    def __init__(self, engine: sa.Engine, path: Path | None) -> None:
        """Wrap an engine whose database is already up to date; callers use :meth:`open`."""
        self._engine = engine
        self._path = path
        self._pid = os.getpid()
        self._inherited: list[sa.Pool] = []
        self._refused = ""

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
        with translated(path):
            if path is not None:
                sqlite_file.prepare(path, create=create)
                sqlite_file.use_wal(path)
        engine = postgres.engine_for(parsed) if path is None else sqlite_file.engine_for(parsed)
        store = cls(engine, path)
        try:
            store._check(create=create)
        except BaseException:  # also when broken off from outside: nobody else knows the pool that has to be closed
            store.close()
            raise
        return store

    def _check(self, *, create: bool) -> None:
        with self.read() as connection:
            if self._path is not None:
                sqlite_file.check_pages(connection, self._path)
            else:
                postgres.check_server(connection)
            found = schema.revision(connection)
        if found is None and not create:
            where = "this database" if self._path is None else str(self._path)
            raise StoreUnreachableError(
                f"{where} has no tables of Checkvalve", remedy="check the store's address in the settings"
            )
        if found != schema.NEWEST:
            with self._begin(write=True, lock=False) as connection:  # the row to lock may not be there yet
                schema.upgrade(connection)

    @property
    def path(self) -> Path | None:
        """The database file, or None where a server keeps it."""
        return self._path

    @property
    def address(self) -> str:
        """The database's URL for people: without its password."""
        return shown_address(self._engine.url)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Give one consistent snapshot."""
        with self._begin(write=False) as connection:
            yield connection

    def refuse(self, reason: str) -> None:
        """Take no change from now on: what is stored was found to be something else than what was signed."""
        self._refused = reason

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Give the write lock; commits when the block ends, rolls back when it raises.

        Raises:
            StoreCorruptError: :meth:`refuse` was called.
        """
        if self._refused:
            raise StoreCorruptError(self._refused, remedy="verify the audit log: checkvalve audit verify")
        with self._begin(write=True) as connection:
            yield connection

    def change(self, work: Callable[[sa.Connection], T]) -> T:
        """Run ``work`` in a write transaction, and a few times more where the database was busy or went away.

        Only for work that may be repeated: a commit whose answer was lost can have happened all the same.
        """
        for pause in _PAUSES:
            try:
                with self.write() as connection:
                    return work(connection)
            except (StoreBusyError, StoreUnreachableError):
                time.sleep(pause)
        with self.write() as connection:
            return work(connection)

    @contextmanager
    def _begin(self, *, write: bool, lock: bool = True) -> Iterator[sa.Connection]:
        self._leave_parent()
        options: dict[str, object] = {"checkvalve_write": write, "checkvalve_lock": write and lock}
        end = ChainEnd()
        if write:
            options[OPTION] = end
        with translated(self._path), self._turn(write=write), self._begun(options) as connection:
            yield connection
            end.store(connection)

    def _turn(self, *, write: bool) -> AbstractContextManager[None]:
        """Wait for the turn to write, where nothing but SQLite's busy handler would say whose it is."""
        if self._path is None or not write:
            return nullcontext()
        return turns.turn(self._path, sqlite_file.BUSY_TIMEOUT_MS / 2_000)

    @contextmanager
    def _begun(self, options: dict[str, object]) -> Iterator[sa.Connection]:
        """Give a connection whose transaction has begun.

        A pooled connection may have died since it was last used; that shows when a transaction begins on it, before
        anything was done, so another one is taken. Asking each connection first would be one more way to the server.
        """
        with ExitStack() as stack:
            connection = stack.enter_context(self._engine.connect()).execution_options(**options)
            try:
                transaction = connection.begin()
            except sa.exc.DBAPIError as error:
                if not error.connection_invalidated:
                    raise
                connection = stack.enter_context(self._engine.connect()).execution_options(**options)
                transaction = connection.begin()
            with transaction:
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
            "the store's address is not a database URL",
            remedy="write sqlite:////path/to/file.db or postgresql+psycopg://…",
        ) from error
    backend = parsed.get_backend_name()
    if backend == "sqlite" and parsed.database in {None, "", ":memory:"}:
        raise StoreUnreachableError(
            "a database in memory would lose every decision", remedy="write sqlite:////path/to/file.db"
        )
    if backend not in {"sqlite", "postgresql"}:
        raise StoreUnreachableError(f"a {backend} database is not supported", remedy="use SQLite or PostgreSQL")
    return parsed
