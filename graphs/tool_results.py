"""What a tool handed back, in the form in which a pipeline records it: its values, and which one is declared."""

from __future__ import annotations

from collections.abc import Iterator

from langchain_core.messages import BaseMessage
from langgraph.types import Command

from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, check_value
from checkvalve.graphs.readings import clean
from checkvalve.graphs.results import result_values


def returned(result: object, call: str) -> JSON:
    """Return what a tool gave back for ``call``: its values, which one is the declared result, whether it succeeded."""
    parts = list(_parts(result))
    messages = [part for part in parts if isinstance(part, BaseMessage)]
    found = [pair for values in result_values(messages, call) for pair in values]
    loose = [
        part for part in parts if not isinstance(part, BaseMessage)
    ]  # a tool of its own kind may return no message
    found += [(part, part is result) for part in loose]
    return {
        "ok": all(getattr(message, "status", "success") == "success" for message in messages),
        "values": [_plain(value) for value, _ in found],
        "declared": [declared for _, declared in found],
    }


def _parts(result: object) -> Iterator[object]:
    if isinstance(result, Command):
        update = result.update if isinstance(result.update, dict) else {}
        found = update.get("messages", [])
        yield from found if isinstance(found, list) else [found]
    elif isinstance(result, list) and any(isinstance(item, BaseMessage | Command) for item in result):
        yield from (part for item in result for part in _parts(item))
    else:
        yield result


def _plain(value: object) -> JSON:
    if isinstance(value, str):
        return clean(value)
    try:
        return check_value(value)
    except HostileInputError:
        return clean(repr(value))


__all__ = ["returned"]
