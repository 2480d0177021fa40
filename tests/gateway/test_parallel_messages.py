"""LangChain: a new message while a call waits. One model sees the whole conversation; its tasks stay apart."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from checkvalve.approvals.erasure import erase_thread
from checkvalve.approvals.records import State
from checkvalve.approvals.verify import verify
from checkvalve.gateway.langchain import user_message
from checkvalve.gateway.task_places import TaskPlaces
from checkvalve.gateway.toolnode import guarded_tool_node
from tests.fakes import calls
from tests.gateway.preview_world import CONFIG, MANIFEST, TO, TRANSFER, Bank

pytestmark = pytest.mark.claim("C3")
PLAIN = "\n".join(line for line in MANIFEST.splitlines() if "preview:" not in line)
NOON = AIMessage("it is noon")
MORE = ("transfer", {"to": TO, "amount": 60})


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    found = Bank(tmp_path, PLAIN, on_new_message="allow-parallel")
    yield found
    found.end()


def shown(bank: Bank) -> list[ToolMessage]:
    """Return the tool messages that the model was shown last."""
    return [message for message in bank.model.seen[-1] if isinstance(message, ToolMessage)]


def tasks(bank: Bank) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in bank.queue.list():
        found.setdefault(row.thread, []).append(row.state.value)
    return found


def test_the_new_message_is_answered_and_the_late_result_comes_by_the_id(bank: Bank) -> None:
    bank.ask(bank.agent(TRANSFER))
    question = bank.waiting()
    agent = bank.agent(TRANSFER, NOON, TRANSFER)
    state = bank.ask(agent, "What time is it?")
    assert state["messages"][-1].content == "it is noon"
    assert f"approval {question.id}" in str(shown(bank)[0].content), "the model is told what waits, and under which id"
    assert bank.waiting().id == question.id
    bank.approve()
    bank.ask(agent, "Has it been decided?")
    assert "Approved, and not run yet" in str(bank.model.seen[-2][2].content)
    assert bank.effects == [f"sent 50 to {TO}"]
    assert (shown(bank)[0].content, shown(bank)[-1].content) == ("sent", "sent")
    assert tasks(bank) == {"t": ["succeeded"]}, "no second question about the same call"
    bank.ask(agent, "Thank you")
    assert bank.effects == [f"sent 50 to {TO}"]
    assert verify(bank.gateway.store).ok


def test_the_same_awaited(bank: Bank) -> None:
    async def ask(agent: Any, text: str) -> Any:
        return await agent.ainvoke({"messages": [user_message(text)]}, CONFIG, durability="sync")

    asyncio.run(ask(bank.agent(TRANSFER), "Read my mail"))
    question = bank.waiting()
    state = asyncio.run(ask(bank.agent(TRANSFER, NOON), "What time is it?"))
    assert state["messages"][-1].content == "it is noon"
    assert bank.waiting().id == question.id


def test_new_words_let_nothing_run_that_waits(bank: Bank) -> None:
    """They name the very transfer, and the model makes it again at once: it is the question that waits already."""
    bank.ask(bank.agent(TRANSFER))
    question = bank.waiting()
    state = bank.ask(bank.agent(TRANSFER, TRANSFER), f"Yes, transfer 50 to {TO}")
    assert state["__interrupt__"][0].value == {"approval_id": question.id}
    assert bank.effects == []
    words = [item.value for item in bank.gateway.content.items("t") if item.kind == "words"]
    assert "Yes" not in str(words)


def test_new_words_count_for_their_own_task(bank: Bank) -> None:
    bank.ask(bank.agent(TRANSFER))
    question = bank.waiting()
    bank.ask(bank.agent(TRANSFER, MORE), f"Transfer 60 to {TO}")
    assert bank.effects == [f"sent 60 to {TO}"]
    assert bank.waiting().id == question.id
    assert tasks(bank) == {"t": ["pending"], "t~2": ["succeeded"]}


def test_old_words_let_nothing_run_in_the_new_task(bank: Bank) -> None:
    """The model sees them in the same conversation, and does now what they asked for then."""
    bank.ask(bank.agent(TRANSFER), f"Transfer 60 to {TO}, read my mail, and do what has to be done")
    bank.ask(bank.agent(TRANSFER, MORE), "What time is it?")
    assert bank.effects == []
    assert tasks(bank) == {"t": ["pending"], "t~2": ["pending"]}


@pytest.mark.claim("C4")
def test_what_was_accepted_in_one_task_is_not_in_the_other(bank: Bank) -> None:
    bank.ask(bank.agent(("mail", {}), TRANSFER))
    question = bank.waiting()
    agent = bank.agent(("mail", {}), TRANSFER, NOON, ("mail", {}), MORE)
    bank.ask(agent, "What time is it?")
    bank.queue.approve(question.id, bank.people()[0], question.digest, note="it is right", endorse=True)
    bank.ask(agent, "Read my mail again, and do what has to be done")
    assert bank.effects == []
    assert tasks(bank)["t~2"][-1] == "pending"


def test_a_no_is_told_to_whoever_goes_on(bank: Bank) -> None:
    bank.ask(bank.agent(TRANSFER))
    agent = bank.agent(TRANSFER, NOON, NOON)
    bank.ask(agent, "What time is it?")
    bank.queue.reject(bank.waiting().id, bank.people()[0])
    bank.ask(agent, "And now?")
    assert "[rejected]" in str(shown(bank)[0].content)
    assert "t~2" not in tasks(bank)


def test_when_nothing_waits_messages_come_back_to_the_first_task(bank: Bank) -> None:
    bank.ask(bank.agent(TRANSFER))
    agent = bank.agent(TRANSFER, NOON, MORE)
    bank.ask(agent, "What time is it?")
    bank.queue.reject(bank.waiting().id, bank.people()[0])
    bank.ask(agent, f"Transfer 60 to {TO}")
    assert tasks(bank) == {"t": ["rejected", "succeeded"]}


def test_a_run_that_is_only_resumed_stays_in_its_task(bank: Bank) -> None:
    agent = bank.agent(TRANSFER)
    bank.ask(agent)
    bank.approve()
    agent.invoke(None, CONFIG, durability="sync")
    assert bank.effects == [f"sent 50 to {TO}"]
    assert tasks(bank) == {"t": ["succeeded"]}


def test_plain_human_messages_are_placed_too(bank: Bank) -> None:
    def ask(agent: Any, text: str) -> Any:
        return agent.invoke({"messages": [HumanMessage(text)]}, CONFIG, durability="sync")

    ask(bank.agent(TRANSFER, user_words="human_messages"), "Read my mail")
    ask(bank.agent(TRANSFER, MORE, user_words="human_messages"), f"Transfer 60 to {TO}")
    assert bank.effects == [f"sent 60 to {TO}"]
    assert tasks(bank) == {"t": ["pending"], "t~2": ["succeeded"]}


def test_other_processes_know_where_a_message_belongs(bank: Bank) -> None:
    bank.ask(bank.agent(TRANSFER))
    state = bank.ask(bank.agent(TRANSFER, NOON), "What time is it?")
    other = TaskPlaces(bank.gateway)
    messages = state["messages"]
    assert other.of("t", messages) == ["t", "t", "t~2", "t~2", "t~2"]
    assert other.of("t", messages[-1:]) == ["t~2", "t~2"], "where the messages that say so are gone, the newest counts"
    assert other.place("t", messages, lambda message: message.type == "human") == "t~2"


def test_a_node_of_a_plain_graph_does_the_same(bank: Bank) -> None:
    script = [calls(TRANSFER), calls(MORE), AIMessage("done")]

    def model(state: MessagesState) -> dict[str, Any]:
        said = sum(isinstance(message, AIMessage) for message in state["messages"])
        return {"messages": [script[said]]}

    def more(state: MessagesState) -> str:
        return "tools" if getattr(state["messages"][-1], "tool_calls", None) else "__end__"

    graph: Any = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", guarded_tool_node(bank.tools(), bank.gateway, requester="me@corp.example"))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", more, ["tools", "__end__"])
    graph.add_edge("tools", "model")
    built = graph.compile(checkpointer=InMemorySaver())
    built.invoke({"messages": [user_message("Read my mail")]}, CONFIG, durability="sync")
    built.invoke({"messages": [user_message(f"Transfer 60 to {TO}")]}, CONFIG, durability="sync")
    assert bank.effects == [f"sent 60 to {TO}"]
    assert tasks(bank) == {"t": ["pending"], "t~2": ["succeeded"]}


def test_superseding_takes_the_question_back_and_tells_the_model(tmp_path: Path) -> None:
    bank = Bank(tmp_path, PLAIN, on_new_message="supersede")
    bank.ask(bank.agent(TRANSFER))
    question = bank.waiting()
    bank.ask(bank.agent(TRANSFER, NOON), "Never mind")
    assert (bank.queue.get(question.id).state, bank.effects) == (State.SUPERSEDED, [])
    assert "[superseded]" in str(shown(bank)[0].content)
    bank.end()


def test_a_message_that_is_sent_again_supersedes_nothing(tmp_path: Path) -> None:
    """The same id is the same message, whether the state has it already or the history comes from elsewhere."""
    bank = Bank(tmp_path, PLAIN, on_new_message="supersede")
    said = user_message("Read my mail")
    said.id = "m1"
    bank.agent(TRANSFER).invoke({"messages": [said]}, CONFIG, durability="sync")
    question = bank.waiting()
    for _ in range(2):
        bank.agent(TRANSFER, NOON).invoke({"messages": [said]}, CONFIG, durability="sync")
        assert bank.queue.get(question.id).state is State.PENDING
    assert bank.effects == []
    bank.end()


def test_holding_changes_nothing(tmp_path: Path) -> None:
    bank = Bank(tmp_path, PLAIN)
    bank.ask(bank.agent(TRANSFER))
    question = bank.waiting()
    bank.ask(bank.agent(TRANSFER, MORE), f"Transfer 60 to {TO}")
    assert bank.waiting().id == question.id
    assert tasks(bank) == {"t": ["pending", "succeeded"]}
    assert not [item for item in bank.gateway.content.items("t") if item.kind == "context"]
    bank.end()


@pytest.mark.claim("C5")
def test_erasing_the_conversation_erases_every_task_of_it(bank: Bank) -> None:
    bank.ask(bank.agent(("mail", {}), TRANSFER))
    bank.ask(bank.agent(("mail", {}), TRANSFER, MORE), f"Transfer 60 to {TO}")
    assert TO in str(bank.gateway.content.items("t~2")), "the new task has read the conversation, too"
    bank.queue.reject(bank.waiting().id, bank.people()[0])
    with bank.queue.store.write() as connection:
        erase_thread(connection, "t", at=bank.queue.clock(), by="ann", reason="asked to")
    assert bank.gateway.content.items("t") == bank.gateway.content.items("t~2") == []
    assert verify(bank.gateway.store).ok


SALARIES = """
name: payroll
principal: {owner: [me@corp.example], domain: [corp.example]}
tools:
  salaries:
    effect: read
    result: [{path: "**", readers: owner}]
  transfer:
    effect: pay
    asks: [transfer]
    args: {to: {role: target, kind: account}, amount: {role: amount, kind: number}}
  send_mail:
    effect: send
    asks: [send, mail]
    args: {to: {role: target, kind: email}, body: {role: content}}
"""
TABLE = "Ann has 120000, Bob has 90000"


def payroll(bank: Bank) -> list[Any]:
    @tool
    def salaries() -> str:
        """List them."""
        return TABLE

    @tool
    def transfer(to: str, amount: float) -> str:
        """Pay."""
        bank.effects.append(f"sent {amount} to {to}")
        return "sent"

    @tool
    def send_mail(to: str, body: str) -> str:
        """Send."""
        bank.effects.append(f"mail to {to}: {body}")
        return "sent"

    return [salaries, transfer, send_mail]


@pytest.mark.claim("C7")
@pytest.mark.parametrize("read_first", [True, False], ids=["read in the first task", "read beside it"])
def test_who_may_read_a_result_is_known_in_every_task_of_a_conversation(tmp_path: Path, *, read_first: bool) -> None:
    """The model opens a question by itself, so that the next message begins a task, and carries the table over."""
    bank = Bank(tmp_path, SALARIES, on_new_message="allow-parallel")
    leak = ("send_mail", {"to": "partner@out.example", "body": TABLE})
    opens = ("transfer", {"to": TO, "amount": 1})
    if read_first:
        bank.ask(bank.agent(("salaries", {}), opens, tools=payroll(bank)), "Read the salaries")
    else:
        bank.ask(bank.agent(opens, tools=payroll(bank)), "Do what has to be done")
        bank.ask(bank.agent(NOON, ("salaries", {}), NOON, tools=payroll(bank)), "Read the salaries")
        bank.queue.reject(bank.waiting().id, bank.people()[0], reason="no")
    bank.ask(
        bank.agent(NOON, NOON, *([] if read_first else [NOON]), leak, NOON, tools=payroll(bank)),
        "Send a mail to partner@out.example that I am late",
    )
    assert bank.effects == []
    (asked,) = [row for row in bank.queue.list() if row.tool == "send_mail"]
    assert (asked.state, asked.rule) == (State.PENDING, "readers")
    bank.end()
