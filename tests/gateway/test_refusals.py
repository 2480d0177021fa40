"""Calls that cannot become a record leave an event all the same; calls cut off by a crash are found at the start."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import ToolMessage

from checkvalve.approvals import audit
from checkvalve.approvals.errors import StoreUnreachableError
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.verify import verify
from checkvalve.gateway.app import Gateway
from tests.fakes import calls
from tests.gateway import world
from tests.gateway.test_processes import approve_here, worker
from tests.gateway.world import ASK, World

HOSTILE = {"to": "a@corp.example", "body": "\ud800"}


def refusals(gateway: Gateway) -> list[dict[str, Any]]:
    with gateway.store.read() as connection:
        return [json.loads(event.body) for event in audit.read_events(connection) if event.kind == "call.refused"]


def ask(place: World, gateway: Gateway, args: dict[str, Any], thread: str = "t") -> Any:
    agent = place.agent(gateway, [calls(("send_mail", args))])
    return agent.invoke({"messages": [ASK]}, world.thread(thread))["messages"]


@pytest.mark.claim("C5", "C9")
def test_a_call_that_cannot_be_recorded_is_in_the_log(place: World, gateway: Gateway) -> None:
    ask(place, gateway, HOSTILE)
    assert refusals(gateway) == [{"thread": "t", "tool": "send_mail", "code": "surrogate", "enforced": True}]
    assert gateway.queue.list() == []
    assert verify(gateway.store).ok


@pytest.mark.claim("C5")
def test_names_in_the_log_are_visible_and_short(gateway: Gateway) -> None:
    gateway.queue.note_refusal("t\x00\ud800", "\u202e" + "x" * 100_000, "too_long")
    (found,) = refusals(gateway)
    assert found["thread"] == "t\u27e8U+0000\u27e9\u27e8U+D800\u27e9"
    assert found["tool"].startswith("\u27e8U+202E\u27e9xxx")
    assert found["tool"].endswith("\u27e899,803 bytes more\u27e9")
    assert len(found["tool"]) < 250
    assert verify(gateway.store).ok


@pytest.mark.claim("C9")
def test_without_its_event_the_refusal_is_one_all_the_same(
    place: World, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise StoreUnreachableError("away")

    monkeypatch.setattr(Queue, "note_refusal", away)
    reply = next(message for message in ask(place, gateway, HOSTILE) if isinstance(message, ToolMessage))
    assert reply.status == "error"
    assert place.effects == []


def test_in_observe_mode_the_log_says_that_it_ran_without_a_record(place: World) -> None:
    place.settings(mode="observe")
    with place.open() as gateway:
        ask(place, gateway, {"to": "a@corp.example", "body": "x" * 300_000})
        assert [found["enforced"] for found in refusals(gateway)] == [False]
    assert len(place.effects) == 1


@pytest.mark.claim("C4")
def test_a_call_that_a_crash_cut_off_is_unknown_as_soon_as_a_gateway_starts(
    place: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.start(place, "t")
    approve_here(place)
    worker(place, "die:effect_done").communicate(timeout=120)
    with place.open() as gateway:
        (proposal,) = gateway.queue.list([State.UNKNOWN])
        assert (proposal.tool, proposal.code) == ("send_mail", "owner_died")
    assert proposal.id in capsys.readouterr().err
