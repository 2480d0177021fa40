"""Names that a hijacked model gives to its own calls, so that they pass for reads that the gateway makes beside one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from checkvalve.approvals.records import State
from checkvalve.gateway.app import Gateway, build
from checkvalve.gateway.conversation import call_name
from checkvalve.gateway.langchain import CheckvalveMiddleware, user_message
from checkvalve.gateway.settings import Settings
from checkvalve.graphs.undoing import Undoing
from tests.fakes import ScriptedModel
from tests.undo_world import MANIFEST, Notebook

pytestmark = pytest.mark.claim("C4")
CONFIG: Any = {"configurable": {"thread_id": "t1"}}


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    (tmp_path / "manifest.yaml").write_text(MANIFEST)
    place = f"sqlite:///{tmp_path / 'gate.db'}"
    with build(Settings(manifest=tmp_path / "manifest.yaml", database_url=place, log_level="error")) as opened:
        yield opened


def test_what_undoes_an_effect_is_read_when_it_happens_and_not_when_the_model_chose(
    gateway: Gateway, tmp_path: Path
) -> None:
    """The model reads the note under the name of the read before the effect, long before a person says yes."""
    notebook = Notebook(tmp_path)
    turn = AIMessage(
        "",
        tool_calls=[
            {"name": "get_note", "args": {"id": "n1"}, "id": "c1~before", "type": "tool_call"},
            {"name": "update_note", "args": {"id": "n1", "text": "owned"}, "id": "c1", "type": "tool_call"},
        ],
    )
    guard = CheckvalveMiddleware(gateway, requester="bob")
    saver = InMemorySaver()
    agent = create_agent(ScriptedModel(script=[turn]), notebook.tools(), middleware=[guard], checkpointer=saver)
    agent.invoke({"messages": [user_message("What is in note n1?")]}, CONFIG)
    notebook.write({"n1": {"title": "List", "text": "written since by Ann"}}, "hand")
    boss = gateway.queue.reviewers.authenticate(gateway.queue.reviewers.add("boss"))
    (row,) = gateway.queue.list([State.PENDING])
    gateway.queue.approve(row.id, boss, row.digest)
    agent.invoke(Command(resume=True), CONFIG)
    assert notebook.read()["n1"]["text"] == "owned"
    kept = Undoing(gateway.services).standing(row.id).call
    assert kept is not None
    assert kept.args == {"id": "n1", "text": "written since by Ann"}


@pytest.mark.parametrize("word", ["first", "before", "after", "look", "1"])
def test_no_name_of_a_model_is_one_of_the_gateways(word: str) -> None:
    turn = AIMessage("", id="run-1")
    assert "~" not in call_name(turn, f"c1~{word}")
    assert call_name(turn, f"c1~{word}") != call_name(turn, f"c2~{word}")
