"""Whether those who gave something ahead of time still may: accepted data, and mandates.

1. What was accepted with a call rests on the votes for that call: it counts while they still would give it, by the rule
of :mod:`counting`. 2. A mandate that a reviewer granted counts while that account is an approver for every call that it
lets through. One that the host or a client gave rests on no account. 3. A right that came back counts again.

Guarantees: asked where a call is decided, by the accounts' rows alone, which is one statement; and once more in the
transaction that takes the permit, where the accounts are compared with the log as well. Nothing is asked where nothing
was given.
"""

from __future__ import annotations

import sqlalchemy as sa

from checkvalve.approvals import askers, plans, votes
from checkvalve.approvals.counting import counting_for_permit, votes_behind
from checkvalve.approvals.errors import CredentialError
from checkvalve.approvals.handed import REVIEWER
from checkvalve.approvals.mandate_entry import MandateEntry
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.question import UNREADABLE, Question
from checkvalve.approvals.records import from_row
from checkvalve.approvals.review_tables import plans as plan_rows
from checkvalve.approvals.review_tables import votes as vote_rows
from checkvalve.approvals.risk import Tier
from checkvalve.approvals.roles import Account, Role, Roster, account, account_of
from checkvalve.approvals.subjectrows import read
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.tables import grants, proposals


class Rows(Roster):
    """Everybody's account as its row says: for deciding, which whoever takes the permit does not rely on."""

    def account_of(self, name: str) -> Account:
        """Return an account without looking at the log."""
        row = self.rows().get(name)
        if row is None:
            raise CredentialError("there is no such reviewer", remedy="verify the audit log: checkvalve audit verify")
        return account(row, self.known_as(name))


def still_accept(people: Roster, proposal_id: str, *, at: int) -> bool:
    """Do step 1 for the data that was accepted with a call, after comparing that call with its events.

    Raises:
        StoreCorruptError: the call, an account of who asked for it, or one that its permit rests on, is not what the
            log says.
    """
    connection = people.connection
    held = read(connection, proposal_id).keeping(connection, vote_rows.c.proposal_id)
    require_recorded(connection, proposal_id, held)
    call, permit, row = held.one(proposals.c.id), held.one(grants.c.proposal_id), held.one(plan_rows.c.proposal_id)
    if call is None or permit is None:
        return False
    proposal = from_row(call)
    plan = plans.read(connection, proposal_id) if row is None else plans.of_row(row)
    try:
        cast = votes_behind(people, proposal, plan, held, str(permit["issued_by"]))
        earlier = frozenset[str]()
        if not isinstance(people, Rows):
            earlier = askers.require_as_told(people, proposal.asked_by, askers.voices(cast))
        counting = counting_for_permit(people, cast, plan, proposal, at=at, earlier=earlier)
        return votes.tally(plan, counting).decided == "yes"
    except CredentialError:  # an account that was removed by hand
        return False


def still_grants(people: Roster, item: MandateEntry) -> bool:
    """Do step 2.

    Raises:
        StoreCorruptError: the account is not what the log says.
    """
    if not item.granted_by.startswith(REVIEWER):
        return True
    try:
        granter = account_of(people, item.granted_by.removeprefix(REVIEWER))
    except CredentialError:
        return False
    return Role.APPROVER in granter.roles_for(widest(item.mandate, item.tenant))


def granted(connection: sa.Connection, found: list[MandateEntry]) -> list[MandateEntry]:
    """Return the mandates that may be relied on while a call is decided."""
    people = Rows(connection)
    return [item for item in found if still_grants(people, item)]


def widest(mandate: Mandate, tenant: str) -> Question:
    """Return the gravest call that a mandate can let through: what it leaves open counts as out of every scope."""
    server, _, tool = mandate.tool.rpartition("/")
    amount = UNREADABLE if mandate.max_amount is None else str(mandate.max_amount)
    return Question(tool, server, mandate.effect, "", Tier.CRITICAL, tenant, amount)


__all__ = ["Rows", "granted", "still_accept", "still_grants", "widest"]
