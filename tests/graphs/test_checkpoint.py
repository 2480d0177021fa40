"""A checkpoint is data: whoever can write its file cannot run code through it."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import sqlite3
from pathlib import Path
from typing import Annotated, Any, TypedDict

import ormsgpack
import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde import jsonplus
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Interrupt, Send

from checkvalve.graphs.checkpoint import StrictSerializer, sqlite_checkpointer
from checkvalve.graphs.errors import CheckpointError


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]


def packed(code: int, *parts: object) -> tuple[str, bytes]:
    return "msgpack", ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(parts)))


@pytest.mark.parametrize(
    "value",
    [
        {"messages": [HumanMessage("hi"), AIMessage("", tool_calls=[{"name": "a", "args": {"x": 1}, "id": "1"}])]},
        ToolMessage("ok", tool_call_id="1", artifact={"rows": [1, 2, None, 1.5]}),
        Command(update={"messages": [ToolMessage("ok", tool_call_id="1")]}, goto="model"),
        [Send("tools", {"a": 1}), Interrupt(value={"approval_id": "p"}, id="i")],
        {"when": dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC), "seen": {"a", "b"}},
        [Document("text", metadata={"page": 1})],
        None,
        b"raw",
    ],
)
def test_state_of_a_graph_comes_back_equal(value: object) -> None:
    serializer = StrictSerializer()
    assert serializer.loads_typed(serializer.dumps_typed(value)) == value


@pytest.mark.parametrize(
    "row",
    [
        packed(jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG, "os", "system", "true"),
        packed(jsonplus.EXT_CONSTRUCTOR_POS_ARGS, "os", "system", ["true"]),
        packed(jsonplus.EXT_CONSTRUCTOR_KW_ARGS, "subprocess", "run", {"args": ["touch", "x"]}),
        packed(jsonplus.EXT_METHOD_SINGLE_ARG, "builtins", "eval", "1", "__call__"),
        packed(jsonplus.EXT_PYDANTIC_V1, "os", "system", {"command": "true"}),
        packed(jsonplus.EXT_PYDANTIC_V2, "os", "system", {"command": "true"}, "model_validate_json"),
        packed(jsonplus.EXT_CONSTRUCTOR_POS_ARGS, "re", "compile", ["(a+)+$", 0]),
        packed(jsonplus.EXT_NUMPY_ARRAY, "<f8", [1], "C", b"12345678"),
        packed(99, "a", "b"),
        ("pickle", b"cos\nsystem\n(S'true'\ntR."),
        ("json", b'{"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["true"]}'),
        ("msgpack", b"\xc1"),
    ],
)
def test_a_crafted_row_is_refused_and_nothing_runs(row: tuple[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[object] = []
    monkeypatch.setattr(os, "system", ran.append)
    with pytest.raises(CheckpointError):
        StrictSerializer().loads_typed(row)
    assert ran == []


def test_a_crafted_type_inside_an_allowed_one_is_refused() -> None:
    evil = ormsgpack.Ext(jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG, ormsgpack.packb(("os", "system", "true")))
    message = ormsgpack.packb(("langchain_core.messages.human", "HumanMessage", {"content": evil}, "x"))
    outer = ormsgpack.packb({"messages": [ormsgpack.Ext(jsonplus.EXT_PYDANTIC_V2, message)]})
    with pytest.raises(CheckpointError, match=r"os\.system"):
        StrictSerializer().loads_typed(("msgpack", outer))


def test_what_could_not_be_read_again_is_not_written() -> None:
    with pytest.raises(CheckpointError, match="Path"):
        StrictSerializer().dumps_typed({"where": Path("x")})
    with pytest.raises(CheckpointError, match="keep plain data"):
        StrictSerializer().dumps_typed({"what": object()})


def test_a_type_the_caller_names_is_allowed_and_a_graph_cannot_add_one() -> None:
    named = StrictSerializer([("pathlib", "PosixPath")])
    assert named.loads_typed(named.dumps_typed(Path("x"))) == Path("x")
    closed = StrictSerializer()
    assert closed.with_msgpack_allowlist([("pathlib", "PosixPath")]) is closed


def test_a_row_changed_in_the_file_is_refused_by_the_saver(tmp_path: Path) -> None:
    file = tmp_path / "checkpoints.db"
    config: Any = {"configurable": {"thread_id": "t"}}
    builder = StateGraph(State)
    builder.add_node("say", lambda state: {"messages": [AIMessage("done")]})
    builder.add_edge(START, "say")
    with sqlite_checkpointer(file) as saver:
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"messages": [HumanMessage("hi")]}, config, durability="sync")
        assert [m.content for m in graph.get_state(config).values["messages"]] == ["hi", "done"]
    kind, data = packed(jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG, "os", "system", f"touch {tmp_path / 'ran'}")
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE checkpoints SET type = ?, checkpoint = ?", (kind, data))
    with sqlite_checkpointer(file) as saver, pytest.raises(CheckpointError):
        builder.compile(checkpointer=saver).get_state(config)
    assert not (tmp_path / "ran").exists()


def test_one_saver_serves_runs_that_are_awaited_too(tmp_path: Path) -> None:
    config: Any = {"configurable": {"thread_id": "t"}}
    builder = StateGraph(State)
    builder.add_node("say", lambda state: {"messages": [AIMessage("done")]})
    builder.add_edge(START, "say")

    async def run(saver: Any) -> list[str]:
        graph = builder.compile(checkpointer=saver)
        await graph.ainvoke({"messages": [HumanMessage("hi")]}, config, durability="sync")
        assert len([found async for found in saver.alist(config, limit=2)]) == 2
        state = await graph.aget_state(config)
        await saver.adelete_thread("other")
        return [message.content for message in state.values["messages"]]

    with sqlite_checkpointer(tmp_path / "c.db") as saver:
        assert asyncio.run(run(saver)) == ["hi", "done"]
        assert asyncio.run(run(saver)) == ["hi", "done", "hi", "done"], "and no event loop owns it"


def test_the_file_and_what_sqlite_puts_beside_it_are_private(tmp_path: Path) -> None:
    file = tmp_path / "c.db"
    with sqlite_checkpointer(file) as saver:
        saver.setup()
        made = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()}
        assert made == dict.fromkeys(("c.db", "c.db-wal", "c.db-shm"), "0o600")
        for path in tmp_path.iterdir():
            path.chmod(0o644)
        with sqlite_checkpointer(file):
            assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="cannot open"), sqlite_checkpointer(tmp_path / "no" / "c.db"):
        pass
