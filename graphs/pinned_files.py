"""Reading the version of a local file: its size and the digest of its bytes, and of nothing else.

1. The path is a text below the declared folder; a relative one is taken from there. 2. Each step of it is opened below
the one before, and a link on the way ends it: so nothing outside can be reached, whatever is swapped meanwhile. 3. What
is there has to be a regular file; nothing else is opened for reading, so no queue blocks and no device is touched. 4.
No more than the declared size is read, and the file has to be the same before and after.

Guarantees: only what is read is kept, as a digest; a word of ``pins.WHY`` says why there is none.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from typing import Final

from checkvalve.approvals.pins import Found, Part, Version
from checkvalve.approvals.pinspec import PinSpec

WHOLE: Final = "$"
_CHUNK: Final = 1024 * 1024
_STEP: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MAX_STEPS: Final = 100


class _NoFileError(Exception):
    """There is no version; the word says why."""


def file_version(pin: PinSpec, path: object) -> Version | Found:
    """Return the version of the file that an argument names, or why there is none."""
    try:
        steps = _steps(pin.folder, path)
        try:
            return _version(pin, steps)
        except FileNotFoundError:
            if pin.may_be_missing:
                return Version(pin.file, "file")
            raise _NoFileError("missing") from None
    except _NoFileError as error:
        return Found(of=pin.file, why=str(error))
    except (OSError, ValueError) as error:
        linked = isinstance(error, OSError) and error.errno == errno.ELOOP  # put there since it was looked at
        return Found(of=pin.file, why="link" if linked else "not_readable")


def _steps(folder: str, path: object) -> list[str]:
    """Do step 1: return the names from the folder to the file."""
    if not isinstance(path, str) or not path or "\0" in path:
        raise _NoFileError("not_text")
    base = [step for step in folder.split("/") if step]
    steps = [step for step in path.split("/") if step not in {"", "."}]
    if path.startswith("/"):
        if steps[: len(base)] != base:
            raise _NoFileError("outside")
        steps = steps[len(base) :]
    if ".." in steps or not steps or len(steps) > _MAX_STEPS:
        raise _NoFileError("outside")
    return steps


def _version(pin: PinSpec, steps: list[str]) -> Version:
    """Do steps 2 to 4.

    Raises:
        FileNotFoundError: it is not there.
        OSError, _NoFileError: there is no version.
    """
    try:
        here = os.open(pin.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        raise _NoFileError("no_folder") from None
    try:
        for step in steps[:-1]:
            _require(step, here, stat.S_ISDIR)
            below = os.open(step, _STEP, dir_fd=here)
            os.close(here)
            here = below
        _require(steps[-1], here, stat.S_ISREG)
        return _read(pin, os.open(steps[-1], _READ, dir_fd=here))
    finally:
        os.close(here)


def _require(name: str, here: int, is_right: Callable[[int], bool]) -> None:
    """Look what is there before it is opened: opening a queue or a device may already do something."""
    mode = os.stat(name, dir_fd=here, follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        raise _NoFileError("link")
    if not is_right(mode):
        raise _NoFileError("special" if is_right is stat.S_ISREG else "missing")


def _read(pin: PinSpec, file: int) -> Version:
    """Do steps 3 and 4 for an open file, and close it."""
    with os.fdopen(file, "rb", buffering=0) as opened:
        before = os.fstat(file)
        if not stat.S_ISREG(before.st_mode):
            raise _NoFileError("special")
        if before.st_size > pin.max_bytes:
            raise _NoFileError("too_large")
        digest, size = hashlib.sha256(), 0
        while chunk := opened.read(min(_CHUNK, pin.max_bytes + 1 - size)):
            digest.update(chunk)
            size += len(chunk)
            if size > pin.max_bytes:
                raise _NoFileError("too_large")
        after = os.fstat(file)
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and size == after.st_size
    if not same:
        raise _NoFileError("moving")
    return Version(pin.file, "file", (Part(WHOLE, f"sha256:{digest.hexdigest()}"),), size)


__all__ = ["file_version"]
