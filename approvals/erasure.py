"""Erasing what a call or a task was about, with every proof intact.

1. Only what is over can be erased, and only events whose body stands behind a commitment.
2. Bodies and salts of their events go; what is hashed stays. Without the salt nobody can find the body by trying.
3. Of the call, its permit, its attempt, what was accepted with it, what people said about it, and what would undo it,
   the content goes: arguments, decision, notes, result, value, words. Who decided, when, by which rule and with what
   end stays.
4. So does the content of the calls that were made for it: the reads beside it and of its versions, its probes, its
   preview, and its undoings with all they read.
5. An event says what was erased, by whom and why, and has the digest of the rows as they are now.

What cannot be erased: the call's id. It is made from thread, id of the call and digest of the arguments, so who knows
two of them can try out the third. And what was copied: backups, exports, receipts.
"""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import audit, endorsing, undos
from checkvalve.approvals.asides import threads_of
from checkvalve.approvals.audit import ERASED
from checkvalve.approvals.canonical import canonical, digest, digest_bytes
from checkvalve.approvals.conversations import sides
from checkvalve.approvals.erased_rows import rows_digest
from checkvalve.approvals.erased_words import (
    GONE,
    empty_events,
    empty_talk,
    erase_rules_of,
    is_erased,
    require_looked_at,
)
from checkvalve.approvals.errors import ConflictError, NotFoundError
from checkvalve.approvals.records import MOVES, Proposal, from_row
from checkvalve.approvals.refusals import DoneAlreadyError
from checkvalve.approvals.request_keys import empty_answers
from checkvalve.approvals.review_tables import plans
from checkvalve.approvals.spoken import kept
from checkvalve.approvals.tables import attempts, content, endorsements, grants, history, proposals, uses
from checkvalve.filters.strictjson import JSON


def erase_call(connection: sa.Connection, proposal_id: str, *, at: int, by: str, reason: str) -> int:
    """Erase one call in the caller's write transaction, and return how many events lost their body.

    Raises:
        NotFoundError: there is no such call.
        ConflictError: it, or a call made for it, is not over yet, or an older version wrote its events.
    """
    row = connection.execute(sa.select(proposals).where(proposals.c.id == proposal_id)).mappings().one_or_none()
    if row is None:
        raise NotFoundError("there is no such proposal", remedy="list them: checkvalve approvals list --all")
    kept(reason)
    if is_erased(connection, proposal_id):
        raise DoneAlreadyError("this call was erased before", remedy="nothing was changed")
    proposal = from_row(row)
    count = _erase_one(connection, proposal, at=at, by=by, reason=reason)
    for other in _along(connection, proposal):  # 4.
        if not is_erased(connection, other.id):
            count += _erase_one(connection, other, at=at, by=by, reason=reason)
    for table in _TEXTS:
        connection.execute(sa.delete(table).where(_aside(table.c.thread, proposal)))
    return count


def _erase_one(connection: sa.Connection, proposal: Proposal, *, at: int, by: str, reason: str) -> int:
    """Do steps 1 to 3 and 5 for one call."""
    if proposal.state in MOVES:
        raise ConflictError(
            f"proposal {proposal.id} is {proposal.state.value}: it is not over yet", remedy="decide or settle it first"
        )
    require_looked_at(connection, proposal.id)
    rules = erase_rules_of(connection, proposal.id, at=at, by=by, reason=reason)
    used = _uses_of(connection, proposal)
    emptied = empty_events(connection, proposal.id)
    _empty_rows(connection, proposal, at)
    body: dict[str, JSON] = {"events": list(emptied), "by": by, "reason": reason, "state": proposal.state.value}
    body["used"] = used  # by others: events that are empty now said so
    body["rows_digest"] = rows_digest(connection, proposal.id)
    audit.append(connection, at=at, kind=ERASED, subject=proposal.id, body=body)
    return len(emptied) + rules


def erase_thread(connection: sa.Connection, thread: str, *, at: int, by: str, reason: str) -> tuple[int, int]:
    """Erase a task: all its calls, and the words and results that were stored for it; and every task begun beside it.

    Returns:
        How many calls were erased, and how many stored texts are gone.

    Raises:
        NotFoundError: there is no such task.
        ConflictError: one of its calls cannot be erased; then nothing is.
    """
    threads = [thread, *sides(connection, thread)]  # what was read in one task stands in those beside it
    query = sa.select(proposals.c.id).where(proposals.c.thread.in_(threads))
    found = connection.execute(query).scalars().all()
    texts = sum(connection.execute(sa.delete(table).where(table.c.thread.in_(threads))).rowcount for table in _TEXTS)
    empty_answers(connection)
    if not found and not texts:
        raise NotFoundError(f"there is no task {thread!r}", remedy="list calls: checkvalve approvals list --all")
    left = [one for one in found if not is_erased(connection, one)]
    for one in left:
        if not is_erased(connection, one):  # it may be a call that was made for one before
            erase_call(connection, one, at=at, by=by, reason=reason)
    return len(left), texts


_TEXTS: Final = (content, history)


def _aside(thread: sa.Column[Any], proposal: Proposal) -> sa.ColumnElement[bool]:
    """Say whether a thread is one of calls that were made for this one: its undoings are as many as were asked for."""
    return sa.or_(
        thread.in_(threads_of(proposal.id)), thread.startswith(f"{undos.THREAD}{proposal.id}/", autoescape=True)
    )


def _along(connection: sa.Connection, proposal: Proposal) -> list[Proposal]:
    """Return what belongs to a call: its edits, the reads beside it, those of :mod:`asides`, its undoings."""
    row = proposals.c
    words = (undos.FIRST, undos.BEFORE, undos.AFTER, undos.LOOK)
    reads = sa.and_(
        row.thread == proposal.thread, row.call_id.in_([undos.beside(proposal.call_id, word) for word in words])
    )
    edits = row.id.in_(sorted(_edits_of(connection, proposal.id)))
    mine = sa.or_(reads, edits, _aside(row.thread, proposal))
    found = connection.execute(sa.select(proposals).where(mine, row.id != proposal.id)).mappings()
    return [from_row(one) for one in found]


def _edits_of(connection: sa.Connection, name: str) -> set[str]:
    """Return every call of one line of edits: nearly the same arguments stand in all of them."""
    known, new = set[str](), {name}
    while new:
        known |= new
        either = sa.or_(plans.c.proposal_id.in_(sorted(new)), plans.c.parent.in_(sorted(new)))
        rows = connection.execute(sa.select(plans.c.proposal_id, plans.c.parent).where(either)).all()
        new = {one for row in rows for one in row if one} - known
    return known


def _empty_rows(connection: sa.Connection, proposal: Proposal, at: int) -> None:
    """Leave rows that can be read, and say nothing of what the call was about."""
    form = canonical({"args": {}, "server": proposal.server, "tool": proposal.tool})
    now = digest_bytes(form)
    empty: dict[str, Any] = {"canonical": form, "digest": now, "decision": "{}", "endorsable": "[]"}
    empty |= {"reason": GONE, "remedy": "", "note": GONE, "call_id": GONE, "requester": GONE, "behind": ""}
    connection.execute(sa.update(proposals).where(proposals.c.id == proposal.id).values(empty))
    mine = grants.c.proposal_id == proposal.id
    connection.execute(sa.update(grants).where(mine).values(digest=now))
    tried = sa.update(attempts).where(attempts.c.proposal_id == proposal.id)
    connection.execute(tried.values(result=None, error=None))
    row = endorsements.c
    for one in connection.execute(sa.select(row.id, row.ended_at).where(row.proposal_id == proposal.id)).all():
        ended = {"ended_at": one.ended_at if one.ended_at is not None else at, "value_digest": digest([GONE, one.id])}
        connection.execute(sa.update(endorsements).where(row.id == one.id).values(value=GONE, **ended))
    empty_talk(connection, proposal.id, now)
    empty_answers(connection)


def _uses_of(connection: sa.Connection, proposal: Proposal) -> list[JSON]:
    """Return who used what was accepted with a call: item, call, and when."""
    given = endorsing.given_with(connection, proposal.id)
    query = sa.select(uses).where(uses.c.kind == "endorsement", uses.c.item.in_(given)).order_by(uses.c.used_at)
    return [[row["item"], row["proposal_id"], row["used_at"]] for row in connection.execute(query).mappings()]


__all__ = ["GONE", "erase_call", "erase_thread"]
