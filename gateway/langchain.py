"""Checkvalve in front of an agent of LangChain's ``create_agent``: one middleware, guard mode.

Put it **last** in the list of middleware, nearest to the tools, so that nothing rewrites a call after it was decided or
repeats it. Run the agent with ``durability="sync"`` and a checkpointer on disk, or a pause does not survive a crash.
With several questions open, wake each by its id: ``Command(resume={interrupt.id: True})``; the value decides nothing.

Each agent needs a middleware of its own: an agent used as a tool of this one is not covered by this one's. Declare such
a tool with ``effect: read`` and ``idempotency: read``: what it does is decided call by call inside, and when a call
inside pauses the tool has to be entered again. What a sub-agent is told was written by a model, so it is never taken
as the user's words. That is known of whatever a running tool calls in its own thread, in tasks, and in LangChain's
thread pools. A thread that the tool starts itself does not know it: give the sub-agent its task as a plain
``HumanMessage``, and leave its ``user_words`` at ``declared``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command

from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.verdicts import Deny
from checkvalve.gateway import replies
from checkvalve.gateway.answers import Answers, aunstreamed, unstreamed
from checkvalve.gateway.app import Gateway
from checkvalve.gateway.conversation import UserWords, messages_in, thread_of
from checkvalve.gateway.errors import GatewayError, MissingExtraError
from checkvalve.gateway.inbound import token_rules
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.messages import mark_of, text_of
from checkvalve.gateway.runs import inside_a_call
from checkvalve.gateway.ticket import name_of, thread_and_turn
from checkvalve.gateway.tokenised import Spoken, has_token
from checkvalve.gateway.tool_descriptions import ToolDescriptions
from checkvalve.gateway.toolgate import OnReview, ToolGate, idempotency_key
from checkvalve.gateway.words import use_words_key, user_message

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
except ImportError as error:
    raise MissingExtraError.for_extra("LangChain", "langchain") from error

__all__ = ["CheckvalveMiddleware", "HostedToolError", "idempotency_key", "use_words_key", "user_message"]


class HostedToolError(GatewayError):
    """The agent was given a tool that runs at the model provider, where no gateway stands in front of it."""


class CheckvalveMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Decides every tool call before it runs, pauses for a person where one is needed, and runs it at most once."""

    def __init__(
        self,
        gateway: Gateway,
        *,
        user_words: UserWords = "declared",
        system_prompt: str = "",
        on_review: OnReview = "pause",
        servers: Mapping[str, str] | None = None,
        requester: str = "",
        mandates: Sequence[Mandate] = (),
    ) -> None:
        """Guard one agent; the arguments are those of :class:`checkvalve.gateway.toolgate.ToolGate`.

        ``mandates`` are for every thread of the agent. Those of one run go into its context: an object or a dictionary
        with the field ``mandates``, given with ``agent.invoke(..., context=...)``.
        """
        super().__init__()
        self._gate = ToolGate(
            gateway,
            user_words=user_words,
            system_prompt=system_prompt,
            on_review=on_review,
            servers=servers,
            requester=requester,
            mandates=mandates,
        )
        self._descriptions = ToolDescriptions(gateway.inbound)
        self._answers = Answers(gateway.services)
        self._servers = dict(servers or {})
        self._token_rules = {} if gateway.observing else token_rules(gateway.settings.inbound_tokens)

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Take in what the host has invoked the agent with: only here may a plain human turn be the user's words."""
        self._take_in(messages_in(state), runtime, starts=True)
        return None

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Do what :meth:`before_agent` does."""
        await asyncio.to_thread(self._take_in, messages_in(state), runtime, starts=True)
        return None

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Take in what was written during the run, so that the next run does not mistake it for the user's words."""
        self._take_in(messages_in(state), runtime)
        return None

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Do what :meth:`after_agent` does."""
        await asyncio.to_thread(self._take_in, messages_in(state), runtime)
        return None

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | AIMessage:
        """Refuse tools that would run at the model provider, take in what the model reads, and clean what it says."""
        request = self._answered(self._with_fit_tools(request))
        self._take_in(_read_by_model(request), request.runtime)
        spoken, asked = self._spoken(request)
        if self._gate.gateway.observing:
            return self._cleaned(handler(asked), request, spoken)
        return self._cleaned(unstreamed(lambda: handler(asked)), request, spoken)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | AIMessage:
        """Do what :meth:`wrap_model_call` does."""
        request = await asyncio.to_thread(lambda: self._answered(self._with_fit_tools(request)))
        await asyncio.to_thread(self._take_in, _read_by_model(request), request.runtime)
        observing = self._gate.gateway.observing
        spoken, asked = await asyncio.to_thread(self._spoken, request)
        response = await (handler(asked) if observing else aunstreamed(lambda: handler(asked)))
        return await asyncio.to_thread(self._cleaned, response, request, spoken)

    def _spoken(self, request: ModelRequest[Any]) -> tuple[Spoken | None, ModelRequest[Any]]:
        """Return the request with tokens in the place of personal data, and what gives the values back."""
        if not self._token_rules:
            return None, request
        spoken = Spoken(self._token_rules, self._gate.gateway.manifest, self._servers)
        heard: Any = spoken.heard(request.messages)
        return spoken, request.override(messages=heard)

    def _cleaned(
        self, response: ModelResponse[Any], request: ModelRequest[Any], spoken: Spoken | None
    ) -> ModelResponse[Any]:
        """Return what a model said with the values of its tokens, and without what may not leave."""
        if spoken is not None:
            given = spoken.value(response.structured_response)
            response = replace(response, result=list(map(spoken.said, response.result)), structured_response=given)
        info = request.runtime.execution_info
        messages, conversation = messages_in(request.state), self._gate.conversation
        thread = thread_of(info.thread_id if info else None, messages)
        session = conversation.session(conversation.place(thread, messages)) if thread else None
        return replace(
            response,
            result=self._answers.cleaned(response.result, session),
            structured_response=self._answers.value(response.structured_response, session),
        )

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Decide one call, and run it once if it may run."""
        if (refused := self._refused_token(request)) is not None:
            return refused
        result: ToolMessage | Command[Any] = self._gate.wrap(request, handler)
        return result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Do what :meth:`wrap_tool_call` does."""
        if (refused := await asyncio.to_thread(self._refused_token, request)) is not None:
            return refused
        result: ToolMessage | Command[Any] = await self._gate.awrap(request, handler)
        return result

    def _refused_token(self, request: ToolCallRequest) -> ToolMessage | None:
        """Refuse a call with a token left in it: its value is not for those who would see it, or there is none."""
        if not self._token_rules or not has_token(request.tool_call["args"]):
            return None
        thread, _, before = thread_and_turn(request, "messages")
        tool = request.tool_call["name"]
        message = replies.denied(name_of(request), _UNREADABLE.reason, _UNREADABLE.rule, _UNREADABLE.remedy)
        try:
            self._gate.gateway.queue.note_refusal(thread, tool, _UNREADABLE.reason)
            if thread:
                conversation = self._gate.conversation
                conversation.session(conversation.place(thread, before)).deliver(mark_of(message))
        except Exception as error:  # noqa: BLE001  # it is refused all the same
            get_logger().error("gate.failed", error=type(error).__name__, remedy=getattr(error, "remedy", ""))
        return message

    def _take_in(self, messages: list[BaseMessage], runtime: Runtime[Any], *, starts: bool = False) -> None:
        info = runtime.execution_info
        thread = thread_of(info.thread_id if info else None, messages)
        if not thread:
            return
        conversation = self._gate.conversation
        try:
            typed = conversation.typed(messages, namespace=info.checkpoint_ns if info else "") if starts else []
            session = conversation.session(conversation.place(thread, messages, typed))
            if starts or not inside_a_call():  # within a call of this thread, its turn is not over yet
                session.load("")
            if starts and not inside_a_call():  # what runs inside a tool was started by a model
                conversation.grant(session, _mandates_of(runtime.context))
            conversation.take_in(session, messages, typed=typed, thread=thread)
        except Exception as error:  # noqa: BLE001  # what was not taken in has no authority: each call is judged alone
            get_logger().error("gate.failed", error=type(error).__name__, remedy=getattr(error, "remedy", ""))

    def _answered(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Give a model what became of its calls that the user's next message came before."""
        info = request.runtime.execution_info
        messages: list[Any] = list(request.messages)
        thread = thread_of(info.thread_id if info else None, messages_in(request.state))
        found: list[Any] = self._gate.late.answered(thread, messages) if thread else messages
        return request if len(found) == len(messages) else request.override(messages=found)

    def _with_fit_tools(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Refuse tools that run elsewhere, and leave out those whose description is withheld."""
        self._refuse_hosted(request)
        fit = self._descriptions.fit(request.tools)
        return (
            request if len(fit) == len(request.tools) or self._gate.gateway.observing else request.override(tools=fit)
        )

    def _refuse_hosted(self, request: ModelRequest[Any]) -> None:
        for name in _hosted(request):
            if self._gate.gateway.observing:
                get_logger().warning("OBSERVE MODE: a tool runs at the model provider, unseen", tool=name)
                continue
            raise HostedToolError(
                f"the tool {name!r} runs at the model provider, where Checkvalve cannot stand in front of it",
                "take it out of the agent's tools, or wrap it as a tool of your own",
            )


_UNREADABLE: Final = Deny("token", "unreadable_token", "leave the placeholder out, or ask for a value that may be read")


def _mandates_of(context: object) -> object:
    """Return the mandates that the host has put into the context of a run."""
    found = context.get("mandates") if isinstance(context, Mapping) else getattr(context, "mandates", None)
    return () if found is None else found


def _read_by_model(request: ModelRequest[Any]) -> list[BaseMessage]:
    """Return the conversation, and what other middleware shows the model beside it: that is in no state."""
    kept = messages_in(request.state)
    said = {text_of(message) for message in kept}
    return [*kept, *(message for message in request.messages if text_of(message) not in said)]


def _hosted(request: ModelRequest[Any]) -> Iterator[str]:
    """Yield the names of tools that are no functions of the agent: the provider runs those."""
    bound = getattr(request.model, "kwargs", None)
    more = [places.get("tools") for places in (request.model_settings, bound) if isinstance(places, Mapping)]
    offered = [*request.tools, *(tool for tools in more if isinstance(tools, list) for tool in tools)]
    for tool in offered:
        if isinstance(tool, BaseTool) or not isinstance(tool, Mapping) or _is_function(tool):
            continue
        yield str(tool.get("name") or tool.get("type") or "unnamed")


def _is_function(tool: Mapping[str, Any]) -> bool:
    """Say whether a tool given as a dictionary is a function that the agent itself runs."""
    if tool.get("type") == "function":
        return True
    declared = isinstance(tool.get("input_schema") or tool.get("parameters"), Mapping)
    return tool.get("type", "custom") == "custom" and declared and bool(tool.get("name"))
