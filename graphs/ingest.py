"""The node ``ingest``: everything that enters goes through here, is labelled and stored, and is shown by reference.

1. Results of calls that ran: read from the executor's record, labelled by the tool's spec, stored, shown as a tree of
references; a call without a result is told as a code. 2. Messages of the user that nobody has taken in yet, unless a
person still has to decide: they wait, and the calls that wait do not see them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

from checkvalve.approvals.outcome import NOT_KEPT, Outcome
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.responding import response_of
from checkvalve.filters.labels import user_label
from checkvalve.filters.strictjson import JSON
from checkvalve.filters.words import own_parts
from checkvalve.graphs.calls import PASTED, RESPONSE, Call
from checkvalve.graphs.codes import BY_STATE, REMEDIES
from checkvalve.graphs.contents import MESSAGE
from checkvalve.graphs.desk import Desk, Thread, agent_of, nested_run, thread_of
from checkvalve.graphs.events import ItemIngested, TaskStarted, emit
from checkvalve.graphs.gate import withdrawn
from checkvalve.graphs.readings import clean
from checkvalve.graphs.references import Book, Entry
from checkvalve.graphs.state import JsonObject, PipelineState, observed, refused, said_by_user
from checkvalve.graphs.subagents import SubAgent


class IngestNode:
    """The node ``ingest`` of one pipeline."""

    def __init__(self, desk: Desk) -> None:
        """Store into the content store of ``desk``."""
        self._desk = desk

    def run(self, state: PipelineState) -> PipelineState:
        """Take in what is new."""
        thread, book = self._desk.thread(state), self._desk.book(state)
        requests = [dict(item) for item in state.get("requests", [])]
        log: list[JsonObject] = []
        for item in requests:
            if item["status"] == "ran":
                told = self._result(state, thread, book, item)
                log.append(observed(item["call"], {**told, **_edit(item)}))
                item["status"] = "done"
        update: PipelineState = {
            "requests": requests,
            "thread": thread_of(state),
            "task": "",
            "run": state.get("run", nested_run()),
        }
        if not any(item["status"] == "pending" for item in requests):
            update = {**update, **self._messages(state, thread, book, log)}
        return {**update, "log": log, "references": dict(book.made), "status": "running"}

    def _result(self, state: PipelineState, thread: Thread, book: Book, item: JsonObject) -> JsonObject:
        """Do step 1 for one call."""
        outcome = self._desk.services.executor.look(item["approval"])
        proposal = outcome.proposal
        identity = proposal.call_id if item.get("edited") is not None else str(item["id"])
        call = Call(proposal.tool, proposal.args(), identity, proposal.server, str(item["turn"]))
        values = _values(outcome)
        if values is None:
            return self._ended(thread, book, call, outcome)
        ok = isinstance(outcome.result, dict) and outcome.result.get("ok") is True
        shown = self._store(thread, book, call, values if ok else [(value, False) for value, _ in values])
        emit(
            ItemIngested(
                thread_of(state),
                agent_of(state),
                self._desk.toolbox.public_name(str(item["tool"])),
                item["call"],
                len(book.made),
            )
        )
        if not ok:
            return refused("failed", REMEDIES["failed"], detail=shown)
        return {"status": "done", "result": shown}

    def _ended(self, thread: Thread, book: Book, call: Call, outcome: Outcome) -> JsonObject:
        """Return what is told of a call without a result; what a failing tool said is content like any other."""
        if text := response_of(outcome.proposal):
            answered = Call(RESPONSE, {}, f"response:{outcome.proposal.id}")
            shown = self._store(thread, book, answered, [(text, False)])
            return refused("responded", REMEDIES["responded"], detail=shown)
        if outcome.state not in BY_STATE or outcome.state is State.INVALIDATED:
            return withdrawn_or_not_run(outcome.proposal)
        code = BY_STATE[outcome.state]
        said = (outcome.error or {}).get("text")
        if outcome.state is not State.FAILED or not isinstance(said, str) or not said:
            return refused(code, REMEDIES[code])
        return refused(code, REMEDIES[code], detail=self._store(thread, book, call, [(said, False)]))

    def _show_message(self, thread: Thread, book: Book, key: str, text: str, log: list[JsonObject]) -> None:
        """Show the user's own words as they are, and what was quoted or pasted into them as a reference."""
        parts = {
            own: "\n".join(line for line in part.split("\n") if line.strip(" `~\t")) for part, own in own_parts(text)
        }
        log.append(said_by_user(parts.get(True, "")))
        if pasted := parts.get(False, ""):
            shown = self._store(thread, book, Call(PASTED, {}, f"pasted:{key}"), [(pasted, False)])
            log.append(observed("", {"status": "pasted", "reference": shown}))

    def _store(self, thread: Thread, book: Book, call: Call, values: Sequence[tuple[JSON, bool]]) -> dict[str, JSON]:
        """Store the values of a result, each with whether it is the declared one, and return what is shown of them."""
        written = isinstance(self._desk.toolbox.tools.get(call.tool), SubAgent)
        parts = []
        for number, (value, declared) in enumerate(values):
            key = f"call:{call.id}/{number}"
            thread.session.result(call, value, key=key, declared=declared, written=written)
            parts += thread.contents.parts(key)
        return book.show(parts) if parts else {"kind": "nothing"}

    def _messages(self, state: PipelineState, thread: Thread, book: Book, log: list[JsonObject]) -> PipelineState:
        """Do step 2."""
        if agent_of(state):
            return self._errand(state, book, log)
        if task := state.get("task", ""):  # a pipeline that is a node: its host declares the task as the user's words
            mark = hashlib.sha256(task.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            add_message(
                self._desk,
                thread_of(state),
                f"task/{state.get('run', nested_run())}/{state.get('turns', 0)}/{mark}",
                task,
            )
        messages = thread.contents.messages()
        seen = state.get("messages", len(messages) - 1 if nested_run() else 0)  # a node looks at its own task only
        for number, (key, text) in enumerate(messages[seen:], seen + 1):
            thread.session.user_words(text, key=f"words:{key}")
            self._show_message(thread, book, key, text, log)
            emit(TaskStarted(thread_of(state), agent_of(state), number))
        return {"messages": len(messages), **(_floor(state) if len(messages) > seen else {})}

    @staticmethod
    def _errand(state: PipelineState, book: Book, log: list[JsonObject]) -> PipelineState:
        """Begin a sub-agent's errand: its task was written by an actor, so it is nobody's words."""
        if state.get("messages", 0):
            return {}
        given: list[JSON] = []
        for data in state.get("inputs", []):
            entry = Entry.from_json(data) if isinstance(data, dict) else None
            if entry is not None and len(entry.places) == 1 and not entry.hidden:
                given.append(book.show_value(entry.places[0]))
            elif entry is not None:
                given.append(book.show_places(entry.places, hidden=entry.hidden))
        log.append(said_by_user(state.get("task", "")))
        if given:
            log.append(observed("", {"status": "given", "references": given}))
        emit(TaskStarted(thread_of(state), agent_of(state), 1))
        return {"messages": 1, **_floor(state)}


def add_message(desk: Desk, thread: str, key: str, text: str) -> None:
    """Put a message of the user into the history of a thread; a run takes it in when nothing waits."""
    desk.services.content.append_item(thread, key, MESSAGE, {"text": clean(text)}, user_label())


def withdrawn_or_not_run(proposal: Proposal) -> JsonObject:
    """Return what is told of a call that was to run and did not."""
    if proposal.state in BY_STATE or proposal.state is State.DENIED:
        return withdrawn(proposal)
    return refused("not_run", REMEDIES["not_run"])


def _values(outcome: Outcome) -> list[tuple[JSON, bool]] | None:
    """Return what a call returned, each value with whether it is the declared one; None when there is nothing to show.

    A record that does not say which it is has none.
    """
    result = outcome.result
    if outcome.state is not State.SUCCEEDED or not isinstance(result, dict) or NOT_KEPT in result:
        return None
    values, declared = result.get("values"), result.get("declared")
    if not isinstance(values, list):
        return None
    marks = declared if isinstance(declared, list) and len(declared) == len(values) else [False] * len(values)
    return [(value, mark is True) for value, mark in zip(values, marks, strict=True)]


def _edit(item: JsonObject) -> JsonObject:
    """Return what is told of an edit: which of the actor's own arguments a person changed."""
    if item.get("edited") is None:
        return {}
    return {"edited": list(item["edited"]), "note": REMEDIES["edited"]}


def _floor(state: PipelineState) -> PipelineState:
    return {"floor": {name: int(state.get(name, 0)) for name in ("turns", "calls", "asked")}}  # type: ignore[call-overload]


def next_after_ingest(state: PipelineState) -> Literal["actor", "gate"]:
    """Return where the graph goes from here: calls that still wait keep the actor waiting."""
    return "gate" if any(item["status"] == "pending" for item in state.get("requests", [])) else "actor"
