"""The list in the terminal says how far a quorum is, picks by risk, and names a row that was damaged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
import typer
from typer.testing import CliRunner, Result

from checkvalve.approvals.cli import approvals_app
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.roles import Role
from checkvalve.approvals.so_far import so_far
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals
from tests.approvals.emergency import add, busy
from tests.approvals.made import Desk, HandClock

URLS: dict[int, str] = {}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    url = f"sqlite:///{tmp_path / 'list.db'}"
    with Store.open(url, create=True) as store:
        made = busy(store, HandClock())
        URLS[id(made)] = url
        yield made


def listed(desk: Desk, *args: str) -> Result:
    def open_queue() -> Queue:
        return Queue(Store.open(URLS[id(desk)]), desk.clock, rules=desk.queue.rules)

    app = typer.Typer()
    app.add_typer(approvals_app(open_queue), name="approvals")
    return CliRunner().invoke(app, ["approvals", "list", *args], env={"COLUMNS": "80"})


def test_a_question_that_takes_two_people_says_how_many_have_said_yes(desk: Desk) -> None:
    add(desk, "ben", Role.APPROVER)
    row, other = desk.propose(), desk.propose()
    assert so_far(desk.queue, [row, other]) == {row.id: (0, 2), other.id: (0, 2)}
    desk.approve(row)
    table = listed(desk).stdout.partition("call ")[0]
    lines = {line.split()[0]: line.split() for line in table.splitlines()}
    assert lines["id"][-2:] == ["yes", "digest"]
    assert (lines[row.id[:8]][-2], lines[other.id[:8]][-2]) == ("1/2", "0/2")
    desk.queue.reject(other.id, desk.reviewer)
    assert so_far(desk.queue, [desk.queue.get(other.id)]) == {}


def test_of_several_ways_the_nearest_one_is_counted(tmp_path: Path) -> None:
    rules = "everywhere: {approve: [{approver: 3}, {approver: 1, auditor: 1}]}"
    with Store.open(f"sqlite:///{tmp_path / 'ways.db'}", create=True) as store:
        desk = busy(store, HandClock(), rules=rules)
        add(desk, "aud", Role.AUDITOR)
        row = desk.propose()
        assert so_far(desk.queue, [row]) == {row.id: (0, 2)}
        desk.approve(row)
        assert so_far(desk.queue, [row]) == {row.id: (1, 2)}


def test_only_calls_of_a_risk_are_listed(desk: Desk) -> None:
    row = desk.propose()
    tier = json.loads(listed(desk, "--json").stdout)[0]["tier"]
    assert [item["id"] for item in json.loads(listed(desk, "--json", "--risk", tier).stdout)] == [row.id]
    others = {"low", "medium", "high", "critical"} - {tier}
    assert json.loads(listed(desk, "--json", *(word for name in others for word in ("--risk", name))).stdout) == []


@pytest.mark.claim("C9")
def test_a_damaged_call_is_named_and_hides_no_other(desk: Desk) -> None:
    damaged, whole = desk.propose(), desk.propose()
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(proposals).where(proposals.c.id == damaged.id).values(decision="{"))
    found = listed(desk)
    assert found.exit_code == 0
    assert whole.id[:8] in found.stdout
    assert damaged.id not in found.stdout
    assert f"{damaged.id} was changed beside the log" in found.stderr
