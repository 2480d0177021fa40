"""Erasing what a call or a task was about, with every proof intact.

1. Only calls that are over can be erased, and only events whose body stands behind a commitment.
2. Bodies and salts of their events go; what is hashed stays. Without the salt nobody can find the body by trying.
3. Of the call, its permit, its attempt and what was accepted with it, the content goes: arguments, decision, notes,
   result, value. Who decided, when, by which rule and with what end stays.
4. An event says what was erased, by whom and why, and has the digest of the rows as they are now.

What cannot be erased: the call's id. It is made from thread, id of the call and digest of the arguments, so who knows
two of them can try out the third. And what was copied: backups, exports, receipts.
"""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import audit, endorsing
from checkvalve.approvals.audit import ERASED
from checkvalve.approvals.canonical import canonical, digest, digest_bytes
from checkvalve.approvals.erased_rows import rows_digest
from checkvalve.approvals.errors import ConflictError, NotFoundError
from checkvalve.approvals.records import MOVES, Proposal, from_row
from checkvalve.approvals.tables import attempts, content, endorsements, events, grants, history, proposals, uses
from checkvalve.filters.strictjson import JSON

GONE: Final = "(erased)"
"""What stands where the words were."""


def erase_call(connection: sa.Connection, proposal_id: str, *, at: int, by: str, reason: str) -> int:
    """Erase one call in the caller's write transaction, and return how many events lost their body.

    Raises:
        NotFoundError: there is no such call.
        ConflictError: it is not over yet, or an older version wrote its events.
    """
    row = connection.execute(sa.select(proposals).where(proposals.c.id == proposal_id)).mappings().one_or_none()
    if row is None:
        raise NotFoundError("there is no such proposal", remedy="list them: checkvalve approvals list --all")
    proposal = from_row(row)
    if proposal.state in MOVES:
        raise ConflictError(
            f"proposal {proposal.id} is {proposal.state.value}: it is not over yet", remedy="decide or settle it first"
        )
    used = _uses_of(connection, proposal)
    emptied = _empty_events(connection, proposal.id)
    _empty_rows(connection, proposal, at)
    body: dict[str, JSON] = {"events": list(emptied), "by": by, "reason": reason, "state": proposal.state.value}
    body["used"] = used  # by others: events that are empty now said so
    body["rows_digest"] = rows_digest(connection, proposal.id)
    audit.append(connection, at=at, kind=ERASED, subject=proposal.id, body=body)
    return len(emptied)


def erase_thread(connection: sa.Connection, thread: str, *, at: int, by: str, reason: str) -> tuple[int, int]:
    """Erase a task: all its calls, and the words and results that were stored for it.

    Returns:
        How many calls were erased, and how many stored texts are gone.

    Raises:
        NotFoundError: there is no such task.
        ConflictError: one of its calls cannot be erased; then nothing is.
    """
    query = sa.select(proposals.c.id).where(proposals.c.thread == thread)
    found = connection.execute(query).scalars().all()
    texts = sum(connection.execute(sa.delete(table).where(table.c.thread == thread)).rowcount for table in _TEXTS)
    if not found and not texts:
        raise NotFoundError(f"there is no task {thread!r}", remedy="list calls: checkvalve approvals list --all")
    for one in found:
        erase_call(connection, one, at=at, by=by, reason=reason)
    return len(found), texts


_TEXTS: Final = (content, history)


def _empty_events(connection: sa.Connection, subject: str) -> list[int]:
    row = events.c
    mine = (row.subject == subject, row.kind != ERASED)
    found = connection.execute(sa.select(row.seq, row.commitment, row.salt).where(*mine)).all()
    if any(one.commitment is None for one in found):
        raise ConflictError(
            "an older version wrote this call: its words are in the hashes of its events",
            remedy="remove old events as a whole: checkvalve audit prune",
        )
    full = sorted(one.seq for one in found if one.salt is not None)
    if not full:
        raise ConflictError("this call was erased before", remedy="nothing was changed")
    connection.execute(sa.update(events).where(*mine).values(body="", salt=None))
    return full


def _empty_rows(connection: sa.Connection, proposal: Proposal, at: int) -> None:
    """Leave rows that can be read, and say nothing of what the call was about."""
    form = canonical({"args": {}, "server": proposal.server, "tool": proposal.tool})
    now = digest_bytes(form)
    empty: dict[str, Any] = {"canonical": form, "digest": now, "decision": "{}", "endorsable": "[]"}
    empty |= {"reason": GONE, "remedy": "", "note": GONE, "call_id": GONE, "requester": GONE}
    connection.execute(sa.update(proposals).where(proposals.c.id == proposal.id).values(empty))
    mine = grants.c.proposal_id == proposal.id
    connection.execute(sa.update(grants).where(mine).values(digest=now))
    tried = sa.update(attempts).where(attempts.c.proposal_id == proposal.id)
    connection.execute(tried.values(result=None, error=None))
    row = endorsements.c
    for one in connection.execute(sa.select(row.id, row.ended_at).where(row.proposal_id == proposal.id)).all():
        ended = {"ended_at": one.ended_at if one.ended_at is not None else at, "value_digest": digest([GONE, one.id])}
        connection.execute(sa.update(endorsements).where(row.id == one.id).values(value=GONE, **ended))


def _uses_of(connection: sa.Connection, proposal: Proposal) -> list[JSON]:
    """Return who used what was accepted with a call: item, call, and when."""
    given = endorsing.given_with(connection, proposal.id)
    query = sa.select(uses).where(uses.c.kind == "endorsement", uses.c.item.in_(given)).order_by(uses.c.used_at)
    return [[row["item"], row["proposal_id"], row["used_at"]] for row in connection.execute(query).mappings()]
