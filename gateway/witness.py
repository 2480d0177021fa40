"""A witness (C2SP ``tlog-witness``): cosigns checkpoints of logs that it knows, and only larger consistent ones.

Run it on another machine, under another person. One request is judged so:

1. The body has an old size, a consistency proof and a checkpoint; anything else is malformed (400).
2. The log is known (404), and the checkpoint is signed with a whole set of keys that was given for it (403).
3. The old size is at most the checkpoint's (400), and that of the last checkpoint cosigned here (409, with that size).
4. The proof shows that the new tree begins with the old one, or at the same size the roots are equal (422).
5. The checkpoint is on disk before the cosignature is given. 3 to 5 are one transaction: no two requests fork a log.
"""

from __future__ import annotations

import base64
import binascii
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkvalve.approvals.checkpoints import Checkpoint, cosign, is_signed_by, parse_checkpoint
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.merkle import EMPTY, SIZE, is_consistent
from checkvalve.approvals.notes import Note, PublicKey, parse_note
from checkvalve.gateway.errors import SettingsError

MAX_BODY: Final = 196_608
"""Bytes of a request: a note of the largest kind and 63 hashes are less."""
_MAX_PROOF: Final = 63
_OLD: Final = re.compile(r"old (0|[1-9][0-9]{0,17})")
_TABLE: Final = "CREATE TABLE IF NOT EXISTS seen (origin TEXT PRIMARY KEY, size INTEGER, root BLOB, note TEXT)"
_WAIT: Final = 10.0  # seconds for the lock


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request gets."""

    status: int
    text: str = ""
    kind: str = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class _Request:
    old: int
    proof: tuple[bytes, ...]
    note: Note
    checkpoint: Checkpoint


class Witness:
    """Keeps what it has cosigned in one file. Safe to use from several threads and processes."""

    def __init__(
        self,
        key: LogKey,
        logs: Iterable[Sequence[PublicKey]],
        file: Path,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Know ``logs``, each by the keys that all sign its checkpoints; a log with new keys may be given twice.

        Raises:
            SettingsError: the file cannot be used.
        """
        self._key = key
        self._clock = clock
        self._file = file
        self._lock = threading.Lock()
        self._logs: dict[str, list[tuple[PublicKey, ...]]] = {}
        for keys in logs:
            self._logs.setdefault(keys[0].name, []).append(tuple(keys))
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with closing(self._open()) as connection:
                connection.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            raise SettingsError(f"the witness cannot use {file} ({error})", "give a folder it may write to") from error

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file, timeout=_WAIT, isolation_level=None)
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    def add(self, body: bytes) -> Answer:
        """Judge one request; see the module."""
        try:
            asked = _parse(body)  # 1.
        except ValueError as error:
            return Answer(400, f"{error}\n")
        point = asked.checkpoint
        sets = self._logs.get(point.origin)
        if sets is None:  # 2.
            return Answer(404, "this log is not known here\n")
        if not any(all(is_signed_by(asked.note, point, key) for key in keys) for keys in sets):
            return Answer(
                403,
                "the checkpoint is not signed with keys of this log that are known here (new ones: --log)\n",
            )
        if asked.old > point.size:  # 3.
            return Answer(400, "the old size is larger than the checkpoint\n")
        with self._lock, closing(self._open()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            answer = self._judge(connection, asked)
            connection.execute("COMMIT")
        return answer

    def _judge(self, connection: sqlite3.Connection, asked: _Request) -> Answer:
        point = asked.checkpoint
        query = "SELECT size, root FROM seen WHERE origin = ?"
        size, root = connection.execute(query, (point.origin,)).fetchone() or (0, EMPTY)
        if asked.old != size:
            return Answer(409, f"{size}\n", "text/x.tlog.size")
        if not is_consistent(size, point.size, root, point.root, asked.proof):  # 4.
            return Answer(422, "the checkpoint does not follow from the last one\n")
        now = int(self._clock())
        given = tuple(cosign(point, key, now=now) for key in self._key.keys)
        note = str(Note(asked.note.text, (*asked.note.signatures, *given)))
        row = (point.origin, point.size, point.root, note)
        connection.execute("INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?)", row)  # 5.
        return Answer(200, "".join(f"{one}\n" for one in given))

    def newest(self) -> dict[str, str]:
        """Return the newest checkpoint of each log, cosigned."""
        with closing(self._open()) as connection:
            return dict(connection.execute("SELECT origin, note FROM seen ORDER BY origin").fetchall())


def _parse(body: bytes) -> _Request:
    """Return the parts of a request.

    Raises:
        ValueError: it is malformed.
    """
    if len(body) > MAX_BODY:
        raise ValueError("the request is too large")
    head, gap, rest = body.decode("utf-8").partition("\n\n")
    first, *lines = head.split("\n")
    old = _OLD.fullmatch(first)
    if not gap or not old or len(lines) > _MAX_PROOF:
        raise ValueError("a request is: old SIZE, a consistency proof, an empty line, a checkpoint")
    note = parse_note(rest)
    return _Request(int(old[1]), tuple(_hash(line) for line in lines), note, parse_checkpoint(note.text))


def _hash(line: str) -> bytes:
    try:
        found = base64.b64decode(line, validate=True)
    except binascii.Error as error:
        raise ValueError("a hash of the proof is not base64") from error
    if len(found) != SIZE:
        raise ValueError("a hash of the proof is not 32 bytes")
    return found
