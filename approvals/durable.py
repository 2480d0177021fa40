"""Writes that are on disk when they return, so that what a caller says next is true after a power cut as well."""

from __future__ import annotations

import os
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
        OSError: it cannot be written.
    """
    place = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    try:
        os.write(place, line.encode())
        os.fsync(place)
    finally:
        os.close(place)


__all__ = ["append_line", "sync_folder"]
