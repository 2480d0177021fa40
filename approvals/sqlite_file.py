"""The SQLite file: created private, opened durable, and never touched when it is not what it should be."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import ConnectionPoolEntry

from checkvalve.approvals.errors import StoreCorruptError, StoreError, StoreUnreachableError

BUSY_TIMEOUT_MS: Final = 10_000
"""How long a writer waits for another one: one durable write takes about 2 ms, so this is thousands of them."""

QUICK_CHECK_BYTES: Final = 32 * 1024 * 1024
"""Files up to this size get their pages checked on every opening; larger ones only when they are read or verified."""

_MAGIC: Final = b"SQLite format 3\x00"
_PRIVATE_FILE: Final = 0o600
_PRIVATE_FOLDER: Final = 0o700
_OTHERS: Final = 0o077
_WAL_TRIES: Final = 100  # switching to WAL ignores busy_timeout, so it is tried for up to five seconds
_WAL_PAUSE: Final = 0.05
_NONE_YET: Final = "the first run of an agent makes it; if one ran, check `database_url` in the settings"
_RESTORE: Final = "nothing was changed; restore a backup, or move the file away to start an empty one"


def prepare(path: Path, *, create: bool) -> None:
    """Make sure that a private database file is at ``path``, or say why not. An existing file is only read.

    Raises:
        StoreUnreachableError: it is missing and may not be created, or may not be read.
        StoreCorruptError: the file is not a SQLite database.
    """
    try:
        if not path.exists():
            if not create:
                raise StoreUnreachableError(f"there is no database at {path}", remedy=_NONE_YET)
            _make_folder(path.parent)
            _create(path)
        elif not create and path.is_file() and path.stat().st_size == 0:
            raise StoreUnreachableError(
                f"there is no database at {path}: the file is empty", remedy="check the store's address in the settings"
            )
        _inspect(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StoreUnreachableError(
            f"the database {path} cannot be opened: {reason}", remedy="check the path, its owner and its permissions"
        ) from error


def _make_folder(folder: Path) -> None:
    """Make the folder where it is missing, and see that it can be written.

    Raises:
        StoreUnreachableError: it cannot.
    """
    try:
        folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        reason = "" if os.access(folder, os.W_OK | os.X_OK) else "Permission denied"
    except OSError as error:
        reason = error.strerror or type(error).__name__
    if reason:
        raise StoreUnreachableError(
            f"no database can be made in the folder {folder}: {reason}",
            remedy="let this user write there, or name another place: database_url or CHECKVALVE_DATABASE_URL",
        )


def _create(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _PRIVATE_FILE))
    except FileExistsError:
        return  # another process was faster, and made the same file


def _inspect(path: Path) -> None:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise StoreCorruptError(f"{path} is not a file", remedy="check the store's address in the settings")
    if status.st_mode & _OTHERS and status.st_uid == os.geteuid():
        path.chmod(_PRIVATE_FILE)  # it holds arguments and results: for this user only
    with path.open("rb") as file:
        start = file.read(len(_MAGIC))
    if start not in {b"", _MAGIC}:
        raise StoreCorruptError(f"{path} is not a Checkvalve database", remedy=_RESTORE)


def engine_for(url: sa.URL) -> sa.Engine:
    """Return an engine whose connections are durable and whose writers queue up instead of failing late."""
    engine = sa.create_engine(url, hide_parameters=True, connect_args={"timeout": BUSY_TIMEOUT_MS / 1000})
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves
    for pragma in (f"busy_timeout={BUSY_TIMEOUT_MS}", "synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF"):
        connection.execute(f"PRAGMA {pragma}").close()


def _on_begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("checkvalve_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def use_wal(path: Path) -> None:
    """Switch the file to write-ahead logging, so that readers and the one writer do not block each other."""
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None)
    try:
        for attempt in range(_WAL_TRIES):
            try:
                if connection.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",):
                    return
            except sqlite3.OperationalError:
                if attempt == _WAL_TRIES - 1:
                    raise
            time.sleep(_WAL_PAUSE)
    finally:
        connection.close()
    raise StoreError(
        f"{path} cannot use write-ahead logging", remedy="put the database on a local disk, not on a network share"
    )


def check_pages(connection: sa.Connection, path: Path) -> None:
    """Read every page of a small database, so that damage is found before anything is decided on it."""
    if path.stat().st_size > QUICK_CHECK_BYTES:
        return
    answer = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    if answer != "ok":
        raise StoreCorruptError(f"the database {path} is damaged", remedy=_RESTORE)
