"""Judging a log by what was signed: the tree over its events against every checkpoint that is known, wherever it lies.

Pure: it is given events (or the hashes that stand for removed ones) in order, and checkpoints as text. The same code
judges a database and an exported bundle on another machine.

1. Every checkpoint must be signed by all keys of a set that may sign one of its size.
2. At each size that a checkpoint names, the root over the events so far is the one that was signed.
3. A checkpoint of more events than there are says that the end was cut off.
4. Bodies and events that are gone must have an event that says so.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from checkvalve.approvals.audit import ERASED, Event
from checkvalve.approvals.checkpoints import Opened
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.lastsigned import opened
from checkvalve.approvals.logkeys import Rotation, Trust
from checkvalve.approvals.merkle import Frontier
from checkvalve.approvals.notes import ED25519
from checkvalve.filters.strictjson import JSON

PRUNED: Final = "log.pruned"
"""The kind of the event that says which events were exported and removed."""
ROTATED: Final = "log.key_rotated"
KEYS: Final = "log.keys"
"""The subject of rotations: there is an index on subjects, and receipts need these events."""
_WATCHED: Final = frozenset({"log.started", "log.heartbeat"})
_SECOND: Final = 1_000_000
_SLACK: Final = 2  # heartbeats may come late: a busy machine is no silence


@dataclass(frozen=True, slots=True)
class Outside:
    """A checkpoint that was kept somewhere. ``inside`` marks the database's own, which proves no cut."""

    source: str
    text: str
    short: bool = False  # only the Ed25519 signature was kept
    inside: bool = False


@dataclass(frozen=True, slots=True)
class Basis:
    """What a log is judged by: the keys that are trusted, its name if that is known, and the checkpoints."""

    trust: Trust
    checkpoints: tuple[Outside, ...] = ()
    origin: str = ""


@dataclass(slots=True)
class Judge:
    """Takes a log in, event by event; :meth:`findings` says what is wrong with it."""

    basis: Basis
    size: int = 0
    newest: Opened | None = None
    agreed: list[tuple[str, Opened]] = field(default_factory=list)  # where it was kept, and what fits the tree
    _frontier: Frontier = field(default_factory=Frontier)
    _wanted: dict[int, list[tuple[Outside, Opened]]] = field(default_factory=dict)
    _found: list[tuple[str, str]] = field(default_factory=list)
    _counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Do step 1."""
        for outside in self.basis.checkpoints:
            try:
                origin = self.basis.origin or outside.text.split("\n", 1)[0]
                kinds = (ED25519,) if outside.short else ()
                found = opened(outside.text, self.basis.trust, origin, kinds=kinds)
            except LogTamperedError as error:
                self._found.append(("bad_checkpoint", f"{outside.source}: {error.message}"))
            except LogError as error:
                self._found.append(("other_log", f"{outside.source}: {error.message}"))
            else:
                self._wanted.setdefault(found.checkpoint.size, []).append((outside, found))
                if self.newest is None or found.checkpoint.size > self.newest.checkpoint.size:
                    self.newest = found
        self._compare()

    def take(self, leaf: bytes) -> None:
        """Take in the leaf hash of the next event."""
        self._frontier.add(leaf)
        self.size += 1
        if self.size in self._wanted:
            self._compare()

    def _compare(self) -> None:
        """Do step 2."""
        root = self._frontier.root() if self.size in self._wanted else b""
        for outside, found in self._wanted.pop(self.size, ()):
            if found.checkpoint.root != root:
                text = f"{outside.source}: the first {self.size} events are not those that were signed"
                self._found.append(("replaced", text))
                continue
            self.agreed.append((outside.source, found))
            if not outside.inside:
                self._counts[outside.source] = self._counts.get(outside.source, 0) + 1

    def findings(self) -> Iterator[tuple[str, str]]:
        """Yield a code and a sentence for each thing that is wrong, when everything was taken in."""
        yield from self._found
        for size, kept in sorted(self._wanted.items()):  # 3.
            for outside, _ in kept:
                yield "truncated", f"{outside.source}: {size} events were signed, and the log has {self.size}"

    def sources(self) -> list[str]:
        """Return what outside the log it was compared with, and how many checkpoints of it agree."""
        return [f"{source} ({count} checkpoint{'' if count == 1 else 's'})" for source, count in self._counts.items()]


class Gone:
    """What was removed or erased, as far as events say so (step 4)."""

    def __init__(self, told: Iterable[Event]) -> None:
        """Read the events of the kinds ``log.pruned`` and ``content.erased``."""
        self._ranges: list[tuple[int, int]] = []
        self._erased: set[int] = set()
        for event in told:
            body = body_of(event.body) if event.is_whole else {}
            if event.kind == PRUNED:
                ranges = [pair for pair in _list(body.get("removed")) if _is_range(pair) and pair[1] < event.seq]
                self._ranges += [(pair[0], pair[1]) for pair in ranges]
            elif event.kind == ERASED:
                self._erased |= {n for n in _list(body.get("events")) if isinstance(n, int) and n < event.seq}
        self._ranges.sort()

    def also(self, ranges: Iterable[tuple[int, int]]) -> Gone:
        """Return the same, with further ranges that are known not to be there."""
        found = Gone(())
        found._ranges, found._erased = sorted([*self._ranges, *ranges]), self._erased
        return found

    def is_removed(self, first: int, last: int) -> bool:
        """Say whether the events ``first`` to ``last`` were all removed by a retention rule."""
        for start, end in self._ranges:
            if start <= first <= end:
                first = end + 1
        return first > last

    def is_erased(self, seq: int) -> bool:
        """Say whether the body of an event was erased by somebody who said so."""
        return seq in self._erased


class Watch:
    """Finds silences: stretches in which not even a heartbeat was written, although the log was being watched."""

    def __init__(self) -> None:
        """Begin with a log that nobody watches."""
        self.every = 0
        self.last = 0
        self.silences: list[str] = []

    def take(self, event: Event) -> None:
        """Take in the next event; an edited time may be anything, and is found by its hash."""
        at: object = event.at  # the database holds what was put there
        if not isinstance(at, int):
            return
        if self.every and event.at - self.last > _SLACK * self.every * _SECOND:
            start, end = to_the_second(self.last), to_the_second(event.at)
            self.silences.append(f"no heartbeat from {start} to {end}, before event {event.seq}")
        self.last = max(self.last, event.at)  # a clock that goes back is no silence
        if event.kind in _WATCHED:
            every = body_of(event.body).get("every")
            self.every = every if isinstance(every, int) and every > 0 else 0
        elif event.kind == "log.stopped":
            self.every = 0

    def skip(self) -> None:
        """Events were removed here: what was written meanwhile cannot be told."""
        self.every = 0

    def is_silent(self, now: int) -> bool:
        """Say whether the log should have had a heartbeat since its last event."""
        return bool(self.every) and now - self.last > _SLACK * self.every * _SECOND


def rotations_in(events: Iterable[Event]) -> list[Rotation]:
    """Return the rotations that events tell of; whether they are good is judged by :class:`Trust`."""
    found = []
    for event in events:
        try:
            found.append(Rotation.from_json(body_of(event.body).get("rotation")))
        except ValueError:
            continue
    return found


def body_of(text: object) -> dict[str, Any]:
    """Return the body of an event; an edited one may be anything."""
    try:
        body = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def checkpoint_json(found: Opened) -> dict[str, JSON]:
    """Return a checkpoint for programs."""
    point = found.checkpoint
    root = base64.b64encode(point.root).decode()
    return {"origin": point.origin, "size": point.size, "root": root, "signed_at": found.signed_at}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_range(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(n, int) for n in value)  # noqa: PLR2004
