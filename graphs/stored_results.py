"""What a stored result holds as plain JSON: the one value that the manifest declares, whatever ran the tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from checkvalve.approvals.outcome import NOT_KEPT
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.readings import readable

NOTHING: Final = object()
"""Stands for no value: a stored null is one."""


def declared_value(record: JSON, spec: ToolSpec | None) -> object:
    """Return the declared value of a result that a pipeline recorded, or :data:`NOTHING`.

    A result that was not kept, failed, or came in several parts has no field that a path could name.
    """
    match record:
        case {"ok": True, "values": list(values), "declared": list(declared)} if len(values) == len(declared):
            return one_value([value for value, known in zip(values, declared, strict=True) if known], spec)
        case _:
            return NOTHING


def one_value(values: Sequence[Any], spec: ToolSpec | None) -> object:
    """Return the one value among the declared ones, read as JSON where it is a text that is JSON."""
    if len(values) != 1:
        return NOTHING
    found = list(readable(values[0], spec))
    return found[0] if len(found) == 1 else NOTHING


def was_kept(record: JSON) -> bool:
    """Say whether a stored result is the result, and not the note that it could not be kept."""
    return not (isinstance(record, dict) and NOT_KEPT in record)


__all__ = ["NOTHING", "declared_value", "one_value", "was_kept"]
