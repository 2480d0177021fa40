"""Verifying the log: the chain against itself, against what was signed and kept elsewhere, and the tables against it.

What it proves: nothing in the chain was changed, removed, inserted or reordered, and what the tables of proposals,
permits, attempts, endorsements, mandates and reviewers say is what the events say. What it cannot prove: that the
records are true, or that nobody rewrote the whole chain; for that it needs checkpoints that were signed and kept
outside the database (:mod:`judge`), or a saved head (``audit head``). What it does not look at: ``content`` and
``history`` (the words, results and labels that a thread was decided from) and ``leases``; no event holds them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.audit import ERASED, Event, Head, read_events
from checkvalve.approvals.errors import LogTamperedError
from checkvalve.approvals.judge import PRUNED, ROTATED, Basis, Gone, Judge, Outside, checkpoint_json, rotations_in
from checkvalve.approvals.lastsigned import newest
from checkvalve.approvals.logkeys import Trust
from checkvalve.approvals.logpolicy import Policy
from checkvalve.approvals.notes import PublicKey
from checkvalve.approvals.said import Seen
from checkvalve.approvals.store import Store
from checkvalve.approvals.tablecheck import check_tables
from checkvalve.approvals.tables import audit_head, events
from checkvalve.approvals.tiles import Tiles
from checkvalve.approvals.verify_closed import Known, is_aside, open_log, verify_closed
from checkvalve.approvals.walk import VerifyReport, Walk
from checkvalve.approvals.witnessed import judge_witnesses

_HEAD_FORMAT: Final = "checkvalve-head-1"


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
    policy: Policy | None = None,
    now: int | None = None,
) -> VerifyReport:
    """Check everything in one snapshot; logs that were closed come first (:mod:`verify_closed`).

    1. Walk the chain: numbers without a gap, each event bound to the one before, each hash as computed.
    2. The head row is the end of the chain.
    3. The saved head lies in the chain.
    4. With ``keys``: every checkpoint, the database's and those kept ``outside``, is signed and fits the tree; and
       by a ``policy`` a quorum of witnesses stands behind the newest one. It is about the log that is signed now.
    5. Every column of proposals, grants, attempts, endorsements, mandates, uses and reviewers is that of the events.

    ``now`` (microseconds) makes a log whose heartbeats have stopped a note of the report.

    Raises:
        LogError: the keys are those of a log that was closed.
    """
    report = VerifyReport()
    trusted, kept = tuple(keys), tuple(outside)
    with store.read() as connection:
        told = events_of(connection, PRUNED, ERASED, ROTATED)
        gone, seen = Gone(told), dict[str, Seen]()
        closed = verify_closed(connection, report, Known(gone, kept, seen, saved, trusted))
        base = closed[-1].end if closed else 0
        judge = _judge(connection, trusted, open_log(closed, kept), told) if trusted else None
        _look_at_checkpoint(connection, report, judge)
        walk = Walk(report, gone, judge, Tiles(connection).leaf, saved, base=base, seen=seen)
        for event in read_events(connection, after=base):  # 1.
            walk.take(event)
        last = walk.last
        row = connection.execute(sa.select(audit_head.c.seq, audit_head.c.hash)).one_or_none()
        if row is None or (row.seq, row.hash) != (last.seq, last.hash):  # 2.
            report.add("head_differs", "the head does not match the last event: events were cut off or added")
        if saved is not None and saved.seq > last.seq:  # 3.
            report.add("truncated", f"the saved head is event {saved.seq}, and the log ends at {last.seq}", last.seq)
        elif saved is not None and is_aside(closed, saved.seq):
            report.notes.append(f"the saved head is event {saved.seq}, in the part of a closed log that is in doubt")
        elif saved is not None:
            report.compared.append("the saved head")
        if judge is not None:
            _conclude(report, judge)  # 4.
            if policy is not None:
                report.hear(judge_witnesses(policy, judge.agreed))
        for code, text in check_tables(connection, walk.seen):  # 5.
            report.add(code, text)
    report.head = last
    report.notes += walk.watch.silences
    if now is not None and walk.watch.is_silent(now):
        report.notes.append("no heartbeat since the last event: is the gateway running?")
    return report


def events_of(connection: sa.Connection, *kinds: str) -> list[Event]:
    """Return all events of some kinds, in order."""
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


def _look_at_checkpoint(connection: sa.Connection, report: VerifyReport, judge: Judge | None) -> None:
    """Find without a key what is no checkpoint's size; with keys the checkpoint is judged itself."""
    if judge is not None:
        return
    try:
        newest(connection)
    except LogTamperedError as error:
        report.add("bad_checkpoint", f"the database: {error.message}")


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


__all__ = ["VerifyReport", "events_of", "format_head", "parse_head", "verify"]
