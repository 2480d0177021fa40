"""How far what is shown with an open question has grown: remarks, voices, a preview, versions of what it points at.

1. The digest of a call binds what would run, and nothing of that ever changes. What else was decided about it stands in
its event and is compared with it before a yes counts. 2. What comes later comes as an event of its own; the revision is
their number, and one. 3. Who decides may name the revision that they saw; with another one nothing is changed.

Guarantees: it only grows; it is read in the transaction that stores the decision.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.errors import DigestError
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.tables import events

SHOWN: Final = (
    *("remark.question", "remark.answer", "remark.reply"),
    *("pin.read", "pin.failed", "preview.made", "preview.failed", "vote.cast"),
)
"""Events after which more is shown with a question than before."""


def revision(connection: sa.Connection, proposal_id: str) -> int:
    """Return the revision of what is shown with a call; 1 where nothing was added since it was asked about."""
    row = events.c
    query = sa.select(sa.func.count()).where(row.subject == proposal_id, row.kind.in_(SHOWN))
    return 1 + int(connection.execute(query).scalar_one())


def require_revision(connection: sa.Connection, proposal: Proposal, seen: int | None) -> None:
    """Make sure that a decision is about what was seen; without ``seen`` the digest alone says so.

    Raises:
        DigestError: something was added since.
    """
    if seen is not None:
        same_revision(proposal, revision(connection, proposal.id), seen)


def same_revision(proposal: Proposal, now: int, seen: int | None) -> None:
    """Make sure that the revision ``now`` is the one that was ``seen``; raises as :func:`require_revision`."""
    if seen is not None and now != seen:
        text = f"more is shown with this call than you saw: its revision is {now}, not {seen}"
        raise DigestError(text, remedy="look at the call again before you decide", present=proposal.present)


__all__ = ["SHOWN", "require_revision", "revision", "same_revision"]
