"""Verifying the logs that were closed in a database, before the one that is signed now.

1. The events of a closed log up to its last good checkpoint are as they were signed: by the checkpoint that the log
   which follows has in its first leaf, and by the keys that it names. Ranges of which that leaf says that they were
   changed have their hashes in the kept tiles.
2. No event stands between that checkpoint and the first event of the next log.
3. What was put aside is what it was.

What was signed later, or elsewhere, by the key of a closed log proves nothing: whoever stole it can sign. So other
checkpoints of it are compared for people, and are no findings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from checkvalve.approvals.audit import Head, read_events
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.closedlogs import Closed, closed_logs, in_words, refuse_closed
from checkvalve.approvals.errors import LogTamperedError
from checkvalve.approvals.judge import Basis, Gone, Judge, Outside
from checkvalve.approvals.notes import PublicKey
from checkvalve.approvals.putaside import changed_aside
from checkvalve.approvals.said import Seen
from checkvalve.approvals.tiles import Tiles
from checkvalve.approvals.walk import VerifyReport, Walk
from checkvalve.filters.strictjson import JSON


@dataclass(frozen=True, slots=True)
class Known:
    """What a database is verified with; ``seen`` takes in what the events say of each subject."""

    gone: Gone
    outside: Sequence[Outside]
    seen: dict[str, Seen]
    saved: Head | None
    keys: tuple[PublicKey, ...]


@dataclass(frozen=True, slots=True)
class _Both:
    """Two judges of one log: by what the log that follows says, and by what was kept elsewhere."""

    own: Judge
    others: Judge

    def take(self, leaf: bytes) -> None:
        self.own.take(leaf)
        self.others.take(leaf)


def verify_closed(connection: sa.Connection, report: VerifyReport, known: Known) -> list[Closed]:
    """Verify the closed logs of a database, oldest first, and return them.

    Raises:
        LogError: the keys are those of one of them.
    """
    try:
        closed = closed_logs(connection)
    except LogTamperedError as error:
        report.add("first_event", error.message)
        return []
    if known.keys:
        refuse_closed(known.keys[0].name, closed)
    for one in closed:
        _verify(connection, report, known, one)
        report.closed.append(_json(one))
        report.notes += in_words(one)
    return closed


def open_log(closed: Sequence[Closed], outside: Sequence[Outside]) -> list[Outside]:
    """Return the checkpoints that are of no closed log."""
    names = {one.origin for one in closed}
    return [kept for kept in outside if _origin(kept) not in names]


def is_aside(closed: Sequence[Closed], seq: int) -> bool:
    """Say whether an event is one that was in doubt when its log was closed."""
    return any(one.last < seq <= one.end or one.is_changed(seq, seq) for one in closed)


def _verify(connection: sa.Connection, report: VerifyReport, known: Known, one: Closed) -> None:
    trust = one.follows.trust
    own = (Outside(f"the first event of {one.next}", one.checkpoint, inside=True),) if one.checkpoint else ()
    others = tuple(kept for kept in known.outside if _origin(kept) == one.origin)
    both = _Both(Judge(Basis(trust, own, one.origin)), Judge(Basis(trust, others, one.origin)))
    gone, tiles = known.gone.also(one.changed), Tiles(connection, one.number)
    walk = Walk(report, gone, both, tiles.leaf, known.saved, base=one.base, seen=known.seen)
    for event in read_events(connection, after=one.base, upto=one.end):  # 1.
        if event.seq <= one.last:
            walk.take(event)
        else:  # 2.
            report.add("added", f"event {event.seq} was added to the closed log {one.origin}", event.seq)
    if walk.last.seq < one.last:
        walk.skip(one.last + 1)
    for code, text in both.own.findings():
        report.add(code, f"the closed log {one.origin}: {text}")
    report.notes += [f"the closed log {one.origin} agrees with {name}" for name in both.others.sources()]
    told = [text for _, text in both.others.findings()]
    report.notes += [f"the closed log {one.origin}, whose key proves nothing any more: {text}" for text in told]
    for text in changed_aside(connection, one.number, one.evidence):  # 3.
        report.add("aside_changed", f"the closed log {one.origin}: {text}")


def _origin(kept: Outside) -> str:
    return kept.text.split("\n", 1)[0]


def _json(one: Closed) -> dict[str, JSON]:
    doubted: JSON = one.doubted_from
    return {
        "origin": one.origin,
        "followed_by": one.next,
        "first": one.base + 1,
        "size": one.size,
        "closed_at": rfc3339(one.at),
        "by": str(one.body.get("by")),
        "reason": str(one.body.get("reason")),
        "in_doubt_from": doubted,
        "put_aside": one.evidence[0],
    }


__all__ = ["Known", "is_aside", "open_log", "verify_closed"]
