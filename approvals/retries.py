"""Trying a call again whose end nobody knows: which tools allow it, how often, and until when.

A tool that only reads simply runs again. A tool with ``idempotency: key`` runs again with the same key and the same
bytes, and has its effect once while the remote side keeps the key. So for such a call all of this has to hold:

1. It is unknown because its process died, was cut off or lost its connection, or because a try after that failed.
2. Nothing came late that says how the earlier try ended.
3. It was tried less than :data:`MAX_TRIES` times, and the first try was begun less than :data:`WITHIN` ago: remotes
   forget keys, and a day is what most of them promise.
4. The log that its tries stand in is still the present one: of a closed log nobody knows whether it was whole.

Guarantees: counted from events that are as they were written, in the transaction that takes the claim; where one of it
does not hold the call stays unknown, and a person settles it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.clock import micros
from checkvalve.approvals.closedlogs import base_of
from checkvalve.approvals.outcome import RETRY_FAILED
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.sound_events import sound_of_kinds
from checkvalve.approvals.subjectrows import Held
from checkvalve.approvals.tables import attempts
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.undo_call import Kept, is_from_before

MAX_TRIES: Final = 3
"""Tries of one call in all, the first one included."""
WITHIN: Final = timedelta(hours=24)
"""After the first try was begun, no further one begins."""
INTENT: Final = "attempt.intent"
"""The event of each try."""
OF_KEY, OF_READ = "retry_with_key", "retry_of_read"
"""Codes of the move that begins another try."""
_DIED: Final = "owner_died"
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
    tried = tries_of(connection, proposal)
    if tried is None or tried.count != row["fence"] or not tried.left or at >= tried.until:  # 3.
        return True
    base = base_of(connection)
    return any(event.seq <= base for event in sound_of_kinds(connection, proposal.id, [INTENT]))  # 4.


def tries_of(connection: sa.Connection, proposal: Proposal) -> Tries | None:
    """Return how often a call of a tool with keys was tried; nothing for other calls, and before the first try.

    Raises:
        StoreCorruptError: an event of a try is not as it was written.
    """
    if proposal.idempotency is not Idempotency.KEY:
        return None
    begun = [event.at for event in sound_of_kinds(connection, proposal.id, [INTENT])]
    if not begun:
        return None
    return Tries(len(begun), begun[0], begun[0] + micros(WITHIN), max(0, MAX_TRIES - len(begun)))


def honest(kept: Kept | None, fence: int) -> Kept | None:
    """Return what undoes an effect that took several tries.

    What was read before a later try may already be what the first one left, so nothing is taken from there.
    """
    if kept is None or fence == 1 or not is_from_before(kept):
        return kept
    return Kept(why="tried_again", within=kept.within)


__all__ = [
    "INTENT", "MAX_TRIES", "OF_KEY", "OF_READ", "WITHIN", "Tries", "code_of", "honest", "is_over", "may_begin",
    "may_follow", "tries_of",
]  # fmt: skip
