"""From a LangChain conversation to the session's content: who said what, and which call belongs to which turn.

Guarantees: a message gets the user's authority only through the host (the mark of ``user_message``, or the opt-in for
hosts whose human turns are typed by the user, and then only in what an agent is invoked with); what a tool, a summary
or another middleware wrote never does; a tool message that no call of this gateway produced is untrusted content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from checkvalve.gateway import replies
from checkvalve.gateway.messages import declares_user, mark_of, text_of
from checkvalve.graphs.session import Call, GuardSession

if TYPE_CHECKING:
    from checkvalve.gateway.app import Gateway

UserWords: TypeAlias = Literal["declared", "human_messages"]

_MAX_ID: Final = 120  # a call id stays readable in the queue, and below the longest name of a request
_INSERTED: Final = "lc_source"  # how LangChain marks messages that middleware wrote, such as summaries


class Conversation:
    """Knows how to read the messages of one agent."""

    def __init__(self, gateway: Gateway, user_words: UserWords, system_prompt: str, requester: str) -> None:
        self._gateway = gateway
        self._user_words = user_words
        self._system_prompt = system_prompt
        self._requester = requester

    def session(self, thread: str) -> GuardSession:
        """Return the session of ``thread``, with the deployer's instructions taken in."""
        session = self._gateway.session(thread, self._requester)
        if self._system_prompt:
            session.system_words(self._system_prompt, key="system")
        return session

    def take_in(self, session: GuardSession, messages: Sequence[BaseMessage], *, invoked: bool = False) -> None:
        """Take in every message that this session does not know yet.

        Args:
            session: the session of the thread.
            messages: the conversation, oldest first.
            invoked: the newest messages are what the host has just invoked the agent with.
        """
        for message in messages:
            mark = mark_of(message)
            key = f"message:{message.id or ''}:{mark[:32]}"
            if session.knows(key) or session.delivered(mark) or replies.is_crash(message):
                continue
            text = text_of(message)
            if isinstance(message, AIMessage):
                session.model_text(text, key=key)
            elif isinstance(message, ToolMessage):
                stray = Call(message.name or "unknown", {}, message.tool_call_id)
                session.result(stray, text, key=key, declared=False)
            elif self._is_user(message, invoked=invoked):
                session.user_words(text, key=key, uri=message.id or "")
            else:
                session.content(text, key=key, uri=message.type)
            session.learn(key)

    def _is_user(self, message: BaseMessage, *, invoked: bool) -> bool:
        if declares_user(message):
            return True
        typed = isinstance(message, HumanMessage) and _INSERTED not in message.additional_kwargs
        return typed and invoked and self._user_words == "human_messages"


def messages_in(state: Any, key: str = "messages") -> list[BaseMessage]:
    """Return the messages of a graph's state, whatever form the state has."""
    found = state if isinstance(state, list) else state.get(key, []) if isinstance(state, dict) else None
    if found is None:
        found = getattr(state, key, [])
    return [message for message in found if isinstance(message, BaseMessage)]


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
    """Return what the call is known by: models reuse ``call_1`` in every turn, so the turn is part of the name."""
    known = turn.id if turn else None
    suffix = f"@{hashlib.sha256(known.encode()).hexdigest()[:8]}" if known else ""
    if len(call_id) > _MAX_ID:
        call_id = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{call_id}{suffix}"
