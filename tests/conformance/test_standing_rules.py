"""Standing rules in the store: made, confirmed, used up, ended, compared with their events; on every database."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.clock import micros
from checkvalve.approvals.errors import (
    ConflictError,
    NotAllowedError,
    NotFoundError,
    StandingRuleError,
    StoreCorruptError,
)
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.review_tables import standing_rules
from checkvalve.approvals.standing_draft import Widening
from checkvalve.approvals.tables import uses
from checkvalve.approvals.verify import verify
from tests.approvals.standing_world import IBAN, PARTNER, World, standing_world

OPEN = Widening(anything=("body",))


@pytest.fixture
def world(url: str, tmp_path: Path) -> Iterator[World]:
    with standing_world(tmp_path, database_url=url) as opened:
        yield opened


def kinds(world: World, subject: str) -> list[str]:
    with world.gateway.store.read() as connection:
        return [event.kind for event in audit.read_events(connection, subject=subject)]


def found(world: World) -> list[str]:
    return [item.code for item in verify(world.gateway.store).findings]


def run_checked(world: World, number: str = "") -> State:
    """Propose and run a call of the rule's with everything checked again before the effect."""
    session = world.session(f"checked{number}")
    call = world.call(to=PARTNER, body="anything else")
    proposal = session.propose(call)
    check = session.revalidation(call)
    return world.gateway.executor.run(proposal.id, lambda args, key: "sent", revalidate=check).state


@pytest.mark.claim("C4")
def test_it_counts_for_nothing_before_a_second_person_confirmed_it(world: World) -> None:
    rules = world.gateway.queue.standing_rules
    made = rules.make(world.succeeded().id, OPEN, world.ann)
    assert (made.state, rules.in_force("send_mail")) == ("waiting", [])
    assert world.ask(to=PARTNER, body="x").state is State.PENDING
    with pytest.raises(NotAllowedError, match="yourself"):
        rules.confirm(made.id, world.ann)
    assert rules.confirm(made.id, world.ben).state == "in force"
    with pytest.raises(ConflictError, match="in force"):
        rules.confirm(made.id, world.cleo)
    answered = world.ask(to=PARTNER, body="x")
    assert (answered.state, answered.rule) == (State.APPROVED, f"standing:{made.id}")
    assert kinds(world, made.id) == ["standing.made", "standing.confirmed", "standing.used"]
    assert found(world) == []


def test_what_was_asked_and_why_stays_in_the_record(world: World) -> None:
    made = world.rule(anything=("body",))
    answered = world.ask(to=PARTNER, body="x")
    told = answered.decision
    assert told["standing"] == {
        "id": made.id,
        "rule": "untrusted-target",
        "reason": "untrusted-target",
        "remedy": "let the user name the destination, or take it from a field that outsiders cannot write",
    }
    (to,) = [item for item in told["arguments"] if isinstance(item, dict) and item["path"] == "to"]  # type: ignore[union-attr]
    assert to["sufficient"] is False
    grant = world.gateway.queue.grant(answered.id)
    assert grant is not None
    assert grant.issued_by == f"rule:standing:{made.id}"


def test_it_runs_with_everything_checked_again_and_is_used_up_call_by_call(world: World) -> None:
    made = world.rule(anything=("body",), max_calls=2, per_day=2)
    assert [run_checked(world, str(number)) for number in range(3)] == [
        State.SUCCEEDED,
        State.SUCCEEDED,
        State.PENDING,
    ]
    assert world.gateway.queue.standing_rules.find(made.id).state == "used up"
    assert found(world) == []


@pytest.mark.claim("C4")
def test_of_racing_calls_one_gets_the_last_use(world: World) -> None:
    world.rule(anything=("body",), max_calls=1, per_day=1)
    sessions = [world.session(f"race{number}") for number in range(4)]
    calls = [world.call(to=PARTNER, body=f"text {number}") for number in range(4)]
    start, ended = threading.Barrier(4), list[State]()

    def race(number: int) -> None:
        start.wait()
        ended.append(sessions[number].propose(calls[number]).state)

    threads = [threading.Thread(target=race, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ended) == [State.APPROVED, State.PENDING, State.PENDING, State.PENDING]
    assert found(world) == []


@pytest.mark.claim("C4")
def test_a_rule_that_was_taken_back_stops_a_call_that_has_its_permit(world: World) -> None:
    made = world.rule(anything=("body",))
    answered = world.ask(to=PARTNER, body="x")
    world.gateway.queue.standing_rules.revoke(made.id, world.cleo)
    assert world.run(answered) is State.INVALIDATED
    assert world.ask(to=PARTNER, body="y").state is State.PENDING
    with pytest.raises(ConflictError, match="revoked"):
        world.gateway.queue.standing_rules.revoke(made.id, world.cleo)
    assert kinds(world, made.id)[-1] == "standing.revoked"
    assert found(world) == []


def test_a_call_that_never_ran_gives_its_use_back(world: World) -> None:
    made = world.rule(anything=("body",), max_calls=1, per_day=1)
    world.gateway.queue.invalidate(world.ask(to=PARTNER, body="x").id, "test")
    assert world.gateway.queue.standing_rules.find(made.id).calls_left == 1
    assert world.ask(to=PARTNER, body="y").state is State.APPROVED


@pytest.mark.claim("C4")
def test_amounts_are_capped_for_each_call_and_together(world: World) -> None:
    paid = world.succeeded("pay", to=IBAN, amount=60)
    world.rule(paid, up_to=(("amount", "100"),), max_total="150", per_day=5)
    states = [world.ask("pay", to=IBAN, amount=amount).state for amount in (100.5, 100, 51, 50, 0.01)]
    assert states == [State.PENDING, State.APPROVED, State.PENDING, State.APPROVED, State.PENDING]


def test_it_ends_at_its_deadline_and_the_log_says_so(world: World) -> None:
    made = world.rule(anything=("body",), days=1)
    rules = world.gateway.queue.standing_rules
    late = rules.as_of(made.expires_at, "")
    assert late.in_force("send_mail") == []
    assert rules.as_of(made.expires_at - 1, "").in_force("send_mail") != []
    assert late.sweep() == 1
    assert (late.find(made.id).state, kinds(world, made.id)[-1]) == ("expired", "standing.expired")
    assert found(world) == []


def test_a_damaged_rule_is_in_the_way_of_no_other_ones_end(world: World) -> None:
    asked = world.succeeded()
    bad, good = (world.rule(asked, anything=("body",), days=days) for days in (1, 2))
    with world.gateway.store.write() as connection:
        connection.execute(sa.update(standing_rules).where(standing_rules.c.id == bad.id).values(made_by="eve"))
    late = world.gateway.queue.standing_rules.as_of(good.expires_at, "")
    assert late.sweep() == 1
    assert [item.ended_by for item in late.list()] == ["", "clock"]
    assert found(world) == ["row_differs"]


def test_it_is_for_its_requester_unless_it_says_anybody_and_never_for_who_agreed(world: World) -> None:
    asked = world.succeeded()
    world.rule(asked, anything=("body",))
    assert world.ask(requester="somebody", to=PARTNER, body="x").state is State.PENDING
    world.rule(asked, anything=("body",), anybody=True, per_day=10)
    names = ("somebody", "ann", "Ben", "", "\u0430nn")
    states = [world.ask(requester=name, to=PARTNER, body="x").state for name in names]
    assert states == [State.APPROVED, State.PENDING, State.PENDING, State.PENDING, State.PENDING]


def test_rules_of_another_tenant_are_none_of_ours(url: str, tmp_path: Path) -> None:
    with standing_world(tmp_path, database_url=url, tenant="one") as first:
        made = first.rule(anything=("body",))
        other = Queue(first.gateway.store, first.gateway.queue.clock, tenant="two")
        assert other.standing_rules.in_force("send_mail") == []
        assert other.standing_rules.list() == []
        with pytest.raises(NotFoundError):
            other.standing_rules.find(made.id)
        with pytest.raises(ConflictError):
            other.standing_rules.revoke(made.id, first.ben)


@pytest.mark.claim("C5")
@pytest.mark.parametrize(
    "edit",
    [
        {"body": "wider"},
        {"expires_at": 4_000_000_000_000_000},
        {"confirmed_by": "cleo"},
        {"made_by": "cleo"},
        {"tenant": "other"},
        {"version": 9},
        {"ended_at": None, "ended_by": "nobody"},
    ],
)
def test_an_edited_row_is_found_and_counts_for_nothing(world: World, edit: dict[str, object]) -> None:
    made = world.rule(anything=("body",))
    values = dict(edit)
    with world.gateway.store.write() as connection:
        if edit.get("body") == "wider":
            body = connection.execute(sa.select(standing_rules.c.body)).scalar_one()
            values["body"] = body.replace("desk@partner.example", "desk@evil.example")
        connection.execute(sa.update(standing_rules).values(**values))
    assert "row_differs" in found(world)
    target = "desk@evil.example" if edit.get("body") == "wider" else PARTNER
    if "tenant" in edit:
        assert world.ask(to=target, body="x").state is State.PENDING
    else:
        with pytest.raises(StoreCorruptError):
            world.ask(to=target, body="x")
    assert made.state == "in force"


@pytest.mark.claim("C5")
def test_a_planted_rule_and_a_planted_or_removed_use_are_found(world: World) -> None:
    made = world.rule(anything=("body",))
    used = world.ask(to=PARTNER, body="x")
    with world.gateway.store.write() as connection:
        connection.execute(sa.delete(uses).where(uses.c.proposal_id == used.id))
    assert "row_differs" in found(world)
    with world.gateway.store.write() as connection:
        row = dict(connection.execute(sa.select(standing_rules)).mappings().one())
        planted = {**row, "id": "00000000-0000-4000-8000-000000000000"}
        connection.execute(sa.insert(standing_rules).values(planted))
        connection.execute(sa.delete(standing_rules).where(standing_rules.c.id == made.id))
    assert {"row_missing", "row_differs"} <= set(found(world))
    with pytest.raises(StoreCorruptError):
        world.ask(to=PARTNER, body="y")


def test_the_setting_says_how_many_people_and_off_ends_the_effect_of_all(world: World) -> None:
    rules = world.gateway.queue.standing_rules
    asked = world.succeeded()
    rules.mode = "one"
    alone = rules.make(asked.id, OPEN, world.ann)
    assert (alone.state, alone.confirmed_by) == ("in force", "ann")
    rules.mode = "two"
    assert rules.find(alone.id).state == "waiting"
    assert world.ask(to=PARTNER, body="x").state is State.PENDING
    assert rules.confirm(alone.id, world.ben).state == "in force"
    rules.mode = "off"
    assert rules.in_force("send_mail") == ()
    with pytest.raises(NotAllowedError, match="switched off"):
        rules.make(asked.id, OPEN, world.ann)


@pytest.mark.claim("C4")
def test_only_a_call_that_a_person_approved_and_that_succeeded_makes_a_rule(world: World) -> None:
    rules = world.gateway.queue.standing_rules
    pending = world.ask(to=PARTNER, body="x")
    approved = world.approve(world.ask(to=PARTNER, body="y"))
    failed = world.approve(world.ask(to=PARTNER, body="z"))
    world.gateway.executor.run(failed.id, lambda args, key: 1 // 0)
    rejected = world.ask(to="desk@other.example", body="x")
    world.gateway.queue.reject(rejected.id, world.ann)
    world.rule(anything=("body",))
    by_rule = world.ask(to=PARTNER, body="w")
    assert world.run(by_rule) is State.SUCCEEDED
    for proposal in (pending, approved, failed, rejected, by_rule):
        with pytest.raises(StandingRuleError, match="no standing rule can be made of this call"):
            rules.make(proposal.id, OPEN, world.ann)
    assert len(rules.list()) == 1


def test_whoever_asked_makes_no_rule_of_it_and_confirms_none(world: World) -> None:
    rules = world.gateway.queue.standing_rules
    asked = world.ask(requester="Ben", to=PARTNER, body="x")
    world.approve(asked)
    world.run(asked)
    with pytest.raises(NotAllowedError, match="yourself"):
        rules.make(asked.id, OPEN, world.ben)
    made = rules.make(asked.id, OPEN, world.ann)
    with pytest.raises(NotAllowedError, match="yourself"):
        rules.confirm(made.id, world.ben)
    assert rules.confirm(made.id, world.cleo).state == "in force"


def test_what_people_refused_since_it_was_made_stops_the_confirmation(world: World) -> None:
    rules = world.gateway.queue.standing_rules
    asked = world.succeeded()
    made = rules.make(asked.id, OPEN, world.ann)
    refused = world.ask(to=PARTNER, body="please wire the money")
    world.gateway.queue.reject(refused.id, world.cleo)
    with pytest.raises(ConflictError, match="people refused 1"):
        rules.confirm(made.id, world.ben)
    with pytest.raises(ConflictError, match="people refused 1"):
        rules.make(asked.id, OPEN, world.ann)
    tight = rules.make(asked.id, Widening(), world.ann)
    assert rules.confirm(tight.id, world.ben).state == "in force"


def test_a_sliding_day_holds_the_number_of_calls(world: World) -> None:
    made = world.rule(anything=("body",), max_calls=10, per_day=2)
    states = [world.ask(to=PARTNER, body=str(number)).state for number in range(3)]
    assert states == [State.APPROVED, State.APPROVED, State.PENDING]
    rules = world.gateway.queue.standing_rules
    now = world.gateway.queue.clock()
    (then,) = rules.as_of(now + micros(timedelta(hours=23)), "").in_force("send_mail")
    (later,) = rules.as_of(now + micros(timedelta(hours=25)), "").in_force("send_mail")
    assert (made.id, then.calls_left, later.calls_left) == (then.id, 0, 2)
