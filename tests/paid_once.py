"""What every test would pay for again: the migrations of a new SQLite file, and hashes that are slow on purpose.

Both are replaced for the whole process, before its first test. A test that is about one of them takes the real thing:
:func:`hash_slowly`, or a file that is there and empty, as ``Databases.make`` gives it, on which the migrations run.
Programs that tests start are not touched.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import argon2
import pytest

from checkvalve.approvals import sqlite_file
from checkvalve.approvals.store import Store

RECOMMENDED = argon2.PasswordHasher.__init__.__defaults__
"""What argon2 takes for a hash where nobody says otherwise: time, memory, lanes, lengths, encoding, kind."""

_QUICK = (1, 8, 1)


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


def hash_quickly(patched: pytest.MonkeyPatch) -> None:
    """Let a hash whose cost nobody names cost nothing; everything else about it stays."""
    assert RECOMMENDED is not None
    patched.setattr(argon2.PasswordHasher.__init__, "__defaults__", (*_QUICK, *RECOMMENDED[len(_QUICK) :]))


def hash_slowly(patched: pytest.MonkeyPatch) -> None:
    """Take :func:`hash_quickly` back."""
    patched.setattr(argon2.PasswordHasher.__init__, "__defaults__", RECOMMENDED)


__all__ = ["hash_quickly", "hash_slowly", "migrate_once"]
