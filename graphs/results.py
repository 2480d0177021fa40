"""What a tool's messages bring, and which of it is the result that the manifest declares: one rule for every surface.

Guarantees: everything in a message that a model may read is yielded, text or not; only a result that is one single
text or JSON block, in the one message that answers the call, is the declared result, because a block has no path by
which the manifest could name it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from langchain_core.messages import BaseMessage, ToolMessage

_MEDIA: Final = frozenset({"audio", "file", "image", "image_url", "input_audio", "video"})
_BULK: Final = 2_000  # characters: an encoded picture or sound is longer, its name and address are not
_SHOWN: Final = 40
_DEPTH: Final = 32  # what is nested deeper is kept as it is
_TEXT_KEYS: Final = frozenset({"type", "text", "id", "index", "cache_control"})
_Form: TypeAlias = Literal["text", "data", "other"]
_OWN_ID: Final = "lc_"  # LangChain numbers the blocks it makes like this; other ids belong to a record of data


def result_values(messages: Sequence[BaseMessage], call: str) -> list[list[tuple[object, bool]]]:
    """Return, for each message that came back for ``call``, its values and whether each is the declared result.

    The declared fields are those of one value in one message; what else comes with it is undeclared, and so is what a
    tool says when it fails.
    """
    mine = [message for message in messages if isinstance(message, ToolMessage) and message.tool_call_id == call]
    sole = mine[0] if len(mine) == 1 and mine[0].status == "success" else None
    return [[(value, message is sole and form) for value, form in values_of(message)] for message in messages]


def values_of(message: BaseMessage) -> list[tuple[object, bool]]:
    """Return each value that a message brings, and whether it is the result that its tool may have declared.

    An artifact never is: the model is not shown it. What it repeats of the content is left out.
    """
    parts = list(blocks(message))
    single = len(parts) == 1 and isinstance(message, ToolMessage)
    values = [(value, single and form != "other") for value, form in parts]
    seen = "\n".join(value if isinstance(value, str) else json.dumps(value, default=repr) for value, _ in parts)
    artifact = _unseen(getattr(message, "artifact", None), seen, 0)
    return values if artifact is None else [*values, (artifact, False)]


def blocks(message: BaseMessage) -> Iterator[tuple[object, _Form]]:
    """Yield each part of a message's content, and whether it is plain text, plain data, or something else."""
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
