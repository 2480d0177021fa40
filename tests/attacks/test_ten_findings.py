"""Ten ways in which pausing an agent is no permission: each is shown on LangChain alone, and held behind Checkvalve.

Every test has a twin, ``plain``: the same attack on the same agent with LangChain's own human-in-the-loop middleware,
which must succeed. So each test can fail, and a new release of LangChain that closes a hole is noticed. Workers are
threads with connections and graphs of their own, released by a barrier, over the savers of LangGraph.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Command

from checkvalve.approvals.errors import ConflictError, DigestError
from checkvalve.approvals.records import State
from tests.attacks import hitl_world
from tests.attacks.hitl_world import (
    APPROVE,
    REJECT,
    SEND,
    SENT,
    THIEF,
    THREAD,
    Twin,
    approve,
    deciding,
    last_reply,
    meeting,
    question,
    reject,
    sqlite_saver,
    start,
    together,
    wake,
)
from tests.databases import KINDS, Server
from tests.fakes import ScriptedModel, calls
from tests.gateway.world import ASK, World
from tests.waiting import LONG

pytestmark = pytest.mark.claim("C4")


@pytest.fixture(params=KINDS)
def twin(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Twin]:
    """A conversation over LangGraph's SQLite saver, and one over its PostgreSQL saver."""
    place = World.create(tmp_path)
    if request.param == "sqlite":
        yield Twin(place, lambda: sqlite_saver(tmp_path))
        return
    server: Server = request.getfixturevalue("postgres_server")
    from langgraph.checkpoint.postgres import PostgresSaver

    name = server.empty()

    @contextmanager
    def opened() -> Iterator[PostgresSaver]:
        with PostgresSaver.from_conn_string(server.dsn(name)) as saver:
            saver.setup()
            yield saver

    yield Twin(place, opened)
    server.drop(name)


# -- 1. two workers resume one approval


def test_1_two_workers_that_resume_one_approval_do_not_act_twice(twin: Twin) -> None:
    with twin.ours() as agent:
        start(agent)
    approve(twin.place)
    with twin.ours() as one, twin.ours() as other:
        states = together(lambda: wake(one), lambda: wake(other))
    assert twin.sent == [SENT]
    assert [last_reply(state) for state in states] == [f"sent to {THIEF}"] * 2, "the loser tells what happened"


def test_1_plain(twin: Twin) -> None:
    with twin.plain() as agent:
        start(agent)
    twin.at = meeting(twin.at, 2)
    with twin.plain() as one, twin.plain() as other:
        together(lambda: wake(one), lambda: wake(other))
    assert twin.sent == [SENT] * 2


# -- 2. one approves and another one rejects at the same moment


def test_2_an_approval_and_a_rejection_at_once_do_not_both_count(twin: Twin) -> None:
    with twin.ours() as agent:
        start(agent)
    with deciding(twin.place) as (here, ann), deciding(twin.place) as (there, _):
        row = question(here)
        ends = together(
            lambda: here.queue.approve(row.id, ann, row.digest),
            lambda: there.queue.reject(row.id, ann),
        )
    (lost,) = [end for end in ends if isinstance(end, ConflictError)]
    (won,) = [end.state for end in ends if end is not lost]
    assert f"{won.value} by ann since" in lost.message
    with twin.ours() as one, twin.ours() as other:
        states = together(lambda: wake(one), lambda: wake(other, REJECT))
    assert twin.sent == [SENT] * (won is State.APPROVED)
    for state in states:
        assert (last_reply(state) == f"sent to {THIEF}") is (won is State.APPROVED), "the history says what happened"


def test_2_plain(twin: Twin) -> None:
    """Both have read that the question is open; the rejecting worker writes its end last."""
    with twin.plain() as agent:
        start(agent)
    done = threading.Event()

    class Slow(ScriptedModel):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            done.wait(LONG)
            return super()._generate(*args, **kwargs)

    at, twin.at = twin.at, meeting(twin.at, 2)
    with twin.plain() as one, twin.plain(Slow(script=twin.script)) as other:

        def approves() -> None:
            try:
                wake(one)
            finally:
                done.set()

        together(approves, lambda: wake(other, REJECT))
    twin.at = at
    with twin.plain() as agent:
        kept = agent.get_state(THREAD).values
    assert twin.sent == [SENT], "it was done"
    assert "rejected" in last_reply(kept), "and the history says that a person said no"


# -- 3. the same checkpoint is resumed twice


def test_3_a_checkpoint_that_is_resumed_again_does_not_act_again(twin: Twin) -> None:
    with twin.ours() as agent:
        start(agent)
        pinned = agent.get_state(THREAD).config
        approve(twin.place)
        states = [wake(agent, config=pinned) for _ in range(2)]
    assert twin.sent == [SENT]
    assert [last_reply(state) for state in states] == [f"sent to {THIEF}"] * 2


def test_3_plain(twin: Twin) -> None:
    with twin.plain() as agent:
        start(agent)
        pinned = agent.get_state(THREAD).config
        for _ in range(2):
            wake(agent, config=pinned)
    assert twin.sent == [SENT] * 2


# -- 4. the rule that asked says something else when the run goes on


def test_4_a_rule_that_has_changed_since_does_not_run_what_was_rejected(twin: Twin) -> None:
    with twin.ours() as agent:
        start(agent)
    reject(twin.place)
    policy = twin.place.folder / "policy.cedar"
    policy.write_text('@id("everything")\n@decision("allow")\npermit (principal, action, resource);\n')
    twin.place.settings(policy="policy.cedar")
    with twin.ours() as agent:
        state = wake(agent)
    assert twin.sent == []
    assert "rejected" in last_reply(state).casefold() or "refused" in last_reply(state).casefold()


def test_4_plain(twin: Twin) -> None:
    asks = [True]
    twin.guards = {"send_mail": {"allowed_decisions": ["approve", "reject"], "when": lambda _: asks[0]}}
    with twin.plain() as agent:
        start(agent)
        asks[0] = False
        wake(agent, REJECT)
    assert twin.sent == [SENT]


# -- 5. the arguments are changed after a person saw them


def worse(agent: Any) -> None:
    """Change the pending call in the graph's state, as whoever can write the checkpoints can."""
    last = agent.get_state(THREAD).values["messages"][-1]
    evil = {**last.tool_calls[0], "args": {"to": "worse@evil.example", "body": "everything"}}
    agent.update_state(THREAD, {"messages": [last.model_copy(update={"tool_calls": [evil]})]}, as_node="model")


def test_5_arguments_that_were_changed_after_they_were_seen_do_not_run(twin: Twin) -> None:
    with twin.ours() as agent:
        start(agent)
        approve(twin.place)
        worse(agent)
        agent.invoke(None, THREAD, durability="sync")
        wake(agent)
    assert twin.sent == []
    with twin.place.open() as gateway:
        states = {row.args()["to"]: row.state for row in gateway.queue.list()}
    assert states == {THIEF: State.INVALIDATED, "worse@evil.example": State.PENDING}


def test_5_plain(twin: Twin) -> None:
    with twin.plain() as agent:
        state = start(agent)
        (request,) = state["__interrupt__"][0].value["action_requests"]
        assert request["args"]["to"] == THIEF
        worse(agent)
        agent.invoke(None, THREAD, durability="sync")
        wake(agent)
    assert twin.sent == ["send worse@evil.example: everything"]


# -- 6. an edit turns the call into one of another tool that nobody asks about

EDIT = {
    "decisions": [
        {"type": "edit", "edited_action": {"name": "pay", "args": {"to": "DE89370400440532013000", "amount": 9}}}
    ]
}


def test_6_an_edit_does_not_run_a_tool_that_nobody_looked_at(twin: Twin) -> None:
    with twin.ours() as agent:
        start(agent)
        assert wake(agent, EDIT)["__interrupt__"], "the question still waits"
    assert twin.sent == []
    with twin.place.open() as gateway:
        assert [(row.tool, row.state) for row in gateway.queue.list()] == [("send_mail", State.PENDING)]


def test_6_plain(twin: Twin) -> None:
    with twin.plain() as agent:
        start(agent)
        wake(agent, EDIT)
    assert twin.sent == ["pay DE89370400440532013000 9.0"]


# -- 7. decisions are matched to calls by their place in a list

FRIEND = "friend@corp.example"
BOTH = calls(("send_mail", {"to": FRIEND, "body": "hi"}), ("send_mail", {"to": THIEF, "body": "all"}))
SWAPPED = {"decisions": [{"type": "reject", "message": "no"}, {"type": "approve"}]}


def test_7_decisions_that_were_swapped_do_not_run_the_other_call(twin: Twin) -> None:
    twin.script = [BOTH]
    with twin.ours() as agent:
        start(agent)
        for _ in range(3):  # one question at a time, or both at once: whatever is open is decided for itself
            with deciding(twin.place) as (gateway, ann):
                rows = {row.args()["to"]: row for row in gateway.queue.list([State.PENDING])}
                if len(rows) == 2:
                    with pytest.raises(DigestError):
                        gateway.queue.approve(rows[FRIEND].id, ann, rows[THIEF].digest)
                for to, row in rows.items():
                    if to == FRIEND:
                        gateway.queue.approve(row.id, ann, row.digest)
                    else:
                        gateway.queue.reject(row.id, ann)
            paused = agent.get_state(THREAD).interrupts
            if not paused:
                break
            agent.invoke(Command(resume={one.id: SWAPPED for one in paused}), THREAD, durability="sync")
    assert twin.sent == [f"send {FRIEND}: hi"]


def test_7_plain(twin: Twin) -> None:
    twin.script = [BOTH]
    with twin.plain() as agent:
        start(agent)
        wake(agent, SWAPPED)
    assert twin.sent == [SENT], "nothing but their order says which call they are about"


# -- 8. the process dies after the effect and before the checkpoint


def die_after_the_effect(place: World, kind: str) -> None:
    command = [sys.executable, hitl_world.__file__, str(place.folder), kind, "die"]
    assert subprocess.run(command, check=False, env={"HOME": str(place.folder)}).returncode == -9


def test_8_a_process_that_was_killed_after_the_effect_does_not_repeat_it(tmp_path: Path) -> None:
    twin = Twin(World.create(tmp_path), lambda: sqlite_saver(tmp_path))
    with twin.ours() as agent:
        start(agent)
    approve(twin.place)
    die_after_the_effect(twin.place, "ours")
    assert twin.sent == [SENT]
    with twin.ours() as agent:
        state = wake(agent)
    assert twin.sent == [SENT]
    assert "[unknown]" in last_reply(state), "and says that nobody knows"


def test_8_plain(tmp_path: Path) -> None:
    twin = Twin(World.create(tmp_path), lambda: sqlite_saver(tmp_path))
    with twin.plain() as agent:
        start(agent)
    die_after_the_effect(twin.place, "plain")
    assert twin.sent == [SENT]
    with twin.plain() as agent:
        agent.invoke(None, THREAD, durability="sync")
    assert twin.sent == [SENT] * 2


# -- 9. the user says something while a question is open


def test_9_a_question_does_not_vanish_when_the_user_writes_again(twin: Twin) -> None:
    twin.script = [SEND, AIMessage("done"), AIMessage("done")]
    with twin.ours() as agent:
        start(agent)
        with twin.place.open() as gateway:
            asked = question(gateway)
        agent.invoke({"messages": [HumanMessage("What is the weather?")]}, THREAD, durability="sync")
        with deciding(twin.place) as (gateway, ann):
            after = gateway.queue.get(asked.id)
            if after.state is State.PENDING:
                assert gateway.queue.approve(asked.id, ann, asked.digest).state is State.APPROVED
            else:
                assert after.state is State.SUPERSEDED
                with pytest.raises(ConflictError, match="superseded"):
                    gateway.queue.approve(asked.id, ann, asked.digest)
    assert len(twin.sent) <= 1


def test_9_plain(twin: Twin) -> None:
    twin.script = [SEND, AIMessage("It is sunny")]
    with twin.plain() as agent:
        start(agent)
        agent.invoke({"messages": [HumanMessage("What is the weather?")]}, THREAD, durability="sync")
        assert not agent.get_state(THREAD).interrupts, "the question is gone"
        wake(agent)
    assert twin.sent == [], "and nobody is told that the late yes did nothing"


# -- 10. a tool that nobody thought of


def test_10_a_tool_that_nobody_named_does_not_run(twin: Twin) -> None:
    twin.place = World.create(twin.place.folder)
    manifest = twin.place.folder / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace("  undeclared: {}\n", ""))
    twin.script = [calls(("undeclared", {}))]
    with twin.ours() as agent:
        state = agent.invoke({"messages": [ASK]}, THREAD, durability="sync")
    assert twin.sent == []
    assert "[unknown-tool" in last_reply(state)


def test_10_plain(twin: Twin) -> None:
    twin.script = [calls(("undeclared", {}))]
    with twin.plain() as agent:
        agent.invoke({"messages": [ASK]}, THREAD, durability="sync")
    assert twin.sent == ["undeclared"]


def test_there_are_ten_and_each_has_its_control() -> None:
    names = {name for name in globals() if name.startswith("test_")}
    for number in range(1, 11):
        mine = [name for name in names if name.startswith(f"test_{number}_")]
        assert len(mine) == 2
        assert f"test_{number}_plain" in mine
    assert APPROVE != REJECT
