"""The text of a stored result, for the people who look at a call. It is untrusted: whoever shows it neutralises it."""

from __future__ import annotations

from checkvalve.approvals.card import as_text
from checkvalve.filters.strictjson import JSON, check_value
from checkvalve.gateway.handover import FORMAT, messages_of, unpack
from checkvalve.graphs.errors import CheckpointError
from checkvalve.graphs.results import values_of


def result_text(value: JSON) -> str:
    """Return what a recorded result says: of a tool's messages every value, of anything else its JSON."""
    if not (isinstance(value, dict) and value.get("format") == FORMAT):
        return as_text(value)
    try:
        messages = messages_of(unpack(value))
    except CheckpointError as error:
        return f"(the stored result cannot be read: {error})"
    return "\n".join(_said(found) for message in messages for found, _ in values_of(message))


def _said(found: object) -> str:
    return found if isinstance(found, str) else as_text(check_value(found))


__all__ = ["result_text"]
