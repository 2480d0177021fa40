"""Reading LangChain messages: what the words are, and what else a message brings.

Guarantees: nothing but plain text parts are words, since a document in a human turn was not typed. Which part of a
tool's result is the declared one is said in :mod:`checkvalve.graphs.results`, for every surface.
"""

from __future__ import annotations

import hashlib
import json

from langchain_core.messages import BaseMessage, ChatMessage, convert_to_messages

from checkvalve.gateway.handover import ToolResult, messages_of, pack, unpack
from checkvalve.gateway.words import MARK, declares_user, use_words_key, user_message
from checkvalve.graphs.results import blocks, values_of


def text_of(message: BaseMessage) -> str:
    """Return the words of a message: its plain text parts."""
    return "\n".join(str(value) for value, form in blocks(message) if form == "text")


def beside_text(message: BaseMessage) -> list[object]:
    """Return the parts of a message that are not its words: documents, search results, pictures by their names."""
    return [value for value, form in blocks(message) if form != "text"]


def mark_of(message: BaseMessage) -> str:
    """Return a digest of what a message says and of the call it answers, to recognise it when it comes back."""
    said = json.dumps(
        [message.type, getattr(message, "tool_call_id", ""), message.content], sort_keys=True, default=str
    )
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def as_message(item: object) -> BaseMessage:
    """Return an entry of a graph's state as a message; one of unknown form is content that nobody said."""
    if isinstance(item, BaseMessage):
        return item
    try:
        return convert_to_messages([item])[0]  # type: ignore[list-item]  # anything else raises
    except Exception:  # noqa: BLE001  # the library raises many kinds, some of them its own
        return ChatMessage(role="unknown", content=json.dumps(item, default=repr, ensure_ascii=False))


__all__ = [
    "MARK",
    "ToolResult",
    "as_message",
    "beside_text",
    "declares_user",
    "mark_of",
    "messages_of",
    "pack",
    "text_of",
    "unpack",
    "use_words_key",
    "user_message",
    "values_of",
]
