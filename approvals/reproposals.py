"""A call that a person refused neither runs nor is asked about again, unless the user has said something since.

1. The same call (thread and digest) was rejected by a person, or its approval was taken back, and no later one was
decided otherwise. 2. The user has said nothing since then: a model asks again by itself, a person who wants it says so.
3. Then the new one is denied, with the id of the first, also where a rule, a mandate or accepted data would allow it:
a person has looked at exactly this call and said no.

A response is no refusal: whoever answered a call with words may well want it asked again. Neither is an expired
question, which nobody looked at.
"""

from __future__ import annotations

import json
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.records import State
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.tables import history, proposals
from checkvalve.approvals.verdicts import Deny, Verdict

RESPONDED: Final = "responded"
"""The code of a call that a person answered instead of letting it run."""
REFUSED_BEFORE: Final = "refused-before"
"""The rule of a call that a person has refused already."""
_REFUSED: Final = frozenset({State.REJECTED.value, State.REVOKED.value})
_WORDS: Final = frozenset({"words", "message"})
"""Kinds of the history that hold what somebody said to the agent."""


def refused_before(connection: sa.Connection, request: ActionRequest, verdict: Verdict) -> Verdict:
    """Return the verdict on a call, or a refusal where a person refused exactly this one before."""
    if isinstance(verdict, Deny):
        return verdict
    row = proposals.c
    same = (row.thread == request.thread, row.digest == request.digest, row.mode == "enforce")
    query = sa.select(row.id, row.state, row.code, row.updated_at).where(*same, row.state != State.DENIED.value)
    latest = connection.execute(query.order_by(row.updated_at.desc(), row.id).limit(1)).one_or_none()
    if latest is None or latest.state not in _REFUSED or latest.code == RESPONDED:
        return verdict
    if _has_spoken(connection, request.thread, latest.updated_at):
        return verdict
    remedy = f"a person refused this very call (approval {latest.id}); propose it again only when the user asks"
    return Deny(REFUSED_BEFORE, REFUSED_BEFORE, remedy)


def _has_spoken(connection: sa.Connection, thread: str, since: int) -> bool:
    """Say whether words of the user were taken in since a moment; text without the user's authority is none."""
    row = history.c
    query = sa.select(row.value).where(row.thread == thread, row.kind.in_(sorted(_WORDS)), row.stored_at >= since)
    return any(_is_users(text) for text in connection.execute(query).scalars().all())


def _is_users(text: str) -> bool:
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and value.get("authority", "USER") == "USER" and bool(value.get("text"))


__all__ = ["REFUSED_BEFORE", "RESPONDED", "refused_before"]
