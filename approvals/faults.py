"""What went wrong in a database, as an error of this program: never with a value in it, always with what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.errors import QueueError, StoreBusyError, StoreCorruptError, StoreError, StoreUnreachableError

_SQLITE_CORRUPT: Final = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR", "SQLITE_MISMATCH")
_SQLITE_PLACE: Final = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")
_SQLITE_BUSY: Final = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")

_CORRUPT: Final = ("XX001", "XX002", "42P01", "42703", "42883", "42804")  # pages; a table, column or type is not there
_BUSY: Final = ("55P03", "40", "53300", "57P03", "57P05", "25P03")  # locked, given up for another, too many, starting
_SERVER: Final = {  # by the start of the SQLSTATE; the longest start that fits counts
    "28": ("the server does not accept this user", "check user and password in the store's address"),
    "3D": ("there is no such database", "create it: createdb --encoding=UTF8 NAME"),
    "42501": (
        "this user lacks rights in the database",
        "let its owner open it once, and grant the rights on its tables",
    ),
    "25006": ("the server takes no writes", "give the address of the primary server"),
    "53": ("the server is out of space, memory or connections", "look at the server's log"),
}


@contextmanager
def translated(path: Path | None = None) -> Iterator[None]:
    """Raise every database error as a :class:`StoreError`; a constraint that did its work is left as it is.

    A text that no database keeps is the caller's mistake: a :class:`QueueError`.

    ``path`` is the file that the error names, where there is one.
    """
    try:
        yield
    except sa.exc.IntegrityError:
        raise  # the caller knows which
    except sa.exc.DBAPIError as error:
        raise as_store_error(error.orig, path) from error
    except sqlite3.Error as error:
        raise as_store_error(error, path) from error
    except UnicodeEncodeError as error:  # half a character: a terminal makes such of bytes that are no UTF-8
        raise QueueError("a name or text that was given cannot be stored", remedy="give plain text") from error
    except sa.exc.TimeoutError as error:
        raise StoreBusyError("every connection to the database is in use", remedy="try again in a moment") from error


def as_store_error(error: BaseException | None, path: Path | None = None) -> StoreError:
    """Return the error to raise in place of what a driver raised."""
    name = getattr(error, "sqlite_errorname", "") or ""
    state = getattr(error, "sqlstate", "") or ""
    if name.startswith(_SQLITE_BUSY) or state.startswith(_BUSY):
        return StoreBusyError(
            f"another process holds the database{f' {path}' if path else ''}",
            remedy="try again; if it stays, end the process that holds it",
        )
    if name.startswith(_SQLITE_CORRUPT) or state.startswith(_CORRUPT):
        return StoreCorruptError(
            f"the database{f' {path}' if path else ''} is damaged or not a Checkvalve database",
            remedy="nothing was changed; restore a backup, or move the file away to start an empty one",
        )
    for length in (5, 2):
        if found := _SERVER.get(state[:length]):
            return StoreUnreachableError(f"{found[0]} ({state})", remedy=found[1])
    if not name and hasattr(error, "sqlstate"):
        detail = f" ({state})" if state else ""
        return StoreUnreachableError(
            f"the database server does not answer{detail}", remedy="check that it runs, and the store's address"
        )
    if path is not None and name.startswith(_SQLITE_PLACE):
        return StoreUnreachableError(
            f"the database {path} cannot be opened for writing ({name})",
            remedy=f"let this user write the file and the folder {path.parent}: SQLite keeps files beside it",
        )
    detail = name or type(error).__name__
    return StoreUnreachableError(
        f"the database cannot be used ({detail})", remedy="check disk space, permissions and the address"
    )
