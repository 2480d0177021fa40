"""Quorum on every database: each voice once, the plan as it was, one outcome whatever the race."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit, plans, votes
from checkvalve.approvals.decision import ArgumentReport, Decision
from checkvalve.approvals.erasure import erase_call
from checkvalve.approvals.errors import (
    ApprovalError,
    ConflictError,
    NotAllowedError,
    NoteNeededError,
    OtherChannelError,
    RoleNeededError,
    StepUpError,
    StoreCorruptError,
)
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.review_rules import ReviewRules, parse_review_rules
from checkvalve.approvals.review_tables import plans as plan_rows
from checkvalve.approvals.review_tables import votes as vote_rows
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role, Scope
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events
from checkvalve.approvals.tables import reviewers as reviewer_rows
from checkvalve.approvals.verify import verify
from tests.approvals.made import MAIL, REVIEW, Desk, HandClock, decided, people

TWO = "everywhere: {approve: [{approver: 2}]}"
MIXED = "everywhere: {approve: [{approver: 1, auditor: 1}]}"


class Panel:
    """A queue with rules and several people."""

    def __init__(self, store: Store, clock: HandClock, rules: str, **settings: Any) -> None:
        self.store, self.clock = store, clock
        self.queue = self.other(rules, **settings)
        self.boss = self._first()
        self.desk = Desk.over(self.queue, clock, self.boss)

    def other(self, rules: str, **settings: Any) -> Queue:
        """Return another gateway's queue over the same store, under rules of its own."""
        queue = Queue(self.store, self.clock, rules=parse_review_rules(rules, "rules.yaml"), **settings)
        people(queue)
        return queue

    def _first(self) -> Reviewer:
        return self.queue.reviewers.authenticate(self.queue.reviewers.add("boss"))

    def add(self, name: str, *roles: Role, person: str = "", scope: Scope = Scope()) -> Reviewer:  # noqa: B008  # frozen
        token = self.queue.reviewers.add(name, by=self.boss, roles=roles or None, person=person, scope=scope)
        return self.queue.reviewers.authenticate(token)

    def yes(self, proposal: Proposal, who: Reviewer, **rest: Any) -> Proposal:
        return self.queue.approve(proposal.id, who, proposal.digest, **rest)

    def events(self, proposal: Proposal, kind: str) -> list[dict[str, Any]]:
        with self.store.read() as connection:
            found = list(audit.read_events(connection, subject=proposal.id))
        return [json.loads(event.body) for event in found if event.kind == kind]

    @staticmethod
    def decision() -> Decision:
        return decided(REVIEW, [MAIL])

    def missing(self, proposal: Proposal) -> str:
        return self.queue.standing(proposal.id).tally.in_words()


MakePanel = Callable[..., Panel]


@pytest.fixture
def panel(store: Store, clock: HandClock) -> MakePanel:
    return lambda rules, **settings: Panel(store, clock, rules, **settings)


@pytest.mark.claim("C4")
def test_a_quorum_of_two_takes_two_people_and_then_gives_one_permit(panel: MakePanel) -> None:
    at = panel(TWO)
    ann, ben = at.add("ann"), at.add("ben")
    proposal = at.desk.propose()
    assert at.yes(proposal, ann).state is State.PENDING
    assert at.queue.grant(proposal.id) is None
    assert at.queue.endorsements("t") == [], "data is accepted by the whole quorum or not at all"
    assert at.missing(proposal) == "one approver"
    with pytest.raises(ConflictError, match="said yes"):
        at.yes(proposal, ann)
    approved = at.yes(proposal, ben)
    grant = at.queue.grant(proposal.id)
    assert grant is not None
    assert (approved.state, grant.issued_by) == (State.APPROVED, "reviewer:ben")
    assert at.events(proposal, "grant.issued")[0]["voters"] == ["ann", "ben"]
    assert [body["person"] for body in at.events(proposal, votes.CAST)] == ["ann", "ben"]
    assert at.queue.endorsements("t") == [MAIL]
    assert verify(at.store).ok


@pytest.mark.claim("C4")
def test_two_accounts_of_one_person_are_one_voice(panel: MakePanel) -> None:
    at = panel(TWO)
    ann, phone, ben = at.add("ann"), at.add("ann-phone", person="ANN"), at.add("ben")
    proposal = at.desk.propose()
    at.yes(proposal, ann)
    with pytest.raises(ConflictError, match="ann said yes"):
        at.yes(proposal, phone)
    assert at.queue.get(proposal.id).state is State.PENDING
    assert at.yes(proposal, ben).state is State.APPROVED
    own = at.desk.propose(request=at.desk.request(requester="ann"))
    with pytest.raises(NotAllowedError, match="asked for this call yourself"):
        at.yes(own, phone)
    other = at.desk.propose(request=at.desk.request(requester="ann-phone"))
    with pytest.raises(NotAllowedError, match="asked for this call yourself"):
        at.yes(other, ann)


@pytest.mark.claim("C4")
def test_each_role_that_a_plan_asks_for_is_another_person(panel: MakePanel) -> None:
    at = panel(MIXED)
    both, auditor, viewer = (
        at.add("both", Role.APPROVER, Role.AUDITOR),
        at.add("aud", Role.AUDITOR),
        at.add("vi", Role.VIEWER),
    )
    proposal = at.desk.propose()
    at.yes(proposal, both)
    assert "one a" in at.missing(proposal)
    with pytest.raises(RoleNeededError, match="role approver or auditor; of vi: viewer") as refused:
        at.yes(proposal, viewer)
    assert "who could: aud, boss, both" in refused.value.remedy
    with pytest.raises(RoleNeededError):
        at.queue.reject(proposal.id, viewer)
    assert at.yes(proposal, auditor).state is State.APPROVED


def test_an_alternative_is_enough(panel: MakePanel) -> None:
    at = panel("everywhere: {approve: [{approver: 3}, {administrator: 1, approver: 1}]}")
    ann = at.add("ann", Role.APPROVER)
    proposal = at.desk.propose()
    at.yes(proposal, ann)
    assert at.missing(proposal) == "one administrator, or 2 approvers"
    assert at.yes(proposal, at.boss).state is State.APPROVED


@pytest.mark.claim("C4")
def test_a_no_wins_while_the_quorum_is_open_and_takes_a_yes_back(panel: MakePanel) -> None:
    at = panel(TWO)
    ann, ben = at.add("ann"), at.add("ben")
    first, second = at.desk.propose(), at.desk.propose()
    at.yes(first, ann)
    assert at.queue.reject(first.id, ben, "wrong_value").state is State.REJECTED
    at.yes(second, ann)
    assert at.queue.reject(second.id, ann).state is State.REJECTED
    assert [body["vote"] for body in at.events(second, votes.CAST)] == ["yes", "no"]
    assert at.events(second, votes.CAST)[1]["was"] == "yes"
    assert verify(at.store).ok


@pytest.mark.claim("C4")
def test_a_no_that_is_not_enough_stays_and_never_becomes_a_yes(panel: MakePanel) -> None:
    at = panel("everywhere: {approve: [{approver: 2}], deny: 2}")
    ann, ben, cem = at.add("ann"), at.add("ben"), at.add("cem")
    proposal = at.desk.propose()
    assert at.queue.reject(proposal.id, ann).state is State.PENDING
    with pytest.raises(ConflictError, match="said no"):
        at.yes(proposal, ann)
    with pytest.raises(ConflictError, match="said no"):
        at.queue.reject(proposal.id, ann)
    at.yes(proposal, ben)
    assert at.queue.reject(proposal.id, cem).state is State.REJECTED


@pytest.mark.claim("C4")
def test_the_plan_is_frozen_with_the_question(panel: MakePanel) -> None:
    at = panel(TWO)
    proposal = at.desk.propose()
    assert len(at.events(proposal, "proposal.recorded")[0]["plan_digest"]) == 71
    looser = at.other("everywhere: {approve: [{approver: 1}]}")
    assert looser.approve(proposal.id, at.boss, proposal.digest).state is State.PENDING
    assert looser.propose(at.desk.request(), at.decision()).state is State.PENDING


@pytest.mark.claim("C4", "C5")
@pytest.mark.parametrize(
    "change",
    [
        lambda: sa.update(plan_rows).values(body=sa.func.replace(plan_rows.c.body, '"approver":2', '"approver":1')),
        lambda: sa.delete(plan_rows),
        lambda: sa.update(vote_rows).values(person="zoe", reviewer="zoe"),
        lambda: sa.update(vote_rows).values(roles='["approver","auditor"]'),
        lambda: sa.update(reviewer_rows).where(reviewer_rows.c.name == "ben").values(roles=""),
        lambda: sa.update(reviewer_rows).where(reviewer_rows.c.name == "ann").values(person="somebody"),
    ],
    ids=["looser plan", "no plan", "another person", "more roles in a vote", "more roles", "another person's account"],
)
def test_what_was_written_by_hand_decides_nothing(panel: MakePanel, change: Callable[[], Any]) -> None:
    at = panel(TWO)
    ann, ben = at.add("ann"), at.add("ben", Role.APPROVER)
    proposal = at.desk.propose()
    at.yes(proposal, ann)
    with at.store.write() as connection:
        connection.execute(change())
    with pytest.raises(StoreCorruptError):
        at.yes(proposal, ben)
    assert at.queue.get(proposal.id).state is State.PENDING
    assert {finding.code for finding in verify(at.store).findings} <= {"row_differs", "row_missing"}
    assert not verify(at.store).ok


@pytest.mark.claim("C4")
def test_a_vote_that_was_planted_counts_for_nothing(panel: MakePanel) -> None:
    at = panel(TWO)
    ann = at.add("ann")
    at.add("ben")
    proposal = at.desk.propose()
    values = {"proposal_id": proposal.id, "person": "ben", "reviewer": "ben", "vote": "yes", "roles": '["approver"]'}
    rest = {"via": "", "means": "token", "digest": proposal.digest, "endorse": True, "code": "", "note": ""}
    rest["at"] = at.clock()
    with at.store.write() as connection:
        connection.execute(sa.insert(vote_rows).values(**values, **rest))
    with pytest.raises(StoreCorruptError):
        at.yes(proposal, ann)
    assert at.queue.get(proposal.id).state is State.PENDING


@pytest.mark.claim("C4")
def test_a_yes_of_somebody_who_could_not_say_it_any_more_does_not_count(panel: MakePanel) -> None:
    at = panel(TWO)
    ann, ben, cem, dan = (at.add(name) for name in ("ann", "ben", "cem", "dan"))
    gone, lost = at.desk.propose(), at.desk.propose()
    at.yes(gone, ann)
    at.yes(lost, cem)
    at.queue.reviewers.disable("ann", by=at.boss)
    at.queue.reviewers.set_roles("cem", [Role.VIEWER], by=at.boss)
    for proposal in (gone, lost):
        assert at.yes(proposal, ben).state is State.PENDING
        assert at.missing(proposal) == "one approver"
        assert at.yes(proposal, dan).state is State.APPROVED
        assert at.events(proposal, "grant.issued")[0]["voters"] == ["ben", "dan"]


@pytest.mark.claim("C4")
def test_who_edited_a_grave_call_does_not_approve_it_alone(panel: MakePanel) -> None:
    at = panel("{}")
    ann, ben = at.add("ann"), at.add("ben")
    proposal, mild = at.desk.propose(), at.desk.propose()
    with at.store.write() as connection:
        plans.link(connection, proposal.id, parent=mild.id, edited_by="ann", at=at.clock())
        with pytest.raises(ConflictError):
            plans.link(connection, proposal.id, parent=mild.id, edited_by="ben", at=at.clock())
    assert at.yes(proposal, ann).state is State.PENDING
    assert at.missing(proposal) == "somebody besides the editor"
    assert at.yes(proposal, ben).state is State.APPROVED


@pytest.mark.claim("C4")
def test_conditions_of_a_yes(panel: MakePanel) -> None:
    at = panel("everywhere: {note_required: true, step_up: false, channels: [web]}")
    proposal = at.desk.propose()
    for channel in ("", "cli", "rest"):
        with pytest.raises(OtherChannelError, match="say it by: web"):
            at.yes(proposal, at.boss, note="fine", channel=channel)
    with pytest.raises(NoteNeededError):
        at.yes(proposal, at.boss, note="  ", channel="web")
    assert at.events(proposal, votes.CAST) == []
    assert at.yes(proposal, at.boss, note="it is our supplier", channel="web").state is State.APPROVED
    assert at.events(proposal, votes.CAST)[0]["channel"] == "web"
    proved = Panel.other(at, "everywhere: {step_up: true}")
    grave = proved.propose(at.desk.request(), at.decision())
    with pytest.raises(StepUpError):
        proved.approve(grave.id, at.boss, grave.digest)


@pytest.mark.claim("C4")
def test_a_scope_limits_what_one_may_decide(panel: MakePanel) -> None:
    at = panel("{}")
    far = at.add("far", Role.APPROVER, scope=Scope(tools=("pay",)))
    near = at.add("near", Role.APPROVER, scope=Scope(tools=("send",), tenants=("",)))
    proposal = at.desk.propose()
    with pytest.raises(RoleNeededError, match="does not reach this call"):
        at.yes(proposal, far)
    with pytest.raises(RoleNeededError):
        at.queue.reject(proposal.id, far)
    assert at.yes(proposal, near).state is State.APPROVED


def test_each_tier_has_clocks_of_its_own(panel: MakePanel, clock: HandClock) -> None:
    at = panel("tiers: {high: {decide_within: 2h, execute_within: 5m}}")
    late, proposal = at.desk.propose(), at.desk.propose()
    clock.advance(hours=1, minutes=59)
    approved = at.yes(proposal, at.boss)
    assert approved.execute_by == clock() + 300_000_000
    clock.advance(minutes=1)
    assert at.queue.get(late.id).state is State.EXPIRED


@pytest.mark.claim("C4")
def test_what_nobody_can_approve_is_said_and_never_relaxed(panel: MakePanel) -> None:
    at = panel("everywhere: {approve: [{approver: 2}]}")
    proposal = at.desk.propose()
    assert at.events(proposal, "proposal.unreachable")[0]["approve"] == [{"approver": 2}]
    assert not at.queue.standing(proposal.id).reachable
    assert at.yes(proposal, at.boss).state is State.PENDING
    ann = at.add("ann")
    assert at.queue.standing(proposal.id).reachable
    assert at.events(at.desk.propose(), "proposal.unreachable") == []
    own = at.desk.propose(request=at.desk.request(requester="ann"))
    assert at.events(own, "proposal.unreachable"), "without the requester there is one person too few"
    assert at.yes(proposal, ann).state is State.APPROVED


@pytest.mark.claim("C4")
def test_two_halves_of_a_quorum_at_the_same_moment_make_one_whole(panel: MakePanel) -> None:
    at = panel(TWO)
    halves = [at.add("ann"), at.add("ben")]
    for _ in range(4):
        proposal, gate = at.desk.propose(), Barrier(2)

        def say(who: Reviewer, proposal: Proposal = proposal, gate: Barrier = gate) -> State:
            gate.wait()
            return at.yes(proposal, who).state

        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(say, halves)) == [State.APPROVED, State.PENDING]
        assert len(at.events(proposal, "grant.issued")) == 1
        at.queue.invalidate(proposal.id, "test")
    assert verify(at.store).ok


@pytest.mark.claim("C4")
def test_yes_and_no_at_once_have_exactly_one_outcome(panel: MakePanel) -> None:
    at = panel(TWO)
    crowd = [at.add(name) for name in ("ann", "ben", "cem", "dan", "eve", "fay")]
    for turn in range(3):
        proposal = at.desk.propose(request=at.desk.request(to=f"{turn}@x.example"))
        gate = Barrier(len(crowd))

        def say(number: int, proposal: Proposal = proposal, gate: Barrier = gate) -> str:
            gate.wait()
            try:
                if number % 3:
                    return at.yes(proposal, crowd[number]).state
                return at.queue.reject(proposal.id, crowd[number]).state
            except ConflictError:
                return "late"

        with ThreadPoolExecutor(len(crowd)) as pool:
            answers = list(pool.map(say, range(len(crowd))))
        end = at.queue.get(proposal.id).state
        assert end in {State.APPROVED, State.REJECTED}
        assert answers.count(end) == 1
        assert (at.queue.grant(proposal.id) is not None) == (end is State.APPROVED)
        if end is State.APPROVED:
            at.queue.invalidate(proposal.id, "test")
    assert verify(at.store).ok


@pytest.mark.claim("C4")
def test_one_person_on_many_connections_has_one_voice(panel: MakePanel) -> None:
    at = panel(TWO)
    accounts = [at.add("ann"), *(at.add(f"ann-{number}", person="ann") for number in range(3))]
    proposal, gate = at.desk.propose(), Barrier(len(accounts))

    def say(who: Reviewer) -> bool:
        gate.wait()
        try:
            return bool(at.yes(proposal, who))
        except ConflictError:
            return False

    with ThreadPoolExecutor(len(accounts)) as pool:
        assert sum(pool.map(say, accounts)) == 1
    assert at.queue.get(proposal.id).state is State.PENDING
    assert len(at.events(proposal, votes.CAST)) == 1


@pytest.mark.claim("C5", "C9")
def test_without_its_event_no_vote_commits(panel: MakePanel, monkeypatch: pytest.MonkeyPatch) -> None:
    at = panel(TWO)
    proposal = at.desk.propose()

    def fail(*_: object, **__: object) -> None:
        raise ApprovalError("the log is gone")

    monkeypatch.setattr(audit, "append", fail)
    with pytest.raises(ApprovalError, match="the log is gone"):
        at.yes(proposal, at.boss)
    monkeypatch.undo()
    with at.store.read() as connection:
        assert votes.read(connection, proposal.id) == []


@pytest.mark.claim("C5")
def test_an_erased_call_leaves_no_amount_and_no_words_behind(panel: MakePanel) -> None:
    at = panel("rules: [{name: paid, when: {effect: pay}, approve: [{approver: 1}]}]")
    request = ActionRequest.build("pay", {"sum": "12345.67"}, thread="t", call_id="c1", requester="bob")
    report = ArgumentReport("sum", "amount", "number", sufficient=False, origins=())
    proposal = at.queue.propose(request, replace(at.decision(), action="pay", arguments=(report,)))
    assert at.queue.standing(proposal.id).plan.amount == "12345.67"
    at.queue.reject(proposal.id, at.boss, "wrong_value", "not the 12345.67 that we owe")
    with at.store.write() as connection:
        erase_call(connection, proposal.id, at=at.clock(), by="boss", reason="asked to")
    with at.store.read() as connection:
        for table in (plan_rows, vote_rows):
            assert "12345.67" not in str(connection.execute(sa.select(table)).all())
        assert "12345.67" not in str(connection.execute(sa.select(events.c.body)).all())
    assert verify(at.store).ok


def test_a_question_of_an_older_version_takes_one_approver(panel: MakePanel) -> None:
    at = panel(TWO)
    proposal = at.desk.propose()
    with at.store.read() as connection:
        assert plans.read(connection, "0" * 36).approve == plans.ONE
        assert plans.read(connection, proposal.id) == replace(
            ReviewRules.model_validate({}).plan_for(
                plans.Plan(plans.read(connection, proposal.id).tier).question(proposal),
                decide_within=86_400,
                execute_within=3_600,
            ),
            approve=((plans.Need(2, Role.APPROVER),),),
        )
