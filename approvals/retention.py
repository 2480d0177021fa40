"""Retention: old tasks are exported and removed, and the proofs of everything else stay as they are.

1. The log is exported as a bundle, and the bundle is read back and judged with the public key. It is the archive: with
   the key alone it proves what is removed now.
2. Removed are tasks whose calls are all over and have not moved since the given time: calls, permits, attempts, plans,
   votes, remarks, what would undo them, their stored words and results, and their events; hand-overs and sessions that
   ended before; seeded items that were closed, and consents to them that were taken back, before; and old heartbeats
   and refusals. What stays: a call that gave or used an endorsement, a mandate or a
   standing rule, one that somebody has yet to look at, and one whose undoing is under way.
   So do the events of a log that was closed, and the calls that they are about.
3. An event has the numbers of what was removed, the digest of the archive and its checkpoint. The hashes of removed
   events stay in the tree, so every checkpoint, receipt and proof still fits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.account_tables import sessions
from checkvalve.approvals.bundles import export_bundle, read_bundle, verify_bundle
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.closedlogs import base_of
from checkvalve.approvals.errors import LogTamperedError
from checkvalve.approvals.judge import PRUNED
from checkvalve.approvals.lastsigned import newest
from checkvalve.approvals.notes import PublicKey
from checkvalve.approvals.records import MOVES
from checkvalve.approvals.review_tables import (
    afterlooks,
    delegations,
    plans,
    remarks,
    snoozes,
    standing_rules,
    undos,
    votes,
)
from checkvalve.approvals.seed_said import SUBJECT
from checkvalve.approvals.seed_tables import seed_consents, seeds
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import attempts, content, endorsements, events, grants, history, proposals, uses
from checkvalve.filters.strictjson import JSON

_KINDS: Final = ("call.refused", "log.heartbeat")
_CHUNK: Final = 500  # values in one statement
_OPEN: Final = tuple(state.value for state in MOVES)


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many calls and events were removed, and the digest of the archive that has them."""

    calls: int
    events: int
    archive: str


def prune(store: Store, keys: Sequence[PublicKey], archive: Path, *, before: int, at: int, by: str) -> Pruned:
    """Export and remove what is older than ``before`` (microseconds); the log must be sealed.

    Raises:
        LogTamperedError: the log is not what was signed; nothing was removed.
        LogError: nothing is signed, or the archive cannot be written.
    """
    with store.read() as connection:
        size = export_bundle(connection, archive)  # 1.
        log = Log(base_of(connection), size)
    report = verify_bundle(read_bundle(archive), keys)
    if not report.ok:
        raise LogTamperedError(
            f"the exported log is not what was signed: {report.findings[0].text}", remedy="nothing was removed"
        )
    kept = "sha256:" + hashlib.sha256(archive.read_bytes()).hexdigest()
    with store.write() as connection:
        calls, numbers = _old(connection, before, log)  # 2.
        handed, told = _ended(connection, before, log)
        items, agreed, marked = _seeded(connection, before, log)
        numbers = sorted({*numbers, *told, *marked})
        if not numbers:
            return Pruned(0, 0, kept)
        threads = _threads(connection, calls)
        for table, column in _TABLES:
            _delete(connection, column, calls, table)
        for table in (content, history):
            _delete(connection, table.c.thread, threads, table)
        _delete(connection, delegations.c.id, handed, delegations)
        _delete(connection, seeds.c.id, items, seeds)
        _delete(connection, seed_consents.c.reviewer, agreed, seed_consents)
        _delete(connection, events.c.seq, numbers, events)
        body: dict[str, JSON] = {"removed": _ranges(numbers), "archive": kept, "before": rfc3339(before), "by": by}
        body["checkpoint"] = newest(connection)
        audit.append(connection, at=at, kind=PRUNED, body=body)  # 3.
    return Pruned(len(calls), len(numbers), kept)


_TABLES: Final = (
    *((table, table.c.proposal_id) for table in (plans, votes, remarks, snoozes, afterlooks, undos, attempts, grants)),
    (proposals, proposals.c.id),
)
_SESSION: Final = "session:"
"""How the subject of a session's events begins."""


@dataclass(frozen=True, slots=True)
class Log:
    """The log that is archived: ``size`` events after the number ``base``; what is outside it stays."""

    base: int
    size: int

    @property
    def outside(self) -> sa.ColumnElement[bool]:
        """Which events are not in the archive, or are the last one of it."""
        return sa.or_(events.c.seq >= self.base + self.size, events.c.seq <= self.base)


def _old(connection: sa.Connection, before: int, log: Log) -> tuple[list[str], list[int]]:
    """Return the calls and the events that can go.

    The last event that was signed stays: the next one is bound to its hash.
    """
    row = proposals.c
    undoing = sa.select(undos.c.proposal_id).join(proposals, row.id == undos.c.undo_id).where(row.state.in_(_OPEN))
    tied = sa.union(
        sa.select(uses.c.proposal_id),
        sa.select(endorsements.c.proposal_id),
        sa.select(standing_rules.c.proposal_id),
        sa.select(afterlooks.c.proposal_id).where(afterlooks.c.looked_at.is_(None)),
        undoing,
    )
    alive = sa.or_(row.state.in_(_OPEN), row.updated_at >= before, row.id.in_(tied))
    kept = sa.select(row.thread).where(alive)
    calls = list(connection.execute(sa.select(row.id).where(row.thread.not_in(kept))).scalars())
    late = log.outside | (events.c.at >= before)
    unsealed = {str(one) for one in connection.execute(sa.select(events.c.subject).where(late).distinct()).scalars()}
    calls = [one for one in calls if one not in unsealed]
    numbers = list[int]()
    for part in _parts(calls):
        numbers += connection.execute(sa.select(events.c.seq).where(events.c.subject.in_(part))).scalars()
    plain = sa.select(events.c.seq).where(events.c.kind.in_(_KINDS), ~log.outside, events.c.at < before)
    numbers += connection.execute(plain).scalars()
    return calls, sorted(set(numbers))


def _threads(connection: sa.Connection, calls: Sequence[str]) -> list[str]:
    """Return the tasks of calls that go: no other call of them stays."""
    found = set[str]()
    for part in _parts(calls):
        found |= set(connection.execute(sa.select(proposals.c.thread).where(proposals.c.id.in_(part))).scalars())
    return sorted(found)


def _ended(connection: sa.Connection, before: int, log: Log) -> tuple[list[str], list[int]]:
    """Return the hand-overs that ended, and the events of those and of sessions that are gone, all of them old."""
    row = delegations.c
    late = sa.select(events.c.subject).where(log.outside | (events.c.at >= before))
    over = sa.or_(row.expires_at < before, sa.and_(row.ended_at.is_not(None), row.ended_at < before))
    handed = list(connection.execute(sa.select(row.id).where(over, row.id.not_in(late))).scalars())
    numbers = list[int]()
    for part in _parts(handed):
        numbers += connection.execute(sa.select(events.c.seq).where(events.c.subject.in_(part))).scalars()
    open_ = sa.select(sa.literal(_SESSION) + sessions.c.key)
    gone = sa.select(events.c.seq).where(events.c.subject.startswith(_SESSION, autoescape=True))
    numbers += connection.execute(gone.where(events.c.subject.not_in(late), events.c.subject.not_in(open_))).scalars()
    return handed, numbers


def _seeded(connection: sa.Connection, before: int, log: Log) -> tuple[list[str], list[str], list[int]]:
    """Return the seeded items that were closed and whose consents ended, and the events of both, all of them old."""
    late = sa.select(events.c.subject).where(log.outside | (events.c.at >= before))
    closed = sa.select(seeds.c.id).where(seeds.c.answer != "", seeds.c.answered_at < before, seeds.c.id.not_in(late))
    items = list(connection.execute(closed).scalars())
    row, subject = seed_consents.c, sa.literal(SUBJECT) + seed_consents.c.reviewer
    ended = sa.select(row.reviewer).where(row.ended_at < before, subject.not_in(late))
    agreed = list(connection.execute(ended).scalars())
    numbers = list[int]()
    for part in _parts([*items, *(SUBJECT + name for name in agreed)]):
        numbers += connection.execute(sa.select(events.c.seq).where(events.c.subject.in_(part))).scalars()
    return items, agreed, numbers


def _delete(connection: sa.Connection, column: sa.Column[object], values: Sequence[object], table: sa.Table) -> None:
    for part in _parts(values):
        connection.execute(sa.delete(table).where(column.in_(part)))


def _parts(values: Sequence[object]) -> Iterable[Sequence[object]]:
    return (values[at : at + _CHUNK] for at in range(0, len(values), _CHUNK))


def _ranges(numbers: Sequence[int]) -> list[JSON]:
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return [list(pair) for pair in found]
