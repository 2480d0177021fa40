"""Undoings in the store: kept with the effect, asked for at most once at a time, and linked when it is done.

Guarantees: what undoes an effect is written in the transaction that records its success; asking is compared and set,
so of two people one gets it; a row that was edited beside the log undoes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.asides import UNDO
from checkvalve.approvals.canonical import digest_bytes
from checkvalve.approvals.clock import rfc3339, to_the_second
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.refusals import StaleError
from checkvalve.approvals.review_tables import undos
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.undo_call import Kept, UndoCall, read_body
from checkvalve.filters.strictjson import JSON

RULE: Final = "undo"
"""The rule of every call that undoes another one: a person decides it."""
THREAD: Final = UNDO
"""How the thread of such a call begins; the id of what it undoes follows, and how often that was asked for."""
FIRST, BEFORE, AFTER, LOOK = "first", "before", "after", "look"
"""Words in the names of reads beside a call: before it is decided, right before its effect, right after it, and when
somebody asks for its undoing."""
DONE: Final = frozenset({State.SUCCEEDED, State.CONFIRMED_DONE})
"""States of an effect that happened, for sure."""
_NOTHING_HAPPENED: Final = frozenset(
    {
        *(State.DENIED, State.REJECTED, State.EXPIRED, State.CANCELLED, State.SUPERSEDED, State.LAPSED),
        *(State.INVALIDATED, State.REVOKED, State.FAILED, State.CONFIRMED_NOT_DONE),
    }
)
"""States of an earlier undoing after which one may ask again: it has undone nothing, for sure."""
WHY: Final = {
    "no_such_field": "the result of the call has no such field",
    "no_such_argument": "the call was made without the argument that its undoing needs",
    "not_read": "the state before the call was not read",
    "before_tool_missing": "the tool that reads the state before was not at hand",
    "before_not_allowed": "a rule did not let the state before be read",
    "before_failed": "the state before could not be read",
    "too_late": "reading the state before took too long",
    "not_canonical": "a value that is needed has no canonical form",
    "too_large": "what would have to be kept is too large",
    "tried_again": "the call was tried more than once, so the state before it was not read for sure",
    "failed": "the program failed to keep it",
    "erased": "it was erased",
}
"""Why nothing was kept, in words."""


@dataclass(frozen=True, slots=True)
class Undo:
    """One row: what undoes a call, until when, and who asked for it. Times are microseconds."""

    proposal_id: str
    body: str
    why: str
    kept_at: int
    expires_at: int | None
    undo_id: str
    asks: int

    def call(self) -> UndoCall:
        """Return the call that undoes.

        Raises:
            StoreCorruptError: the row holds what this program never writes.
        """
        try:
            return read_body(self.body)
        except ValueError as error:
            raise StoreCorruptError("a kept undoing cannot be read", remedy="verify the audit log") from error


def beside(call_id: str, word: str) -> str:
    """Return the name of a call that is made beside another one; the turn stays at its end, where it is looked for."""
    name, mark, turn = call_id.rpartition("@")
    return f"{name}~{word}@{turn}" if mark else f"{call_id}~{word}"


def thread_for(proposal_id: str, ask: int) -> str:
    """Return the thread of the call that undoes a proposal, asked for for the ``ask``-th time: a task of its own."""
    return f"{THREAD}{proposal_id}/{ask}"


def keep(connection: sa.Connection, proposal: Proposal, kept: Kept, *, at: int) -> None:
    """Store what undoes an effect, in the transaction that records its success; written twice it is stored once."""
    if read(connection, proposal.id) is not None:
        return
    until = None if kept.within is None else at + kept.within
    row = {"proposal_id": proposal.id, "body": kept.body, "why": kept.why, "kept_at": at, "expires_at": until}
    connection.execute(sa.insert(undos).values(undo_id="", asks=0, **row))
    body: dict[str, JSON] = {"body_digest": digest_bytes(kept.body.encode()), "why": kept.why}
    body["expires_at"] = None if until is None else rfc3339(until)
    audit.append(connection, at=at, kind="undo.kept", subject=proposal.id, body=body)


def read(connection: sa.Connection, proposal_id: str) -> Undo | None:
    """Return what is kept for a call, if anything is."""
    row = connection.execute(sa.select(undos).where(undos.c.proposal_id == proposal_id)).mappings().one_or_none()
    return None if row is None else Undo(**row)


def of_undo(connection: sa.Connection, undo_id: str) -> Undo | None:
    """Return what a proposal undoes, if it is the one that undoes something."""
    row = connection.execute(sa.select(undos).where(undos.c.undo_id == undo_id)).mappings().one_or_none()
    return None if row is None or not undo_id else Undo(**row)


def refusal(connection: sa.Connection, proposal: Proposal, row: Undo | None, *, now: int) -> str:
    """Return why an effect cannot be undone now, in words; nothing when it can."""
    if proposal.state not in DONE:
        return f"it is {proposal.state.value}: there is no effect that is known to have happened"
    if row is None:
        return "nothing was kept to undo it: its tool's entry in the manifest says no `undo_with`"
    if row.why:
        return f"nothing could be kept to undo it: {WHY.get(row.why, row.why)}"
    if row.expires_at is not None and now >= row.expires_at:
        return f"it could be undone until {to_the_second(row.expires_at)}"
    if row.undo_id:
        query = sa.select(proposals.c.state, proposals.c.requester).where(proposals.c.id == row.undo_id)
        found = connection.execute(query).one_or_none()
        if found is None:
            return "its undoing was asked for before, and a retention rule has removed it"
        if State(found.state) not in _NOTHING_HAPPENED:
            done = "it was undone" if State(found.state) in DONE else f"its undoing is {found.state}"
            return f"{done}: {row.undo_id}, asked for by {found.requester}"
    return ""


def ask(connection: sa.Connection, row: Undo, undo: Proposal, *, by: str, at: int) -> None:
    """Link the proposal that undoes to what it undoes, in the transaction that records it.

    Raises:
        ConflictError: somebody else was faster.
    """
    mine = sa.update(undos).where(undos.c.proposal_id == row.proposal_id, undos.c.undo_id == row.undo_id)
    taken = mine.where(undos.c.asks == row.asks).values(undo_id=undo.id, asks=row.asks + 1)
    if connection.execute(taken).rowcount != 1:
        raise StaleError("somebody else asked for the same undoing", remedy="see it: checkvalve undo show ID")
    body: dict[str, JSON] = {"undo": undo.id, "by": by, "state": undo.state.value}
    audit.append(connection, at=at, kind="undo.asked", subject=row.proposal_id, body=body)


def note_undone(connection: sa.Connection, undo: Proposal, *, at: int) -> None:
    """Say in the log that an effect was undone, in the transaction in which its undoing is known to have happened."""
    row = of_undo(connection, undo.id)
    if row is not None:
        body: dict[str, JSON] = {"undo": undo.id, "by": undo.requester, "state": undo.state.value}
        audit.append(connection, at=at, kind="effect.undone", subject=row.proposal_id, body=body)


def approved(connection: sa.Connection) -> list[str]:
    """Return the undoings that were approved and have not been run, oldest first."""
    row = proposals.c
    query = sa.select(row.id).join(undos, undos.c.undo_id == row.id).where(row.state == State.APPROVED.value)
    return [str(name) for name in connection.execute(query.order_by(row.created_at, row.id)).scalars()]


def listed(connection: sa.Connection, *, now: int, everything: bool = False, limit: int = 100) -> Sequence[Undo]:
    """Return what is kept, newest first: what can still be undone, or all of it."""
    query = sa.select(undos).order_by(undos.c.kept_at.desc(), undos.c.proposal_id).limit(limit)
    if not everything:
        query = query.where(undos.c.body != "", sa.or_(undos.c.expires_at.is_(None), undos.c.expires_at > now))
    return [Undo(**row) for row in connection.execute(query).mappings()]


__all__ = [
    "AFTER", "BEFORE", "DONE", "FIRST", "LOOK", "RULE", "THREAD", "WHY", "Undo", "approved", "ask", "beside", "keep",
    "listed", "note_undone", "of_undo", "read", "refusal", "thread_for",
]  # fmt: skip
