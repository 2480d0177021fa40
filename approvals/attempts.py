"""Attempts in the store: claim the permit, record how it ended. At most one attempt for each proposal, ever.

The exceptions are a tool declared to only read, and one that takes a key, within the bounds of :mod:`retries`: the
unknown attempt may be taken over, under a new fence and with the same key.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit, doubts, moves, retries, undos
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.errors import ConflictError, StoreCorruptError
from checkvalve.approvals.outcome import Ending
from checkvalve.approvals.ownership import Owner
from checkvalve.approvals.records import Proposal, State, idempotency_key, stored_digest
from checkvalve.approvals.subjectrows import Row
from checkvalve.approvals.tables import attempts, grants
from checkvalve.approvals.undo_call import Kept
from checkvalve.filters.strictjson import JSON

_mine = attempts.c.proposal_id == sa.bindparam("wanted")
_permit = sa.update(grants).where(
    grants.c.proposal_id == sa.bindparam("wanted"), grants.c.digest == sa.bindparam("wanted_digest")
)
_ONE: Final = sa.select(attempts).where(_mine)
_BEGIN: Final = sa.insert(attempts)
_AGAIN: Final = sa.update(attempts).where(_mine, attempts.c.fence == sa.bindparam("old_fence"))
_FINISH: Final = _AGAIN.where(attempts.c.finished_at.is_(None))
_USE: Final = _permit.where(grants.c.used_at.is_(None), grants.c.execute_by > sa.bindparam("now"))
_USE_AGAIN: Final = _permit.where(grants.c.used_at.is_not(None))


@dataclass(frozen=True, slots=True)
class Attempt:
    """The stored attempt of one proposal; ``fence`` counts who may record its end."""

    proposal_id: str
    fence: int
    idempotency_key: str
    owner: str
    lease_until: int
    started_at: int
    finished_at: int | None
    result: str | None
    error: str | None

    def outcome(self) -> tuple[JSON, dict[str, JSON] | None]:
        """Return the recorded result and error."""
        return (None if self.result is None else json.loads(self.result)), (
            None if self.error is None else json.loads(self.error)
        )


def read(connection: sa.Connection, proposal_id: str) -> Attempt | None:
    """Return the attempt of a proposal, if there was one.

    Raises:
        StoreCorruptError: its row holds what this program never writes.
    """
    return of_row(connection.execute(_ONE, {"wanted": proposal_id}).mappings().one_or_none())


def of_row(row: Row | None) -> Attempt | None:
    """Return the attempt in a database row, if there is one.

    Raises:
        StoreCorruptError: the row holds what this program never writes.
    """
    if row is None:
        return None
    wrong = [name for name, kinds in _KINDS.items() if not isinstance(row[name], kinds)]
    if wrong:
        raise StoreCorruptError("a stored attempt cannot be read", remedy="verify the audit log")
    return Attempt(**row)


_KINDS: Final[dict[str, type | tuple[type, ...]]] = {
    **dict.fromkeys(("proposal_id", "idempotency_key", "owner"), str),
    **dict.fromkeys(("fence", "lease_until", "started_at"), int),
    **dict.fromkeys(("result", "error"), (str, type(None))),
    "finished_at": (int, type(None)),
}


def claim(
    connection: sa.Connection, proposal: Proposal, *, owner: str, at: int, lease_until: int, step: Callable[[str], None]
) -> Attempt:
    """Use up the permit and write down the intent. Nothing has happened yet, and nothing else can start it now.

    1. Move approved → executing (or, for a tool that reads or takes a key, unknown → executing).
    2. Use the grant: same digest, unused, in time. A further try needs it used by the first one.
    3. Insert the attempt; its proposal id is unique. A further try raises the fence instead, and keeps the key.

    Raises:
        ConflictError: somebody else was faster, or there is no good permit.
    """
    again = proposal.state is State.UNKNOWN
    moved = moves.move(
        connection,
        proposal,
        State.EXECUTING,
        at=at,
        by=worker(owner),
        code=retries.code_of(proposal) if again else "intent",
    )
    step("claim:moved")
    _use_grant(connection, moved, at=at, again=again)
    step("claim:granted")
    previous = read(connection, proposal.id) if again else None
    key, fence = idempotency_key(proposal.id), 1 if previous is None else previous.fence + 1
    attempt = Attempt(proposal.id, fence, key, owner, lease_until, at, None, None, None)
    if previous is None:
        connection.execute(_BEGIN, asdict(attempt))
    else:
        attempt = replace(attempt, idempotency_key=previous.idempotency_key)
        old = {"wanted": proposal.id, "old_fence": previous.fence}
        if connection.execute(_AGAIN, asdict(attempt) | old).rowcount != 1:
            raise moves.conflict(moved)
    body: dict[str, JSON] = {
        "fence": attempt.fence,
        "owner": owner,
        "idempotency_key": attempt.idempotency_key,
        "digest": proposal.digest,
        "lease_until": rfc3339(lease_until),
    }
    audit.append(connection, at=at, kind=retries.INTENT, subject=proposal.id, body=body)
    step("claim:written")
    return attempt


def worker(owner: str) -> str:
    """Return the short name of an owner for the record; the intent event has the whole one."""
    who = Owner.parse(owner)
    return f"executor:{who.pid if who else 'unknown'}"


def _use_grant(connection: sa.Connection, proposal: Proposal, *, at: int, again: bool) -> None:
    wanted = {"wanted": proposal.id, "wanted_digest": proposal.digest, "used_at": at}
    statement, given = (_USE_AGAIN, wanted) if again else (_USE, wanted | {"now": at})
    if connection.execute(statement, given).rowcount != 1:
        raise ConflictError(f"proposal {proposal.id} has no permit that is good now", remedy="nothing was executed")


def finish(
    connection: sa.Connection, attempt: Attempt, ending: Ending, *, at: int, kept: Kept | None = None
) -> Proposal:
    """Record how an attempt ended, if it still is this owner's to record.

    1. The fence must be the one this attempt was claimed under; then the result is kept, whatever the state says, and
       so is what undoes the effect.
    2. The proposal moves from executing to the end. Where a recovery has already called it unknown, a person may have
       settled it: the state stays, and an event says what came late.
    """
    error = None if ending.error is None else json.dumps(ending.error)
    own = {"wanted": attempt.proposal_id, "old_fence": attempt.fence}
    mine = connection.execute(_FINISH, own | {"finished_at": at, "result": ending.result, "error": error})
    proposal = moves.load(connection, attempt.proposal_id)
    details: dict[str, JSON] = {
        "fence": attempt.fence,
        "error": None if ending.error is None else ending.error["type"],
        "result_digest": stored_digest(ending.result),
        "error_digest": stored_digest(error),
    }
    if mine.rowcount == 1 and kept is not None:
        undos.keep(connection, proposal, kept, at=at)
    if mine.rowcount == 1 and proposal.state is State.EXECUTING:
        by = worker(attempt.owner)
        return moves.move(connection, proposal, ending.state, at=at, by=by, code=ending.code, details=details)
    late: dict[str, JSON] = {
        "ended": ending.state.value,
        "code": ending.code,
        "kept": mine.rowcount == 1,
        **details,
    }
    audit.append(connection, at=at, kind=retries.LATE, subject=proposal.id, body=late)
    doubts.renew(connection, proposal.id, at=at)
    return proposal
