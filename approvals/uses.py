"""Using what was given ahead of time: in the transaction that issues the permit, and again in the one that takes it.

Guarantees: of two calls that race for the last of a mandate one gets it; a call whose mandate or endorsement has ended
since it was decided does not begin.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import sqlalchemy as sa

from checkvalve.approvals import audit, endorsing, givers, mandate_store, standing_store
from checkvalve.approvals.endorsements import Use
from checkvalve.approvals.errors import ConflictError, MandateSpentError
from checkvalve.approvals.mandate_entry import MandateEntry
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.roles import Roster
from checkvalve.approvals.tables import uses
from checkvalve.filters.strictjson import JSON


def spend(connection: sa.Connection, proposal: Proposal, taken: Iterable[Use], *, at: int) -> None:
    """Use up what a call relies on, while its permit is being issued.

    1. It is in force, and for this thread and requester (a standing rule: for this tool). 2. A mandate or a standing
    rule has enough left: calls, and the amount.
    3. Compare and set its version, write the use and the event.

    Raises:
        MandateSpentError: one of them is not there any more; the caller's transaction must not commit.
    """
    for use in taken:
        if use.kind == "mandate":
            _spend(connection, proposal, use, at)
        elif use.kind == standing_store.KIND:
            standing_store.spend(connection, proposal, use, at)
        elif use.id:
            _count(connection, proposal, use, at)


def named(taken: Iterable[Use]) -> list[JSON]:
    """Return what :func:`spend` writes a row for, as the first event of the call names it: no amounts."""
    return [{"kind": use.kind, "id": use.id} for use in taken if use.kind in {"mandate", standing_store.KIND} or use.id]


def _spend(connection: sa.Connection, proposal: Proposal, use: Use, at: int) -> None:
    found = mandate_store.load(connection, use.id)
    amount = Decimal(use.amount or "0")
    if found is None or not _is_for(found, proposal, at) or not _has_left(found, amount):
        raise _gone()
    try:
        mandate_store.advance(connection, found)
    except ConflictError as error:
        raise _gone() from error
    body: dict[str, JSON] = {"proposal": proposal.id, "amount": use.amount, "version": found.version + 1}
    _write(connection, proposal, use, at, kind="mandate.used", subject=found.id, body=body)


def _is_for(found: MandateEntry, proposal: Proposal, at: int) -> bool:
    return found.holds(at) and (found.thread, found.requester) == (proposal.thread, proposal.requester)


def _has_left(found: MandateEntry, amount: Decimal) -> bool:
    most, left = found.mandate.per_call, found.amount_left
    if found.calls_left < 1 or amount < 0:
        return False
    return most is None or left is None or (amount <= most and amount <= left)


def _count(connection: sa.Connection, proposal: Proposal, use: Use, at: int) -> None:
    found = endorsing.holds(connection, proposal.thread, use.id, at)
    if found is None:
        raise _gone()
    body: dict[str, JSON] = {"proposal": proposal.id, "endorsement": use.id}
    _write(connection, proposal, use, at, kind="endorsement.used", subject=found.proposal_id, body=body)


def _write(
    connection: sa.Connection, proposal: Proposal, use: Use, at: int, *, kind: str, subject: str, body: dict[str, JSON]
) -> None:
    values = {"proposal_id": proposal.id, "kind": use.kind, "item": use.id, "amount": use.amount, "used_at": at}
    connection.execute(sa.insert(uses).values(values))
    audit.append(connection, at=at, kind=kind, subject=subject, body=body)


def still_given(connection: sa.Connection, proposal: Proposal, *, at: int) -> bool:
    """Say whether everything that a permit relies on is still in force, right before the permit is taken.

    The caller has compared the uses with the events of the call. What somebody gave who may not give it any more is
    not in force.

    Raises:
        StoreCorruptError: one of them, or the account of who gave it, is not what its events say.
    """
    people = Roster(connection)
    for row in connection.execute(sa.select(uses).where(uses.c.proposal_id == proposal.id)).mappings().all():
        if row["kind"] == "mandate":
            found = mandate_store.load(connection, row["item"])
            if found is None or not _is_for(found, proposal, at) or not givers.still_grants(people, found):
                return False
        elif row["kind"] == standing_store.KIND:
            if not standing_store.still_given(connection, row["item"], at):
                return False
        elif not _is_accepted(people, proposal, row["item"], at):
            return False
    return True


def _is_accepted(people: Roster, proposal: Proposal, name: str, at: int) -> bool:
    """Say whether what a person accepted is in force, after comparing it with the events of the call it came with."""
    found = endorsing.holds(people.connection, proposal.thread, name, at)
    return found is not None and givers.still_accept(people, found.proposal_id, at=at)


def _gone() -> MandateSpentError:
    return MandateSpentError(
        "what this call relied on was used up or taken back", remedy="decide the call again; nothing was recorded"
    )


__all__ = ["named", "spend", "still_given"]
