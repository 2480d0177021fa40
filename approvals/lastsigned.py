"""The newest checkpoint, in the database and in the file outside it, and whether a key of ours signed it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.checkpoints import Opened, open_checkpoint
from checkvalve.approvals.durable import one_at_a_time, sync_folder
from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.logkeys import Trust
from checkvalve.approvals.notes import Note
from checkvalve.approvals.tables import checkpoints

_REMEDY: Final = "nothing was signed; verify the audit log: checkvalve audit verify"


def newest(connection: sa.Connection) -> str | None:
    """Return the newest checkpoint in the database, as it was signed.

    Raises:
        LogTamperedError: there are several, or the size that is kept beside it is not its own.
    """
    found = connection.execute(sa.select(checkpoints.c.note, checkpoints.c.size)).all()
    if len(found) > 1:
        raise LogTamperedError("the database has checkpoints of several logs", remedy=_REMEDY)
    for note, size in found:
        if not isinstance(note, str):
            raise LogTamperedError("the newest checkpoint is no text", remedy=_REMEDY)
        if whole(size, "the size beside the newest checkpoint") != (parse_size(note) or size):
            raise LogTamperedError("the size beside the newest checkpoint is not the one it names", remedy=_REMEDY)
        return note
    return None


def whole(value: object, what: str) -> int:
    """Return a number that the log is read by: a database file can hold anything in its place.

    Raises:
        LogTamperedError: it is none.
    """
    if not isinstance(value, int) or value < 0:
        raise LogTamperedError(f"{what} is no number", remedy=_REMEDY)
    return value


def parse_size(text: str) -> int:
    """Return the size that a checkpoint names, 0 where it names none; it is judged elsewhere."""
    lines = text.split("\n", 2)
    return int(lines[1]) if len(lines) > 1 and lines[1].isascii() and lines[1].isdigit() else 0


def opened(text: str, trust: Trust, origin: str, *, kinds: Collection[int] = ()) -> Opened:
    """Return a checkpoint that was signed by keys that may sign one of its size; by those of ``kinds``, where given.

    Raises:
        LogTamperedError: it was not.
        LogError: it is one of another log.
    """
    size, found = parse_size(text), None
    sets = [tuple(key for key in keys if not kinds or key.kind in kinds) or keys for keys in trust.keys_for(size)]
    for keys in sets:
        try:
            found = open_checkpoint(text, keys)
            break
        except ValueError as error:
            raise LogTamperedError(f"a checkpoint cannot be read: {error}", remedy=_REMEDY) from error
        except LogError as error:
            if keys == sets[-1]:
                raise LogTamperedError(str(error), remedy=_REMEDY) from error
    if found is None:
        raise LogTamperedError(f"no known key may sign a checkpoint of {size} events", remedy=_REMEDY)
    if found.checkpoint.origin != origin:
        raise LogError(
            f"the checkpoint is of the log {found.checkpoint.origin!r}, not of {origin!r}",
            remedy="use the key that this database was signed with",
        )
    return found


def read_signed(file: Path) -> str | None:
    """Return what was last signed, None where nothing was.

    Raises:
        LogError: the file cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError) as error:
        raise LogError(f"the file of the last checkpoint {file} cannot be read", remedy="check its owner") from error


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Let one sealer of this machine work at a time, so that the file of what was signed only grows.

    Raises:
        LogError: its folder cannot be used.
    """
    with ExitStack() as inside:
        try:
            inside.enter_context(one_at_a_time(file))
        except OSError as error:
            raise LogError(
                f"the folder of {file} cannot be used: {error.strerror}", remedy="check the folder and its permissions"
            ) from error
        yield


def write_signed(file: Path, note: Note) -> None:
    """Write the file whole, on disk before this returns.

    Raises:
        LogError: it cannot be written; then nothing may be published.
    """
    target = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as stream:
            stream.write(str(note))
            stream.flush()
            os.fsync(stream.fileno())
        target.replace(file)
        sync_folder(file.parent)
    except OSError as error:
        target.unlink(missing_ok=True)
        raise LogError(
            f"the file of the last checkpoint {file} cannot be written: {error.strerror}",
            remedy="nothing was signed; check the folder, its permissions and its disk",
        ) from error
