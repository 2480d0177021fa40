"""Verifying the log: the chain against itself, against what was signed and kept elsewhere, and the tables against it.

What it proves: nothing in the chain was changed, removed, inserted or reordered, and what the tables of proposals,
permits, attempts, endorsements, mandates and reviewers say is what the events say. What it cannot prove: that the
records are true, or that nobody rewrote the whole chain; for that it needs checkpoints that were signed and kept
outside the database (:mod:`judge`), or a saved head (``audit head``). What it does not look at: ``content`` and
``history`` (the words, results and labels that a thread was decided from) and ``leases``; no event holds them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.audit import ERASED, Event, Head, read_events
from checkvalve.approvals.errors import LogTamperedError
from checkvalve.approvals.judge import (
    PRUNED,
    ROTATED,
    Basis,
    Gone,
    Judge,
    Outside,
    Watch,
    checkpoint_json,
    rotations_in,
)
from checkvalve.approvals.lastsigned import newest
from checkvalve.approvals.logkeys import Trust
from checkvalve.approvals.merkle import leaf_hash
from checkvalve.approvals.notes import PublicKey
from checkvalve.approvals.said import Seen
from checkvalve.approvals.store import Store
from checkvalve.approvals.tablecheck import body_of, check_tables
from checkvalve.approvals.tables import audit_head, events
from checkvalve.approvals.tiles import Tiles
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON

MAX_FINDINGS: Final = 100
"""More than this many findings are counted, not listed: after the first, everything is suspect."""
_HEAD_FORMAT: Final = "checkvalve-head-1"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it was written. ``seq`` is the event it is at, 0 when it is about a table."""

    code: str
    text: str
    seq: int = 0

    def to_json(self) -> dict[str, JSON]:
        """Return the finding for programs."""
        return {"code": self.code, "text": self.text, "seq": self.seq}


@dataclass(slots=True)
class VerifyReport:
    """What was found. No finding at all is the only good answer."""

    events: int = 0
    head: Head = field(default_factory=lambda: Head(0, ""))
    findings: list[Finding] = field(default_factory=list)
    more: int = 0
    compared: list[str] = field(default_factory=list)  # what was kept outside, and agrees
    notes: list[str] = field(default_factory=list)  # what a person should know, and nothing is wrong with
    signed: dict[str, JSON] | None = None  # the newest checkpoint, when its signatures were checked

    @property
    def ok(self) -> bool:
        """Say whether everything agrees."""
        return not self.findings

    @property
    def is_judged(self) -> bool:
        """Say whether something outside was compared: without it a cut at the end, or another history, is not seen."""
        return bool(self.compared)

    def add(self, code: str, text: str, seq: int = 0) -> None:
        """Remember a finding, or count it when there are too many."""
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(code, text, seq))
        else:
            self.more += 1

    def to_json(self) -> dict[str, JSON]:
        """Return the report for programs."""
        return {
            "ok": self.ok,
            "events": self.events,
            "head": {"seq": self.head.seq, "hash": self.head.hash},
            "findings": [finding.to_json() for finding in self.findings],
            "more": self.more,
            "compared": list(self.compared),
            "notes": list(self.notes),
            "signed": self.signed,
        }


def format_head(head: Head) -> str:
    """Return the one line that ``audit head`` prints and ``audit verify --head`` reads."""
    return f"{_HEAD_FORMAT} {head.seq} {head.hash or '-'}"


def parse_head(text: str) -> Head:
    """Return the head in a saved line.

    Raises:
        ValueError: it is not one.
    """
    parts = text.split()
    if len(parts) != 3 or parts[0] != _HEAD_FORMAT or not parts[1].isdigit():  # noqa: PLR2004  # format, number, hash
        raise ValueError("this is not a saved head; `checkvalve audit head` prints one")
    return Head(int(parts[1]), "" if parts[2] == "-" else parts[2])


def verify(
    store: Store,
    *,
    saved: Head | None = None,
    keys: Iterable[PublicKey] = (),
    outside: Iterable[Outside] = (),
    now: int | None = None,
) -> VerifyReport:
    """Check everything in one snapshot.

    1. Walk the chain: numbers without a gap, each event bound to the one before, each hash as computed.
    2. The head row is the end of the chain.
    3. The saved head lies in the chain.
    4. With ``keys``: every checkpoint, the database's and those kept ``outside``, is signed and fits the tree.
    5. Every column of proposals, grants, attempts, endorsements, mandates, uses and reviewers is that of the events.

    ``now`` (microseconds) makes a log whose heartbeats have stopped a note of the report.
    """
    report = VerifyReport()
    trusted = tuple(keys)
    with store.read() as connection:
        told = _events_of(connection, PRUNED, ERASED, ROTATED)
        judge = _judge(connection, trusted, outside, told) if trusted else None
        walk = Walk(report, Gone(told), judge, Tiles(connection).leaf, saved)
        for event in read_events(connection):  # 1.
            walk.take(event)
        last = walk.last
        row = connection.execute(sa.select(audit_head.c.seq, audit_head.c.hash)).one_or_none()
        if row is None or (row.seq, row.hash) != (last.seq, last.hash):  # 2.
            report.add("head_differs", "the head does not match the last event: events were cut off or added")
        if saved is not None and saved.seq > last.seq:  # 3.
            report.add("truncated", f"the saved head is event {saved.seq}, and the log ends at {last.seq}", last.seq)
        elif saved is not None:
            report.compared.append("the saved head")
        if judge is not None:
            _conclude(report, judge)  # 4.
        for code, text in check_tables(connection, walk.seen):  # 5.
            report.add(code, text)
    report.head = last
    report.notes += walk.watch.silences
    if now is not None and walk.watch.is_silent(now):
        report.notes.append("no heartbeat since the last event: is the gateway running?")
    return report


def _events_of(connection: sa.Connection, *kinds: str) -> list[Event]:
    query = sa.select(events).where(events.c.kind.in_(kinds)).order_by(events.c.seq)
    return [Event(**row) for row in connection.execute(query).mappings()]


def _judge(
    connection: sa.Connection, keys: tuple[PublicKey, ...], outside: Iterable[Outside], told: Iterable[Event]
) -> Judge:
    try:
        stored = newest(connection)
    except LogTamperedError as error:
        stored = error.message  # no checkpoint, so it is found to be a bad one
    inside = () if stored is None else (Outside("the database", stored, inside=True),)
    trust = Trust.of(keys, rotations_in(event for event in told if event.kind == ROTATED))
    return Judge(Basis(trust, (*inside, *outside), keys[0].name))


def _conclude(report: VerifyReport, judge: Judge) -> None:
    for code, text in judge.findings():
        report.add(code, text)
    report.compared += judge.sources()
    if judge.newest is None:
        report.notes.append("nothing is signed yet: checkvalve audit seal")
        return
    report.signed = checkpoint_json(judge.newest)
    left = judge.size - judge.newest.checkpoint.size
    if left > 0:
        report.notes.append(f"the newest {left} events are not signed yet")


class Walk:
    """Walks the chain. ``leaf_at`` gives the leaf hash of an event that was removed, by its index."""

    def __init__(
        self,
        report: VerifyReport,
        gone: Gone,
        judge: Judge | None,
        leaf_at: Callable[[int], bytes],
        saved: Head | None = None,
    ) -> None:
        """Begin before the first event; findings go into ``report``."""
        self.last = Head(0, "")
        self.seen: dict[str, Seen] = defaultdict(Seen)
        self.watch = Watch()
        self._report = report
        self._gone = gone
        self._judge = judge
        self._leaf_at = leaf_at
        self._saved = saved

    def take(self, event: Event) -> None:
        """Take in the next event."""
        report, last, saved = self._report, self.last, self._saved
        report.events += 1
        if event.seq != last.seq + 1:
            self._skip(event)
        elif event.prev != last.hash:
            report.add("broken_link", f"event {event.seq} does not follow the one before it", event.seq)
        if not event.is_whole:
            report.add("changed", f"event {event.seq} is not what was written", event.seq)
        elif event.is_erased and not self._gone.is_erased(event.seq):
            report.add("emptied", f"the content of event {event.seq} is gone, and no event says why", event.seq)
        if saved is not None and event.seq == saved.seq and event.hash != saved.hash:
            report.add("replaced", f"event {event.seq} is another one than when the head was saved", event.seq)
        if self._judge is not None:
            self._judge.take(_leaf(event))
        self.watch.take(event)
        self.seen[str(event.subject)].note(str(event.kind), body_of(event.body), event.at)
        self.last = Head(event.seq, event.hash)

    def _skip(self, event: Event) -> None:
        """Take the hashes of removed events from the tree; removed without an event that says so is a finding."""
        first, last = self.last.seq + 1, event.seq - 1
        if not self._gone.is_removed(first, last):
            text = f"events between {self.last.seq} and {event.seq} are missing"
            self._report.add("missing", text, event.seq)
            return
        self.watch.skip()
        if self._judge is not None:
            try:
                for seq in range(first, last + 1):
                    self._judge.take(self._leaf_at(seq - 1))
            except LogTamperedError as error:
                self._report.add("missing", error.message, event.seq)


def _leaf(event: Event) -> bytes:
    try:
        return leaf_hash(event.form)
    except (HostileInputError, TypeError, ValueError, AttributeError):
        return b""  # never a hash: the root will differ
