"""The rights behind a permit, counted again right before the effect, on every database."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit, rights
from checkvalve.approvals.errors import OutcomeUnknownError, StoreCorruptError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_tables import plans, votes
from checkvalve.approvals.roles import Role, Scope
from checkvalve.approvals.store import Store
from checkvalve.approvals.subjectrows import read
from checkvalve.approvals.tables import reviewers as reviewer_rows
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.verify import verify
from tests.approvals.emergency import add, broken, busy
from tests.approvals.made import ALLOW, Desk, HandClock
from tests.conformance.test_votes import TWO, Panel

pytestmark = pytest.mark.claim("C4")

WAIT = timedelta()
Change = Callable[[Panel], object]


@pytest.fixture
def one(store: Store, clock: HandClock) -> Panel:
    """One yes is enough."""
    return Panel(store, clock, "{}")


@pytest.fixture
def two(store: Store, clock: HandClock) -> Panel:
    """Two people have to say yes."""
    return Panel(store, clock, TWO)


def run(at: Panel, proposal: Proposal) -> tuple[State, str, int]:
    """Let a call run; return its state, its code, and how often its effect happened."""
    effects = list[str]()

    def effect(args: dict[str, Any], key: str) -> str:
        effects.append(key)
        return "sent"

    found = Executor(at.queue, wait=WAIT).run(proposal.id, effect).proposal
    return found.state, found.code, len(effects)


def gone(at: Panel, proposal: Proposal) -> list[Any]:
    """Return what the event of the end says of whose yes is gone."""
    (body,) = at.events(proposal, "proposal.invalidated")
    return list(body["gone"])


def approved(at: Panel, *names: str) -> Proposal:
    """Propose a call, and let new reviewers say yes to it, one after the other."""
    proposal = at.desk.propose()
    for name in names:
        at.yes(proposal, at.add(name))
    assert at.queue.get(proposal.id).state is State.APPROVED
    return proposal


VOID = (State.INVALIDATED, "rights_gone", 0)
RAN = (State.SUCCEEDED, "returned", 1)
LOSSES: dict[str, tuple[Change, str]] = {
    "disabled": (lambda at: at.queue.reviewers.disable("ann", by=at.boss), "disabled"),
    "other role": (lambda at: at.queue.reviewers.set_roles("ann", [Role.VIEWER], by=at.boss), "role"),
    "may only say no": (lambda at: at.queue.reviewers.set_roles("ann", [Role.RESPONDER], by=at.boss), "role"),
    "other tool": (
        lambda at: at.queue.reviewers.set_roles("ann", [Role.APPROVER], by=at.boss, scope=Scope(tools=("pay",))),
        "scope",
    ),
    "other tenant": (
        lambda at: at.queue.reviewers.set_roles("ann", [Role.APPROVER], by=at.boss, scope=Scope(tenants=("x",))),
        "scope",
    ),
    "now who asked": (lambda at: at.add("bob", person="ann"), "asked"),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_permit_ends_with_the_right_of_who_gave_it(one: Panel, loss: str) -> None:
    change, why = LOSSES[loss]
    proposal = approved(one, "ann")
    assert one.queue.endorsements("t")
    change(one)
    assert run(one, proposal) == VOID
    assert gone(one, proposal) == [{"reviewer": "ann", "why": why}]
    assert one.queue.get(proposal.id).note == f"no yes any more: ann ({why})"
    assert run(one, proposal) == VOID
    assert one.queue.endorsements("t") == [], "what that yes accepted would let the same call run unasked"
    assert verify(one.store).ok


@pytest.mark.parametrize("loss", sorted(LOSSES.keys() - {"disabled", "now who asked"}))
def test_a_right_that_came_back_in_time_counts(one: Panel, loss: str) -> None:
    proposal = approved(one, "ann")
    LOSSES[loss][0](one)
    one.queue.reviewers.set_roles("ann", [Role.APPROVER], by=one.boss)
    assert run(one, proposal) == RAN


def test_what_is_left_of_a_quorum_decides(two: Panel) -> None:
    """A third yes cannot come any more, so two that count have to be left of two that were needed."""
    proposal = approved(two, "ann", "ben")
    two.queue.reviewers.disable("ben", by=two.boss)
    assert run(two, proposal) == VOID
    assert gone(two, proposal) == [{"reviewer": "ben", "why": "disabled"}]


def test_one_of_two_ways_that_were_filled_is_enough(store: Store, clock: HandClock) -> None:
    """Whoever filled a place that another one can fill is not missed."""
    at = Panel(store, clock, "everywhere: {approve: [{approver: 1, auditor: 1}, {approver: 2}]}")
    proposal = at.desk.propose()
    at.yes(proposal, at.add("ann", Role.APPROVER))
    at.yes(proposal, at.add("ben", Role.APPROVER, Role.AUDITOR))
    at.queue.reviewers.set_roles("ben", [Role.AUDITOR], by=at.boss)
    assert run(at, proposal) == RAN


def test_more_yeses_than_needed_make_up_for_one_that_is_gone(store: Store, clock: HandClock) -> None:
    """Where a deny threshold keeps the question open, or roles differ, more people than needed may have said yes."""
    at = Panel(store, clock, "everywhere: {approve: [{approver: 1, auditor: 1}]}")
    proposal = at.desk.propose()
    for name in ("ann", "ben"):
        at.yes(proposal, at.add(name, Role.APPROVER))
    at.yes(proposal, at.add("cem", Role.AUDITOR))
    at.queue.reviewers.disable("ann", by=at.boss)
    assert run(at, proposal) == RAN


@pytest.mark.parametrize("why", ["disabled", "role", "asked", ""])
def test_a_broken_glass_rests_on_who_broke_it(store: Store, clock: HandClock, why: str) -> None:
    desk = busy(store, clock)
    eve, row = add(desk, "eve", Role.BREAKER), desk.propose()
    broken(desk, eve, row)
    if why == "disabled":
        desk.queue.reviewers.disable("eve", by=desk.reviewer)
    elif why == "role":
        desk.queue.reviewers.set_roles("eve", [Role.APPROVER], by=desk.reviewer)
    elif why == "asked":
        add(desk, "bob", person="eve")
    found = Executor(desk.queue, wait=WAIT).run(row.id, lambda args, key: "sent").proposal
    assert found.state is (State.INVALIDATED if why else State.SUCCEEDED)
    with store.read() as connection:
        events = [json.loads(event.body) for event in audit.read_events(connection, subject=row.id)]
    assert events[-1].get("gone") == ([{"reviewer": "eve", "why": why}] if why else None)


def test_a_call_that_a_rule_allowed_rests_on_nobody(one: Panel) -> None:
    proposal = one.desk.propose(ALLOW)
    assert run(one, proposal) == RAN


def test_a_read_whose_outcome_is_unknown_is_not_tried_again_without_its_right(one: Panel) -> None:
    proposal = one.desk.propose(idempotency=Idempotency.READ)
    one.yes(proposal, one.add("ann"))

    def cut_off(args: dict[str, Any], key: str) -> str:
        raise OutcomeUnknownError("the line was cut", remedy="look")

    executor = Executor(one.queue, wait=WAIT)
    assert executor.run(proposal.id, cut_off).state is State.UNKNOWN
    one.queue.reviewers.disable("ann", by=one.boss)
    assert run(one, proposal) == (State.UNKNOWN, "cut_off", 0)


def test_an_own_yes_counts_only_as_it_was_recorded(store: Store, clock: HandClock) -> None:
    at = Panel(store, clock, "{}", single_user=True)
    proposal = at.desk.propose(request=at.desk.request(requester="boss"))
    assert at.yes(proposal, at.boss).self_approved
    assert run(at, proposal) == RAN


@pytest.mark.parametrize("enabled", [True, False])
def test_an_account_that_was_written_by_hand_stops_the_call_and_voids_nothing(one: Panel, enabled: bool) -> None:
    """A row that says otherwise than the log: nobody is taken for enabled, or for disabled, because of it."""
    proposal = approved(one, "ann")
    if enabled:
        one.queue.reviewers.disable("ann", by=one.boss)
    with one.store.write() as connection:
        by_hand = sa.update(reviewer_rows).where(reviewer_rows.c.name == "ann")
        connection.execute(by_hand.values(disabled_at=None if enabled else 1))
    with pytest.raises(StoreCorruptError, match="not what the events say"):
        run(one, proposal)
    assert one.queue.get(proposal.id).state is State.APPROVED


def test_an_account_that_was_removed_by_hand_stops_the_call(one: Panel) -> None:
    proposal = approved(one, "ann")
    with one.store.write() as connection:
        connection.execute(sa.delete(reviewer_rows).where(reviewer_rows.c.name == "ann"))
    with pytest.raises(StoreCorruptError, match="not there any more"):
        run(one, proposal)
    assert one.queue.get(proposal.id).state is State.APPROVED


@pytest.mark.parametrize("step", ["read", "revalidated"])
def test_who_is_disabled_while_the_claim_is_on_its_way_counts_no_more(one: Panel, step: str) -> None:
    proposal, ran = approved(one, "ann"), list[str]()

    def disable(name: str) -> None:
        if name == step:
            one.queue.reviewers.disable("ann", by=one.boss)

    executor = Executor(one.queue, wait=WAIT, on_step=disable)
    outcome = executor.run(proposal.id, lambda args, key: ran.append("ran"))
    assert (outcome.state, outcome.proposal.code, ran) == (*VOID[:2], [])


def test_disabling_and_claiming_at_once_end_in_an_order_that_the_log_has(one: Panel) -> None:
    """Whichever comes first in the log: nothing runs of which the log says that its right had ended before."""
    for number in range(6):
        name = f"ann{number}"
        proposal, start = approved(one, name), Barrier(2)

        def claim(proposal: Proposal = proposal, start: Barrier = start) -> State:
            start.wait()
            return run(one, proposal)[0]

        def disable(name: str = name, start: Barrier = start) -> None:
            start.wait()
            one.queue.reviewers.disable(name, by=one.boss)

        with ThreadPoolExecutor(2) as pool:
            running, disabling = pool.submit(claim), pool.submit(disable)
            state, _ = running.result(), disabling.result()
        with one.store.read() as connection:
            events = [(event.kind, event.subject) for event in audit.read_events(connection)]
        began = [place for place, (kind, of) in enumerate(events) if kind == "attempt.intent" and of == proposal.id]
        ended = max(place for place, (kind, _) in enumerate(events) if kind == "reviewer.disabled")
        assert bool(began) == (state is State.SUCCEEDED)
        assert not began or began[0] < ended
    assert verify(one.store).ok


def test_a_permit_of_a_version_that_kept_no_votes_rests_on_who_gave_it(desk: Desk) -> None:
    """Votes and plan of an older version's permit are not there: who issued it has to be an approver still."""
    proposal = desk.approve(desk.propose())
    cem = add(desk, "cem")
    with desk.queue.store.write() as connection:
        for table in (plans, votes):
            connection.execute(sa.delete(table).where(table.c.proposal_id == proposal.id))
        held = read(connection, proposal.id)
        assert not rights.lost(connection, proposal, held, at=desk.clock())
    desk.queue.reviewers.set_roles("ann", [Role.ADMINISTRATOR], by=cem)
    with desk.queue.store.read() as connection:
        lost = rights.lost(connection, proposal, read(connection, proposal.id), at=desk.clock())
    assert lost == [rights.Gone("ann", "role")]
