"""From a LangChain conversation to the session's content: who said what, and which call belongs to which turn.

Guarantees: a message gets the user's authority only through the host: by the proof in the mark of ``user_message``, or
by the narrow opt-in of :meth:`Conversation.typed`; what is said inside a running tool never does, since a model wrote
it; a tool message that no call of this gateway produced is untrusted content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.mandates import Mandate
from checkvalve.filters.errors import HostileInputError
from checkvalve.gateway import replies, runs
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.messages import as_message, beside_text, mark_of, text_of, values_of
from checkvalve.gateway.task_places import TaskPlaces, key_of
from checkvalve.gateway.words import declares_user, is_marked
from checkvalve.graphs.session import Call, GuardSession

if TYPE_CHECKING:
    from checkvalve.gateway.app import Gateway

UserWords: TypeAlias = Literal["declared", "human_messages"]

_MAX_ID: Final = 120  # a call id stays readable in the queue, and below the longest name of a request
_OUR_MARKS: Final = frozenset("~@")  # between a call's name and a word, a number or a turn of ours
_INSERTED: Final = "lc_source"  # how LangChain marks messages that middleware wrote, such as summaries


class Conversation:
    """Knows how to read the messages of one agent."""

    def __init__(
        self,
        gateway: Gateway,
        user_words: UserWords,
        system_prompt: str,
        requester: str,
        mandates: Sequence[Mandate] = (),
    ) -> None:
        self.places = TaskPlaces(gateway)
        self._mandates = tuple(mandates)
        self._gateway = gateway
        self._user_words = user_words
        self._system_prompt = system_prompt
        self._requester = requester

    def session(self, thread: str) -> GuardSession:
        """Return the session of ``thread``, with the deployer's instructions and mandates taken in."""
        session = self._gateway.session(thread, self._requester)
        if self._system_prompt:
            session.system_words(self._system_prompt, key="system")
        self.grant(session, self._mandates)
        return session

    def place(self, thread: str, messages: Sequence[BaseMessage], typed: Sequence[BaseMessage] = ()) -> str:
        """Return the task of a conversation that comes behind these messages, see :mod:`task_places`."""
        return self.places.place(thread, messages, lambda message: self._is_user(message, typed))

    def meet(self, thread: str, call: Call, messages: Sequence[BaseMessage]) -> GuardSession:
        """Return the session that a call is decided in, with everything taken in that stands before it.

        That of its task; or of another task of the conversation that asks about exactly this call, or was allowed it:
        then nothing is taken in there, and words of this task count for nothing.
        """
        context = self.place(thread, messages)
        session = self.session(context)
        session.load(call.turn)
        self.take_in(session, messages, thread=thread)
        if not self.places.parallel:
            return session
        try:
            other = self.places.waits_elsewhere(thread, context, session.request(call).digest)
        except HostileInputError:
            return session  # deciding it says what is wrong
        if other is not None:
            session = self.session(other.thread)
            session.load(call.turn)
        return session

    def grant(self, session: GuardSession, given: object) -> None:
        """Take in mandates of the host; one that cannot be granted is as good as none, and the log says so.

        Only :class:`Mandate` values count: a text, a dictionary or anything else may have been written by a model.
        """
        listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else []
        mandates = [item for item in listed if isinstance(item, Mandate)]
        if len(mandates) != len(listed) or (given and not listed):
            get_logger().warning("something that is no Mandate was left out", remedy="build it with Mandate(...)")
        try:
            session.grant(mandates)
        except ApprovalError as error:
            get_logger().error("a mandate was not granted", error=type(error).__name__, remedy=error.remedy)

    def running(self) -> AbstractContextManager[None]:
        """Return the context in which a tool of this agent runs."""
        return runs.running(self, self._requester)

    def typed(self, messages: Sequence[BaseMessage], *, namespace: str = "") -> list[BaseMessage]:
        """Return the plain human messages that only the host can have put there, in the mode ``human_messages``.

        To be asked in the first node of a run. Without a checkpointer all that is there is the host's input. With one
        it is the last message: what stands before it may have been left by a run that broke, or by ``update_state``.
        Nothing is taken where another node ran before this one, or where the run may have been started by a tool.
        """
        if self._user_words != "human_messages":
            return []
        if runs.is_inner_graph(namespace) or runs.inside_a_call():
            return []
        if not runs.is_first_node():
            return self._untyped("other middleware with before_agent ran first", "use user_message()")
        if runs.another_agent_runs(self, self._requester):
            return self._untyped("another agent runs a tool for the same person", "use user_message(), or a requester")
        last = messages[-1:] if runs.can_pause() else messages
        return [one for one in last if isinstance(one, HumanMessage) and _INSERTED not in one.additional_kwargs]

    def _untyped(self, reason: str, remedy: str) -> list[BaseMessage]:
        get_logger().warning("no human message is taken as the user's words", reason=reason, remedy=remedy)
        return []

    def take_in(
        self,
        session: GuardSession,
        messages: Sequence[BaseMessage],
        *,
        typed: Sequence[BaseMessage] = (),
        thread: str = "",
    ) -> None:
        """Take in every message that this session does not know yet.

        Args:
            session: the session of the thread, or of one task in it.
            messages: the conversation, oldest first.
            typed: those among them that are known to be typed by the user.
            thread: the conversation, where it may have several tasks; what belongs to another one instructs nobody.
        """
        tasks = self.places.of(thread or session.thread, messages)
        for message, task in zip(messages, tasks, strict=False):
            mark, key = mark_of(message), key_of(message)
            if session.knows(key) or session.delivered(mark) or replies.is_crash(message):
                continue
            if isinstance(message, AIMessage):
                session.model_text(text_of(message), key=key)
            elif isinstance(message, ToolMessage):
                stray = Call(message.name or "unknown", {}, message.tool_call_id)
                values = [value for value, _ in values_of(message)]
                session.result(stray, values[0] if len(values) == 1 else values, key=key, declared=False)
            else:
                mine = task == session.thread or not self.places.parallel
                self._take_in_words(session, message, key, is_user=mine and self._is_user(message, typed))
            session.learn(key)

    def _take_in_words(self, session: GuardSession, message: BaseMessage, key: str, *, is_user: bool) -> None:
        """Take in text under its speaker, and everything else in the message as content."""
        if is_user:
            session.user_words(text_of(message), key=key, uri=message.id or "")
        else:
            session.content(text_of(message), key=key, uri=message.type)
        for number, part in enumerate(beside_text(message)):
            session.content(json.dumps(part, default=repr, ensure_ascii=False), key=f"{key}:{number}", uri=message.type)

    def _is_user(self, message: BaseMessage, typed: Sequence[BaseMessage]) -> bool:
        if runs.inside_a_call():
            return False  # a model wrote what a tool tells an agent
        if any(message is one for one in typed) or declares_user(message):
            return True
        if is_marked(message):
            get_logger().warning(
                "a message is marked as the user's words, and not by this program or not with this text",
                remedy="call user_message() in the process that runs the agent, or use_words_key() in both",
            )
        return False


def messages_in(state: Any, key: str = "messages") -> list[BaseMessage]:
    """Return the messages of a graph's state, whatever form the state has."""
    found = state if isinstance(state, list) else state.get(key, []) if isinstance(state, dict) else None
    if found is None:
        found = getattr(state, key, [])
    return [as_message(item) for item in found]


def thread_of(thread_id: str | None, messages: Sequence[BaseMessage]) -> str:
    """Return the name of the thread; a run without one is told from others by the id of its first message."""
    if thread_id:
        return str(thread_id)
    first = messages[0].id if messages else None
    return f"run:{first}" if first else ""


def turn_of(messages: Sequence[BaseMessage], call_id: str) -> tuple[int, AIMessage | None]:
    """Return the model's message that proposed ``call_id``, and how many messages come before it."""
    for number in range(len(messages) - 1, -1, -1):
        message = messages[number]
        if isinstance(message, AIMessage) and any(call["id"] == call_id for call in message.tool_calls):
            return number, message
    return len(messages), None


def call_name(turn: AIMessage | None, call_id: str) -> str:
    """Return what the call is known by: models reuse ``call_1`` in every turn, so the turn is part of the name.

    No name that a model gives is that of an edit, or of a read that the gateway makes beside a call.
    """
    known = turn.id if turn else None
    suffix = f"@{hashlib.sha256(known.encode()).hexdigest()[:8]}" if known else ""
    if len(call_id) > _MAX_ID or not _OUR_MARKS.isdisjoint(call_id):
        call_id = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{call_id}{suffix}"
