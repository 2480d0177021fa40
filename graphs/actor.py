"""The node ``actor``: the privileged model, which has tools and sees no content.

1. A spent budget stops the run. 2. The messages are built anew from the state: prompt, the user's words, its own turns,
and codes, references and closed values. 3. The model is asked, with tools described by the manifest alone. 4. Its calls
are sorted: questions to the reader, requests for the gate, the answer. What cannot be parsed becomes a code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable

from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, check_value
from checkvalve.graphs.codes import REMEDIES
from checkvalve.graphs.desk import Desk, agent_of, full_name, thread_of
from checkvalve.graphs.events import Proposed, Stopped, emit
from checkvalve.graphs.expansion import count_references
from checkvalve.graphs.prompts.registry import load
from checkvalve.graphs.readings import clean
from checkvalve.graphs.state import JsonObject, PipelineState, observed, refused, said_by_actor
from checkvalve.graphs.toolbox import BUILT_IN, built_in

PROMPT: Final = "actor@1"
MAX_NAME: Final = 100  # characters of a tool name that a model writes; real ones are at most 64


class ActorNode:
    """The node ``actor`` of one pipeline."""

    def __init__(self, desk: Desk, model: BaseChatModel, instructions: str = "") -> None:
        """Bind the tools once: what the actor is told of them never changes within a pipeline."""
        self._desk = desk
        tools = [*built_in(sorted(desk.schemas)), *desk.toolbox.shown()]
        self._model: Runnable[Any, AIMessage] = model.bind_tools(tools)
        self._prompt = "\n\n".join(part for part in (load(PROMPT).text, instructions.strip()) if part)

    def run(self, state: PipelineState) -> PipelineState:
        """Let the actor take one turn."""
        if code := self._spent(state):
            return _stop(state, code)
        return self._taken(state, self._model.invoke(self.messages(state)))

    async def arun(self, state: PipelineState) -> PipelineState:
        """Do what :meth:`run` does."""
        if code := self._spent(state):
            return _stop(state, code)
        return self._taken(state, await self._model.ainvoke(self.messages(state)))

    def messages(self, state: PipelineState) -> list[BaseMessage]:
        """Return what the actor is sent, built from the state and constants alone."""
        return [SystemMessage(self._prompt), *(_message(entry) for entry in state.get("log", []))]

    def _spent(self, state: PipelineState) -> str:
        limits, floor = self._desk.limits, state.get("floor", {})
        used = {
            "max_turns": (state.get("turns", 0) - floor.get("turns", 0), limits.max_turns),
            "max_calls": (state.get("calls", 0) - floor.get("calls", 0), limits.max_calls),
            "max_asks": (state.get("asked", 0) - floor.get("asked", 0), limits.max_asks),
        }
        return next((code for code, (count, most) in used.items() if count >= most), "")

    def _taken(self, state: PipelineState, said: AIMessage) -> PipelineState:
        """Sort what the actor asks for; see step 4."""
        turn = state.get("turns", 0) + 1
        sorting = _Sorting(self._desk, state, turn)
        broken = len(said.invalid_tool_calls)
        for call in said.tool_calls:
            sorting.take(call["name"], call["args"])
        for _ in range(broken):
            sorting.take("", None)
        text = clean(said.text)[: self._desk.limits.max_template]
        if not said.tool_calls and not broken:
            sorting.speak(text)
        return sorting.update(text if said.tool_calls else "")


class _Sorting:
    """The calls of one turn, put where they belong."""

    def __init__(self, desk: Desk, state: PipelineState, turn: int) -> None:
        self._desk, self._state, self._turn = desk, state, turn
        self._calls: list[JsonObject] = []
        self._refused: list[JsonObject] = []
        self._asks: list[JsonObject] = []
        self._requests: list[JsonObject] = []
        self._answers: list[JsonObject] = []

    def take(self, name: object, args: object) -> None:
        """Put one call where it belongs."""
        call = f"c{self._state.get('turns', 0) + 1}x{len(self._calls) + 1}"
        name = clean(name)[:MAX_NAME] if isinstance(name, str) else ""
        try:
            checked = check_value(args)
        except HostileInputError:
            checked = None
        if not isinstance(checked, dict) or not name or len(json.dumps(checked)) > self._desk.limits.max_template * 4:
            self._calls.append({"id": call, "name": name or "unreadable", "args": {}})
            self._refuse(call, "malformed_call")
            return
        self._calls.append({"id": call, "name": name, "args": checked})
        if len(self._calls) > self._desk.limits.calls_per_turn:
            self._refuse(call, "too_many_calls")
        elif name == "answer":
            self._answers.append({"call": call, "text": checked.get("text")})
        elif name in BUILT_IN:
            self._asks.append({"call": call, "name": name, "args": checked})
        else:
            self._request(call, name, checked)

    def speak(self, text: str) -> None:
        """Take a turn without calls as the answer."""
        if text.strip():
            self.take("answer", {"text": text})
        else:
            self._refused.append(observed("", refused("empty_answer", REMEDIES["empty_answer"])))

    def update(self, text: str) -> PipelineState:
        """Return what the turn changes."""
        answer = self._answers[0] if len(self._answers) == len(self._calls) == 1 else {}
        for item in () if answer else self._answers:
            self._refuse(str(item["call"]), "answer_alone")
        if answer and not (isinstance(answer["text"], str) and answer["text"].strip()):
            self._refuse(str(answer["call"]), "empty_answer")
            answer = {}
        said = [said_by_actor(text, self._calls)] if self._calls or text else []
        return {
            "log": [*said, *self._refused],
            "asks": self._asks,
            "requests": self._requests,
            "answer": answer,
            "turns": self._turn,
            "calls": self._state.get("calls", 0) + len(self._requests),
            "asked": self._state.get("asked", 0) + len(self._asks),
            "status": "running",
            "code": "",
        }

    def _request(self, call: str, name: str, args: dict[str, JSON]) -> None:
        shown = self._desk.toolbox.public_name(name)
        emit(Proposed(thread_of(self._state), agent_of(self._state), shown, call, count_references(args)))
        turn = full_name(self._state, f"t{self._turn}")
        identity = f"{full_name(self._state, call)}@t{self._turn}"
        self._requests.append(
            {"call": call, "id": identity, "turn": turn, "tool": name, "args": args, "status": "new", "approval": ""}
        )

    def _refuse(self, call: str, code: str) -> None:
        self._refused.append(observed(call, refused(code, REMEDIES[code])))


def _stop(state: PipelineState, code: str) -> PipelineState:
    emit(Stopped(thread_of(state), agent_of(state), code))
    return {"status": "stopped", "code": code, "asks": [], "requests": [], "answer": {}}


def _message(entry: Mapping[str, Any]) -> BaseMessage:
    """Return a log entry as the message it stands for."""
    match entry:
        case {"by": "user", "text": str(text)}:
            return HumanMessage(text)
        case {"by": "actor", "text": str(text), "calls": list(calls)}:
            made = [{"name": c["name"], "args": c["args"], "id": c["id"], "type": "tool_call"} for c in calls]
            return AIMessage(text, tool_calls=made)
        case {"call": ""}:
            return HumanMessage(json.dumps(entry["content"], ensure_ascii=False))
        case _:
            return ToolMessage(json.dumps(entry["content"], ensure_ascii=False), tool_call_id=entry["call"])
