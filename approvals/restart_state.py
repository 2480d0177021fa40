"""What of the tables is still relied upon when a log is closed in doubt: as little as can be.

The events that are in doubt were put aside before; what is left says how everything stood as far as it was signed.

1. A call, mandate, standing rule or hand-over is in doubt if one of its events was put aside, or its rows are not what
   the events that are left say.
2. Nothing waits and nothing is permitted any more: open questions are cancelled, permits become invalid, what was
   running is unknown. So nothing runs that was approved in the part that is in doubt.
3. Nothing that was given ahead counts any more: mandates, standing rules, accepted data and hand-overs end, since their
   end may have stood in what is missing.
4. Tasks are paused until a person lets them go on: their words and results are in no event.
5. What is in doubt stays as it is, and an event has a digest of it (:mod:`doubts`).

Guarantees: all of it commits with the first event of the log that follows, or nothing does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import audit, endorsing, flood, mandate_store, moves, standing_store
from checkvalve.approvals.doubts import doubt
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.records import State, from_row
from checkvalve.approvals.review_tables import delegations, standing_rules
from checkvalve.approvals.said import Seen
from checkvalve.approvals.tablecheck import check_tables, require_recorded
from checkvalve.approvals.tables import endorsements, history, mandates, proposals

CODE: Final = "log_restarted"
"""Why a call was closed, and why a task is paused."""
_ENDS: Final = {
    State.PENDING: State.CANCELLED,
    State.APPROVED: State.INVALIDATED,
    State.EXECUTING: State.UNKNOWN,
}
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MAY_HAVE_RUN: Final = "whether it ran before its log was closed is not known for sure"
_LOOK: Final = 1  # standing rules are read to be ended: how many people they would need does not matter


@dataclass(frozen=True, slots=True)
class Taking:
    """Who closes a log, when, and what the events that are left say of each subject."""

    at: int
    by: str
    seen: Mapping[str, Seen]
    moved: frozenset[str] = frozenset()  # subjects of events that were put aside
    about: frozenset[str] = frozenset()  # accounts that such events are about


def doubtful(connection: sa.Connection, taking: Taking) -> set[str]:
    """Do step 1: return the ids of what is in doubt."""
    found = {name for name in taking.moved if _ID.fullmatch(name)}
    if not any(True for _ in check_tables(connection, taking.seen)):
        return found
    columns = (proposals.c.id, mandates.c.id, standing_rules.c.id, delegations.c.id)
    stored = {str(name) for column in columns for name in connection.execute(sa.select(column)).scalars()}
    known = stored | {name for name in taking.seen if _ID.fullmatch(name)}
    return found | {name for name in known - found if not _is_recorded(connection, name)}


def _is_recorded(connection: sa.Connection, name: str) -> bool:
    try:
        require_recorded(connection, name)
    except StoreCorruptError:
        return False
    return True


def close_all(connection: sa.Connection, taking: Taking, found: set[str]) -> dict[str, int]:
    """Do steps 2 to 5, and return how much of each was closed."""
    counts = {
        "calls": _close_calls(connection, taking, found),
        "mandates": _end_mandates(connection, taking, found),
        "standing_rules": _end_rules(connection, taking, found),
        "endorsements": _end_endorsements(connection, taking, found),
        "hand_overs": _end_delegations(connection, taking, found),
        "tasks": _pause(connection, taking),
    }
    for name in sorted(found):  # 5.
        doubt(connection, name, at=taking.at, body={"code": CODE, "by": taking.by})
    return counts


def _close_calls(connection: sa.Connection, taking: Taking, found: set[str]) -> int:
    """Do step 2."""
    row, count = proposals.c, 0
    query = sa.select(proposals).where(row.state.in_([state.value for state in _ENDS]))
    for stored in connection.execute(query.order_by(row.created_at, row.id)).mappings().all():
        end, count = _ENDS[State(stored["state"])], count + 1
        if stored["id"] not in found:
            note = "" if end is State.CANCELLED else _MAY_HAVE_RUN
            moves.move(connection, from_row(stored), end, at=taking.at, by=taking.by, code=CODE, note=note)
            continue
        values = {"state": end.value, "updated_at": taking.at, "decided_by": taking.by, "code": CODE}
        connection.execute(sa.update(proposals).where(row.id == stored["id"]).values(values))
    return count


def _end_mandates(connection: sa.Connection, taking: Taking, found: set[str]) -> int:
    """Do step 3 for mandates."""
    names = _open(connection, mandates.c.id, mandates.c.ended_at)
    for name in names:
        if name in found:
            _end_row(connection, mandates.c.id, name, taking)
        elif (item := mandate_store.load(connection, name)) is not None:
            mandate_store.end(connection, item, by=taking.by, at=taking.at)
    return len(names)


def _end_rules(connection: sa.Connection, taking: Taking, found: set[str]) -> int:
    """Do step 3 for standing rules."""
    names = _open(connection, standing_rules.c.id, standing_rules.c.ended_at)
    for name in names:
        if name in found:
            _end_row(connection, standing_rules.c.id, name, taking)
        else:
            item = standing_store.load(connection, standing_store.Look(taking.at, needed=_LOOK), name)
            standing_store.end(connection, item, by=taking.by, at=taking.at)
    return len(names)


def _end_endorsements(connection: sa.Connection, taking: Taking, found: set[str]) -> int:
    """Do step 3 for data that was accepted with a call."""
    listed = endorsing.not_ended(connection)
    for item in listed:
        if item.proposal_id not in found:
            endorsing.end(connection, item, by=taking.by, at=taking.at)
    for name in {item.proposal_id for item in listed} & found:
        _end_row(connection, endorsements.c.proposal_id, name, taking)
    return len(listed)


def _end_delegations(connection: sa.Connection, taking: Taking, found: set[str]) -> int:
    """Do step 3 for hand-overs."""
    names = _open(connection, delegations.c.id, delegations.c.ended_at)
    for name in names:
        _end_row(connection, delegations.c.id, name, taking)
        if name not in found:
            audit.append(connection, at=taking.at, kind="delegation.ended", subject=name, body={"by": taking.by})
    return len(names)


def _open(connection: sa.Connection, column: sa.Column[Any], ended: sa.Column[Any]) -> list[str]:
    return [str(name) for name in connection.execute(sa.select(column).where(ended.is_(None))).scalars()]


def _end_row(connection: sa.Connection, column: sa.Column[Any], name: str, taking: Taking) -> None:
    table = column.table
    mine = sa.update(table).where(column == name, table.c.ended_at.is_(None))
    connection.execute(mine.values(ended_at=taking.at, ended_by=taking.by))


def _pause(connection: sa.Connection, taking: Taking) -> int:
    """Do step 4."""
    count = 0
    for thread in _threads(connection):
        count += flood.pause(connection, thread, at=taking.at, code=CODE)
    return count


def _threads(connection: sa.Connection) -> Iterator[str]:
    either = sa.union(sa.select(history.c.thread), sa.select(proposals.c.thread))
    yield from sorted(str(name) for name in connection.execute(either).scalars())


__all__ = ["CODE", "Taking", "close_all", "doubtful"]
