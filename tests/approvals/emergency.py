"""People with roles, a question with a ladder, and a glass that may be broken, for tests of what happens in a hurry."""

from __future__ import annotations

from datetime import timedelta

from checkvalve.approvals.afterlooks import AfterLooks, Glass
from checkvalve.approvals.breakglass import break_glass
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.review_rules import parse_review_rules
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role
from checkvalve.approvals.stepup import Checks, Item, StepUp, with_secret
from checkvalve.approvals.store import Store
from tests.approvals.made import Desk, HandClock, people

RULES = """
everywhere:
  decide_within: 10h
  approve: [{approver: 2}]
  break_glass: true
  remind: [0.5, 0.8]
  escalate:
    - {after: 0.9, to: [administrator, cem, "channel:oncall"]}
"""
REASON = "The mail server is down and nobody else answers the phone"
FINDING = "The mail went to the customer who had asked for it"


def busy(
    store: Store, clock: HandClock, *, rules: str = RULES, glass: Glass | None = None, single: bool = False
) -> Desk:
    """Return a desk whose questions take two approvers; ann has every role but that of a breaker."""
    queue = Queue(
        store,
        clock,
        execute_within=timedelta(minutes=15),
        rules=parse_review_rules(rules, "rules.yaml"),
        glass=Glass(enabled=True) if glass is None else glass,
        single_user=single,
    )
    people(queue)
    token = queue.reviewers.add("ann")
    return Desk(queue, clock, queue.reviewers.authenticate(token), token)


TOKENS: dict[tuple[int, str], str] = {}


def add(desk: Desk, name: str, *roles: Role, person: str = "") -> Reviewer:
    """Add somebody with these roles; without any, with all but that of a breaker."""
    token = desk.queue.reviewers.add(name, by=desk.reviewer, person=person, roles=roles or None)
    TOKENS[id(desk.queue.store), name] = token
    return desk.queue.reviewers.authenticate(token)


def proven(desk: Desk, who: Reviewer, proposal: Proposal, *, decision: str = "break_glass") -> StepUp:
    """Return a fresh proof of somebody for one call."""
    item = Item(proposal.id, proposal.digest, decision)  # type: ignore[arg-type]
    return with_secret(Checks.of(desk.queue.reviewers), who, item, TOKENS[id(desk.queue.store), who.name])


def broken(desk: Desk, who: Reviewer, proposal: Proposal, *, reason: str = REASON) -> Proposal:
    """Let somebody break the glass with everything that it takes."""
    return break_glass(
        desk.queue, proposal.id, who, proposal.digest, reason=reason, step_up=proven(desk, who, proposal)
    )


def looks(desk: Desk) -> AfterLooks:
    return AfterLooks(desk.queue.store, desk.clock, desk.queue.reviewers)
