"""Anchors: places outside the database where checkpoints are kept, so that a later cut or another history shows.

``file:/path`` appends a line to a file (on another disk, or append-only: ``chattr +a``). ``syslog:`` sends
a line to the system's log, which may pass it on to another machine. ``witness:URL KEY`` asks a witness of C2SP
(``tlog-witness``) to cosign: it remembers the newest checkpoint and refuses one that does not follow from it.
``s3:BUCKET/PREFIX 365d`` puts each into an object store that locks it (:mod:`anchor_s3`); ``tsa:URL FILE ROOT`` lets an
authority say when it was (:mod:`anchor_tsa`).

Guarantees: an anchor that cannot be reached costs no event and is told again at the next checkpoint; one that knows
another history stops the signing.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import logging.handlers
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from checkvalve.approvals.anchor_s3 import S3Anchor, parse_s3
from checkvalve.approvals.anchor_tsa import TimestampAnchor, parse_tsa
from checkvalve.approvals.checkpoints import Checkpoint, is_signed_by
from checkvalve.approvals.durable import append_line
from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.notes import ED25519, Note, PublicKey, Signature, parse_key, parse_note, parse_signatures

Prove = Callable[[int], list[bytes]]
"""Gives the consistency proof from an older size to the checkpoint that is published."""

SYSLOG_MARK: Final = "checkvalve-checkpoint"
_SECONDS: Final = 10
_MAX_ANSWER: Final = 65_536
_MAX_FILE: Final = 1 << 30
_CONFLICT, _UNPROCESSABLE, _FORBIDDEN = 409, 422, 403
_STRANGE: Final = (_FORBIDDEN, 404)
_HELP: Final = (
    "write file:/path, syslog:, syslog:host:port, witness:https://host/path KEY, s3:BUCKET/PREFIX 365d, or "
    "tsa:https://host/path /stamps.jsonl /root.pem"
)
_LINE: Final = re.compile(rf"{SYSLOG_MARK} ([A-Za-z0-9+/=]+)")


class Anchor(Protocol):
    """A place that is told of checkpoints."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    def publish(self, note: Note, checkpoint: Checkpoint, prove: Prove) -> Sequence[Signature]:
        """Keep a checkpoint there, and return signatures that it was given.

        Raises:
            LogError: it cannot be reached now.
            LogTamperedError: what is kept there contradicts this checkpoint.
        """
        ...


@dataclass(frozen=True, slots=True)
class FileAnchor:
    """Appends each checkpoint to a file, on disk before it returns."""

    path: Path

    @property
    def name(self) -> str:
        """What people call it."""
        return f"file:{self.path}"

    def publish(self, note: Note, checkpoint: Checkpoint, prove: Prove) -> Sequence[Signature]:  # noqa: ARG002
        """Append a line."""
        line = json.dumps({"size": checkpoint.size, "note": str(note)}) + "\n"
        try:
            append_line(self.path, line)
        except OSError as error:
            raise LogError(f"the anchor {self.path} cannot be written: {error.strerror}") from error
        return ()


@dataclass(frozen=True, slots=True)
class SyslogAnchor:
    """Sends each checkpoint as one line, with the Ed25519 signature only: a line of syslog is short."""

    address: str | tuple[str, int]

    @property
    def name(self) -> str:
        """What people call it."""
        return f"syslog:{self.address if isinstance(self.address, str) else ':'.join(map(str, self.address))}"

    def publish(self, note: Note, checkpoint: Checkpoint, prove: Prove) -> Sequence[Signature]:  # noqa: ARG002
        """Send the line. What syslog does with it nobody tells us."""
        short = Note(note.text, tuple(one for one in note.signatures if len(one.data) == _ED25519_BYTES))
        line = f"{SYSLOG_MARK} {base64.b64encode(str(short).encode()).decode()}"
        try:
            handler = logging.handlers.SysLogHandler(self.address, logging.handlers.SysLogHandler.LOG_AUTH)
            handler.ident = "checkvalve: "
            handler.handleError = _raise_it  # type: ignore[method-assign]  # the default prints and goes on
            try:
                handler.emit(logging.LogRecord("checkvalve", logging.INFO, "", 0, line, None, None))
            finally:
                handler.close()
        except OSError as error:
            raise LogError(f"the system's log {self.name} cannot be reached: {error.strerror or error}") from error
        return ()


_ED25519_BYTES: Final = 64


def _raise_it(record: logging.LogRecord) -> None:  # noqa: ARG001  # the handler's signature
    raise  # noqa: PLE0704  # called while the error is handled


@dataclass(slots=True)
class WitnessAnchor:
    """Asks a witness for its cosignature."""

    url: str
    key: PublicKey
    _old: int = field(default=0, repr=False)  # what the witness knew when it last said so

    @property
    def name(self) -> str:
        """What people call it."""
        return f"witness:{self.key.name}"

    def publish(self, note: Note, checkpoint: Checkpoint, prove: Prove) -> Sequence[Signature]:
        """Ask, and ask once more where the witness knows another size than we thought."""
        status, answer = self._ask(note, prove, min(self._old, checkpoint.size))
        if status == _CONFLICT:
            known = answer.strip()
            if not known.isascii() or not known.isdigit():
                raise LogError(f"the witness {self.key.name} does not say which checkpoint it knows")
            if int(known) > checkpoint.size:
                raise LogTamperedError(
                    f"the witness {self.key.name} has seen {known} events of this log, and it has {checkpoint.size}",
                    remedy="an older database was put back; verify the audit log: checkvalve audit verify",
                )
            status, answer = self._ask(note, prove, int(known))
        if status == _UNPROCESSABLE:
            raise LogTamperedError(
                f"the witness {self.key.name} has seen another history of this log",
                remedy="nothing more is signed; verify the audit log: checkvalve audit verify",
            )
        if status in _STRANGE:
            what = "the keys that sign this log now" if status == _FORBIDDEN else "this log"
            raise LogError(
                f"the witness {self.key.name} does not know {what}; it cosigns nothing until it does",
                remedy="give who runs it the public keys (checkvalve audit key public), as one more --log",
            )
        if status != 200:  # noqa: PLR2004  # HTTP's
            raise LogError(f"the witness {self.key.name} refused the checkpoint (HTTP {status})")
        found = self._good(note, checkpoint, answer)
        self._old = checkpoint.size
        return found

    def _good(self, note: Note, checkpoint: Checkpoint, answer: str) -> list[Signature]:
        try:
            given = parse_signatures(answer)
        except ValueError as error:
            raise LogError(f"the witness {self.key.name} does not answer as a witness does") from error
        mine = [one for one in given if (one.name, one.key_id) == (self.key.name, self.key.id)]
        if not mine or not is_signed_by(Note(note.text, tuple(mine)), checkpoint, self.key):
            raise LogError(f"the answer of the witness {self.key.name} is not signed with its key")
        return mine

    def _ask(self, note: Note, prove: Prove, old: int) -> tuple[int, str]:
        proof = "".join(base64.b64encode(hashed).decode() + "\n" for hashed in (prove(old) if old else []))
        body = f"old {old}\n{proof}\n{note}".encode()
        request = urllib.request.Request(f"{self.url.rstrip('/')}/add-checkpoint", body, method="POST")  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310  # parse_anchor looked
                return answer.status, answer.read(_MAX_ANSWER).decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(_MAX_ANSWER).decode(errors="replace")
        except (OSError, ValueError, UnicodeError) as error:
            reason = getattr(error, "reason", error)
            raise LogError(f"the witness {self.key.name} cannot be reached ({reason})") from error


def parse_anchor(text: str) -> Anchor:
    """Return the anchor that a setting names.

    Raises:
        ValueError: it names none.
    """
    kind, _, rest = text.strip().partition(":")
    if kind == "file" and Path(rest).is_absolute():
        return FileAnchor(Path(rest))
    if kind == "syslog":
        host, _, port = rest.rpartition(":")
        if host and port.isdigit():
            return SyslogAnchor((host, int(port)))
        if not rest or Path(rest).is_absolute():
            return SyslogAnchor(rest or "/dev/log")
    if kind == "s3":
        return parse_s3(rest.strip())
    if kind == "tsa":
        return parse_tsa(rest.strip())
    if kind == "witness":
        url, _, vkey = rest.strip().partition(" ")
        key = parse_key(vkey)
        if url.startswith(("https://", "http://")) and key.kind != ED25519:
            return WitnessAnchor(url, key)
    raise ValueError(f"{text!r} is no anchor: {_HELP}")


def parse_anchors(text: str) -> tuple[Anchor, ...]:
    """Return the anchors of a setting, with commas between them.

    Raises:
        ValueError: one of them is none.
    """
    return tuple(parse_anchor(part) for part in text.split(",") if part.strip())


def read_anchor(file: Path) -> Iterator[tuple[str, bool]]:
    """Yield the checkpoints in a file: an anchor's, a log of syslog, or one signed note. ``True`` marks a short one.

    A short one has the Ed25519 signature only.

    Raises:
        LogError: the file cannot be read.
    """
    try:
        if file.stat().st_size > _MAX_FILE:
            raise LogError(f"the anchor {file} is too large", remedy="give its newest part")
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise LogError(f"the anchor {file} cannot be read: {error.strerror}", remedy="check the path") from error
    try:
        parse_note(text)
    except ValueError:
        pass
    else:
        yield text, False
        return
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except ValueError:
                yield line, False  # damaged: whoever judges it says so
                continue
            yield str(found.get("note", "")) if isinstance(found, dict) else "", False
        elif matched := _LINE.search(line):
            try:
                yield base64.b64decode(matched[1], validate=True).decode(), True
            except (binascii.Error, ValueError):
                yield line, True


__all__ = [
    "Anchor",
    "FileAnchor",
    "S3Anchor",
    "SyslogAnchor",
    "TimestampAnchor",
    "WitnessAnchor",
    "parse_anchor",
    "parse_anchors",
    "read_anchor",
]
