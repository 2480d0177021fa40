"""Moves of one proposal inside a write transaction: compare, set, and write the event, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit, doubts, undos
from checkvalve.approvals.causes import cause_of
from checkvalve.approvals.clock import rfc3339, to_the_second
from checkvalve.approvals.errors import ConflictError, NotFoundError
from checkvalve.approvals.records import Proposal, State, from_row, may_move
from checkvalve.approvals.subjectrows import Held, read
from checkvalve.approvals.tables import grants, proposals
from checkvalve.filters.strictjson import JSON

_REMEDIES: Final = {
    State.APPROVED: "nothing was changed; before it runs it can be taken back: checkvalve approvals revoke",
}
OBSERVE = "observe"
"""Who issues the grants of observe mode: nobody looked, and every record of it says so."""
_ONE: Final = sa.select(proposals).where(proposals.c.id == sa.bindparam("wanted"))
_MOVE: Final = sa.update(proposals).where(
    proposals.c.id == sa.bindparam("was_id"),
    proposals.c.state == sa.bindparam("was_state"),
    proposals.c.version == sa.bindparam("was_version"),
    proposals.c.digest == sa.bindparam("was_digest"),
)
_GRANT: Final = sa.select(grants).where(grants.c.proposal_id == sa.bindparam("wanted"))
_ISSUE: Final = sa.insert(grants)
_MOVED: Final = ("version", "updated_at", "decided_by", "code", "note", "execute_by", "self_approved")


@dataclass(frozen=True, slots=True)
class Grant:
    """The single-use permit of one proposal."""

    proposal_id: str
    digest: str
    issued_by: str
    issued_at: int
    execute_by: int
    used_at: int | None


def load(connection: sa.Connection, proposal_id: str) -> Proposal:
    """Return the stored proposal.

    Raises:
        NotFoundError: there is none with this id.
    """
    row = connection.execute(_ONE, {"wanted": proposal_id}).mappings().one_or_none()
    if row is None:
        raise NotFoundError("there is no such proposal", remedy="list the open ones: checkvalve approvals list")
    return from_row(row)


def load_whole(connection: sa.Connection, proposal_id: str) -> tuple[Proposal, Held]:
    """Return the stored proposal, with everything else that the tables hold of it.

    Raises:
        NotFoundError: there is none with this id.
    """
    held = read(connection, proposal_id)
    row = held.one(proposals.c.id)
    return (load(connection, proposal_id) if row is None else from_row(row)), held


def move(  # noqa: PLR0913  # each is a column of the move's record
    connection: sa.Connection,
    proposal: Proposal,
    end: State,
    *,
    at: int,
    by: str,
    code: str = "",
    note: str = "",
    execute_by: int | None = None,
    self_approved: bool = False,
    details: dict[str, JSON] | None = None,
) -> Proposal:
    """Move ``proposal`` on, if it still is what it was when it was read.

    1. The table of moves must have this one.
    2. Set the new state where id, state, version and digest are unchanged: of several racers one gets the row.
    3. Append the event to the chain.

    Raises:
        ConflictError: the row has moved on, or never may move so.
    """
    if not may_move(proposal.state, end, proposal.idempotency):
        raise conflict(proposal)
    moved = replace(
        proposal,
        state=end,
        version=proposal.version + 1,
        updated_at=at,
        decided_by=by,
        code=code,
        note=note or proposal.note,
        execute_by=execute_by if execute_by is not None else proposal.execute_by,
        self_approved=proposal.self_approved or self_approved,
    )
    was = {"id": proposal.id, "state": proposal.state.value, "version": proposal.version, "digest": proposal.digest}
    values = {"state": end.value, **{name: getattr(moved, name) for name in _MOVED}}
    if connection.execute(_MOVE, values | {f"was_{name}": value for name, value in was.items()}).rowcount != 1:
        raise conflict(load(connection, proposal.id))
    body: dict[str, JSON] = {
        "from": proposal.state.value,
        "state": end.value,
        "version": moved.version,
        "digest": proposal.digest,
        "mode": proposal.mode,
        "by": by,
        "code": code,
        "note": note,
        **({"self_approved": True} if self_approved else {}),
        **(details or {}),
    }
    audit.append(connection, at=at, kind=f"proposal.{end.value}", subject=proposal.id, body=body)
    if proposal.state is State.UNKNOWN:
        doubts.renew(connection, proposal.id, at=at)
    if proposal.rule == undos.RULE and end in undos.DONE:
        undos.note_undone(connection, moved, at=at)
    return moved


def conflict(proposal: Proposal) -> ConflictError:
    """Return the error for a move that came too late or from the wrong state: who moved it, and when."""
    by = f" by {proposal.decided_by.removeprefix('reviewer:')}" if proposal.decided_by else ""
    return ConflictError(
        f"proposal {proposal.id} is {proposal.state.value}{by} since {to_the_second(proposal.updated_at)}",
        remedy=_REMEDIES.get(proposal.state, "nothing was changed"),
        cause=cause_of(proposal.state.value),
        present=proposal.present,
    )


def issue_grant(
    connection: sa.Connection, proposal: Proposal, *, by: str, at: int, execute_by: int, voters: Sequence[str] = ()
) -> None:
    """Store the one permit this proposal can ever have; in observe mode the event says loudly that nobody enforced.

    ``by`` is who made it complete, and ``voters`` are all whose yes it rests on.
    """
    values = {
        "proposal_id": proposal.id,
        "digest": proposal.digest,
        "issued_by": by,
        "issued_at": at,
        "execute_by": execute_by,
    }
    connection.execute(_ISSUE, {"used_at": None, **values})
    body: dict[str, JSON] = {
        "digest": proposal.digest,
        "issued_by": by,
        "execute_by": rfc3339(execute_by),
        "enforced": by != OBSERVE,
    }
    if voters:
        body["voters"] = [*voters]
    if by == OBSERVE:
        body["notice"] = f"OBSERVE MODE: nothing was enforced; the verdict on this call was {proposal.verdict_name}"
    audit.append(connection, at=at, kind="grant.issued", subject=proposal.id, body=body)


def read_grant(connection: sa.Connection, proposal_id: str) -> Grant | None:
    """Return the permit of a proposal, used or not."""
    row = connection.execute(_GRANT, {"wanted": proposal_id}).mappings().one_or_none()
    return None if row is None else Grant(**row)


def is_overdue(proposal: Proposal, now: int) -> bool:
    """Say whether one of the two clocks has run out: decide by, execute by."""
    if proposal.state is State.PENDING:
        return now >= proposal.decide_by
    return proposal.state is State.APPROVED and proposal.execute_by is not None and now >= proposal.execute_by


def require_open(proposal: Proposal, now: int) -> None:
    """Make sure that somebody may still be asked about the proposal: it waits, and its time is not over.

    Raises:
        ConflictError: it does not, or it is.
    """
    if proposal.state is not State.PENDING or is_overdue(proposal, now):
        raise conflict(proposal)


def close_overdue(connection: sa.Connection, proposal: Proposal, now: int) -> Proposal:
    """Expire or lapse the proposal when its time is over; otherwise return it as it is."""
    if not is_overdue(proposal, now):
        return proposal
    end = State.EXPIRED if proposal.state is State.PENDING else State.LAPSED
    return move(connection, proposal, end, at=now, by="clock", code=end.value)
