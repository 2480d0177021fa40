"""The compiled pipeline with scripted parts: the graph, gate, reader node and decisions are the product's own.

Guarantees: nothing of the pipeline is imitated. The stand-ins are at its edges: the two models follow a script, the
tools are the benchmark's, and for speed the queue, the executor and the content store live in memory. The same stage
runs on a database with checkpoints; a test holds that the verdicts are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from checkvalve.approvals.records import Proposal
from checkvalve.corpora.agentdojo.adapter import Suite, ToolCall
from checkvalve.corpora.agentdojo.script import Script, Turns
from checkvalve.graphs.contents import Contents
from checkvalve.graphs.events import Answered, Event, Extracted, from_json
from checkvalve.graphs.pipeline import Pipeline, build_pipeline
from checkvalve.graphs.services import Services

REQUESTER = "user"
_STEPS = 2_000  # supersteps of one run; the turns are bounded by the pipeline's own limits


class ScriptedActor(BaseChatModel):
    """Takes the turns of the stage's script."""

    stage: Any

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:  # noqa: ARG002  # the library's signature
        """Return the model itself: the script knows its tools."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  # the library's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002  # the library's signature
        **_: Any,
    ) -> ChatResult:
        last = messages[-1]
        told = json.loads(str(last.content)) if isinstance(last, ToolMessage) else {}
        return ChatResult(generations=[ChatGeneration(message=self.stage.next_turn(told))])

    @property
    def _llm_type(self) -> str:
        return "scripted"


@dataclass(frozen=True)
class BenchmarkTool:
    """A tool of the benchmark, in the environment of the run that is on the stage."""

    name: str
    stage: Stage

    def invoke(self, call: Mapping[str, Any]) -> Any:
        """Execute a call."""
        return self.stage.script.run.episode.run(ToolCall(self.name, call["args"]))

    async def ainvoke(self, call: Mapping[str, Any]) -> Any:
        """Do what :meth:`invoke` does."""
        return self.invoke(call)


@dataclass
class Played:
    """What one run did: its decided calls, the answer the user got, and the bits that crossed for each source."""

    rows: list[Proposal]
    output: str
    bits: dict[str, float] = field(default_factory=dict)


class Stage:
    """One suite's pipeline, on which one run after another is played."""

    script: Script

    def __init__(self, suite: Suite, services: Services, **options: Any) -> None:
        self.services = services
        self._turns: Turns | None = None
        tools = [BenchmarkTool(name, self) for name in suite.signatures()]
        self.pipeline: Pipeline = build_pipeline(
            services, tools=tools, reader=self, actor=ScriptedActor(stage=self), requester=REQUESTER, **options
        )

    def contents(self, thread: str) -> Contents:
        """Return the way to what a thread has read."""
        return Contents(self.services.content, self.services.manifest, thread)

    def person(self, row: Proposal) -> bool:
        """Answer as a careful person: yes to what the user wants, exactly as it should be."""
        intent = self.script.intents[row.call_id]
        return intent.yes and row.args() == dict(intent.call.args)

    def play(self, script: Script, thread: str) -> Played:
        """Run one script to its end, without checkpoints: nothing waits, since the person answers at once."""
        self.begin(script)
        self.pipeline.tell(script.run.episode.prompt, thread=thread, message_id="1")
        state: Any = {"thread": thread, "agent": "", "requester": REQUESTER}
        config: Any = {"configurable": {"thread_id": thread}, "recursion_limit": _STEPS}
        events = self.pipeline.graph.stream(state, config, stream_mode="custom")
        return self.end(thread, (from_json(event) for event in events))

    def begin(self, script: Script) -> None:
        """Put a script on the stage."""
        self.script, self._turns = script, None

    def end(self, thread: str, events: Iterable[Event]) -> Played:
        """Gather what a run did from its events and its record."""
        bits: dict[str, float] = {}
        answer = ""
        for event in events:
            if isinstance(event, Extracted) and event.source:
                bits[event.source] = event.spent
            elif isinstance(event, Answered):
                answer = event.approval
        result = self.services.executor.look(answer).result if answer else None
        output = str(result["text"]) if isinstance(result, dict) else ""
        return Played(self.services.queue.list(thread=thread), output, bits)

    def next_turn(self, told: dict[str, Any]) -> AIMessage:
        """Return the actor's next turn."""
        try:
            if self._turns is None:
                self._turns = self.script.turns()
                calls = next(self._turns)
            else:
                calls = self._turns.send(told)
        except StopIteration:
            return AIMessage("Done.")
        made = [{"name": name, "args": args, "id": name, "type": "tool_call"} for name, args in calls]
        return AIMessage("", tool_calls=made)

    def extract(self, messages: Sequence[BaseMessage], schema: Mapping[str, Any]) -> object:  # noqa: ARG002  # a ReaderModel
        """Say what the script lets the reader say."""
        return dict(self.script.answer)

    async def aextract(self, messages: Sequence[BaseMessage], schema: Mapping[str, Any]) -> object:
        """Do what :meth:`extract` does."""
        return self.extract(messages, schema)
