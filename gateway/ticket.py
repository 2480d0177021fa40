"""One call on its way through the gate: what was asked, what was decided, what came back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest

from checkvalve.approvals.edits import current
from checkvalve.approvals.errors import OutcomeUnknownError
from checkvalve.approvals.executor import Keep
from checkvalve.approvals.manifest import schema_digest
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.pins import Found
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.toolspec import Manifest
from checkvalve.approvals.undo_call import Kept
from checkvalve.approvals.verdicts import Verdict
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway import replies
from checkvalve.gateway.conversation import call_name, messages_in, thread_of, turn_of
from checkvalve.gateway.edit_notice import begun, edit_notice, with_notice
from checkvalve.gateway.errors import UncheckedResultError
from checkvalve.gateway.handover import ToolResult, messages_of, pack, state_of
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.messages import mark_of
from checkvalve.gateway.told_values import as_seen
from checkvalve.graphs.calls import Call, runs_in_sandbox
from checkvalve.graphs.edited import as_edited, recheck
from checkvalve.graphs.errors import CheckpointError
from checkvalve.graphs.keeping import Keeping
from checkvalve.graphs.pinning import Pinning
from checkvalve.graphs.previewing import Previewing
from checkvalve.graphs.probing import Probing
from checkvalve.graphs.repeating import while_promised
from checkvalve.graphs.results import result_values
from checkvalve.graphs.services import Services
from checkvalve.graphs.session import GuardSession
from checkvalve.graphs.stored_results import one_value
from checkvalve.graphs.toolbox import schema_of


@dataclass(frozen=True)
class Met:
    """A call that was met, with its session, before anything is decided."""

    request: ToolCallRequest
    session: GuardSession
    call: Call
    servers: Mapping[str, str]

    def tools(self) -> dict[str, BaseTool]:
        """Return the agent's tools of the call's own server, by name."""
        return tools_of(self.request, self.servers, self.call.server)


@dataclass
class Ticket:
    """A proposed call with its session and its record; ``started`` is set right before the tool is entered."""

    request: ToolCallRequest
    session: GuardSession
    call: Call
    proposal: Proposal
    started: bool = False
    unread: bool = False
    servers: Mapping[str, str] = field(default_factory=dict)
    asked: str = ""  # the digest of what the model proposed; what a person made of it has another one
    paused: GraphBubbleUp | None = None
    returned: Any = None
    previewed: str = ""  # the question of which a preview was made, or found to be impossible
    opened: float = field(default_factory=time.monotonic)

    @property
    def name(self) -> tuple[str, str]:
        """The tool and the call id that a reply has to carry."""
        return name_of(self.request)

    @property
    def edited(self) -> bool:
        """Say whether a person has changed the call that the model proposed."""
        return bool(self.asked) and self.proposal.digest != self.asked

    @property
    def runs(self) -> Call:
        """The call that runs: the one that was proposed, or what a person made of it."""
        return as_edited(self.call, self.proposal) if self.edited else self.call

    def stands(self, queue: Queue) -> Proposal:
        """Return how the call stands now; where a person edited it, that call takes its place."""
        return current(queue, self.proposal.id)

    def check(self, services: Services) -> Callable[[], Verdict]:
        """Return the check right before the effect."""
        edited = self.edited
        check = recheck(services, self.proposal, self.call) if edited else self.session.revalidation(self.call)
        return while_promised(services, self.proposal.id, check)

    def told(self, result: ToolResult) -> ToolResult:
        """Return what is handed on: of an edited call with a notice of what was changed."""
        return with_notice(result, self._changed(), self.name[1]) if self.edited else result

    def told_reply(self, message: ToolMessage) -> ToolMessage:
        """Do the same for a reply of the gate."""
        return begun(message, self._changed()) if self.edited else message

    def _changed(self) -> str:
        return edit_notice(self.session.request(self.call).args, as_seen(self.proposal))

    def names(self) -> dict[str, str]:
        """Return what a log line says of this call."""
        return {
            "tool": self.call.tool,
            "approval": self.proposal.id,
            "thread": self.session.thread,
            "call": self.call.id,
        }

    def start(self, args: dict[str, JSON]) -> ToolCallRequest:
        """Return the request to run: with the arguments of the record, whatever the conversation says by now."""
        self.started = True
        return self.request.override(tool_call={**self.request.tool_call, "args": args})

    def ran(self, result: object, *, key: str, observing: bool) -> JSON:
        """Keep what the tool returned, as it will be handed on, and return the form to record.

        A result whose messages cannot be told is replaced by a reply that says so. In observe mode it is handed on all
        the same, unread.
        """
        try:
            self.returned, record = pack(result, key)
        except (UncheckedResultError, CheckpointError) as error:
            get_logger().error("result.refused", error=str(error), **self.names())
            self.returned, record = pack(replies.unchecked(self.name), key)
            if observing:
                get_logger().error("OBSERVE MODE: this result is handed on UNREAD", **self.names())
                self.returned, self.unread = result, True
        return record

    def preview(self, services: Services) -> None:
        """Pin what is about to be asked, and try what it would do, where its tool declares that; an edit anew."""
        if self._to_preview():
            self.proposal = Pinning(services).ask(self.proposal, self._tools().get)
            Previewing(services).show(self.proposal, self._tools().get)

    async def apreview(self, services: Services) -> None:
        """Do what :meth:`preview` does, for tools that are awaited."""
        if self._to_preview():
            self.proposal = await Pinning(services).aask(self.proposal, self._tools().get)
            await Previewing(services).ashow(self.proposal, self._tools().get)

    def pinned(self, services: Services) -> Found | None:
        """Read again what the call points at, where a person was asked about its version."""
        return Pinning(services).again(self.proposal, self._tools().get)

    async def apinned(self, services: Services) -> Found | None:
        """Do what :meth:`pinned` does, for tools that are awaited."""
        return await Pinning(services).aagain(self.proposal, self._tools().get)

    def probed(self, services: Services, outcome: Outcome) -> Outcome:
        """Look for the effect of a call whose end nobody knows, where its tool says how."""
        return Probing(services).after(outcome, self._tools().get)

    async def aprobed(self, services: Services, outcome: Outcome) -> Outcome:
        """Do what :meth:`probed` does, for tools that are awaited."""
        return await Probing(services).aafter(outcome, self._tools().get)

    def _to_preview(self) -> bool:
        known, self.previewed = self.previewed, self.proposal.id
        return self.proposal.state is State.PENDING and known != self.proposal.id

    def _tools(self) -> dict[str, BaseTool]:
        return tools_of(self.request, self.servers, self.call.server)

    def keeping(self, services: Services) -> Keeping | None:
        """Return what keeps the undoing of this call, where its tool says how it is undone."""
        return Keeping.of(services, self.session, self.runs, self._tools().get)

    def keep(self, keeping: Keeping | None) -> Keep | None:
        """Return what says of the result that came back how it is undone."""
        if keeping is None:
            return None
        spec = keeping.services.manifest.find(self.call.tool, self.call.server)

        def kept(_record: JSON) -> Kept:
            found = result_values(messages_of(self.returned), self.request.tool_call["id"] or "")
            return keeping.keep(one_value([value for part in found for value, known in part if known], spec))

        return kept

    def interrupted(self, pause: GraphBubbleUp) -> OutcomeUnknownError:
        """Return the error for a tool that paused the graph in the middle of its work.

        It may have done part of it. A tool declared to only read is entered again when the graph is resumed; any
        other is not, and its outcome is unknown.
        """
        self.paused = pause
        return OutcomeUnknownError(
            "the tool paused the graph", remedy="declare `idempotency: read` if it may run again"
        )

    def record(self, result: ToolResult) -> None:
        """Take the result in as content. What a tool says when it fails was not written by its data source.

        Which value is the declared result, :func:`result_values` says; what the tool writes into the graph's state,
        which the next model call may be shown, is undeclared.
        """
        if self.unread:
            return
        messages, call = messages_of(result), self.runs
        for number, values in enumerate(result_values(messages, self.request.tool_call["id"] or "")):
            for part, (value, declared) in enumerate(values):
                self.session.result(call, value, key=f"call:{call.id}/{number}/{part}", declared=declared)
            self.session.deliver(mark_of(messages[number]))
        for number, value in enumerate(state_of(result)):
            self.session.result(call, value, key=f"call:{call.id}/state/{number}", declared=False)

    def handed_on(self, result: ToolResult) -> ToolResult:
        """Remember what is handed on, which is not always what was recorded, so that it is known when it comes back."""
        for message in () if self.unread else messages_of(result):
            self.session.deliver(mark_of(message))
        return result


def tools_of(request: ToolCallRequest, servers: Mapping[str, str], server: str) -> dict[str, BaseTool]:
    """Return those tools of the agent that made a request which ``servers`` says are of one server, by name.

    Another server may offer a tool under the same name, and what that one returns is not what the manifest declares.
    """
    tools = getattr(request.runtime, "tools", None) or ()
    return {tool.name: tool for tool in tools if servers.get(tool.name, "") == server}


def name_of(request: ToolCallRequest) -> tuple[str, str]:
    """Return the tool and the call id of a request."""
    return request.tool_call["name"], request.tool_call["id"] or ""


def has_started(ticket: object) -> bool:
    """Say whether the tool of this call may have been entered."""
    return isinstance(ticket, Ticket) and ticket.started


def thread_and_turn(request: ToolCallRequest, key: str) -> tuple[str, AIMessage | None, list[BaseMessage]]:
    """Return the thread, the model's message that proposed the call, and the messages before that."""
    messages = messages_in(request.state, key)
    info = getattr(request.runtime, "execution_info", None)
    number, turn = turn_of(messages, request.tool_call["id"] or "")
    return thread_of(getattr(info, "thread_id", None), messages), turn, messages[:number]


def call_of(request: ToolCallRequest, turn: AIMessage | None, server: str, manifest: Manifest) -> Call:
    """Return the call in the gateway's own words."""
    name, identity = name_of(request)
    spec = manifest.find(name, server)
    pinned = spec is not None and spec.schema_digest is not None
    return Call(
        tool=name,
        args=request.tool_call["args"],
        id=call_name(turn, identity),
        server=server,
        turn=(turn.id if turn else None) or "",
        schema_digest=schema_digest(schema_of(request.tool)) if pinned and request.tool else None,
        sandboxed=runs_in_sandbox(request.tool),
    )
