"""Trying a call again whose end nobody knows: which tools allow it, how often, and until when.

A tool that only reads simply runs again. A tool with ``idempotency: key`` runs again with the same key and the same
bytes, and has its effect once while the remote side keeps the key. So for such a call all of this has to hold:

1. It is unknown because its process died, was cut off or lost its connection, or because a try after that failed.
2. Nothing came late that says how an earlier try ended, recorded as its end or not.
3. It was tried less than :data:`MAX_TRIES` times, the deadline of the permit is not over, and the first try was begun
   less than :data:`WITHIN` ago: the next try may be the first that arrives, and nobody allowed that for later; and
   remotes forget keys, of which a day is what most of them promise.
4. The log that its tries stand in is still the present one: of a closed log nobody knows whether it was whole.
5. Whoever asked for it has not taken back what waits since (:func:`end_tries`).

Guarantees: counted from events that are as they were written, in the transaction that takes the claim; where one of it
does not hold the call stays unknown, and a person settles it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from checkvalve.approvals import audit, moves
from checkvalve.approvals.audit import Event
from checkvalve.approvals.clock import micros
from checkvalve.approvals.closedlogs import base_of
from checkvalve.approvals.outcome import RETRY_FAILED
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.sound_events import sound_of_kinds
from checkvalve.approvals.subjectrows import Held
from checkvalve.approvals.tables import attempts
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.undo_call import Kept, is_from_before
from checkvalve.filters.strictjson import JSON

if TYPE_CHECKING:
    from checkvalve.approvals.queue import Queue

MAX_TRIES: Final = 3
"""Tries of one call in all, the first one included."""
WITHIN: Final = timedelta(hours=24)
"""After the first try was begun, no further one begins; nor does one after the deadline of the permit."""
INTENT: Final = "attempt.intent"
"""The event of each try."""
LATE: Final = "attempt.late"
"""The event of an end that came when the call had moved on, or another try had begun."""
NO_MORE: Final = "attempt.no_more"
"""The event of a call whose requester has taken back what waits: no further try of it begins."""
OF_KEY, OF_READ = "retry_with_key", "retry_of_read"
"""Codes of the move that begins another try."""
_DIED: Final = "owner_died"
_SAYS_HOW: Final = frozenset({State.SUCCEEDED.value, State.FAILED.value})
_AFTER: Final = frozenset({_DIED, "cut_off", "connection_lost", RETRY_FAILED})
"""Codes of an unknown end after which a call may be tried again with its key."""


@dataclass(frozen=True, slots=True)
class Tries:
    """How often a call was tried, and when that began and ends, in microseconds; ``left`` is how many may follow."""

    count: int
    first: int
    until: int
    left: int


def may_begin(proposal: Proposal) -> bool:
    """Say whether a call stands as one that is run at all: permitted, or of unknown end and of a tool that repeats."""
    again = proposal.state is State.UNKNOWN and proposal.idempotency in {Idempotency.READ, Idempotency.KEY}
    return again or proposal.state is State.APPROVED


def may_follow(proposal: Proposal) -> bool:
    """Say whether :func:`may_begin` holds, or will once the process that runs the call turns out to be dead."""
    left = proposal.state is State.EXECUTING and proposal.idempotency is Idempotency.KEY
    return left or may_begin(proposal)


def code_of(proposal: Proposal) -> str:
    """Return the code of the move that begins another try."""
    return OF_KEY if proposal.idempotency is Idempotency.KEY else OF_READ


def is_over(connection: sa.Connection, proposal: Proposal, held: Held, *, at: int) -> bool:
    """Say whether an unknown call is not tried again any more. The caller has compared ``held`` with the log.

    Raises:
        StoreCorruptError: an event of a try is not as it was written.
    """
    if proposal.state is not State.UNKNOWN or proposal.idempotency is not Idempotency.KEY:
        return False
    row = held.one(attempts.c.proposal_id)
    if proposal.code not in _AFTER or row is None:  # 1.
        return True
    if row["result"] is not None or (proposal.code == _DIED and row["finished_at"] is not None):  # 2.
        return True
    told = sound_of_kinds(connection, proposal.id, [INTENT, LATE, NO_MORE])
    tried, base = _tries(proposal, told), base_of(connection)
    if tried is None or tried.count != row["fence"] or not tried.left or at >= tried.until:  # 3.
        return True
    return any(event.seq <= base or event.kind == NO_MORE or _says_how(event) for event in told)  # 4., 5. and 2.


def tries_of(connection: sa.Connection, proposal: Proposal) -> Tries | None:
    """Return how often a call of a tool with keys was tried; nothing for other calls, and before the first try.

    Raises:
        StoreCorruptError: an event of a try is not as it was written.
    """
    if proposal.idempotency is not Idempotency.KEY:
        return None
    return _tries(proposal, sound_of_kinds(connection, proposal.id, [INTENT]))


def end_tries(queue: Queue, proposal_id: str, *, by: str, code: str) -> bool:
    """Write that no further try of a call begins, and say whether that was news; what has begun goes on.

    Raises:
        NotFoundError: there is no such call.
    """
    with queue.store.write() as connection:
        proposal = moves.load(connection, proposal_id)
        begun = proposal.idempotency is Idempotency.KEY and proposal.state in {State.EXECUTING, State.UNKNOWN}
        if not begun or sound_of_kinds(connection, proposal.id, [NO_MORE]):
            return False
        body: dict[str, JSON] = {"digest": proposal.digest, "by": by, "code": code}
        audit.append(connection, at=queue.clock(), kind=NO_MORE, subject=proposal.id, body=body)
    return True


def _tries(proposal: Proposal, told: Sequence[Event]) -> Tries | None:
    begun = [event.at for event in told if event.kind == INTENT]
    if not begun:
        return None
    until = min(begun[0] + micros(WITHIN), proposal.execute_by or 0)
    return Tries(len(begun), begun[0], until, max(0, MAX_TRIES - len(begun)))


def _says_how(event: Event) -> bool:
    """Say whether an event is of an end that came late and was known: another try would be one too many."""
    body = json.loads(event.body) if event.kind == LATE and event.body else {}
    return isinstance(body, dict) and body.get("ended") in _SAYS_HOW


def honest(kept: Kept | None, fence: int) -> Kept | None:
    """Return what undoes an effect that took several tries.

    What was read before a later try may already be what the first one left, so nothing is taken from there.
    """
    if kept is None or fence == 1 or not is_from_before(kept):
        return kept
    return Kept(why="tried_again", within=kept.within)


__all__ = [
    "INTENT", "LATE", "MAX_TRIES", "NO_MORE", "OF_KEY", "OF_READ", "WITHIN", "Tries", "code_of", "end_tries", "honest",
    "is_over", "may_begin", "may_follow", "tries_of",
]  # fmt: skip
