"""The gate in front of LangChain tools: decide, pause or refuse, run once, record. Used by middleware and tool node.

1. Take in what the conversation holds. 2. Find the turn and build the call; a call that cannot be parsed or told from
another one is refused. 3. Where there is a question, read first what the manifest names; decide and record; try what
the call would do, for whoever decides. 4. Denied: a coded refusal. 5. Review: wait, pause the graph with nothing but
the approval's id, or return; what the graph is resumed with decides nothing, the store is read again; where a person
edited the call, what it became takes its place, and the model is told what was changed. 6. Run through the executor,
with the arguments of the record; of an unknown end read the probe. 7. Whoever comes second gets the recorded result.

Guarantees: a crash before step 6 means that nothing ran, and the model is told so in a code; a pause of the graph is
never swallowed. In observe mode nothing is stopped, not even by a crash of the gate, and the log says so loudly.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import interrupt

from checkvalve.approvals.errors import NotStartedError, OutcomeUnknownError
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.records import USED, State
from checkvalve.approvals.responding import response_of
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.verdicts import Deny
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway import replies
from checkvalve.gateway.app import Gateway
from checkvalve.gateway.cleaning import cleaned
from checkvalve.gateway.conversation import Conversation, UserWords
from checkvalve.gateway.gate_log import say_decided, stays_shut
from checkvalve.gateway.handover import unpack
from checkvalve.gateway.heard import hear
from checkvalve.gateway.late_answers import LateAnswers
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.messages import mark_of
from checkvalve.gateway.runs import can_pause
from checkvalve.gateway.ticket import Met, Ticket, call_of, has_started, name_of, thread_and_turn
from checkvalve.graphs.calls import RESPONSE, Call
from checkvalve.graphs.detached import idempotency_key, keyed
from checkvalve.graphs.looking import alook_first, look_first
from checkvalve.graphs.session import refusal
from checkvalve.graphs.stored_results import was_kept

OnReview: TypeAlias = Literal["pause", "return"]
Handler: TypeAlias = Callable[[ToolCallRequest], Any]
AsyncHandler: TypeAlias = Callable[[ToolCallRequest], Awaitable[Any]]

_HELD: Final = (NotStartedError, OutcomeUnknownError)
"""Errors of the gateway's own, which an agent is told of in a code."""
_POLL: Final = 0.25  # seconds between looks at the store while a person decides
_RUNNABLE: Final = USED | {State.CONFIRMED_NOT_DONE}


class ToolGate:
    """Decides every call of an agent's tools. One for each agent; it may serve many threads at once."""

    def __init__(
        self,
        gateway: Gateway,
        *,
        user_words: UserWords = "declared",
        system_prompt: str = "",
        on_review: OnReview = "pause",
        servers: Mapping[str, str] | None = None,
        requester: str = "",
        messages_key: str = "messages",
        mandates: Sequence[Mandate] = (),
    ) -> None:
        """Put a gate before an agent's tools.

        Args:
            gateway: from :func:`checkvalve.gateway.app.open_gateway` or ``build``.
            user_words: ``declared`` takes only messages of :func:`user_message` as the user's words;
                ``human_messages`` also takes the plain human message that the host invokes the agent with, where
                nothing else can have written it (see :meth:`Conversation.typed`).
            system_prompt: the deployer's instructions, to be given authority; without it they have none.
            on_review: ``pause`` interrupts the graph where it can be resumed, ``return`` tells the model that a
                person is being asked.
            servers: the server of each tool that the manifest declares under one.
            requester: on whose behalf the agent acts; this person may not approve.
            messages_key: where the graph's state keeps the conversation.
            mandates: what the user lets sources do, in every thread of this agent; see docs/mandates.md.
        """
        self.gateway = gateway
        self.conversation = Conversation(gateway, user_words, system_prompt, requester, mandates)
        self.late = LateAnswers(gateway, self.conversation.places)
        self._on_review = on_review
        self._servers = dict(servers or {})
        self._messages_key = messages_key
        self._log = get_logger()

    def wrap(self, request: ToolCallRequest, handler: Handler) -> Any:
        """Decide one call and run it if it may; the hook for ``wrap_tool_call``."""
        ticket: Ticket | ToolMessage | None = None
        try:
            if isinstance(met := self._meet(request), Met):
                look_first(self.gateway.services, met.session, met.call, met.tools().get)
            ticket = opened = self._open(met)
            self._wait(opened)
            answer = self._settle(opened)
            if isinstance(answer, Ticket):
                answer = self._close(answer, answer.probed(self.gateway.services, self._run(answer, handler)))
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001  # a gate that crashes stays shut
            if self._stays_shut(request, ticket, error):
                return replies.crashed(name_of(request), started=has_started(ticket))
            return handler(request)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def awrap(self, request: ToolCallRequest, handler: AsyncHandler) -> Any:
        """Do what :meth:`wrap` does, for agents that are awaited; the store's work is done in threads."""
        ticket: Ticket | ToolMessage | None = None
        try:
            if isinstance(met := await asyncio.to_thread(self._meet, request), Met):
                await alook_first(self.gateway.services, met.session, met.call, met.tools().get)
            ticket = opened = await asyncio.to_thread(self._open, met)
            await self._await(opened)
            answer = self._settle(opened)
            if isinstance(answer, Ticket):
                outcome = await answer.aprobed(self.gateway.services, await self._arun(answer, handler))
                answer = await asyncio.to_thread(self._close, answer, outcome)
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001  # a gate that crashes stays shut
            if self._stays_shut(request, ticket, error):
                return replies.crashed(name_of(request), started=has_started(ticket))
            return await handler(request)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _meet(self, request: ToolCallRequest) -> Met | ToolMessage:
        """Do steps 1 and 2."""
        thread, turn, before = thread_and_turn(request, self._messages_key)
        if not thread:
            return self._refused(request, "", Deny("no-thread", "no_thread", "run the agent with a thread_id"))
        call = call_of(request, turn, self._servers.get(request.tool_call["name"], ""), self.gateway.manifest)
        session = self.conversation.meet(thread, call, before)
        return Met(request, session, call, self._servers)

    def _open(self, met: Met | ToolMessage) -> Ticket | ToolMessage:
        """Do step 3."""
        if not isinstance(met, Met):
            return met
        request, session, call = met.request, met.session, met.call
        unknown = Deny("unregistered-tool", "unregistered_tool", "use a tool the agent has")
        try:
            proposal = session.propose(call, None if request.tool else unknown)
        except HostileInputError as error:
            message = self._refused(request, session.thread, refusal(error))
            session.deliver(mark_of(message))
            return message
        ticket = Ticket(request, session, call, proposal, servers=met.servers, asked=session.request(call).digest)
        say_decided(self._log, ticket, observing=self.gateway.observing)
        ticket.proposal = ticket.stands(self.gateway.queue)
        return ticket

    def _wait(self, ticket: Ticket | ToolMessage) -> None:
        """Let whoever is asked see what the call would do, and wait for as long as the settings say."""
        while isinstance(ticket, Ticket):
            waits = self._must_wait(ticket)
            ticket.preview(self.gateway.services)
            if not waits:
                break
            time.sleep(_POLL)

    async def _await(self, ticket: Ticket | ToolMessage) -> None:
        while isinstance(ticket, Ticket):
            waits = await asyncio.to_thread(self._must_wait, ticket)
            await ticket.apreview(self.gateway.services)
            if not waits:
                break
            await asyncio.sleep(_POLL)  # the decision is made in another process, there is no event to wait for

    def _must_wait(self, ticket: Ticket) -> bool:
        """Look whether a person has decided, for as long as the settings say."""
        if ticket.proposal.state is not State.PENDING:
            return False
        ticket.proposal = ticket.stands(self.gateway.queue)
        waited = time.monotonic() - ticket.opened
        return ticket.proposal.state is State.PENDING and waited < self.gateway.settings.wait_for_review

    def _settle(self, ticket: Ticket | ToolMessage) -> Ticket | ToolMessage:
        """Do steps 4 and 5: return the ticket when it may go on to the executor, else the reply."""
        if not isinstance(ticket, Ticket):
            return ticket
        pauses = 0
        while ticket.proposal.state is State.PENDING:
            if self._on_review == "return" or not can_pause():
                return self._deliver(ticket, replies.pending(ticket.name, ticket.proposal))
            hear(self.gateway, ticket, interrupt({"approval_id": ticket.proposal.id}), pauses)
            pauses += 1
            ticket.proposal = ticket.stands(self.gateway.queue)
        proposal = ticket.proposal
        if proposal.state in _RUNNABLE:
            return ticket
        if proposal.state is State.DENIED:
            reply = replies.denied(ticket.name, proposal.reason, proposal.rule, proposal.remedy, proposal.id)
            return self._deliver(ticket, reply)
        if text := response_of(proposal):
            answered = Call(RESPONSE, {}, f"response:{proposal.id}")
            ticket.session.result(answered, text, key=answered.id, declared=False)
        return self._deliver(ticket, replies.withdrawn(ticket.name, proposal))

    def _run(self, ticket: Ticket, handler: Handler) -> Outcome:
        """Do step 6."""
        keeping = ticket.keeping(self.gateway.services)

        def effect(args: dict[str, JSON], key: str) -> JSON:
            if keeping is not None:
                keeping.begin(args)
            with keyed(key, ticket.session.thread), self.conversation.running():
                try:
                    return self._ran(ticket, handler(ticket.start(args)))
                except GraphBubbleUp as pause:
                    raise ticket.interrupted(pause) from pause

        services, keep = self.gateway.services, ticket.keep(keeping)
        check, pinned = ticket.check(services), ticket.pinned(services)
        outcome = services.executor.run(ticket.proposal.id, effect, revalidate=check, keep=keep, pinned=pinned)
        if keeping is not None:
            keeping.after(outcome)
        return outcome

    async def _arun(self, ticket: Ticket, handler: AsyncHandler) -> Outcome:
        keeping = await asyncio.to_thread(ticket.keeping, self.gateway.services)

        async def effect(args: dict[str, JSON], key: str) -> JSON:
            if keeping is not None:
                await keeping.abegin(args)
            with keyed(key, ticket.session.thread), self.conversation.running():
                try:
                    return self._ran(ticket, await handler(ticket.start(args)))
                except GraphBubbleUp as pause:
                    raise ticket.interrupted(pause) from pause

        services, keep = self.gateway.services, ticket.keep(keeping)
        check, pinned = ticket.check(services), await ticket.apinned(services)
        outcome = await services.executor.arun(ticket.proposal.id, effect, revalidate=check, keep=keep, pinned=pinned)
        if keeping is not None:
            await keeping.aafter(outcome)
        return outcome

    def _ran(self, ticket: Ticket, result: object) -> JSON:
        return ticket.ran(result, key=self._messages_key, observing=self.gateway.observing)

    def _close(self, ticket: Ticket, outcome: Outcome) -> Any:
        """Do step 7: return the result or the reply, or the exception that the tool itself raised here."""
        ticket.proposal = outcome.proposal
        self._log.info("call.ended", state=outcome.state.value, **ticket.names())
        if ticket.paused is not None and outcome.proposal.idempotency is Idempotency.READ:
            return ticket.paused
        here = outcome.ran_here and not ticket.edited  # of an edited call that failed, the model is told so first
        if here and outcome.raised is not None and not isinstance(outcome.raised, _HELD):
            return outcome.raised
        if outcome.state is State.SUCCEEDED and was_kept(outcome.result):
            result = ticket.returned if outcome.ran_here else unpack(outcome.result)
            ticket.record(result)
            shown = result if self.gateway.observing else cleaned(result, self.gateway.inbound)
            return ticket.handed_on(ticket.told(shown))
        if outcome.state in _RUNNABLE and outcome.state is not State.APPROVED:
            return self._deliver(ticket, ticket.told_reply(replies.ended(ticket.name, outcome.proposal)))
        return self._deliver(ticket, replies.withdrawn(ticket.name, outcome.proposal))

    def _deliver(self, ticket: Ticket, message: ToolMessage) -> ToolMessage:
        ticket.session.deliver(mark_of(message))
        return message

    def _refused(self, request: ToolCallRequest, thread: str, verdict: Deny) -> ToolMessage:
        """Refuse a call that cannot be recorded as one; the log says that there was one."""
        observing, tool = self.gateway.observing, request.tool_call["name"]
        self.gateway.queue.note_refusal(thread, tool, verdict.reason, enforced=not observing)
        if observing:
            raise _UnrecordableError(verdict.reason)
        self._log.warning("call.refused", tool=tool, verdict="deny", code=verdict.reason)
        return replies.denied(name_of(request), verdict.reason, verdict.rule, verdict.remedy)

    def _stays_shut(self, request: ToolCallRequest, ticket: object, error: Exception) -> bool:
        name, observing = request.tool_call["name"], self.gateway.observing
        return stays_shut(self._log, name, ticket, error, observing=observing)


class _UnrecordableError(Exception):
    """In observe mode: a call that would be refused before it could be recorded."""


__all__ = ["OnReview", "ToolGate", "idempotency_key"]
