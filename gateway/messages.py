"""Reading LangChain messages: who declared what, what a tool returned, and how a result is kept for a replay.

Guarantees: a plain human message has no authority (frameworks put retrieved text there); the mark of the user's words
is taken off every message that a tool returned; a recorded result comes back through the strict serializer, so that
the first run and every replay hand on equal messages.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.checkpoint import StrictSerializer
from checkvalve.graphs.errors import CheckpointError

ToolResult: TypeAlias = ToolMessage | Command[Any] | list[Any]
"""What a LangChain tool node may hand back for one call."""

MARK: Final = "checkvalve"
FORMAT: Final = "langchain/1"
_USER: Final = "user"
_CHUNK: Final = 200_000  # below the longest string that the strict JSON rules let through
_SERIALIZER: Final = StrictSerializer()


def user_message(text: str, *, id: str | None = None) -> HumanMessage:
    """Return ``text`` as a message that the host declares to be the user's own words.

    Give it only what the user typed. What was read for the user (a file, a page, a mail, a quoted thread) goes into
    a plain ``HumanMessage``, which instructs nobody.
    """
    return HumanMessage(text, id=id, additional_kwargs={MARK: {"authority": _USER}})


def declares_user(message: BaseMessage) -> bool:
    """Say whether the host marked this message with :func:`user_message`."""
    mark = message.additional_kwargs.get(MARK)
    return isinstance(message, HumanMessage) and isinstance(mark, dict) and mark.get("authority") == _USER


def text_of(message: BaseMessage) -> str:
    """Return the text of a message; parts that are not text (images, audio) are left out."""
    return "\n".join(part for part in _texts(message.content))


def mark_of(message: BaseMessage) -> str:
    """Return a digest of what a message says and of the call it answers, to recognise it when it comes back."""
    said = json.dumps(
        [message.type, getattr(message, "tool_call_id", ""), message.content], sort_keys=True, default=str
    )
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def values_of(result: ToolResult | BaseMessage) -> list[object]:
    """Return what a call returned, value by value: the texts and JSON blocks of each message, then its artifact.

    A block that is neither (an image, a sound) is named, so that it counts as something that was read.
    """
    return [value for message in _messages(result) for value in _values(message)]


def _values(message: BaseMessage) -> Iterator[object]:
    blocks = [message.content] if isinstance(message.content, str) else message.content
    for block in blocks:
        if isinstance(block, str):
            yield block
        elif isinstance(block.get("text"), str):
            yield block["text"]
        elif block.get("type") == "json":
            yield block.get("json")
        else:
            yield {"type": str(block.get("type"))}
    artifact = getattr(message, "artifact", None)
    if artifact is not None:
        yield artifact


def _texts(content: str | Sequence[str | dict[str, Any]]) -> Iterator[str]:
    if isinstance(content, str):
        yield content
        return
    for block in content:
        if isinstance(block, str):
            yield block
        elif isinstance(text := block.get("text"), str):
            yield text


def _messages(result: ToolResult | BaseMessage) -> Iterator[BaseMessage]:
    if isinstance(result, BaseMessage):
        yield result
    elif isinstance(result, Command):
        update = result.update
        found = update.get("messages", []) if isinstance(update, Mapping) else update
        for item in found if isinstance(found, list | tuple) else [found]:
            if isinstance(item, BaseMessage):
                yield item
    elif isinstance(result, list):
        for item in result:
            yield from _messages(item)


def messages_of(result: ToolResult) -> list[BaseMessage]:
    """Return every message that a tool node's result brings, those inside a ``Command`` included."""
    return list(_messages(result))


def pack(result: ToolResult) -> tuple[ToolResult, JSON]:
    """Return ``result`` as it will be handed on, now and in every replay, and the JSON to record.

    1. Marks of user's words are taken off: a tool cannot speak for the user. 2. An artifact that could not be read
    again is left out. 3. So is, as a last resort, everything of a ``Command`` but its messages.

    Raises:
        CheckpointError: not even the messages could be read again.
    """
    for message in _messages(result):
        message.additional_kwargs.pop(MARK, None)
        _drop_strange_artifact(message)
    try:
        record = _packed(result)
    except CheckpointError:
        if not isinstance(result, Command):
            raise
        record = _packed(Command(update={"messages": messages_of(result)}))
        return result, record
    return unpack(record), record


def _packed(result: ToolResult) -> JSON:
    _, data = _SERIALIZER.dumps_typed(result)
    text = base64.b64encode(data).decode("ascii")
    return {"format": FORMAT, "packed": [text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)]}


def _drop_strange_artifact(message: BaseMessage) -> None:
    if isinstance(message, ToolMessage) and message.artifact is not None:
        try:
            _SERIALIZER.dumps_typed(message.artifact)
        except CheckpointError:
            message.artifact = None


def unpack(record: JSON) -> ToolResult:
    """Return the result that :func:`pack` recorded.

    Raises:
        CheckpointError: the record was not written by :func:`pack`, or was changed.
    """
    match record:
        case {"format": "langchain/1", "packed": [*chunks]}:  # FORMAT
            try:
                data = base64.b64decode("".join(str(chunk) for chunk in chunks), validate=True)
            except ValueError as error:
                raise CheckpointError("the recorded result is damaged") from error
        case _:
            raise CheckpointError("the recorded result has another form")
    result = _SERIALIZER.loads_typed(("msgpack", data))
    if not isinstance(result, ToolMessage | Command | list):
        raise CheckpointError("the recorded result is no tool result")
    return result
