"""What every database must do for the queue: atomic, one winner, one chain, nothing lost by closing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.errors import ApprovalError, ConflictError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import audit_head, events, metadata
from checkvalve.approvals.verify import verify
from checkvalve.filters.labels import user_label
from checkvalve.filters.strictjson import JSON
from checkvalve.filters.tainted import Tainted
from tests.approvals.made import ALLOW, MAIL, REVIEW, Desk, HandClock

ODD = "\u00e4 \u4e2d \U0001f600 'quoted' %s \\ \x01"


def test_the_tables_are_there(store: Store) -> None:
    with store.read() as connection:
        assert set(metadata.tables) <= set(sa.inspect(connection).get_table_names())
        assert connection.execute(sa.select(audit_head.c.seq, audit_head.c.hash)).all() == [(0, "")]


def test_opening_again_keeps_everything(store: Store, url: str, desk: Desk) -> None:
    proposal = desk.propose()
    store.close()
    with Store.open(url, create=False) as again:
        assert Queue(again, desk.clock).get(proposal.id) == proposal
        assert verify(again).ok


def test_a_block_that_raises_leaves_nothing(store: Store) -> None:
    def fail() -> None:
        with store.write() as connection:
            audit.append(connection, at=1, kind="test", body={})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(events)).scalar() == 0
    assert audit.head(store).seq == 0


def test_appends_from_many_threads_make_one_chain(store: Store) -> None:
    def add(number: int) -> None:
        with store.write() as connection:
            audit.append(connection, at=number, kind="test", body={"n": number, "text": ODD})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(80)))
    report = verify(store)
    assert (report.ok, report.events, report.head) == (True, 80, audit.head(store))


def test_values_come_back_as_they_were(desk: Desk, store: Store) -> None:
    proposal = desk.propose(request=desk.request(to=ODD, thread=ODD, requester=ODD))
    assert desk.queue.get(proposal.id).args() == {"to": ODD, "n": 1}
    assert [row.thread for row in desk.queue.list(thread=ODD)] == [ODD]
    contents = SqlContentStore(store)
    for text in (ODD, "nul \x00, lone \ud800", ""):
        assert contents.get(contents.put(Tainted(text, user_label()), thread="t")).reveal()[0] == text
    contents.append_item("t", "k", "tool", {"x": [ODD, "\x00", 1.5, None]}, user_label())
    assert contents.items("t")[0].value == {"x": [ODD, "\x00", 1.5, None]}


@pytest.mark.claim("C4")
def test_one_of_many_decisions_wins(desk: Desk) -> None:
    proposal = desk.propose()

    def decide(number: int) -> str:
        try:
            return (desk.approve(proposal) if number % 2 else desk.queue.reject(proposal.id, desk.reviewer)).state
        except ConflictError:
            return ""

    with ThreadPoolExecutor(6) as pool:
        won = [state for state in pool.map(decide, range(6)) if state]
    assert won == [desk.queue.get(proposal.id).state]
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
def test_proposing_at_once_stores_one_row(desk: Desk) -> None:
    request = desk.request(call_id="same")
    with ThreadPoolExecutor(6) as pool:
        found: list[Proposal] = list(pool.map(lambda _: desk.propose(ALLOW, request=request), range(6)))
    assert len(set(map(repr, found))) == 1
    assert audit.head(desk.queue.store).seq == 3  # the reviewer, the proposal, its permit


@pytest.mark.claim("C4")
def test_many_executors_run_one_effect(desk: Desk) -> None:
    proposal = desk.propose(ALLOW)
    ran: list[str] = []

    def effect(_: dict[str, JSON], key: str) -> JSON:
        ran.append(key)
        return {"sent": ODD}

    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(lambda _: Executor(desk.queue).run(proposal.id, effect), range(6)))
    assert len(ran) == 1
    assert {outcome.state for outcome in outcomes} == {State.SUCCEEDED}
    assert [outcome.result for outcome in outcomes] == [{"sent": ODD}] * 6


@pytest.mark.claim("C5", "C9")
@pytest.mark.parametrize("action", ["propose", "approve", "reject", "claim", "record"])
def test_without_its_event_no_change_commits(desk: Desk, monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    """The log cannot be written: then nothing else is either."""
    proposal = desk.propose(ALLOW if action in {"claim", "record"} else REVIEW)
    ran: list[str] = []

    def break_log(*_: object, **__: object) -> None:
        raise ApprovalError("the log is gone")

    def effect(_: dict[str, JSON], key: str) -> JSON:
        ran.append(key)
        if action == "record":
            monkeypatch.setattr(audit, "append", break_log)
        return None

    actions: dict[str, Callable[[], object]] = {
        "propose": lambda: desk.propose(request=desk.request(call_id="new")),
        "approve": lambda: desk.approve(proposal),
        "reject": lambda: desk.queue.reject(proposal.id, desk.reviewer),
        "claim": lambda: Executor(desk.queue).run(proposal.id, effect),
        "record": lambda: Executor(desk.queue).run(proposal.id, effect),
    }
    if action != "record":
        monkeypatch.setattr(audit, "append", break_log)
    with pytest.raises(ApprovalError, match="the log is gone"):
        actions[action]()
    monkeypatch.undo()
    assert len(desk.queue.list()) == 1
    assert desk.queue.get(proposal.id).state is (State.EXECUTING if action == "record" else proposal.state)
    assert desk.queue.endorsements("t") == []
    assert len(ran) == (action == "record")
    assert verify(desk.queue.store).ok


def test_deadlines_and_endorsements_are_read_back(desk: Desk, clock: HandClock) -> None:
    desk.approve(desk.propose())
    assert desk.queue.endorsements("t") == [MAIL]
    late = desk.propose()
    clock.now += int(timedelta(days=2).total_seconds() * 1_000_000)
    assert {row.state for row in desk.queue.list()} == {State.LAPSED, State.EXPIRED}
    assert desk.queue.get(late.id).state is State.EXPIRED
