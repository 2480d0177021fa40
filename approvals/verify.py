"""Verifying the log: the chain against itself, against a head kept elsewhere, and the tables against the chain.

What it proves: nothing in the chain was changed, removed, inserted or reordered, and what the tables of proposals,
permits, attempts, endorsements, mandates and reviewers say is what the events say. What it cannot prove: that the
records are true, or that nobody rewrote the whole chain; for that, keep heads (``audit head``) where the gateway's user
cannot write, and verify against them. What it does not look at: ``content`` and ``history`` (the words, results and
labels that a thread was decided from) and ``leases``; no event holds them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.audit import Event, Head, read_events
from checkvalve.approvals.said import Seen
from checkvalve.approvals.store import Store
from checkvalve.approvals.tablecheck import body_of, check_tables
from checkvalve.approvals.tables import audit_head
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

    @property
    def ok(self) -> bool:
        """Say whether everything agrees."""
        return not self.findings

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


def verify(store: Store, *, saved: Head | None = None) -> VerifyReport:
    """Check everything in one snapshot.

    1. Walk the chain: numbers without a gap, each event bound to the one before, each hash as computed.
    2. The head row is the end of the chain.
    3. The saved head lies in the chain.
    4. Every column of proposals, grants, attempts, endorsements, mandates, uses and reviewers is that of the events.
    """
    report = VerifyReport()
    seen: dict[str, Seen] = defaultdict(Seen)
    with store.read() as connection:
        last = _walk(read_events(connection), report, seen, saved)  # 1.
        row = connection.execute(sa.select(audit_head.c.seq, audit_head.c.hash)).one_or_none()
        if row is None or (row.seq, row.hash) != (last.seq, last.hash):  # 2.
            report.add("head_differs", "the head does not match the last event: events were cut off or added")
        if saved is not None and saved.seq > last.seq:  # 3.
            report.add("truncated", f"the saved head is event {saved.seq}, and the log ends at {last.seq}", last.seq)
        for code, text in check_tables(connection, seen):  # 4.
            report.add(code, text)
    report.head = last
    return report


def _walk(chain: Iterator[Event], report: VerifyReport, seen: dict[str, Seen], saved: Head | None) -> Head:
    last = Head(0, "")
    for event in chain:
        report.events += 1
        if event.seq != last.seq + 1:
            report.add("missing", f"events between {last.seq} and {event.seq} are missing", event.seq)
        elif event.prev != last.hash:
            report.add("broken_link", f"event {event.seq} does not follow the one before it", event.seq)
        if not event.is_whole:
            report.add("changed", f"event {event.seq} is not what was written", event.seq)
        if saved is not None and event.seq == saved.seq and event.hash != saved.hash:
            report.add("replaced", f"event {event.seq} is another one than when the head was saved", event.seq)
        seen[str(event.subject)].note(str(event.kind), body_of(event.body), event.at)
        last = Head(event.seq, event.hash)
    return last
