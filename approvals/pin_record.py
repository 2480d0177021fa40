"""The versions of a question in the log: written before anybody can say yes, compared when the permit is used.

1. What was read first stays; it is written only while the question is open. 2. Where something could not be read, the
same transaction closes the question: nobody is asked to decide what could not be held to. 3. A yes is taken only where
the versions are written. 4. Right before an effect they are compared with what was just read, in the transaction that
takes the permit.

Guarantees: only events that are as they were written count, and only of exactly this digest.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from checkvalve.approvals import audit, moves
from checkvalve.approvals.pins import FAILED, READ, Difference, Found, compare, is_needed, read_found
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.refusals import NotReadError
from checkvalve.approvals.sound_events import sound_of_kinds
from checkvalve.filters.strictjson import JSON

if TYPE_CHECKING:
    from checkvalve.approvals.queue import Queue


def is_known(queue: Queue, question: Proposal) -> bool:
    """Say whether the versions of exactly this call were read, or could not be."""
    with queue.store.read() as connection:
        return noted(connection, question) is not None


def note(queue: Queue, question: Proposal, found: Found) -> Proposal:
    """Do steps 1 and 2, and return the question as it is then."""
    body: dict[str, JSON] = {"digest": question.digest, "by": "gateway", **found.to_json()}
    with queue.store.write() as connection:
        current = moves.load(connection, question.id)
        if current.state is not State.PENDING or noted(connection, question) is not None:
            return current
        now = queue.clock()
        audit.append(connection, at=now, kind=FAILED if found.why else READ, subject=question.id, body=body)
        if not found.why:
            return current
        details: dict[str, JSON] = {"pin": Difference(found.code, found.of, found.why).to_json()}
        return moves.move(connection, current, State.CANCELLED, at=now, by="gateway", code=found.code, details=details)


def require_read(connection: sa.Connection, question: Proposal) -> None:
    """Do step 3.

    Raises:
        NotReadError: nobody has read the versions yet, so a yes would be to nothing in particular.
        StoreCorruptError: the event is not as it was written.
    """
    if not is_needed(question):
        return
    told = noted(connection, question)
    if told is None or told[1].why:
        raise NotReadError(
            "what this call points at has not been read yet, so a yes would not be bound to its version",
            remedy="wait until the agent's process has read it; of an edited call it does so when the run goes on",
        )


def difference(connection: sa.Connection, proposal: Proposal, now: Found | None) -> Difference | None:
    """Do step 4: return why the permit of a call does not hold; nothing where it does, or nothing is pinned.

    Raises:
        StoreCorruptError: the event is not as it was written.
    """
    if not is_needed(proposal):
        return None
    told = noted(connection, proposal)
    return compare(None if told is None else told[1], now)


def noted(connection: sa.Connection, question: Proposal) -> tuple[int, Found] | None:
    """Return what was read of exactly this call, and when; nothing where nobody has.

    Raises:
        StoreCorruptError: an event of it is not as it was written.
    """
    for event in sound_of_kinds(connection, question.id, [READ, FAILED]):
        body: Any = json.loads(event.body) if event.body else {}
        if isinstance(body, dict) and body.get("digest") == question.digest:
            try:
                return event.at, read_found(body)
            except ValueError:
                return event.at, Found(why="unreadable")
    return None


__all__ = ["difference", "is_known", "note", "noted", "require_read"]
