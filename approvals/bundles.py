"""Bundles: a whole signed log in one file, which verifies on another machine with the public key alone.

The first line has the log's checkpoint and the rotations of its keys. Each further line is one event with everything
that is hashed, or the hash of one that is not there any more. A bundle ends where its checkpoint does. There is one
spelling of each line, so that no bit of a bundle can change unseen. A log that follows a closed one has a bundle of its
own, which begins with the event that says what it follows, and so has the closed one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

import sqlalchemy as sa

from checkvalve.approvals.audit import ERASED, Event, read_events
from checkvalve.approvals.closedlogs import RESTARTED, Closed, base_of, closed_logs, in_words
from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.judge import (
    KEYS,
    PRUNED,
    ROTATED,
    Basis,
    Gone,
    Judge,
    Outside,
    checkpoint_json,
    rotations_in,
)
from checkvalve.approvals.lastsigned import newest, parse_size
from checkvalve.approvals.logkeys import Rotation, Trust
from checkvalve.approvals.logpolicy import Policy
from checkvalve.approvals.merkle import SIZE
from checkvalve.approvals.notes import PublicKey
from checkvalve.approvals.tables import events
from checkvalve.approvals.tiles import Tiles
from checkvalve.approvals.walk import VerifyReport, Walk
from checkvalve.approvals.witnessed import judge_witnesses
from checkvalve.filters.strictjson import JSON

FORMAT: Final = "checkvalve-log-1"
_FIELDS: Final = {"seq", "at", "kind", "subject", "body", "prev", "hash", "salt", "commitment"}
_HEAD_FIELDS: Final = {"format", "checkpoint", "rotations"}
_NEED_KEY: Final = "nothing is signed yet; make a key and seal: checkvalve audit key create, checkvalve audit seal"


@dataclass(frozen=True, slots=True)
class Removed:
    """Stands for an event that was exported and removed."""

    seq: int
    leaf: bytes


def event_line(event: Event) -> dict[str, JSON]:
    """Return everything of an event that is hashed or stands behind a hash; the body is the text that was written."""
    return {
        "seq": event.seq,
        "at": event.at,
        "kind": event.kind,
        "subject": event.subject,
        "body": event.body,
        "prev": event.prev,
        "hash": event.hash,
        "salt": event.salt,
        "commitment": event.commitment,
    }


def event_from(value: Any) -> Event:
    """Return the event in a line.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, dict) or set(value) != _FIELDS:
        raise ValueError("this is no event of a log")
    words = all(isinstance(value[name], str) for name in ("kind", "subject", "body", "prev", "hash"))
    maybe = all(value[name] is None or isinstance(value[name], str) for name in ("salt", "commitment"))
    if not words or not maybe or not all(type(value[name]) is int for name in ("seq", "at")):
        raise ValueError("this is no event of a log")
    return Event(**value)


def write_bundle(connection: sa.Connection, out: TextIO, origin: str = "") -> int:
    """Write the log up to its newest checkpoint, or the closed one called ``origin``; return how many events that is.

    Raises:
        LogError: nothing is signed yet, or no closed log has this name.
    """
    text, base, closed = _chosen(connection, origin)
    last, tiles, seq = base + parse_size(text), Tiles(connection, closed), base
    mine = (events.c.subject == KEYS, events.c.seq > base, events.c.seq <= last)
    found_keys = connection.execute(sa.select(events).where(*mine).order_by(events.c.seq)).mappings()
    rotations: list[JSON] = [rotation.to_json() for rotation in rotations_in(Event(**row) for row in found_keys)]
    _put(out, {"format": FORMAT, "checkpoint": text, "rotations": rotations})
    with closing(read_events(connection, after=base, upto=last)) as found:
        for event in found:
            _fill(out, tiles, base, range(seq + 1, event.seq))
            _put(out, event_line(event))
            seq = event.seq
    _fill(out, tiles, base, range(seq + 1, last + 1))
    return last - base


def _chosen(connection: sa.Connection, origin: str) -> tuple[str, int, int]:
    """Return a log's checkpoint, the number of the last event before it, and which closed one it is; 0 for none."""
    text = newest(connection)
    if not origin or (text is not None and text.startswith(f"{origin}\n")):
        if text is None:
            raise LogError("the log cannot be exported as a bundle", remedy=_NEED_KEY)
        return text, base_of(connection), 0
    one = next((one for one in closed_logs(connection) if one.origin == origin and one.checkpoint), None)
    if one is None:
        raise LogError(f"no signed log {origin} is here", remedy="its name is in the notes of: checkvalve audit verify")
    return one.checkpoint, one.base, one.number


def _fill(out: TextIO, tiles: Tiles, base: int, numbers: Iterable[int]) -> None:
    """Write the hashes of events that are not there any more."""
    for gone in numbers:
        _put(out, {"seq": gone, "leaf": tiles.leaf(gone - 1 - base).hex()})


def _put(out: TextIO, value: dict[str, JSON]) -> None:
    out.write(_spelled(value) + "\n")


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


def export_bundle(connection: sa.Connection, file: Path, origin: str = "") -> int:
    """Write a bundle to a new file, private and on disk when this returns; ``origin`` names a log that was closed.

    Raises:
        LogError: there is such a file, it cannot be written, or nothing is signed yet.
    """
    try:
        place = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as error:
        raise LogError(f"{file} cannot be written: {error.strerror}", remedy="give a new file") from error
    try:
        with os.fdopen(place, "w", encoding="utf-8") as out:
            size = write_bundle(connection, out, origin)
            out.flush()
            os.fsync(out.fileno())
    except BaseException:  # also when broken off from outside: half a bundle would be taken for an honest, short one
        with suppress(OSError):
            file.unlink()
        raise
    return size


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was read; nothing in it is judged yet."""

    checkpoint: str
    rotations: tuple[Rotation, ...]
    lines: tuple[Event | Removed | None, ...]  # None: a line that is no event

    @property
    def base(self) -> int:
        """The number of the last event before this log: its first one says what it follows, if it is not event 1."""
        first = self.lines[0] if self.lines else None
        return 0 if first is None else max(first.seq - 1, 0)

    @property
    def events(self) -> Iterator[Event]:
        """The events that are there."""
        return (line for line in self.lines if isinstance(line, Event))


def read_bundle(file: Path) -> Bundle:
    """Return the bundle in a file.

    Raises:
        LogError: it is none.
    """
    try:
        return parse_bundle(file.read_bytes())
    except OSError as error:
        raise LogError(f"{file} cannot be read: {error.strerror}", remedy="check the path") from error
    except ValueError as error:
        raise LogError(f"{file} is no exported log", remedy="make one: checkvalve audit export FILE") from error


def parse_bundle(data: bytes) -> Bundle:
    """Return the bundle in some bytes. A line that is no event is kept as one that is wrong, not refused.

    Raises:
        ValueError: the first line is not that of a bundle.
    """
    first, *rest = data.decode("utf-8", "surrogateescape").split("\n")
    try:
        head = json.loads(first)
        if set(head) != _HEAD_FIELDS or head["format"] != FORMAT or _spelled(head) != first:
            raise ValueError("another format")
        rotations = tuple(Rotation.from_json(one) for one in head["rotations"])
        cut = rest.pop() != ""  # the last line has lost its end: it is no line, whatever is left of it
    except (KeyError, TypeError, IndexError, RecursionError) as error:
        raise ValueError("another format") from error
    lines = [_line(line) for line in rest]
    return Bundle(str(head["checkpoint"]), rotations, (*lines, None) if cut else tuple(lines))


def _line(text: str) -> Event | Removed | None:
    try:
        value = json.loads(text)
        if _spelled(value) != text:
            return None
        if isinstance(value, dict) and set(value) == {"seq", "leaf"} and type(value["seq"]) is int:
            leaf = bytes.fromhex(value["leaf"])
            return Removed(value["seq"], leaf) if len(leaf) == SIZE else None
        return event_from(value)
    except (ValueError, TypeError, RecursionError):
        return None


def verify_bundle(
    bundle: Bundle, keys: Iterable[PublicKey], outside: Iterable[Outside] = (), policy: Policy | None = None
) -> VerifyReport:
    """Judge a bundle with the public keys of its log, with checkpoints that were kept elsewhere, by a policy.

    Without any other checkpoint it is compared with its own, which is signed: what came later is not judged.
    """
    report, trusted = VerifyReport(), tuple(keys)
    gone = Gone(event for event in bundle.events if event.kind in {PRUNED, ERASED})
    own = Outside("its own checkpoint", bundle.checkpoint)
    judge = Judge(Basis(Trust.of(trusted, bundle.rotations), (own, *outside), trusted[0].name))
    removed = {line.seq: line.leaf for line in bundle.lines if isinstance(line, Removed)}
    follows = _follows(bundle)
    base = bundle.base
    walk = Walk(report, gone, judge, lambda index: _leaf(removed, index + 1 + base), base=base)
    for number, line in enumerate(bundle.lines, 1):
        if line is None or line.seq != base + number:
            report.add("changed", f"line {number + 1} is not event {base + number}", base + number)
        if isinstance(line, Event):
            walk.take(line)
    if list(bundle.rotations) != rotations_in(event for event in bundle.events if event.kind == ROTATED):
        report.add("rotations_differ", "the rotations of keys are not those that the events tell of")
    _conclude(report, judge, len(bundle.lines))
    if policy is not None:
        report.hear(judge_witnesses(policy, judge.agreed))
    if (follows is None and base) or (follows is not None and follows.next != trusted[0].name):
        report.add("first_event", "the first event does not say which closed log this one follows", base + 1)
    report.notes += [] if follows is None else in_words(follows)
    report.head, report.notes = walk.last, [*report.notes, *walk.watch.silences]
    return report


def _follows(bundle: Bundle) -> Closed | None:
    """Return what the first event says of a closed log that this one follows; it is signed like any other event."""
    first = bundle.lines[0] if bundle.lines else None
    try:
        return Closed.of(first, 0, 0) if isinstance(first, Event) and first.kind == RESTARTED else None
    except ValueError:
        return None


def _leaf(removed: Mapping[int, bytes], seq: int) -> bytes:
    if seq not in removed:
        raise LogTamperedError(f"the hash of event {seq} is missing")
    return removed[seq]


def _conclude(report: VerifyReport, judge: Judge, lines: int) -> None:
    own = parse_size(judge.basis.checkpoints[0].text)
    if lines > own:
        report.add("added", f"the log has {lines} events, and {own} of them were signed")
    for code, text in judge.findings():
        report.add(code, text)
    report.compared += judge.sources()
    if judge.newest is not None:
        report.signed = checkpoint_json(judge.newest)


__all__ = [
    "Bundle",
    "Removed",
    "event_from",
    "event_line",
    "export_bundle",
    "parse_bundle",
    "read_bundle",
    "verify_bundle",
    "write_bundle",
]
