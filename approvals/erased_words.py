"""The part of erasing that is about people's words: votes, questions and answers, after-looks, hand-overs, rules.

Guarantees: who said yes or no, in which role and when, stays; a rule that still counts is not emptied, and neither is a
call that somebody has yet to look at afterwards.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit, plans
from checkvalve.approvals.audit import ERASED
from checkvalve.approvals.erased_rows import rows_digest
from checkvalve.approvals.errors import ConflictError, NotFoundError
from checkvalve.approvals.putaside import erase_aside
from checkvalve.approvals.refusals import DoneAlreadyError
from checkvalve.approvals.review_tables import afterlooks, delegations, remarks, standing_rules, undos, votes
from checkvalve.approvals.tables import events
from checkvalve.filters.strictjson import JSON

GONE: Final = "(erased)"
"""What stands where the words were."""
_NO_RULE: Final = "{}"


def is_erased(connection: sa.Connection, subject: str) -> bool:
    """Say whether the content of a subject was erased before."""
    query = sa.select(sa.exists().where(events.c.subject == subject, events.c.kind == ERASED))
    return bool(connection.execute(query).scalar())


def empty_events(connection: sa.Connection, subject: str) -> list[int]:
    """Take bodies and salts off the events of a subject, and return their numbers.

    Raises:
        ConflictError: an older version wrote them, or they are empty already.
    """
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
        raise DoneAlreadyError("this call was erased before", remedy="nothing was changed")
    connection.execute(sa.update(events).where(*mine).values(body="", salt=None))
    return full


def empty_talk(connection: sa.Connection, proposal_id: str, digest: str) -> None:
    """Empty what people said about one call, and what would undo it; ``digest`` is that of the emptied call."""
    changes = (
        (votes, {"note": GONE, "digest": digest}),
        (remarks, {"text": GONE}),
        (afterlooks, {"reason": GONE, "finding": GONE}),
        (undos, {"body": "", "why": "erased"}),
    )
    for table, values in changes:
        connection.execute(sa.update(table).where(table.c.proposal_id == proposal_id).values(values))
    erase_aside(connection, proposal_id)
    plans.forget(connection, proposal_id)


def require_looked_at(connection: sa.Connection, proposal_id: str) -> None:
    """Refuse to empty a call that was let through in an emergency and that nobody has looked at since.

    Raises:
        ConflictError: somebody has to.
    """
    row = afterlooks.c
    open_ = sa.select(sa.exists().where(row.proposal_id == proposal_id, row.looked_at.is_(None)))
    if connection.execute(open_).scalar():
        raise ConflictError(
            f"proposal {proposal_id} was let through in an emergency, and nobody has looked at it since",
            remedy="let somebody look at it first; nothing was changed",
        )


def erase_rules_of(connection: sa.Connection, proposal_id: str, *, at: int, by: str, reason: str) -> int:
    """Empty the standing rules that were made from a call, whose values they hold; return how many events that were.

    Raises:
        ConflictError: one of them still counts.
    """
    row = standing_rules.c
    query = sa.select(row.id, row.ended_at, row.expires_at).where(row.proposal_id == proposal_id)
    count = 0
    for rule in connection.execute(query).all():
        if rule.ended_at is None and rule.expires_at > at:
            raise ConflictError(
                f"the standing rule {rule.id} was made from this call and still counts",
                remedy="take it back first; nothing was changed",
            )
        if not is_erased(connection, rule.id):
            connection.execute(sa.update(standing_rules).where(row.id == rule.id).values(body=_NO_RULE))
            count += _told(connection, rule.id, at=at, by=by, reason=reason)
    return count


def erase_hand_over(connection: sa.Connection, name: str, *, at: int, by: str, reason: str) -> int:
    """Empty the reason of a hand-over that is over; return how many events lost their body.

    Raises:
        NotFoundError: there is none.
        ConflictError: it still counts, or was erased before.
    """
    row = delegations.c
    found = connection.execute(sa.select(row.ended_at, row.expires_at).where(row.id == name)).one_or_none()
    if found is None:
        raise NotFoundError("there is no such hand-over", remedy="nothing was changed")
    if found.ended_at is None and found.expires_at > at:
        raise ConflictError(f"the hand-over {name} still counts", remedy="take it back first; nothing was changed")
    if is_erased(connection, name):
        raise DoneAlreadyError("this hand-over was erased before", remedy="nothing was changed")
    connection.execute(sa.update(delegations).where(row.id == name).values(reason=GONE))
    return _told(connection, name, at=at, by=by, reason=reason)


def _told(connection: sa.Connection, subject: str, *, at: int, by: str, reason: str) -> int:
    emptied = empty_events(connection, subject)
    body: dict[str, JSON] = {"events": list(emptied), "by": by, "reason": reason}
    body["rows_digest"] = rows_digest(connection, subject)
    audit.append(connection, at=at, kind=ERASED, subject=subject, body=body)
    return len(emptied)


__all__ = [
    "GONE", "empty_events", "empty_talk", "erase_hand_over", "erase_rules_of", "is_erased", "require_looked_at",
]  # fmt: skip
