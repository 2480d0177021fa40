"""What every test would pay for again: migrations, waiting for the disk, SQL put into words, and slow hashes.

All are replaced for the whole process, before its first test. A test that is about one of them takes the real thing:
:func:`hash_slowly`, :func:`wait_for_the_disk`, or a file that is there and empty, as ``Databases.make`` gives it, on
which the migrations run. Programs that tests start are not touched.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import argon2
import pytest
import sqlalchemy as sa
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.util import LRUCache

from checkvalve.approvals import sqlite_file
from checkvalve.approvals.store import Store

RECOMMENDED = argon2.PasswordHasher.__init__.__defaults__
"""What argon2 takes for a hash where nobody says otherwise: time, memory, lanes, lengths, encoding, kind."""

_QUICK = (1, 8, 1)
_NO_WAIT = "PRAGMA synchronous=OFF"
_STATEMENTS = 4_000
_CONNECTED = sqlite_file._on_connect


def migrate_once(patched: pytest.MonkeyPatch, folder: Path) -> None:
    """Begin every new SQLite file as a copy of one that the packaged migrations have made, in this process.

    A new file is empty otherwise, and ``Store.open`` runs the migrations on it. Nothing in a file that was just
    migrated says which file it is: no ids, no times.
    """
    first = folder / "migrated.db"
    Store.open(f"sqlite:///{first}").close()
    content = first.read_bytes()

    def create(path: Path) -> None:
        part = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        part.touch(mode=0o600, exist_ok=False)
        part.write_bytes(content)
        try:
            os.link(part, path)  # whole or not at all: another thread may open it at once
        except FileExistsError:
            pass
        finally:
            part.unlink()

    patched.setattr(sqlite_file, "_create", create)


def wait_for_no_disk(patched: pytest.MonkeyPatch) -> None:
    """Let SQLite hand every commit to the kernel and go on: tests end processes, not the machine."""

    def connect(connection: sqlite3.Connection, entry: ConnectionPoolEntry) -> None:
        _CONNECTED(connection, entry)
        connection.execute(_NO_WAIT).close()

    patched.setattr(sqlite_file, "_on_connect", connect)
    if (checkpoint := sys.modules.get("checkvalve.graphs.checkpoint")) is None:
        return
    made = checkpoint.FileSaver.__init__

    def make(self: object, connection: sqlite3.Connection, **options: object) -> None:
        with suppress(sqlite3.Error):  # it is no database: that is said where the real one says it
            connection.execute(_NO_WAIT).close()
        made(self, connection, **options)

    patched.setattr(checkpoint.FileSaver, "__init__", make)


def wait_for_the_disk(patched: pytest.MonkeyPatch) -> None:
    """Take :func:`wait_for_no_disk` back for the store."""
    patched.setattr(sqlite_file, "_on_connect", _CONNECTED)


def word_once(patched: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let the engines of one kind share what SQLAlchemy has put into words; it is found by the form of a statement.

    The first engine that has talked to its database lends its dialect, which knows the database's version, to all
    later ones.
    """
    plain = module.engine_for
    first: list[sa.Engine] = []

    def engine_for(url: sa.URL) -> sa.Engine:
        engine: sa.Engine = plain(url)
        known = [one for one in first if getattr(one.dialect, "server_version_info", None)]
        if known:
            engine.dialect = known[0].dialect
            engine._compiled_cache = known[0]._compiled_cache
        else:
            engine._compiled_cache = LRUCache(_STATEMENTS)
            first.append(engine)
        return engine

    patched.setattr(module, "engine_for", engine_for)


def hash_quickly(patched: pytest.MonkeyPatch) -> None:
    """Let a hash whose cost nobody names cost nothing; everything else about it stays."""
    assert RECOMMENDED is not None
    patched.setattr(argon2.PasswordHasher.__init__, "__defaults__", (*_QUICK, *RECOMMENDED[len(_QUICK) :]))


def hash_slowly(patched: pytest.MonkeyPatch) -> None:
    """Take :func:`hash_quickly` back."""
    patched.setattr(argon2.PasswordHasher.__init__, "__defaults__", RECOMMENDED)


__all__ = ["hash_quickly", "hash_slowly", "migrate_once", "wait_for_no_disk", "wait_for_the_disk", "word_once"]
