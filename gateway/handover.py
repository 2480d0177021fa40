"""What a tool hands over: checked, without marks, and kept so that every replay hands over the same.

Guarantees: every message among what is handed on is a message object without the mark of the user's words, whatever
form the tool gave it in; a form that cannot be checked is refused as a whole; a recorded result comes back through the
strict serializer, so that the first run and every replay hand on equal results.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias, TypeVar

from langchain_core.messages import BaseMessage, ToolMessage, convert_to_messages
from langgraph.types import Command, Overwrite, Send

from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.errors import UncheckedResultError
from checkvalve.gateway.words import without_mark
from checkvalve.graphs.checkpoint import StrictSerializer
from checkvalve.graphs.errors import CheckpointError

_Message = TypeVar("_Message", bound=BaseMessage)
ToolResult: TypeAlias = ToolMessage | Command[Any] | list[Any]
"""What a LangChain tool node may hand back for one call."""

FORMAT: Final = "langchain/1"
MESSAGES: Final = "messages"
_OVERWRITE: Final = "__overwrite__"  # LangGraph's dictionary form of Overwrite
_CHUNK: Final = 200_000  # below the longest string that the strict JSON rules let through
_DEPTH: Final = 32  # containers inside containers; messages are found in the first few
_SERIALIZER: Final = StrictSerializer()


def pack(result: object, key: str = MESSAGES) -> tuple[ToolResult, JSON]:
    """Return ``result`` as it will be handed on, now and in every replay, and the JSON to record.

    1. Messages in any form become message objects without marks: a tool cannot speak for the user. 2. An artifact
    that could not be read again is left out. 3. So is, as a last resort, everything of a ``Command`` but its messages.

    Raises:
        UncheckedResultError: the result, or an update in it, has a form whose messages cannot be told.
        CheckpointError: not even the messages could be read again.
    """
    checked = _checked(result, key)
    try:
        record = _packed(checked)
    except CheckpointError:
        if not isinstance(checked, Command):
            raise
        record = _packed(Command(update={key: messages_of(checked)}))
    return unpack(record), record


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


def messages_of(result: object) -> list[BaseMessage]:
    """Return every message that a checked result brings, wherever in it they stand."""
    return list(_messages(result))


def state_of(result: object) -> list[dict[str, Any]]:
    """Return what a checked result writes into the graph's state beside its messages, part by part."""
    return list(_state(result))


def _checked(result: object, key: str) -> ToolResult:
    match result:
        case ToolMessage():
            return _plain(result)
        case Command():
            return replace(result, update=_checked_update(result.update, key), goto=_checked_goto(result.goto, key))
        case list() if all(isinstance(item, ToolMessage | Command) for item in result):
            return [_checked(item, key) for item in result]
        case _:
            raise UncheckedResultError.of(result)


def _checked_update(update: object, key: str) -> Any:
    """Return an update in a form that LangGraph reads as the same, with checked messages."""
    match update:
        case None:
            return None
        case Mapping():
            return {name: _checked_channel(name, value, key) for name, value in update.items()}
        case list() | tuple() if all(_is_pair(item) for item in update):
            return [(name, _checked_channel(name, value, key)) for name, value in update]
        case list():  # the state of a graph that is nothing but its messages
            return _as_messages(update)
        case _:
            raise UncheckedResultError.of(update)


def _is_pair(item: object) -> bool:
    match item:
        case (str(), _) if isinstance(item, tuple):
            return True
        case _:
            return False


def _checked_channel(name: object, value: object, key: str) -> Any:
    if isinstance(value, Overwrite):
        return Overwrite(_checked_channel(name, value.value, key))
    if name not in {key, MESSAGES}:
        return _unmarked(value, 0)
    if isinstance(value, Mapping) and _OVERWRITE in {*value, value.get("type")}:
        raise UncheckedResultError.of(value)  # it is no message, and `Overwrite` says the same
    return _as_messages(value if isinstance(value, list) else [value])


def _as_messages(items: list[Any]) -> list[BaseMessage]:
    try:
        found = [item if isinstance(item, BaseMessage) else convert_to_messages([item])[0] for item in items]
    except Exception as error:  # the library raises many kinds, some of them its own
        raise UncheckedResultError.of(items) from error
    return [_plain(message) for message in found]


def _checked_goto(goto: Any, key: str) -> Any:
    match goto:
        case str():
            return goto
        case Send():
            arg = _checked_update(goto.arg, key) if isinstance(goto.arg, Mapping) else _unmarked(goto.arg, 0)
            return Send(goto.node, arg, timeout=goto.timeout)
        case list() | tuple():
            return type(goto)(_checked_goto(item, key) for item in goto)
        case _:
            raise UncheckedResultError.of(goto)


def _unmarked(value: object, depth: int) -> Any:
    """Return a value of the state with the marks taken off every message in it."""
    if depth > _DEPTH:
        raise UncheckedResultError.of(value)
    match value:
        case BaseMessage():
            return _plain(value)
        case Overwrite():
            return Overwrite(_unmarked(value.value, depth + 1))
        case dict():
            return {name: _unmarked(item, depth + 1) for name, item in value.items()}
        case list():
            return [_unmarked(item, depth + 1) for item in value]
        case tuple() if type(value) is tuple:
            return tuple(_unmarked(item, depth + 1) for item in value)
        case _:
            return value


def _plain(message: _Message) -> _Message:
    message = without_mark(message)
    if isinstance(message, ToolMessage) and message.artifact is not None:
        try:
            _SERIALIZER.dumps_typed(message.artifact)
        except CheckpointError:
            return message.model_copy(update={"artifact": None})
    return message


def _packed(result: ToolResult) -> JSON:
    _, data = _SERIALIZER.dumps_typed(result)
    text = base64.b64encode(data).decode("ascii")
    return {"format": FORMAT, "packed": [text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)]}


def _messages(value: object) -> Iterator[BaseMessage]:
    match value:
        case BaseMessage():
            yield value
        case Command():
            yield from _messages(value.update)
            yield from _messages(value.goto)
        case Send():
            yield from _messages(value.arg)
        case Overwrite():
            yield from _messages(value.value)
        case Mapping():
            for item in value.values():
                yield from _messages(item)
        case list() | tuple():
            for item in value:
                yield from _messages(item)
        case _:
            pass


def _state(value: object) -> Iterator[dict[str, Any]]:
    match value:
        case Command():
            yield from _state(value.update)
            yield from _state(value.goto)
        case Send():
            yield from _state(value.arg if isinstance(value.arg, Mapping) else {value.node: value.arg})
        case Mapping():
            yield from ({str(name): left} for name, item in value.items() if (left := _left(item)) is not None)
        case list() | tuple():
            for item in value:
                yield from _state({item[0]: item[1]} if _is_pair(item) else item)
        case _:
            pass


def _left(value: object) -> Any:
    """Return a value of the state without the messages in it, or nothing when it is nothing else."""
    match value:
        case BaseMessage():
            return None
        case Overwrite():
            return _left(value.value)
        case Mapping():
            kept = {str(name): left for name, item in value.items() if (left := _left(item)) is not None}
            return kept or None
        case list() | tuple():
            return [left for item in value if (left := _left(item)) is not None] or None
        case _:
            return value
