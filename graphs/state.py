"""What the graph remembers between its steps: plain JSON, ids and codes, never content.

Guarantees: everything that was read stays in the content store and is named here by its place, so that checkpoints,
stream modes and traces of the graph hold none of it.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from checkvalve.filters.strictjson import JSON

JsonObject = dict[str, Any]


class PipelineState(TypedDict, total=False):
    """The state of one agent in one thread.

    ``log`` is the actor's conversation; ``asks``, ``requests`` and ``answer`` are what its latest turn asked for.
    A request is ``{"call", "tool", "args", "turn", "approval", "status", "waits"}``, where status goes from ``new``
    over ``pending`` and ``ready`` to ``ran`` and ``done``.
    """

    task: str  # only as input, for a pipeline that is a node of a bigger graph
    thread: str
    agent: str
    requester: str
    run: str  # tells the runs of a pipeline that is a node apart; empty otherwise
    inputs: list[JSON]  # references that a sub-agent was given
    log: Annotated[list[JsonObject], operator.add]
    references: Annotated[dict[str, JSON], operator.or_]
    asks: list[JsonObject]
    requests: list[JsonObject]
    answer: JsonObject
    turns: int
    calls: int
    asked: int
    messages: int  # how many of the user's messages were taken in
    floor: dict[str, int]  # the counts at the latest one: budgets are for each message
    status: str
    code: str
    answer_id: str


class PipelineOutput(TypedDict, total=False):
    """What a bigger graph gets: the id of the record that holds the answer, not its text."""

    status: str
    code: str
    answer_id: str


def said_by_user(text: str) -> JsonObject:
    """Return a log entry for the user's words."""
    return {"by": "user", "text": text}


def said_by_actor(text: str, calls: list[JsonObject]) -> JsonObject:
    """Return a log entry for a turn of the actor; the words and arguments are its own."""
    return {"by": "actor", "text": text, "calls": calls}


def observed(call: str, content: JsonObject) -> JsonObject:
    """Return a log entry for what the actor is told of a call (or, without one, of its turn)."""
    return {"by": "gateway", "call": call, "content": content}


def refused(code: str, remedy: str, **more: JSON) -> JsonObject:
    """Return what the actor is told when something did not work: a code and a remedy."""
    return {"status": "refused", "code": code, "remedy": remedy, **more}
