"""Calling others to a question by hand: who is told, once, without a decision, on every database."""

from __future__ import annotations

import pytest

from checkvalve.approvals.audit import head, read_events
from checkvalve.approvals.calling import call_others
from checkvalve.approvals.errors import ConflictError, CredentialError, NotAllowedError
from checkvalve.approvals.ladder import Ladder
from checkvalve.approvals.notices import notice_of
from checkvalve.approvals.records import State
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.talked import CALLED
from checkvalve.approvals.verify import verify
from tests.approvals.emergency import RULES, add, busy
from tests.approvals.made import Desk, HandClock

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def desk(store: Store, clock: HandClock) -> Desk:
    return busy(store, clock, rules=RULES)


def test_those_of_the_steps_are_told_once_and_the_clock_goes_on_as_before(desk: Desk) -> None:
    ben, cem = add(desk, "ben", Role.APPROVER), add(desk, "cem", Role.VIEWER)
    row = desk.propose()
    assert call_others(desk.queue, row.id, ben, channel="cli") == ("ann", "cem")
    with desk.queue.store.read() as connection:
        (event,) = [item for item in read_events(connection, subject=row.id) if item.kind == CALLED]
    notice = notice_of(event, row)
    assert notice is not None
    assert (notice.kind, notice.who, notice.is_for("oncall"), notice.is_for("other")) == (
        "escalated", ("ann", "cem"), True, False
    )  # fmt: skip
    with pytest.raises(ConflictError, match="were called"):
        call_others(desk.queue, row.id, desk.reviewer)
    with pytest.raises(NotAllowedError):  # who may only look
        call_others(desk.queue, desk.propose().id, cem)
    desk.clock.advance(hours=9, minutes=30)
    climbed = [item.what for item in Ladder(desk.queue).tick().done if item.proposal_id == row.id]
    assert climbed == ["reminded", "reminded", "escalated"]  # the clock's own rungs
    assert desk.queue.get(row.id).state is State.PENDING
    assert desk.queue.grant(row.id) is None
    assert verify(desk.queue.store).ok


def test_nobody_else_a_decided_call_and_a_stranger_change_nothing(store: Store, clock: HandClock) -> None:
    desk = busy(store, clock, rules="{}")
    row = desk.propose()
    with pytest.raises(ConflictError, match="nobody else"):
        call_others(desk.queue, row.id, desk.reviewer)
    ben = add(desk, "ben")
    add(desk, "bob")  # who asked for the call
    assert call_others(desk.queue, desk.propose().id, desk.reviewer) == ("ben",)
    desk.queue.reject(row.id, ben)
    end = head(store)
    with pytest.raises(ConflictError, match="rejected"):
        call_others(desk.queue, row.id, desk.reviewer)
    desk.queue.reviewers.disable("ben", by=desk.reviewer)
    other = desk.propose()
    with pytest.raises(CredentialError):
        call_others(desk.queue, other.id, ben)
    assert head(store).seq == end.seq + 2  # the disabled account and the new question
