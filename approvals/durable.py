"""Files whose writers may trust them: on disk when a write returns, and one writer at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Put on disk which names a folder has: a file that was renamed is only then surely under its new name.

    Raises:
        OSError: the folder cannot be used.
    """
    place = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def append_line(file: Path, line: str) -> None:
    """Append ``line``, which ends itself, to a file that only its owner may read; makes the file where there is none.

    Raises:
        OSError: it cannot be written; no part of it stays, where the file can be cut again.
    """
    place = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    try:
        before = os.fstat(place).st_size
        try:
            left = memoryview(line.encode())
            while left:  # a disk that is nearly full takes a part, and says so
                left = left[os.write(place, left) :]
        except OSError:
            with contextlib.suppress(OSError):  # or the next line would go on where this one broke off
                os.ftruncate(place, before)
            raise
        os.fsync(place)
    finally:
        os.close(place)


@contextlib.contextmanager
def one_at_a_time(file: Path) -> Iterator[None]:
    """Wait until no other process of this machine, and nobody else in this one, is inside for ``file``.

    The lock is on a file beside it, since the file itself may be replaced; it ends with the process that has it.
    Makes the folder, for its owner alone, where there is none.

    Raises:
        OSError: the folder cannot be used, or the file system knows no locks.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = os.open(file.with_name(f"{file.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(place, fcntl.LOCK_UN)  # first: where closing fails, this process would wait for itself for ever
    finally:
        with contextlib.suppress(OSError):  # nothing was written to it, and what was done inside is done
            os.close(place)


__all__ = ["append_line", "one_at_a_time", "sync_folder"]
