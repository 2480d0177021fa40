"""Taking an approval back before it runs, on every database: who may, when, and what it ends."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from threading import Barrier
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals.causes import Cause
from checkvalve.approvals.decision import ArgumentReport
from checkvalve.approvals.delegations import Delegations
from checkvalve.approvals.errors import ApprovalError, ConflictError, CredentialError, NotAllowedError, QueueError
from checkvalve.approvals.errors import StoreCorruptError as Corrupt
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.notices import KINDS
from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.revoking import may_revoke, revoke, revoke_own
from checkvalve.approvals.roles import Role, Scope
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.verify import verify
from tests.approvals.emergency import add, broken, busy, looks
from tests.approvals.made import ALLOW, DENY, MAIL, HandClock
from tests.conformance.test_votes import Panel

pytestmark = pytest.mark.claim("C4", "C5")

WAIT = timedelta()
NOTE = "I had mixed up two mails"


@pytest.fixture
def at(store: Store, clock: HandClock) -> Panel:
    return Panel(store, clock, "{}")


def approved(at: Panel, **request: Any) -> Proposal:
    """Return a call that ann said yes to."""
    known = {one.name for one in at.queue.reviewers.accounts()}
    if "ann" not in known:
        at.ann = at.add("ann", Role.APPROVER)  # type: ignore[attr-defined]
    return at.yes(at.desk.propose(request=at.desk.request(**request)), at.ann)  # type: ignore[attr-defined]


def run(at: Panel, proposal: Proposal) -> tuple[State, int]:
    effects = list[str]()
    outcome = Executor(at.queue, wait=WAIT).run(proposal.id, lambda args, key: effects.append(key))
    return outcome.state, len(effects)


WHO: dict[str, tuple[Role, ...]] = {
    "ann": (),  # who said yes
    "approver": (Role.APPROVER,),
    "responder": (Role.RESPONDER,),
    "administrator": (Role.ADMINISTRATOR,),
    "bob": (Role.VIEWER,),  # who asked for it
    "stand-in": (Role.VIEWER,),  # of somebody who may
}


@pytest.mark.parametrize("name", WHO)
def test_who_may_take_an_approval_back(at: Panel, name: str) -> None:
    row = approved(at)
    who = at.ann if name == "ann" else at.add(name, *WHO[name])  # type: ignore[attr-defined]
    if name == "stand-in":
        hands = Delegations(at.store, at.clock, at.queue.reviewers)
        hands.give(at.boss, "stand-in", reason="on holiday", expires_at=at.clock() + 3_600_000_000)
    assert at.queue.endorsements("t") == [MAIL]
    assert may_revoke(at.queue, row, who)
    done = revoke(at.queue, row.id, who, NOTE, channel="cli")
    assert (done.state, done.code, done.note, done.decided_by) == (State.REVOKED, "revoked", NOTE, f"reviewer:{name}")
    (event,) = at.events(row, "proposal.revoked")
    assert (event["from"], event["by"], event["note"], event["channel"]) == ("approved", done.decided_by, NOTE, "cli")
    assert run(at, row) == (State.REVOKED, 0)
    assert at.queue.endorsements("t") == [], "or the same call would run unasked"
    assert not may_revoke(at.queue, done, who)
    with pytest.raises(ConflictError, match="is revoked by") as caught:
        revoke(at.queue, row.id, who)
    assert caught.value.cause is Cause.ALREADY_REVOKED
    assert verify(at.store).ok


@pytest.mark.parametrize(
    ("roles", "scope"),
    [
        ((Role.VIEWER,), Scope()),
        ((Role.AUDITOR, Role.BREAKER, Role.REVEALER), Scope()),
        ((Role.ADMINISTRATOR,), Scope(tools=("pay",))),
        ((Role.APPROVER,), Scope(tools=("pay",))),
    ],
)
def test_nobody_else_may(at: Panel, roles: tuple[Role, ...], scope: Scope) -> None:
    row, eve = approved(at), at.add("eve", *roles, scope=scope)
    assert not may_revoke(at.queue, row, eve)
    with pytest.raises(NotAllowedError):
        revoke(at.queue, row.id, eve)
    assert at.queue.endorsements("t") == [MAIL]
    at.queue.reviewers.disable("ann", by=at.boss)
    with pytest.raises(CredentialError):
        revoke(at.queue, row.id, at.ann)  # type: ignore[attr-defined]
    assert not may_revoke(at.queue, row, at.ann)  # type: ignore[attr-defined]
    assert at.queue.get(row.id) == row


def test_an_administrator_takes_back_whatever_the_amount(at: Panel) -> None:
    """A limit of amounts is one of a yes, and nobody says yes here."""
    few = at.add("few", Role.ADMINISTRATOR, scope=Scope(max_amount=Decimal(100)))
    request = ActionRequest.build("pay", {"sum": "500"}, thread="t", call_id="c1", requester="bob")
    report = ArgumentReport("sum", "amount", "number", sufficient=False, origins=())
    row = at.queue.propose(request, replace(at.decision(), action="pay", arguments=(report,)))
    row = at.yes(row, at.boss)
    assert may_revoke(at.queue, row, few)
    assert revoke(at.queue, row.id, few).state is State.REVOKED


def test_who_asked_takes_it_back_through_a_program(at: Panel) -> None:
    row, unknown = approved(at), at.desk.propose(ALLOW, request=at.desk.request(requester="ma\u0456l"))
    for name in ("ann", "", "b\u043eb", "bob2"):
        with pytest.raises(NotAllowedError, match="not asked for in your name"):
            revoke_own(at.queue, row.id, name)
    with pytest.raises(NotAllowedError, match="not asked for in your name"):
        revoke_own(at.queue, unknown.id, "ma\u0456l")
    done = revoke_own(at.queue, row.id, "bob", NOTE)
    assert (done.state, done.decided_by, done.note) == (State.REVOKED, "client:bob", NOTE)
    assert run(at, row) == (State.REVOKED, 0)


def test_words_that_no_database_keeps_change_nothing(at: Panel) -> None:
    row = approved(at)
    with pytest.raises(QueueError, match="cannot be kept"):
        revoke(at.queue, row.id, at.boss, "\ud800")
    assert at.queue.get(row.id) == row


def ran(at: Panel) -> Proposal:
    row = approved(at)
    run(at, row)
    return at.queue.get(row.id)


def lapsed(at: Panel) -> Proposal:
    row = approved(at)
    at.clock.advance(hours=2)
    return row


def rejected(at: Panel) -> Proposal:
    return at.queue.reject(at.desk.propose().id, at.boss)


TOO_EARLY_OR_LATE: dict[str, tuple[Callable[[Panel], Proposal], str, Cause]] = {
    "waits": (lambda at: at.desk.propose(), "nobody has approved", Cause.QUORUM_OPEN),
    "ran": (ran, "this call has run", Cause.ALREADY_SUCCEEDED),
    "over": (lapsed, "is lapsed", Cause.ALREADY_LAPSED),
    "rejected": (rejected, "is rejected by boss", Cause.ALREADY_REJECTED),
    "denied": (lambda at: at.desk.propose(DENY), "is denied", Cause.ALREADY_DENIED),
    "observed": (lambda at: at.desk.propose(observe=True), "observe mode", Cause.CONFLICT),
}


@pytest.mark.parametrize("when", TOO_EARLY_OR_LATE)
def test_only_what_is_approved_is_taken_back(at: Panel, when: str) -> None:
    make, text, cause = TOO_EARLY_OR_LATE[when]
    row = make(at)
    with pytest.raises(ConflictError, match=text) as caught:
        revoke(at.queue, row.id, at.boss)
    assert caught.value.cause is cause
    assert not may_revoke(at.queue, at.queue.get(row.id), at.boss)
    assert at.events(row, "proposal.revoked") == []
    assert verify(at.store).ok


def test_a_call_that_has_begun_goes_on(at: Panel) -> None:
    row = approved(at)

    def effect(args: dict[str, Any], key: str) -> str:
        with pytest.raises(ConflictError, match="this call has begun") as caught:
            revoke(at.queue, row.id, at.boss)
        assert (caught.value.cause, "undo" in caught.value.remedy) == (Cause.ALREADY_EXECUTING, True)
        assert not may_revoke(at.queue, at.queue.get(row.id), at.boss)
        return "sent"

    outcome = Executor(at.queue, wait=WAIT).run(row.id, effect)
    assert (outcome.state, outcome.result) == (State.SUCCEEDED, "sent")
    assert at.queue.endorsements("t") == [MAIL]


@pytest.mark.parametrize("step", ["read", "revalidated"])
def test_an_approval_that_is_taken_back_while_the_claim_is_on_its_way_does_not_run(at: Panel, step: str) -> None:
    row, effects = approved(at), list[str]()

    def take_back(name: str) -> None:
        if name == step:
            revoke(at.queue, row.id, at.boss)

    executor = Executor(at.queue, wait=WAIT, on_step=take_back)
    outcome = executor.run(row.id, lambda args, key: effects.append(key))
    assert (outcome.state, effects) == (State.REVOKED, [])


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Do several things at the same moment; return what each returned, or its error."""
    start = Barrier(len(works))

    def do(work: Callable[[], Any]) -> Any:
        start.wait()
        try:
            return work()
        except ApprovalError as error:
            return error

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(do, works))


def test_of_a_claim_and_a_revocation_exactly_one_gets_the_permit(at: Panel) -> None:
    for number in range(6):
        row = approved(at, thread=f"t{number}")
        (state, effects), taken = at_once(partial(run, at, row), partial(revoke, at.queue, row.id, at.boss))
        if isinstance(taken, ConflictError):
            assert (state, effects, at.queue.get(row.id).state) == (State.SUCCEEDED, 1, State.SUCCEEDED)
            assert at.events(row, "proposal.revoked") == []
        else:
            assert (state, effects, at.queue.get(row.id).state) == (State.REVOKED, 0, State.REVOKED)
            assert at.events(row, "attempt.intent") == []
    assert verify(at.store).ok


def test_of_many_who_take_it_back_at_once_one_does(at: Panel) -> None:
    row, people = approved(at), [at.add(f"p{number}", Role.RESPONDER) for number in range(4)]
    done = at_once(*(partial(revoke, at.queue, row.id, who) for who in people))
    assert sorted(isinstance(one, ConflictError) for one in done) == [False, True, True, True]
    assert len(at.events(row, "proposal.revoked")) == 1
    assert verify(at.store).ok


def test_the_same_call_is_not_asked_about_again_until_the_user_speaks(at: Panel) -> None:
    row = approved(at)
    revoke(at.queue, row.id, at.boss)
    again = at.desk.propose()
    assert (again.digest, again.state, again.rule) == (row.digest, State.DENIED, "refused-before")
    assert row.id in again.remedy


def test_a_permit_that_a_rule_gave_can_be_taken_back_too(at: Panel) -> None:
    row = at.desk.propose(ALLOW)
    assert revoke(at.queue, row.id, at.boss).state is State.REVOKED
    assert run(at, row) == (State.REVOKED, 0)


def test_a_broken_glass_is_taken_back_and_still_looked_at(store: Store, clock: HandClock) -> None:
    desk = busy(store, clock)
    row = desk.propose()
    broken(desk, add(desk, "eve", Role.BREAKER), row)
    done = revoke(desk.queue, row.id, desk.reviewer, NOTE)
    assert (done.state, done.note) == (State.REVOKED, NOTE)
    (look,) = looks(desk).list()
    assert look.is_open
    looks(desk).close(row.id, add(desk, "cem"), "it was taken back before anything had happened")
    assert verify(store).ok


def test_channels_are_told(at: Panel) -> None:
    row = approved(at)
    revoke(at.queue, row.id, at.boss)
    found, _ = Outbox(at.store, at.clock).after(0)
    assert "revoked" in KINDS
    assert [item.kind for item in found if item.proposal is not None and item.proposal.id == row.id] == [
        "asked",
        "approved",
        "revoked",
    ]


@pytest.mark.parametrize("by_hand", [State.APPROVED, State.REVOKED])
def test_a_state_that_was_written_by_hand_is_found_and_runs_nothing(at: Panel, by_hand: State) -> None:
    row = approved(at)
    if by_hand is State.APPROVED:
        revoke(at.queue, row.id, at.boss)
    with at.store.write() as connection:
        mine = sa.update(proposals).where(proposals.c.id == row.id)
        connection.execute(mine.values(state=by_hand.value, version=row.version + (by_hand is State.REVOKED)))
    if by_hand is State.APPROVED:
        with pytest.raises(Corrupt):
            run(at, row)
    else:
        assert run(at, row) == (State.REVOKED, 0)
    assert "row_differs" in {finding.code for finding in verify(at.store).findings}
