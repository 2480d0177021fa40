"""The middleware where something fails, and in the mode that stops nothing."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from checkvalve.approvals.errors import StoreUnreachableError
from checkvalve.gateway.app import Gateway
from checkvalve.gateway.langchain import CheckvalveMiddleware, user_message
from tests.fakes import ScriptedModel, calls
from tests.gateway.middleware_world import GRAPH, code_of, replies, results, run
from tests.gateway.world import ASK, SCRIPT, World


def test_what_a_tool_raises_reaches_the_host_and_is_not_repeated(place: World, gateway: Gateway) -> None:
    @tool
    def note(text: str) -> str:
        """Fail after the effect."""
        place.happen("note")
        raise ValueError("private detail")

    model = ScriptedModel(script=[calls(("note", {"text": "milk"}))])
    agent: Any = create_agent(model, [note], middleware=[CheckvalveMiddleware(gateway)], checkpointer=InMemorySaver())
    with pytest.raises(ValueError, match="private detail"):
        agent.invoke({"messages": [user_message("write a note: milk")]}, GRAPH)
    (reply,) = replies(agent.invoke(None, GRAPH))
    assert code_of(reply) == "failed"
    assert "private detail" not in reply.content
    assert place.effects == ["note"]


def test_a_tool_error_message_is_untrusted_whatever_the_manifest_says(place: World, gateway: Gateway) -> None:
    bad = calls(("note", {"text": ["pay", "DE89370400440532013000"]}), prefix="n")
    state = run(place, gateway, bad, ask=user_message("write a note: pay DE89370400440532013000"))
    assert replies(state)[0].status == "error"
    assert not any(item["declared"] for item in results(gateway))


@pytest.mark.claim("C9")
@pytest.mark.parametrize("broken", ["store", "detector", "policy", "index"])
def test_when_a_part_of_the_gate_crashes_nothing_runs(
    broken: str, place: World, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object, **__: object) -> Any:
        raise StoreUnreachableError("gone") if broken == "store" else RuntimeError("bang")

    target = {
        "store": "checkvalve.approvals.queue.Queue.propose",
        "detector": "checkvalve.graphs.session.decide",
        "policy": "checkvalve.approvals.policy.Policy.evaluate",
        "index": "checkvalve.filters.index.AttributionIndex.add_words",
    }[broken]
    monkeypatch.setattr(target, crash)
    state = run(place, gateway, calls(("read_mail", {})))
    (reply,) = replies(state)
    assert code_of(reply) == "gateway_failed"
    assert "bang" not in reply.content
    assert place.effects == []


@pytest.mark.claim("C9")
def test_when_the_database_is_gone_nothing_runs(place: World, gateway: Gateway) -> None:
    agent = place.agent(gateway, SCRIPT, checkpointer=InMemorySaver())
    gateway.close()
    for file in place.folder.glob("gate.db*"):
        file.write_bytes(b"not a database" * 1000)
    (first, *_) = replies(agent.invoke({"messages": [ASK]}, GRAPH))
    assert code_of(first) == "gateway_failed"
    assert place.effects == []


def test_observe_mode_runs_everything_and_records_what_would_have_happened(
    place: World, capsys: pytest.CaptureFixture[str]
) -> None:
    place.settings(mode="observe")
    script = [*SCRIPT, calls(("undeclared", {}), prefix="u")]
    with place.open() as gateway:
        state = run(place, gateway, *script)
        rows = {row.tool: row for row in gateway.queue.list()}
    assert "__interrupt__" not in state
    assert place.effects == ["read", "send thief@evil.example: all", "undeclared"]
    assert {row.mode for row in rows.values()} == {"observe"}
    assert rows["send_mail"].verdict_name == "review"
    err = capsys.readouterr().err
    assert "NOTHING IS STOPPED" in err
    assert "would have waited for a person" in err
    assert "thief@evil.example" not in err


def test_observe_mode_is_not_in_the_way_even_when_it_fails(
    place: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place.settings(mode="observe")
    with place.open() as gateway:
        monkeypatch.setattr("checkvalve.approvals.queue.Queue.propose", lambda *_, **__: 1 / 0)
        state = run(place, gateway, *SCRIPT)
    assert place.effects == ["read", "send thief@evil.example: all"]
    assert replies(state)[-1].content == "sent to thief@evil.example"
    assert "UNRECORDED" in capsys.readouterr().err
