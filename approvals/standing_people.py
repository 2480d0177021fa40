"""Who agrees to a standing rule, and how many: what the settings, the review rules and the call itself ask for.

1. As many people as the setting says; one where a single person uses the gateway. 2. As many as the call's own plan
needed, and as the review rules want for such a call up to the rule's cap. 3. What no two approvers may decide, what
takes a fresh proof of who decides, and what nobody had looked at is not for a rule. 4. Each is an approver for calls
up to the cap, and nobody who asked for the call.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import askers, moves, plans, reach
from checkvalve.approvals.errors import StandingRuleError
from checkvalve.approvals.handed import REVIEWER
from checkvalve.approvals.own_call import own_call
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.question import Question
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.refusals import OutOfScopeError
from checkvalve.approvals.review_rules import ReviewRules
from checkvalve.approvals.review_tables import afterlooks, undos
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.risk import Tier
from checkvalve.approvals.roles import Role, require_role
from checkvalve.approvals.standing import StandingRule

PEOPLE: Final = 2
"""The most that can agree to a rule: who makes it, and who confirms it."""


def persons_needed(
    connection: sa.Connection,
    proposal: Proposal,
    rule: StandingRule,
    review: ReviewRules,
    *,
    least: int,
    single_user: bool,
) -> int:
    """Return how many people have to agree; ``least`` is the setting's number.

    Raises:
        StandingRuleError: such calls are not for a rule.
    """
    plan = plans.read(connection, proposal.id)
    asked = _up_to_the_cap(plan.question(proposal), rule)
    for one in (plan, review.plan_for(asked, decide_within=1, execute_within=1)):
        if one.tier is Tier.CRITICAL or one.step_up:
            raise not_for_rules("each such call takes a fresh proof of who decides")
        least = max(least, 1 if single_user else _approvers(one))
    return least


def require_person(
    connection: sa.Connection, reviewer: Reviewer, proposal: Proposal, rule: StandingRule, *, single_user: bool
) -> None:
    """Make sure that this is an approver for calls up to the cap, and nobody who asked for the call.

    The caller has checked the credential.

    Raises:
        NotAllowedError: it is not.
    """
    account = require_role(connection, reviewer, Role.APPROVER)
    asked = _up_to_the_cap(plans.read(connection, proposal.id).question(proposal), rule)
    if Role.APPROVER not in account.roles_for(asked):
        raise OutOfScopeError(
            "calls like these are outside of what you may approve", remedy="another approver has to agree to it"
        )
    earlier = askers.require_as_told(connection, proposal.asked_by, {account.name})
    if (account.person in earlier or reach.asked(connection, proposal.asked_by, account)) and not single_user:
        raise own_call(connection, proposal, account, remedy="another approver has to agree to the rule")


def require_good_end(connection: sa.Connection, proposal_id: str) -> None:
    """Refuse a call that no reviewer approved by looking at it, or whose effect was taken back.

    Raises:
        StandingRuleError: it is such a call.
    """
    grant = moves.read_grant(connection, proposal_id)
    if grant is None or not grant.issued_by.startswith(REVIEWER):
        raise not_for_rules("no reviewer approved this call")
    if connection.execute(sa.select(sa.exists().where(afterlooks.c.proposal_id == proposal_id))).scalar():
        raise not_for_rules("somebody broke the glass for this call")
    undone = sa.select(sa.exists().where(undos.c.proposal_id == proposal_id, undos.c.undo_id != ""))
    if connection.execute(undone).scalar():
        raise not_for_rules("the effect of this call was taken back")


def not_for_rules(why: str) -> StandingRuleError:
    """Return the error for a call that people decide."""
    return StandingRuleError(f"no standing rule can be made of this call: {why}", remedy="let people decide such calls")


def _up_to_the_cap(asked: Question, rule: StandingRule) -> Question:
    return asked if rule.max_amount is None else replace(asked, amount=format(rule.max_amount, "f"))


def _approvers(plan: Plan) -> int:
    """Return how many approvers the smallest alternative needs that approvers alone can fill."""
    counts = [sum(need.count for need in needs) for needs in plan.approve if {n.role for n in needs} == {Role.APPROVER}]
    if not counts or min(counts) > PEOPLE:
        raise not_for_rules("the review rules want more people, or others than approvers, for such calls")
    return min(counts)


__all__ = ["PEOPLE", "not_for_rules", "persons_needed", "require_good_end", "require_person"]
