"""Reading LangChain messages: what the words are, what else a message brings, and which of it a tool declared.

Guarantees: everything in a message that a model may read is yielded, text or not; only a result that is one single
text or JSON block is the declared result, because a block has no path by which the manifest could name it; nothing but
plain text parts are words, since a document in a human turn was not typed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from langchain_core.messages import BaseMessage, ChatMessage, ToolMessage, convert_to_messages

from checkvalve.gateway.handover import ToolResult, messages_of, pack, unpack
from checkvalve.gateway.words import MARK, declares_user, use_words_key, user_message

_MEDIA: Final = frozenset({"audio", "file", "image", "image_url", "input_audio", "video"})
_BULK: Final = 2_000  # characters: an encoded picture or sound is longer, its name and address are not
_SHOWN: Final = 40
_DEPTH: Final = 32  # what is nested deeper is kept as it is
_TEXT_KEYS: Final = frozenset({"type", "text", "id", "index", "cache_control"})
_Form: TypeAlias = Literal["text", "data", "other"]
_OWN_ID: Final = "lc_"  # LangChain numbers the blocks it makes like this; other ids belong to a record of data


def text_of(message: BaseMessage) -> str:
    """Return the words of a message: its plain text parts."""
    return "\n".join(str(value) for value, form in _blocks(message) if form == "text")


def beside_text(message: BaseMessage) -> list[object]:
    """Return the parts of a message that are not its words: documents, search results, pictures by their names."""
    return [value for value, form in _blocks(message) if form != "text"]


def mark_of(message: BaseMessage) -> str:
    """Return a digest of what a message says and of the call it answers, to recognise it when it comes back."""
    said = json.dumps(
        [message.type, getattr(message, "tool_call_id", ""), message.content], sort_keys=True, default=str
    )
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def values_of(message: BaseMessage) -> list[tuple[object, bool]]:
    """Return each value that a message brings, and whether it is the result that its tool may have declared.

    An artifact never is: the model is not shown it. What it repeats of the content is left out.
    """
    blocks = list(_blocks(message))
    single = len(blocks) == 1 and isinstance(message, ToolMessage)
    values = [(value, single and form != "other") for value, form in blocks]
    seen = "\n".join(value if isinstance(value, str) else json.dumps(value, default=repr) for value, _ in blocks)
    artifact = _unseen(getattr(message, "artifact", None), seen, 0)
    return values if artifact is None else [*values, (artifact, False)]


def as_message(item: object) -> BaseMessage:
    """Return an entry of a graph's state as a message; one of unknown form is content that nobody said."""
    if isinstance(item, BaseMessage):
        return item
    try:
        return convert_to_messages([item])[0]  # type: ignore[list-item]  # anything else raises
    except Exception:  # noqa: BLE001  # the library raises many kinds, some of them its own
        return ChatMessage(role="unknown", content=json.dumps(item, default=repr, ensure_ascii=False))


def _blocks(message: BaseMessage) -> Iterator[tuple[object, _Form]]:
    content = [message.content] if isinstance(message.content, str) else message.content
    for block in content:
        yield (block, "text") if isinstance(block, str) else _read(block)


def _read(block: Mapping[str, Any]) -> tuple[object, _Form]:
    match block:
        case {"type": "text", "text": str(text)} if _is_plain(block):
            return text, "text"
        case {"type": "json", "json": value, **more} if not more:
            return value, "data"
        case {"type": str(kind)} if kind in _MEDIA:
            return _without_bulk(block, 0), "other"
        case _:
            return block, "other"


def _is_plain(block: Mapping[str, Any]) -> bool:
    """Say whether a text block is nothing but its text: a record of data may have a field `type` too."""
    identity = block.get("id")
    return _TEXT_KEYS.issuperset(block) and (identity is None or str(identity).startswith(_OWN_ID))


def _without_bulk(value: Any, depth: int) -> Any:
    """Return a block without the encoded picture or sound in it: no character of that is read as text."""
    match value:
        case str() if len(value) > _BULK:
            return value[:_SHOWN]
        case Mapping() if depth < _DEPTH:
            return {str(name): _without_bulk(item, depth + 1) for name, item in value.items()}
        case list() if depth < _DEPTH:
            return [_without_bulk(item, depth + 1) for item in value]
        case _:
            return value


def _unseen(value: Any, seen: str, depth: int) -> Any:
    """Return what an artifact holds that the content does not, or nothing."""
    match value:
        case None | bool():
            return None
        case Mapping() if depth < _DEPTH:
            kept = {name: left for name, item in value.items() if (left := _unseen(item, seen, depth + 1)) is not None}
            return kept or None
        case list() | tuple() if depth < _DEPTH:
            return [left for item in value if (left := _unseen(item, seen, depth + 1)) is not None] or None
        case str() | int() | float():
            text = str(value)
            return None if text in seen or json.dumps(text)[1:-1] in seen else value
        case _:
            return value


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
