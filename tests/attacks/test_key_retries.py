"""Attack: a second try is got where there must be none, or is made to send something else, or once more than it may."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import sqlalchemy as sa

from checkvalve.approvals.claims import Claim, Claims
from checkvalve.approvals.endorsements import Use
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.executor import LEASE, Executor
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.retries import INTENT, MAX_TRIES
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import attempts, events, grants, proposals
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.verdicts import Deny
from checkvalve.filters.strictjson import JSON
from tests.approvals.made import ALLOW, Desk, HandClock, decided
from tests.gateway.probe_world import CONFIG, MANIFEST, PAY, Bank

pytestmark = pytest.mark.claim("C4")
KEY, NONE = Idempotency.KEY, Idempotency.NONE


class Bench:
    """A desk, and what was sent. ``lost`` says that the answer to what is sent gets lost."""

    def __init__(self, store: Store) -> None:
        self.clock = HandClock()
        self.desk = Desk.at(store, self.clock)
        self.sent: list[tuple[str, str]] = []
        self.lost = True

    def effect(self, args: dict[str, JSON], key: str) -> JSON:
        self.sent.append((key, str(args)))
        if self.lost:
            raise TimeoutError
        return "sent"

    def run(self, row: Proposal, **more: Any) -> State:
        return Executor(self.desk.queue, wait=timedelta()).run(row.id, self.effect, **more).state

    def unknown(self, kind: Idempotency = KEY) -> Proposal:
        row = self.desk.approve(self.desk.propose(idempotency=kind))
        assert self.run(row) is State.UNKNOWN
        return row

    def change(self, statement: Any) -> None:
        with self.desk.queue.store.write() as connection:
            connection.execute(statement)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield Bench(store)


def set_class(row: Proposal) -> Any:
    """Let a tool that promises nothing look like one that knows keys."""
    return sa.update(proposals).where(proposals.c.id == row.id).values(idempotency="key")


def other_call(row: Proposal) -> Any:
    changed = row.canonical.replace(b"eve@evil", b"eve@good")
    return sa.update(proposals).where(proposals.c.id == row.id).values(canonical=changed)


def other_call_and_digest(row: Proposal) -> Any:
    other = "sha256:" + "0" * 64
    return sa.update(proposals).where(proposals.c.id == row.id).values(digest=other)


def fewer_tries(row: Proposal) -> Any:
    return sa.update(attempts).where(attempts.c.proposal_id == row.id).values(fence=1)


def other_key(row: Proposal) -> Any:
    return sa.update(attempts).where(attempts.c.proposal_id == row.id).values(idempotency_key="k" * 36)


def no_event_of_a_try(row: Proposal) -> Any:
    return sa.delete(events).where(events.c.subject == row.id, events.c.kind == INTENT)


def later_try(row: Proposal) -> Any:
    """Let the first try look like one of today."""
    return sa.update(events).where(events.c.subject == row.id, events.c.kind == INTENT).values(at=events.c.at + 10**12)


def fresh_permit(row: Proposal) -> Any:
    return sa.update(grants).where(grants.c.proposal_id == row.id).values(used_at=None)


EDITS: Final[list[Callable[[Proposal], Any]]] = [
    *(other_call, other_call_and_digest, fewer_tries, other_key, no_event_of_a_try, later_try, fresh_permit)
]


@pytest.mark.parametrize("edit", EDITS, ids=[edit.__name__ for edit in EDITS])
def test_a_record_that_was_edited_is_sent_by_no_second_try(bench: Bench, edit: Callable[[Proposal], Any]) -> None:
    row = bench.unknown()
    assert bench.run(row) is State.UNKNOWN  # a second try, so that a third would be left
    bench.change(edit(row))
    with pytest.raises(StoreCorruptError):
        bench.run(row)
    assert len(bench.sent) == 2


def test_a_call_that_was_made_without_a_promise_gets_none_later(bench: Bench) -> None:
    """What the class was is part of the record; a manifest that says `key` now changes nothing for it."""
    row = bench.unknown(NONE)
    assert bench.run(row) is State.UNKNOWN
    bench.change(set_class(row))
    with pytest.raises(StoreCorruptError):
        bench.run(row)
    assert len(bench.sent) == 1


def disabled(bench: Bench) -> None:
    reviewers = bench.desk.queue.reviewers
    other = reviewers.authenticate(reviewers.add("ben", by=bench.desk.reviewer))
    reviewers.disable(bench.desk.reviewer.name, by=other)


def only_looks(bench: Bench) -> None:
    reviewers = bench.desk.queue.reviewers
    other = reviewers.authenticate(reviewers.add("ben", by=bench.desk.reviewer))
    reviewers.set_roles(bench.desk.reviewer.name, [Role.VIEWER], by=other)


@pytest.mark.parametrize("end", [disabled, only_looks], ids=["disabled", "viewer"])
def test_a_right_that_ended_ends_the_tries(bench: Bench, end: Callable[[Bench], None]) -> None:
    row = bench.unknown()
    end(bench)
    bench.lost = False
    assert bench.run(row) is State.UNKNOWN
    assert len(bench.sent) == 1


def test_a_mandate_that_was_taken_back_ends_the_tries(bench: Bench) -> None:
    given = bench.desk.grant(max_calls=1)
    taken = replace(decided(ALLOW), uses=(Use("mandate", given.id, "1"),))
    row = bench.desk.queue.propose(bench.desk.request(), taken, idempotency=KEY)
    assert bench.run(row) is State.UNKNOWN
    assert bench.run(row) is State.UNKNOWN
    bench.desk.queue.revoke_mandate(given.id, bench.desk.reviewer)
    bench.lost = False
    assert bench.run(row) is State.UNKNOWN
    assert len(bench.sent) == 2


def test_a_policy_that_says_no_by_now_ends_the_tries(bench: Bench) -> None:
    row = bench.unknown()
    bench.lost = False
    assert bench.run(row, revalidate=lambda: Deny("unknown-tool", "unknown-tool", "declare it")) is State.UNKNOWN
    assert len(bench.sent) == 1


def test_whoever_comes_back_again_and_again_gets_no_more_tries(bench: Bench) -> None:
    row = bench.unknown()
    for _ in range(10):
        bench.run(row)
        bench.clock.advance(minutes=1)
    assert len(bench.sent) == MAX_TRIES
    assert len(set(bench.sent)) == 1


def test_a_clock_that_is_put_back_gives_no_more_tries(bench: Bench) -> None:
    row = bench.unknown()
    for _ in range(10):
        bench.clock.advance(days=-1)
        bench.run(row)
    assert len(bench.sent) <= MAX_TRIES


@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_a_promise_that_the_manifest_took_back_ends_the_tries_of_an_agent(tmp_path: Path, *, awaited: bool) -> None:
    """Whoever found out that the server pays twice says so, and starts the gateway again with that manifest."""
    plain = MANIFEST[: MANIFEST.index("    idempotency: probe")]
    first = Bank(tmp_path, plain + "    idempotency: key\n")
    first.fails = KeyboardInterrupt()
    agent = first.agent(PAY)
    first.ask(agent)
    first.approve()
    with pytest.raises(KeyboardInterrupt):
        first.resume(agent)
    first.end()
    second = Bank(tmp_path, plain)
    try:
        second.fails, second.saver = None, first.saver
        agent = second.agent(PAY)
        asyncio.run(agent.ainvoke(None, CONFIG)) if awaited else second.resume(agent)
        assert (second.row().state, second.effects) == (State.UNKNOWN, [])
    finally:
        second.end()


@pytest.mark.parametrize("column", ["fence", "lease_until", "started_at"])
def test_an_attempt_that_holds_no_number_hides_no_other_lost_call(bench: Bench, column: str) -> None:
    first, second = (bench.desk.approve(bench.desk.propose(idempotency=KEY)) for _ in range(2))
    for row in (first, second):
        assert isinstance(Claims(bench.desk.queue, LEASE, lambda _: None).take(row.id, None), Claim)
    bench.change(sa.text(f"UPDATE attempts SET {column} = 'soon' WHERE proposal_id = '{first.id}'"))
    bench.clock.advance(seconds=LEASE.total_seconds())
    damaged = list[str]()
    lost = Executor(bench.desk.queue).recover(damaged=damaged)
    assert ([row.id for row in lost], damaged) == ([second.id], [first.id])
    with pytest.raises(StoreCorruptError):
        bench.run(first)
    assert bench.sent == []
