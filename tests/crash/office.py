"""A long task for a two-agent pipeline, and a program that runs it in processes which somebody else kills.

As a program it is held by a :class:`~tests.crash.nursery.Nursery`. A process exits with one of the codes of
:class:`End`.
"""

from __future__ import annotations

import asyncio
import enum
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # as a program it is in no package

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool

from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.errors import LeaseHeldError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.policy import load_policy
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.store import Store
from checkvalve.graphs.checkpoint import postgres_checkpointer, sqlite_checkpointer
from checkvalve.graphs.pipeline import build_pipeline
from checkvalve.graphs.services import Services
from tests.crash import nursery
from tests.fakes import ScriptedModel, calls

MANIFEST = parse_manifest(
    """
version: 1
name: office
principal: {owner: [me@corp.example], domain: [corp.example]}
tools:
  read_box:
    effect: read
    idempotency: read
    result:
      - {path: id, writable_by: owner, kind: "id:mail", readers: owner, evidence: the server numbers mails}
      - {path: text, readers: owner}
  note:  # a rule allows it, and nobody promised that doing it twice is harmless
    effect: read
    idempotency: none
    args: {text: {role: content}}
    result: [{path: "$", writable_by: owner, readers: owner, evidence: our own words}]
  send_mail:
    effect: send
    asks: [send]
    args: {to: {role: target, kind: email}, body: {role: content}}
    result: [{path: "$", writable_by: owner, readers: owner, evidence: our own words}]
  pay:
    effect: pay
    asks: [pay]
    args: {to: {role: target, kind: account}, amount: {role: amount, kind: number}}
    result: [{path: "$", writable_by: owner, readers: owner, evidence: our own words}]
""",
    "office.yaml",
)

TASK = "Please read my box, send a mail about it, pay the bill, and note these: "
MAILS = [{"id": "m1", "text": "The bill is due on 2026-05-04, two of them"}, {"id": "m2", "text": "Nothing else"}]
PAUSE = 0.004  # seconds before and after each effect, so that kills hit there too
SCHEMA = {"fields": {"due": {"type": "date", "from": "2026-01-01", "to": "2026-12-31"}, "bill": {"type": "bool"}}}
READ = {"due": "2026-05-04", "bill": True, "have_enough_information": True}


class End(enum.IntEnum):
    """How a process ended that nobody killed."""

    ANSWERED = 0
    CRASHED = 1
    WAITING = 10
    HELD = 11
    STOPPED = 12


def task(rounds: int) -> str:
    """Return the user's words: what is noted stands in them, so nobody has to be asked about that."""
    return TASK + ", ".join(f"{n}{part}" for n in range(rounds) for part in "abc")


def script(rounds: int) -> list[AIMessage]:
    """Return the actor's turns: in each round a read beside an effect, two effects beside two questions, and a look."""
    turns = []
    for n in range(rounds):
        turns += [
            calls(("read_box", {}), ("note", {"text": f"{n}a"}), prefix=f"a{n}x"),
            calls(
                ("note", {"text": f"{n}b"}),
                ("send_mail", {"to": f"eve{n}@evil.example", "body": f"{n}"}),
                ("note", {"text": f"{n}c"}),
                ("pay", {"to": "DE89370400440532013000", "amount": 1000 + n}),
                prefix=f"b{n}x",
            ),
            calls(("read", {"references": ["r1"], "schema": SCHEMA}), prefix=f"c{n}x"),
        ]
    return [*turns, AIMessage("done")]


def tools(file: Path) -> list[BaseTool]:
    """Return the tools; each effect is one line of ``file``, written whole or not at all."""

    def happen(line: str) -> str:
        time.sleep(PAUSE)
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, f"{line}\n".encode())
        os.close(descriptor)
        time.sleep(PAUSE)
        return "done"

    async def ahappen(line: str) -> str:
        return await asyncio.to_thread(happen, line)

    def read_box() -> list[dict[str, str]]:
        """Read."""
        happen("read")
        return MAILS

    def note(text: str) -> str:
        """Note."""
        return happen(f"note {text}")

    async def anote(text: str) -> str:
        return await ahappen(f"note {text}")

    def send_mail(to: str, body: str) -> str:
        """Send."""
        return happen(f"send {to} {body}")

    async def asend_mail(to: str, body: str) -> str:
        return await ahappen(f"send {to} {body}")

    def pay(to: str, amount: int) -> str:
        """Pay."""
        return happen(f"pay {to} {amount}")

    async def apay(to: str, amount: int) -> str:
        return await ahappen(f"pay {to} {amount}")

    made: list[tuple[Callable[..., Any], Any]] = [(read_box, None), (note, anote), (send_mail, asend_mail), (pay, apay)]
    return [StructuredTool.from_function(plain, coroutine=awaited) for plain, awaited in made]


def checkpointer(address: str) -> AbstractContextManager[Any]:
    """Open the checkpointer at ``address``, which is one of a store."""
    file = address.removeprefix("sqlite:///")
    return postgres_checkpointer(address) if file == address else sqlite_checkpointer(Path(file))


def services(store: Store) -> Services:
    """Return what decides and runs."""
    queue = Queue(store)
    return Services(MANIFEST, load_policy(), queue, Executor(queue), SqlContentStore(store))


def go_on(job: dict[str, Any]) -> End:
    """Go on with the task of a thread until it waits or has ended."""
    with Store.open(job["store"], create=False) as store, checkpointer(job["checkpoints"]) as saver:
        pipeline = build_pipeline(
            services(store),
            tools=tools(Path(job["effects"])),
            reader=ScriptedModel(script=[AIMessage(json.dumps(READ))]),
            actor=ScriptedModel(script=script(job["rounds"])),
            checkpointer=saver,
            requester="me",
        )
        words, thread = task(job["rounds"]), job["thread"]
        try:
            if job["awaited"]:
                result = asyncio.run(pipeline.astart(words, thread=thread, message_id="m"))
            else:
                result = pipeline.start(words, thread=thread, message_id="m")
        except LeaseHeldError:
            return End.HELD
    known = {"answered": End.ANSWERED, "waiting": End.WAITING, "stopped": End.STOPPED}
    if result.status not in known:
        sys.stderr.write(f"{result}\n")
    return known.get(result.status, End.CRASHED)


if __name__ == "__main__":
    nursery.serve(go_on)
