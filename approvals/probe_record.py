"""Settling an unknown call by the answer of a probe: one transaction, with its event, and only while nobody has.

1. The call still is unknown, and its tool was declared with a probe; a person who was faster has the last word.
2. Its rows are what the log says. 3. "It happened" settles it. "It did not" does so only after the time that
:mod:`probes` names, and where no result came late. 4. Anything else is an event that says why, written once for each
reason in a row; the call stays unknown, for a person or a later look.

Guarantees: a call that a probe settled is not run again by itself; the event has the digest of the answer.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from checkvalve.approvals import audit, moves
from checkvalve.approvals.clock import micros
from checkvalve.approvals.probes import BY, DONE, NOT_DONE, PAUSE, UNDECIDED, Answer
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.sound_events import sound_of_kinds
from checkvalve.approvals.subjectrows import Held, read
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.tables import attempts
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.filters.strictjson import JSON

if TYPE_CHECKING:
    from checkvalve.approvals.queue import Queue


def is_open(proposal: Proposal) -> bool:
    """Say whether a probe may settle a call."""
    return proposal.state is State.UNKNOWN and proposal.idempotency is Idempotency.PROBE


def settle(queue: Queue, proposal: Proposal, answer: Answer) -> Proposal:
    """Settle a call by what a probe gave, and return it as it is then.

    Raises:
        StoreCorruptError: the call was edited beside the log.
    """
    with queue.store.write() as connection:
        current = moves.load(connection, proposal.id)
        if not is_open(current):  # 1.
            return current
        held = read(connection, current.id)
        require_recorded(connection, current.id, held)  # 2.
        found, now = _judged(held, answer), queue.clock()  # 3.
        if found.done is None:
            _note(connection, current, found, at=now)  # 4.
            return current
        end, code = (State.CONFIRMED_DONE, DONE) if found.done else (State.CONFIRMED_NOT_DONE, NOT_DONE)
        details: dict[str, JSON] = {"probe": found.to_json()}
        return moves.move(connection, current, end, at=now, by=BY, code=code, details=details)


def _judged(held: Held, answer: Answer) -> Answer:
    """Do step 3: return the answer as it counts now."""
    if answer.done is not False:
        return answer
    row = held.one(attempts.c.proposal_id)
    if row is None or row["result"] is not None:
        return replace(answer, done=None, why="came_late")
    if answer.asked < row["lease_until"] + micros(PAUSE):
        return replace(answer, done=None, why="too_early")
    return answer


def _note(connection: sa.Connection, proposal: Proposal, answer: Answer, *, at: int) -> None:
    earlier = sound_of_kinds(connection, proposal.id, [UNDECIDED])
    last = json.loads(earlier[-1].body or "{}") if earlier else {}
    if last.get("why") != answer.why:
        body: dict[str, JSON] = {"digest": proposal.digest, "by": "gateway", **answer.to_json()}
        audit.append(connection, at=at, kind=UNDECIDED, subject=proposal.id, body=body)


__all__ = ["is_open", "settle"]
