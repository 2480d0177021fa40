"""What a call would do is tried once, right before somebody is asked, and kept beside exactly that question."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool

from checkvalve.approvals.previews import thread_for
from checkvalve.approvals.records import State
from tests.fakes import calls
from tests.gateway.preview_world import CLOSE, CONFIG, MANIFEST, TO, TRANSFER, Bank, seen

pytestmark = pytest.mark.claim("C2")


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    found = Bank(tmp_path)
    yield found
    found.late.set()


def test_a_reading_tool_shows_what_a_call_would_do(bank: Bank) -> None:
    state = bank.ask(bank.agent(TRANSFER))
    assert state["__interrupt__"]
    assert bank.effects == ["quoted 50 EUR"]
    found = seen(bank.preview())
    assert (found.text, found.why, found.dry_run, found.tool) == (bank.says(), "", False, "quote")
    assert "fees" not in str(state["messages"]), "no model is shown it"


def test_a_dry_run_shows_it_and_the_real_call_runs_without_the_argument(bank: Bank) -> None:
    agent = bank.agent(CLOSE)
    bank.ask(agent)
    assert bank.effects == [f"tried to close {TO}"]
    assert seen(bank.preview()).dry_run
    question = bank.waiting()
    reviewer = bank.queue.reviewers.add("ann")
    bank.queue.approve(question.id, bank.queue.reviewers.authenticate(reviewer), question.digest, note="it is right")
    agent.invoke(None, CONFIG, durability="sync")
    assert bank.effects == [f"tried to close {TO}", f"CLOSED {TO}"]
    assert bank.queue.get(question.id).state is State.SUCCEEDED


def test_tools_that_are_awaited_are_tried_too(bank: Bank) -> None:
    asyncio.run(bank.agent(CLOSE).ainvoke({"messages": [("user", "x")]}, CONFIG))
    assert bank.effects == [f"tried to close {TO}"]
    assert seen(bank.preview()).text == bank.says()


def test_it_is_tried_once_however_often_the_run_goes_on(bank: Bank) -> None:
    agent = bank.agent(TRANSFER)
    bank.ask(agent)
    agent.invoke(None, CONFIG, durability="sync")
    assert bank.effects == ["quoted 50 EUR"]


def test_nothing_is_tried_where_nobody_is_asked(bank: Bank) -> None:
    bank.ask(bank.agent(TRANSFER), f"Transfer 50 to {TO}")
    assert bank.effects == [f"sent 50 to {TO}"]
