"""What is looked at before somebody is asked for a fresh proof, so that nobody gives a password in vain.

Guarantees: changes nothing and decides nothing: the transaction that takes the yes looks at all of it again.
"""

from __future__ import annotations

import sqlalchemy as sa

from checkvalve.approvals import votes
from checkvalve.approvals.counting import used_voices
from checkvalve.approvals.deciding import Bench, Yes, admitted
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Roster
from checkvalve.approvals.subjectrows import read


def require_worth_proving(
    connection: sa.Connection, bench: Bench, proposal: Proposal, reviewer: Reviewer, yes: Yes, *, at: int
) -> None:
    """Make sure that a yes would be taken if its proof were good. ``at`` is in microseconds since 1970.

    Raises:
        ConflictError, CredentialError, NotAdoptedError, NotAllowedError, DigestError, NoteNeededError, QueueError,
        StoreCorruptError, VoteGivenError: as the yes itself would.
    """
    roster, held = Roster(connection), read(connection, proposal.id)
    _, voter = admitted(roster, bench, proposal, reviewer, yes, at=at, held=held)
    cast = used_voices(roster, votes.read(connection, proposal.id), voter, at)
    votes.require_unused(cast, voter, yes=True)


__all__ = ["require_worth_proving"]
