"""The checkpointer on a server: the same strict rules, any text, and a set-up that several processes may do at once."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, TypedDict

import ormsgpack
import psycopg
import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.serde import jsonplus
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from checkvalve.graphs.checkpoint import postgres_checkpointer
from checkvalve.graphs.errors import CheckpointError
from tests.databases import Server

pytestmark = pytest.mark.postgres

CONFIG: Any = {"configurable": {"thread_id": "t"}}
ODD = "nul \x00, \U0001f600 '%s"


class State(TypedDict, total=False):
    task: str
    answer: str
    rows: list[Any]


@pytest.fixture
def name(postgres_server: Server) -> Iterator[str]:
    made = postgres_server.empty()
    yield made
    postgres_server.drop(made)


@pytest.fixture
def dsn(postgres_server: Server, name: str) -> str:
    return postgres_server.dsn(name)


def ask(state: State) -> State:
    return {"answer": f"{state['task']}{interrupt({'approval_id': 'p'})}", "rows": [AIMessage(ODD), ODD]}


def graph(saver: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=saver)


def paused(dsn: str) -> None:
    with postgres_checkpointer(dsn) as saver:
        found = graph(saver).invoke({"task": ODD}, CONFIG, durability="sync")
    assert found["__interrupt__"][0].value == {"approval_id": "p"}


def test_a_pause_is_resumed_by_another_opening_and_any_text_comes_back(dsn: str) -> None:
    paused(dsn)
    with postgres_checkpointer(dsn) as saver:
        state = graph(saver).invoke(Command(resume=ODD), CONFIG, durability="sync")
        assert state == graph(saver).get_state(CONFIG).values
    assert (state["task"], state["answer"], state["rows"][1]) == (ODD, ODD + ODD, ODD)


def test_awaited_runs_use_the_same_saver(dsn: str) -> None:
    async def run() -> Any:
        await graph(saver).ainvoke({"task": ODD}, CONFIG, durability="sync")
        return await graph(saver).ainvoke(Command(resume="yes"), CONFIG, durability="sync")

    with postgres_checkpointer(dsn) as saver:
        assert asyncio.run(run())["answer"] == f"{ODD}yes"


def test_half_a_character_breaks_nothing(dsn: str) -> None:
    """Msgpack has no form for it, and LangGraph writes a question mark."""
    with postgres_checkpointer(dsn) as saver:
        graph(saver).invoke({"task": "a\ud800"}, CONFIG, durability="sync")
        assert graph(saver).invoke(Command(resume="yes"), CONFIG, durability="sync")["answer"] == "a?yes"


@pytest.mark.parametrize(
    "crafted",
    [
        (
            "msgpack",
            ormsgpack.packb(ormsgpack.Ext(jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG, b"\x93\xa2os\xa6system\xa4true")),
        ),
        ("pickle", b"cos\nsystem\n(S'true'\ntR."),
        ("json", b'{"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["true"]}'),
    ],
)
@pytest.mark.parametrize("table", ["checkpoint_blobs", "checkpoint_writes"])
def test_a_row_changed_on_the_server_is_refused(
    dsn: str, crafted: tuple[str, bytes], table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[object] = []
    monkeypatch.setattr(os, "system", ran.append)
    paused(dsn)
    with psycopg.connect(dsn) as connection:
        changed = connection.execute(f"UPDATE {table} SET type = %s, blob = %s", crafted)
        assert changed.rowcount
    with postgres_checkpointer(dsn) as saver, pytest.raises(CheckpointError, match="refused"):
        graph(saver).invoke(Command(resume="yes"), CONFIG, durability="sync")
    assert ran == []


def test_processes_that_start_together_set_it_up_once(dsn: str) -> None:
    program = (
        "import sys; from checkvalve.graphs.checkpoint import postgres_checkpointer as p; p(sys.argv[1]).__enter__()"
    )
    started = [subprocess.Popen([sys.executable, "-c", program, dsn], stderr=subprocess.PIPE) for _ in range(3)]
    errors = [process.communicate()[1] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], errors
    paused(dsn)


def test_a_connection_that_was_cut_is_replaced(dsn: str, postgres_server: Server) -> None:
    with postgres_checkpointer(dsn) as saver:
        graph(saver).invoke({"task": "x"}, CONFIG, durability="sync")
        postgres_server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE starts_with(datname, 'db')")
        assert graph(saver).invoke(Command(resume="yes"), CONFIG, durability="sync")["answer"] == "xyes"


def test_addresses_of_both_kinds_work_and_wrong_ones_say_so(postgres_server: Server, name: str) -> None:
    with postgres_checkpointer(postgres_server.url(name)):
        pass
    with pytest.raises(CheckpointError, match="does not answer"), postgres_checkpointer("host=/nowhere dbname=x"):
        pass
    with pytest.raises(CheckpointError, match="does not answer"), postgres_checkpointer("no address"):
        pass


def test_the_database_of_approvals_is_refused(postgres_server: Server) -> None:
    with pytest.raises(CheckpointError, match="one of their own"), postgres_checkpointer(postgres_server.dsn("ready")):
        pass


def test_a_missing_driver_is_named_with_the_line_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "checkvalve.graphs.postgres_saver", raising=False)
    with pytest.raises(CheckpointError, match=r"pip install 'checkvalve\[postgres\]'"), postgres_checkpointer("x"):
        pass
