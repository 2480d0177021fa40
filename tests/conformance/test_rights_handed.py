"""A yes that somebody said in another one's place, counted again right before the effect, on every database."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checkvalve.approvals.delegations import Delegation, Delegations
from checkvalve.approvals.records import State
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.made import HandClock
from tests.conformance.test_rights import RAN, VOID, gone, run
from tests.conformance.test_votes import TWO, Panel

pytestmark = pytest.mark.claim("C4")

DAY = 86_400_000_000


@pytest.fixture
def one(store: Store, clock: HandClock) -> Panel:
    """One yes is enough."""
    return Panel(store, clock, "{}")


@pytest.fixture
def two(store: Store, clock: HandClock) -> Panel:
    """Two people have to say yes."""
    return Panel(store, clock, TWO)


def handed(at: Panel, giver: Reviewer, taker: str, *, days: float = 7) -> Delegation:
    hands = Delegations(at.store, at.clock, at.queue.reviewers)
    return hands.give(giver, taker, reason="on holiday", expires_at=int(at.clock() + days * DAY))


ENDS: dict[str, Callable[[Panel, Delegation, Reviewer], object]] = {
    "taken back": lambda at, given, ann: Delegations(at.store, at.clock, at.queue.reviewers).end(given.id, ann),
    "over": lambda at, given, ann: setattr(at.clock, "now", given.expires_at),
    "giver disabled": lambda at, given, ann: at.queue.reviewers.disable("ann", by=at.boss),
    "giver no approver": lambda at, given, ann: at.queue.reviewers.set_roles("ann", [Role.VIEWER], by=at.boss),
    "taker disabled": lambda at, given, ann: at.queue.reviewers.disable("ben", by=at.boss),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_yes_in_somebodys_place_ends_with_the_standing_in(one: Panel, end: str) -> None:
    ann, ben = one.add("ann"), one.add("ben", Role.RESPONDER)
    given = handed(one, ann, "ben", days=0.02)
    proposal = one.desk.propose()
    one.yes(proposal, ben)
    assert one.events(proposal, "vote.cast")[0]["via"] == "ann"
    ENDS[end](one, given, ann)
    assert run(one, proposal) == VOID
    why = "disabled" if end == "taker disabled" else "delegation"
    assert gone(one, proposal) == [{"reviewer": "ben", "why": why}]


def test_a_yes_in_somebodys_place_counts_while_it_holds(one: Panel) -> None:
    ann, ben = one.add("ann"), one.add("ben", Role.RESPONDER)
    given, proposal = handed(one, ann, "ben"), one.desk.propose()
    one.yes(proposal, ben)
    Delegations(one.store, one.clock, one.queue.reviewers).end(given.id, ann)
    handed(one, ann, "ben")  # and stands in again
    assert run(one, proposal) == RAN


def test_who_handed_over_says_it_themselves_once_nobody_stands_in(two: Panel) -> None:
    """An open question of which a yes fell away is not stuck: that voice is free again, and counts once."""
    ann, ben = two.add("ann"), two.add("ben", Role.RESPONDER)
    given, proposal = handed(two, ann, "ben"), two.desk.propose()
    two.yes(proposal, ben)
    Delegations(two.store, two.clock, two.queue.reviewers).end(given.id, ann)
    assert two.missing(proposal) == "2 approvers"
    assert two.yes(proposal, ann).state is State.PENDING
    handed(two, ann, "ben")  # what ben said for ann counts no second time beside what ann said
    assert two.missing(proposal) == "one approver"
    assert two.yes(proposal, two.add("cem")).state is State.APPROVED
    assert run(two, proposal) == RAN
    assert verify(two.store).ok
