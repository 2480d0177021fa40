"""Decide by, and execute by: both clocks hold on every surface, and one that is put back brings nothing back."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from typer.testing import CliRunner

from checkvalve.approvals.claims import Claims
from checkvalve.approvals.cli import approvals_app
from checkvalve.approvals.clock import micros
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from checkvalve.gateway.app import Gateway
from tests.approvals.made import Desk, HandClock, people
from tests.gateway.review_world import Review, reviewing
from tests.gateway.runs_world import problem, serving
from tests.gateway.test_http_approvals import Desk as Api
from tests.gateway.world import ASK, SCRIPT, World, thread
from tests.waiting import LONG

GRAPH: Any = thread("t")
DAY = micros(timedelta(days=1))
PERMIT = micros(timedelta(seconds=900))


def late(queue: Queue, by: int) -> None:
    """Let the queue's clock go on by some microseconds, or back."""
    clock = queue.clock
    queue.clock = lambda: clock() + by
    queue._intake = queue._intake.__class__(
        **{name: getattr(queue._intake, name) for name in queue._intake.__slots__} | {"clock": queue.clock}
    )


def agent_of(place: World, gateway: Gateway) -> Any:
    return place.agent(gateway, list(SCRIPT), checkpointer=InMemorySaver())


def said(state: dict[str, Any]) -> str:
    """Return the code with which the agent was told how its last call ended."""
    last = [message for message in state["messages"] if isinstance(message, ToolMessage)][-1]
    return str(last.artifact["checkvalve"]["code"])


@pytest.mark.claim("C4")
@pytest.mark.parametrize(("approved", "state"), [(False, State.EXPIRED), (True, State.LAPSED)])
def test_langchain_runs_nothing_whose_time_is_over(place: World, approved: bool, state: State) -> None:
    with place.open() as gateway:
        people(gateway.queue)
        token = gateway.queue.reviewers.add("ann")
        agent = agent_of(place, gateway)
        agent.invoke({"messages": [ASK]}, GRAPH, durability="sync")
        (row,) = gateway.queue.list([State.PENDING])
        if approved:
            gateway.queue.approve(row.id, gateway.queue.reviewers.authenticate(token), row.digest)
        late(gateway.queue, PERMIT if approved else DAY)
        ended = agent.invoke(None, GRAPH, durability="sync")
        assert gateway.queue.get(row.id).state is state
        assert said(ended) == state.value
        assert place.effects == ["read"]
        late(gateway.queue, -2 * DAY)
        assert gateway.queue.get(row.id).state is state
        assert gateway.executor.run(row.id, lambda args, key: 1 / 0).proposal.state is state
        assert verify(gateway.store).ok


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with serving(tmp_path) as found:
        yield Api(found)


@pytest.mark.claim("C4")
def test_http_decides_nothing_after_the_first_clock_and_runs_nothing_after_the_second(api: Api) -> None:
    queue = api.api.gateway.queue
    row = api.waiting()
    late(queue, DAY)
    for answer in ("approve", "reject"):
        assert problem(api.decide(row, answer)) == (410, "expired")
    told = api.get(f"/approvals/{row.id}").json()
    assert (told["state"], told["decided_by"], told["code"]) == ("expired", "clock", "expired")
    late(queue, -2 * DAY)
    assert problem(api.decide(row)) == (410, "expired")


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[Review]:
    with reviewing(tmp_path) as found:
        yield found


@pytest.mark.claim("C4")
@pytest.mark.parametrize("what", ["yes", "no"])
def test_pages_decide_nothing_after_the_first_clock(pages: Review, what: str) -> None:
    row = pages.bill()
    page = pages.card(row)
    late(pages.gateway.queue, DAY)
    refused = pages.answer(row, what, page=page)
    assert refused.status_code == 409
    late(pages.gateway.queue, -2 * DAY)
    assert pages.state(row) is State.EXPIRED
    assert pages.answer(row, what, page=page).status_code == 409
    assert "expired" in pages.card(row)


@pytest.mark.claim("C4")
def test_the_terminal_decides_nothing_after_the_first_clock(tmp_path: Path) -> None:
    url, clock = f"sqlite:///{tmp_path}/t.db", HandClock()
    with Store.open(url) as store:
        desk = Desk.at(store, clock)
        row = desk.propose()
        (tmp_path / "token").write_text(desk.token)

        def open_queue() -> Queue:
            queue = Queue(Store.open(url, create=False), clock)
            people(queue)
            return queue

        clock.advance(days=1)
        for args in (("approve", row.id, "--digest", row.digest), ("reject", row.id)):
            done = CliRunner().invoke(approvals_app(open_queue), [*args, "--token-file", str(tmp_path / "token")])
            assert done.exit_code == 1
            assert "is expired by clock" in done.output
        listed = CliRunner().invoke(approvals_app(open_queue), ["list", "--all", "--json"])
        assert [item["state"] for item in json.loads(listed.output)] == ["expired"]


@pytest.mark.claim("C4")
def test_a_permit_that_ran_out_while_the_claim_waited_for_other_writers_is_not_used(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/t.db") as store:
        desk = Desk.at(store, HandClock())
        row = desk.approve(desk.propose())
        held, go = threading.Event(), threading.Event()

        def other() -> None:
            with store.write():
                held.set()
                go.wait(LONG)
                desk.clock.advance(hours=1)  # the permit's hour is over before this writer lets go

        thread_ = threading.Thread(target=other)
        ran = list[str]()

        def step(name: str) -> None:
            if name == "revalidated":
                thread_.start()
                held.wait(LONG)
                threading.Timer(0.3, go.set).start()

        claims = Claims(desk.queue, timedelta(minutes=5), step)
        assert isinstance(claims.take(row.id, None), Outcome)
        thread_.join()
        assert desk.queue.get(row.id).state is State.LAPSED
        assert Executor(desk.queue, wait=timedelta()).run(row.id, lambda args, key: ran.append("ran")).result is None
        assert ran == []


@pytest.mark.claim("C4")
def test_a_call_that_was_decided_while_the_clock_was_ahead_runs_no_longer_than_it_said(tmp_path: Path) -> None:
    """A clock that goes back makes an open time longer by as much, and no more; nothing that ended opens again."""
    with Store.open(f"sqlite:///{tmp_path}/t.db") as store:
        desk = Desk.at(store, HandClock())
        row = desk.approve(desk.propose())
        until = desk.queue.get(row.id).execute_by
        desk.clock.advance(hours=-5)
        assert desk.queue.get(row.id).execute_by == until
        ran = Executor(desk.queue, wait=timedelta()).run(row.id, lambda args, key: "sent")
        assert ran.proposal.state is State.SUCCEEDED
        again = Executor(desk.queue, wait=timedelta()).run(row.id, lambda args, key: 1 / 0)
        assert again.result == "sent"
        assert verify(store).ok
