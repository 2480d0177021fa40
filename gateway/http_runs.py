"""What the HTTP API does with runs: take them in, say how they stand, and stream their events.

Guarantees: a client sees only runs of its own name; a run that was accepted survives this process; events hold no
content.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.errors import MandateError
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.mandate_entry import MandateEntry
from checkvalve.approvals.mandate_file import MAX_MANDATES
from checkvalve.approvals.mandates import MAX_CALLS, MAX_TEXT, Mandate
from checkvalve.approvals.people import MAX_NAME
from checkvalve.gateway.app import Gateway
from checkvalve.gateway.http_people import behind_run, require_a_person
from checkvalve.gateway.http_problems import Problem
from checkvalve.gateway.http_tokens import Client
from checkvalve.gateway.run_log import OVER, RunLog, RunRecord
from checkvalve.gateway.worker import Worker
from checkvalve.graphs.errors import PipelineError
from checkvalve.graphs.runs import Pipeline, RunResult

MAX_TASK: Final = 50_000
"""Characters of a message: nobody types more, and a longer one would have no authority anyway."""
MAX_STREAMS: Final = 64
"""Event streams that one server keeps open."""
_POLL: Final = 0.5  # seconds between looks for further events
_BEAT: Final = 15.0  # seconds of silence after which a comment shows that the connection lives
NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
"""A name of a run or a message: it stands in addresses and in file names."""
CONTEXT: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}(~[1-9][0-9]{0,2})?$"
"""The same, or a task that a message began beside a run that waits; nobody starts a run of such a name."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NewMandate(_Body):
    """What the user lets a source do in one run, ahead of time; see docs/mandates.md."""

    source: str = Field(min_length=1, max_length=MAX_TEXT, description="read_file, or read_file(path=bill.txt)")
    tool: str = Field("", max_length=MAX_TEXT, description="the tool that may be filled; or give effect")
    effect: Effect | None = None
    roles: list[Role] = Field(min_length=1, max_length=len(Role))
    max_amount: str | float | None = Field(None, description="of one call; digits, such as 99.50")
    max_total: str | float | None = Field(None, description="of all calls; max_amount when not given")
    max_calls: int = Field(1, ge=1, le=MAX_CALLS)
    values: dict[str, list[str]] = Field(default_factory=dict, description="the only values an argument may have")
    hosts: list[str] = Field(default_factory=list, description="the only hosts a destination may be at")
    delegates: str = Field("", max_length=MAX_TEXT, description="an effect that the source may ask for, in words")
    expires_at: str | None = Field(None, description="RFC 3339; a day from now when not given")

    def value(self) -> Mandate:
        """Return the mandate.

        Raises:
            Problem: its parts do not go together.
        """
        try:
            return Mandate.from_json({**self.model_dump(mode="json"), "effect": self.effect or ""})
        except MandateError as error:
            raise Problem(422, "invalid_mandate", error.message, error.remedy) from error


class NewRun(_Body):
    """A task in the user's own words: the host says so by sending it here."""

    task: str = Field(min_length=1, max_length=MAX_TASK)
    thread: str | None = Field(None, pattern=NAME, description="the name of the run; drawn when not given")
    message_id: str | None = Field(
        None,
        pattern=NAME,
        description="makes a repeated request harmless: without `thread` the run's name follows from it",
    )
    mandates: list[NewMandate] = Field(default_factory=list, max_length=MAX_MANDATES)
    on_behalf_of: str = Field(
        "", max_length=MAX_NAME, description="the person for whom a program starts it: who may not approve it either"
    )


class NewMessage(_Body):
    """A further message of the user."""

    text: str = Field(min_length=1, max_length=MAX_TASK)
    message_id: str | None = Field(None, pattern=NAME, description="makes a repeated request harmless")


class Question(_Body):
    """What a person has to decide, in a review surface; the arguments are shown there."""

    approval: str
    tool: str
    rule: str
    remedy: str
    decide_by: str


class RunView(_Body):
    """How a run stands."""

    thread: str
    status: str = Field(description="running, waiting, answered, stopped or failed")
    code: str = ""
    answer: str | None = None
    waiting: list[Question] = Field(default_factory=list)
    turns: int = 0
    calls: int = 0
    bits: dict[str, float] = Field(default_factory=dict, description="bits that each source has decided so far")


@dataclass
class RunServer:
    """What the handlers share: the pipeline, its worker, and the log of runs."""

    gateway: Gateway
    pipeline: Pipeline
    log: RunLog
    worker: Worker
    streams: int = 0

    def own(self, thread: str, client: Client) -> RunRecord:
        """Return the record of a run of this client; of nobody else's it is not even said that there is one."""
        record = self.log.find(thread)
        if record is None or record.requester != client.name:
            raise Problem(404, "no_such_run", "there is no such run of yours", "start it: POST /runs")
        return record

    def begin(self, body: NewRun, client: Client) -> str:
        """Take in a new run: 1. claim its name, 2. grant its mandates, 3. keep the task, 4. let it run."""
        thread, mandates = body.thread or uuid4().hex, [item.value() for item in body.mandates]
        require_a_person(client, mandates)
        behind = behind_run(client, body.on_behalf_of)
        taken = self.log.find(thread) is None and bool(self.gateway.content.items(thread))
        if taken or not self.log.claim(thread, client.name, behind):
            raise Problem(409, "thread_taken", "this name is in use", "take another one, or let one be drawn")
        record = self.own(thread, client)
        if record.status != "accepted" and body.message_id is None:
            raise Problem(409, "run_exists", "this run was started", f"say more: POST /runs/{thread}/messages")
        self.give(self._context(thread, body.message_id), client, mandates)
        return self.say(thread, client, body.task, body.message_id)

    def give(self, thread: str, client: Client, mandates: Sequence[Mandate]) -> list[MandateEntry]:
        """Grant mandates for a run of this client, which has to be a person's.

        Raises:
            Problem: the deadline of one is over or too far away, or there are too many.
        """
        require_a_person(client, mandates)
        granted, by = self.gateway.queue.mandates, f"client:{client.name}"
        try:
            return granted.grant(mandates, thread=thread, requester=client.name, by=by)
        except MandateError as error:
            raise Problem(422, "invalid_mandate", error.message, error.remedy) from error

    def say(self, thread: str, client: Client, text: str, message_id: str | None) -> str:
        """Keep a message, let the run that has it go on, and return that: with ``allow-parallel`` maybe another one.

        Raises:
            Problem: too many tasks of this run wait for people, or other words were said under this id.
        """
        self._context(thread, message_id)
        try:
            context = self.pipeline.tell(text, thread=thread, message_id=message_id or "")
        except PipelineError as error:
            raise Problem(422, "message_id_reused", str(error), error.remedy) from error
        self.log.note(RunRecord(context, client.name, "running", behind=self.log.behind(thread)))
        self.go_on(context, client)
        return context

    def _context(self, thread: str, message_id: str | None) -> str:
        try:
            return self.pipeline.context_for(thread, message_id or "")
        except PipelineError as error:
            raise Problem(409, "too_many_tasks", str(error), error.remedy) from error

    def go_on(self, thread: str, client: Client) -> None:
        """Note that the run is under way, and let it run."""
        self.log.note(RunRecord(thread, client.name, "running", behind=behind_run(client)))
        self.worker.submit(thread, client.name)

    def view(self, record: RunRecord) -> RunView:
        """Return how a run stands, with the answer it gave and the questions that are open."""
        result = self._stands(record.thread)
        status = "running" if record.status == "accepted" else record.status
        queue = self.gateway.queue
        rows = [queue.get(name) for name in result.waiting] if status == "waiting" else []
        return RunView(
            thread=record.thread,
            status=status,
            code=record.code,
            answer=result.answer if status == "answered" else None,
            waiting=[
                Question(
                    approval=row.id, tool=row.tool, rule=row.rule, remedy=row.remedy, decide_by=rfc3339(row.decide_by)
                )
                for row in rows
            ],
            turns=result.turns,
            calls=result.calls,
            bits=dict(result.bits),
        )

    def _stands(self, thread: str) -> RunResult:
        try:
            return self.pipeline.look(thread)
        except PipelineError:  # its name was taken, and nothing was said in it yet
            return RunResult(thread, "running")

    async def events(self, thread: str, after: int, allowed: Callable[[], bool]) -> AsyncIterator[str]:
        """Yield the events of a run from number ``after`` on, until it is over or ``allowed`` says no."""
        quiet = 0.0
        self.streams += 1
        try:
            while await asyncio.to_thread(allowed):
                record = await asyncio.to_thread(self.log.find, thread)  # before the events: none may be missed
                found = await asyncio.to_thread(self.log.events, thread, after)
                for after, event in found:  # noqa: PLR1704  # the place to go on from
                    yield f"id: {after}\nevent: {event['kind']}\ndata: {json.dumps(event)}\n\n"
                if record is None or record.status in OVER:
                    return
                quiet = 0.0 if found else quiet + _POLL
                if quiet >= _BEAT:
                    quiet = 0.0
                    yield ": still here\n\n"
                await asyncio.sleep(_POLL)
        finally:
            self.streams -= 1
