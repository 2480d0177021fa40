"""How what was read becomes JSON values for the index: structure first, and nothing that was read is left out.

Guarantees: text is read as JSON only when all of it is one object or array under the strict rules; what those rules
refuse is kept as cleaned pieces of text, so that it still counts as read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, check_value, parse_strict

MAX_CHUNK: Final = 60_000
"""Characters of one piece of text: at four bytes each it stays below the longest string of the strict rules."""

_WHOLE: Final = "$"  # the rule path of a result that is text, not structure


def readable(value: object, spec: ToolSpec | None) -> Iterator[JSON]:
    """Yield ``value`` as JSON, structure first; what the strict rules refuse is kept as pieces of text."""
    is_text = spec is not None and any(field.path == _WHOLE for field in spec.result)
    if isinstance(value, str):
        if not is_text and value.lstrip()[:1] in {"{", "["}:
            try:
                yield parse_strict(value)
            except HostileInputError:
                pass
            else:
                return
        yield from chunks(clean(value))
        return
    try:
        yield check_value(value)
    except HostileInputError:
        yield from chunks(clean(_as_text(value)))


def _as_text(value: object) -> str:
    try:
        return json.dumps(value, default=repr)
    except (ValueError, TypeError, RecursionError):  # a circle, keys that are no text, or too deep
        return f"a value of the type {type(value).__name__} that cannot be shown"


def checked_arguments(args: Mapping[str, object]) -> JSON:
    """Return arguments as JSON; those of a call that the strict rules refuse never ran, so there is nothing to keep."""
    try:
        return check_value(dict(args))
    except HostileInputError:
        return {}


def clean(text: str) -> str:
    """Return ``text`` with lone surrogates replaced, so that every store and digest takes it."""
    return text.encode("utf-8", "replace").decode("utf-8")


def chunks(text: str) -> Iterator[str]:
    """Yield ``text`` in pieces that the strict rules let through; an empty text is one empty piece."""
    yield text[:MAX_CHUNK]
    for start in range(MAX_CHUNK, len(text), MAX_CHUNK):
        yield text[start : start + MAX_CHUNK]
