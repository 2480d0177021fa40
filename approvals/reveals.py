"""Looking at what a card does not show: a right of its own, and each look is an event before anything is seen.

1. The record is what was recorded. 2. The person is a reviewer with the role ``revealer`` for such calls; in a
single-user setting as well, where the one account has it. 3. Who looks, at which call, and which of its arguments are
redacted is committed to the log. 4. Only then the call is returned as it is.

Guarantees: no value is in the event; a look that could not be recorded shows nothing; nothing else is decided by it,
and each look is one of its own: nobody keeps the right to look on.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit, moves, plans
from checkvalve.approvals.errors import NotAllowedError, RoleNeededError
from checkvalve.approvals.pages_data import effect_of, tier
from checkvalve.approvals.program_rule import require_person
from checkvalve.approvals.question import Question
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.review_tables import plans as plan_rows
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role, account_of, either, who_could
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.filters.strictjson import JSON

REVEALED: Final = "content.revealed"
"""The kind of the event that says who looked."""


def reveal(queue: Queue, proposal_id: str, reviewer: Reviewer, *, channel: str) -> Seen:
    """Record that somebody looks at everything of a call, and return it with nothing left out.

    ``channel`` is where: ``web``, ``rest`` or ``cli``.

    Raises:
        NotFoundError, StoreCorruptError: there is no such call, or it is not what was recorded.
        RoleNeededError: this person may not; it says who may. Nothing was recorded or shown.
    """
    shown = queue.veiling.seen(queue.get(proposal_id))
    paths: list[JSON] = [item.path for item in shown.redacted()]
    with queue.store.write() as connection:
        proposal = moves.load(connection, proposal_id)
        require_recorded(connection, proposal.id)
        _require_right(connection, proposal, reviewer, queue.mandates.tenant)
        body: dict[str, JSON] = {"by": f"reviewer:{reviewer.name}", "channel": channel, "digest": proposal.digest}
        audit.append(connection, at=queue.clock(), kind=REVEALED, subject=proposal.id, body={**body, "paths": paths})
    return queue.veiling.lifted(proposal)


def may_reveal(queue: Queue, proposal: Proposal, reviewer: Reviewer) -> bool:
    """Say whether somebody has the right, for a page that offers it; it is checked again when it is used."""
    try:
        require_may_reveal(queue, proposal, reviewer)
    except NotAllowedError:
        return False
    return True


def require_may_reveal(queue: Queue, proposal: Proposal, reviewer: Reviewer) -> None:
    """Make sure that somebody has the right.

    Raises:
        RoleNeededError: they do not; it says who does.
    """
    with queue.store.read() as connection:
        _require_right(connection, proposal, reviewer, queue.mandates.tenant)


def _require_right(connection: sa.Connection, proposal: Proposal, reviewer: Reviewer, tenant: str) -> None:
    """Do step 2."""
    account, question = account_of(connection, reviewer.name), _question(connection, proposal, tenant)
    require_person(account)
    if Role.REVEALER in account.roles_for(question, yes=False):
        return
    raise RoleNeededError(
        f"to see what is redacted takes the role revealer for this call; {account.name} is {either(account.roles)}",
        remedy=who_could(connection, lambda other: Role.REVEALER in other.roles_for(question, yes=False)),
    )


def _question(connection: sa.Connection, proposal: Proposal, tenant: str) -> Question:
    """Return what a call is about, for the scopes of roles; one that nobody was asked about has no plan."""
    row = plan_rows.c
    planned = connection.execute(sa.select(row.proposal_id).where(row.proposal_id == proposal.id)).scalar()
    if planned is not None:
        return plans.read(connection, proposal.id).question(proposal)
    return Question(proposal.tool, proposal.server, effect_of(proposal), proposal.rule, tier(proposal), tenant)


__all__ = ["REVEALED", "may_reveal", "require_may_reveal", "reveal"]
