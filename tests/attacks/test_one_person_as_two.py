"""Attack: one person passes for two, or for somebody who did not ask, to fill a quorum alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.approvals.errors import ApprovalError, ConflictError, NotAllowedError, QueueError
from checkvalve.approvals.records import State
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.made import HandClock
from tests.conformance.test_votes import TWO, Panel

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as opened:
        yield opened


@pytest.mark.parametrize(
    "requester",
    ["ann", "ANN", " Ann ", "\uff41nn", "\u0430nn", "an\u200bn", "ann-phone", "Ann-Phone", "ann-old", "", "\u3164"],
)
@pytest.mark.parametrize("account", ["ann", "ann-phone"])
def test_who_asked_says_yes_under_another_name(store: Store, requester: str, account: str) -> None:
    at = Panel(store, HandClock(), "{}")
    people = {"ann": at.add("ann"), "ann-phone": at.add("ann-phone", person="ann")}
    at.add("ann-old", person="ann-phone")
    at.queue.reviewers.disable("ann-old", by=at.boss)
    proposal = at.desk.propose(request=at.desk.request(requester=requester))
    with pytest.raises(NotAllowedError):
        at.yes(proposal, people[account])
    assert at.queue.get(proposal.id).state is State.PENDING
    assert at.queue.grant(proposal.id) is None


def test_a_further_account_is_made_to_look_like_another_person(store: Store) -> None:
    at = Panel(store, HandClock(), TWO)
    ann = at.add("ann")
    for name, person in (("\u0430nn", ""), ("ANN", ""), ("an\u0301n", ""), ("zoe", "\u0430\u00f1\u0144")):
        try:
            twin = at.add(name, person=person)
        except QueueError:
            continue
        proposal = at.desk.propose(request=at.desk.request(to=f"{len(name)}@x.example"))
        at.yes(proposal, ann)
        with pytest.raises(ConflictError):
            at.yes(proposal, twin)
        assert at.queue.get(proposal.id).state is State.PENDING


def test_accounts_are_linked_or_the_voter_is_renamed_after_the_vote(store: Store) -> None:
    """A second account of somebody who voted counts as that person, whenever it was made."""
    at = Panel(store, HandClock(), TWO)
    ann = at.add("ann")
    proposal = at.desk.propose()
    at.yes(proposal, ann)
    later = at.add("later", person="ann")
    with pytest.raises(ConflictError):
        at.yes(proposal, later)
    at.queue.reviewers.disable("ann", by=at.boss)
    with pytest.raises(ConflictError):
        at.yes(proposal, later)
    assert at.queue.get(proposal.id).state is State.PENDING


def test_an_approver_gives_himself_what_is_missing(store: Store) -> None:
    at = Panel(store, HandClock(), "everywhere: {approve: [{approver: 1, auditor: 1}]}")
    ann = at.add("ann", Role.APPROVER)
    proposal = at.desk.propose()
    at.yes(proposal, ann)
    for attempt in (
        lambda: at.queue.reviewers.set_roles("ann", list(Role), by=ann),
        lambda: at.queue.reviewers.add("eve", by=ann, roles=[Role.AUDITOR]),
        lambda: at.yes(proposal, ann),
        lambda: at.queue.reject(proposal.id, at.add("eve", Role.VIEWER)),
    ):
        with pytest.raises(ApprovalError):
            attempt()
    assert at.queue.get(proposal.id).state is State.PENDING


def test_the_rules_are_exchanged_while_the_question_is_open(store: Store) -> None:
    at = Panel(store, HandClock(), "everywhere: {approve: [{approver: 2}], note_required: true, channels: [web]}")
    at.add("ann")
    proposal = at.desk.propose()
    looser = at.other("everywhere: {approve: [{approver: 1}]}", single_user=True)
    for note, channel in (("", "web"), ("because", "rest")):
        with pytest.raises(QueueError):
            looser.approve(proposal.id, at.boss, proposal.digest, note=note, channel=channel)
    waiting = looser.approve(proposal.id, at.boss, proposal.digest, note="because", channel="web")
    assert waiting.state is State.PENDING
    assert looser.propose(at.desk.request(call_id=proposal.call_id), at.decision()).id == proposal.id
    assert looser.standing(proposal.id).plan.approve == at.queue.standing(proposal.id).plan.approve
    assert verify(store).ok
