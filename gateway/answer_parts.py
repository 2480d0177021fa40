"""What a model says beside its plain text: reasoning, refusals, citations, and the values of structured output.

1. A block of reasoning with something in it that may not leave is taken out as a whole: providers sign these blocks,
and a changed one would be refused when it comes back. 2. Other words beside the text (a refusal, a transcript, the
title of a citation) are cleaned where they stand. 3. Of structured output every string is cleaned, names of fields as
well; what its schema says of them is not asked again, because a value that may not leave does not leave. 4. The logged
tokens of a message that was cleaned go, since they spell it.

Guarantees: what is clean is returned as the same object; nesting is bounded, and what lies deeper is withheld.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from langchain_core.messages import AIMessage, ToolMessage
from pydantic import AnyUrl, BaseModel

from checkvalve.filters.outbound.scan import note

Clean: TypeAlias = Callable[[str], str]
"""Returns what of a text may leave: the same text when all of it may."""
MAX_DEPTH: Final = 64
_REASONING: Final = frozenset({"reasoning", "thinking"})
_WORDS: Final = frozenset(
    {"reasoning", "thinking", "reasoning_content", "refusal", "transcript", "summary", "text", "content", "title"}
    | {"cited_text", "quote", "snippet", "url"}
)
"""Fields of blocks and of what providers add that hold words; others hold ids, signatures and pictures."""
_LOGGED: Final = ("logprobs", "top_logprobs", "tokens")


def cleaned_value(value: Any, clean: Clean, *, depth: int = 0) -> Any:
    """Return ``value`` with every string in it cleaned; the same object when nothing changes."""
    if depth > MAX_DEPTH:
        return note("too-deep")
    match value:
        case str() | AnyUrl() | bytes():
            return _string(value, clean)
        case BaseModel():
            return _fields(value, value.__dict__, clean, depth)
        case Mapping():
            return _mapping(value, clean, depth)
        case list() | tuple() | set() | frozenset():
            items = [cleaned_value(item, clean, depth=depth + 1) for item in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            kept = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
            return _fields(value, kept, clean, depth)
        case _:
            return value


def _string(value: Any, clean: Clean) -> Any:
    """Return words cleaned, in whatever type they come; an enumerated string or an address stays one while clean."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    new = clean(text)
    if new == text:
        return value
    return new.encode() if isinstance(value, bytes) else new


def _mapping(value: Mapping[Any, Any], clean: Clean, depth: int) -> Any:
    found = {
        _string(name, clean) if isinstance(name, str) else name: cleaned_value(item, clean, depth=depth + 1)
        for name, item in value.items()
    }
    return value if all(name in found and found[name] is item for name, item in value.items()) else found


def _fields(value: Any, fields: Mapping[str, Any], clean: Clean, depth: int) -> Any:
    """Return an object with its fields cleaned, without asking its class whether it likes them."""
    new = {name: cleaned_value(item, clean, depth=depth + 1) for name, item in fields.items()}
    if all(new[name] is fields[name] for name in fields):
        return value
    if isinstance(value, BaseModel):
        return value.model_copy(update=new)
    made = object.__new__(type(value))
    for name, item in new.items():
        object.__setattr__(made, name, item)
    return made


def beside_text(message: AIMessage, clean: Clean, *, returned: frozenset[str] = frozenset()) -> AIMessage:
    """Return ``message`` with its words beside the plain text cleaned.

    ``returned`` are the ids of calls that no gate decides on: they hand over structured output.
    """
    changes: dict[str, Any] = {}
    if isinstance(message.content, list):
        changes["content"] = _same(message.content, [block for one in message.content for block in _block(one, clean)])
    changes["additional_kwargs"] = _words(message.additional_kwargs, clean, whole=bool(returned))
    if any(call["id"] in returned for call in message.tool_calls):
        changes |= _returned(message, changes.get("content", message.content), returned, clean)
    changes["invalid_tool_calls"] = cleaned_value(message.invalid_tool_calls, clean)
    changed = {name: value for name, value in changes.items() if value is not getattr(message, name)}
    return message.model_copy(update=changed) if changed else message


def without_logged(message: AIMessage) -> AIMessage:
    """Return ``message`` without the tokens that its provider logged."""
    kept = {name: value for name, value in message.response_metadata.items() if name not in _LOGGED}
    return message.model_copy(update={"response_metadata": kept})


def handed_over(messages: list[Any]) -> frozenset[str]:
    """Return the ids of calls that are answered together with the message that makes them: structured output."""
    return frozenset(item.tool_call_id for item in messages if isinstance(item, ToolMessage))


def _returned(message: AIMessage, content: Any, returned: frozenset[str], clean: Clean) -> dict[str, Any]:
    """Return the fields of a message with the arguments of returned calls cleaned, wherever they are repeated."""
    calls = [
        {**call, "args": cleaned_value(call["args"], clean)} if call["id"] in returned else call
        for call in message.tool_calls
    ]
    blocks = content
    if isinstance(content, list):
        blocks = [
            cleaned_value(one, clean)
            if isinstance(one, dict) and {one.get("id"), one.get("call_id")} & returned
            else one
            for one in content
        ]
    return {
        "tool_calls": calls if calls != message.tool_calls else message.tool_calls,
        "content": _same(content, blocks),
    }


def _block(block: Any, clean: Clean) -> list[Any]:
    """Return what stays of one block of content; plain text is looked at elsewhere, all parts of it together."""
    if not isinstance(block, dict):
        return [block]
    if block.get("type") == "text":
        inner = {name: value for name, value in block.items() if name != "text"}
        new = _words(inner, clean)
        return [block if new is inner else {**new, "text": block.get("text", "")}]
    new = _words(block, clean)
    return [] if new is not block and block.get("type") in _REASONING else [new]


def _words(value: Any, clean: Clean, *, whole: bool = False, depth: int = 0) -> Any:
    """Return ``value`` with the strings cleaned that stand in fields of words; all of them with ``whole``."""
    if depth > MAX_DEPTH:
        return note("too-deep")
    if isinstance(value, dict):
        found = {
            name: cleaned_value(item, clean, depth=depth)
            if (whole or name in _WORDS) and isinstance(item, str)
            else _words(item, clean, whole=whole, depth=depth + 1)
            for name, item in value.items()
        }
        return value if all(found[name] is value[name] for name in value) else found
    if isinstance(value, list):
        return _same(value, [_words(item, clean, whole=whole, depth=depth + 1) for item in value])
    return value


def _same(old: Any, new: Any) -> Any:
    """Return ``old`` where ``new`` has the same parts."""
    return old if len(old) == len(new) and all(one is other for one, other in zip(old, new, strict=True)) else new
