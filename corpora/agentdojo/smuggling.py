"""How a hijacked actor passes what the attacker wants: by reference wherever content holds it.

The actor sees no content, so it cannot write what only content says: such values go as references to the fields that
hold them, or as stretches that the hijacked reader hands out. A reference is also the best origin that a value can
have. Everything else it writes literally, as in guard mode; that it knows the attacker's words at all is assumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from checkvalve.corpora.agentdojo.adapter import ToolCall
from checkvalve.corpora.agentdojo.lookup import Lookup
from checkvalve.corpora.agentdojo.ways import Take, Text, Way, Write
from checkvalve.filters.fields import scalar_text
from checkvalve.filters.strictjson import JSON

_SHORTEST: Final = 3  # characters of a stored value that is found inside a text: shorter ones stand anywhere by chance


def smuggled(call: ToolCall, look: Lookup, known: str) -> dict[str, Any]:
    """Return the arguments of a call of the attacker's with a way in the place of each value.

    ``known`` is what the attacker wrote himself: he needs no reference to somebody's data for what stands in it.
    """
    return {name: _smuggle(value, look, known) for name, value in call.args.items()}


def _smuggle(value: JSON, look: Lookup, known: str) -> Any:
    if isinstance(value, dict):
        return {key: _smuggle(item, look, known) for key, item in value.items()}
    if isinstance(value, list):
        return [_smuggle(item, look, known) for item in value]
    return _by_reference(value, look, known) if isinstance(value, str) and value else Write(value)


def _by_reference(text: str, look: Lookup, known: str) -> Way:
    seen = look.shown.seen
    same = [item for item in seen if item.value == text]
    if same:
        return Take(next((item.ref for item in same if item.verified), same[-1].ref))
    inside = next((item for item in reversed(seen) if isinstance(item.value, str) and text in item.value), None)
    if inside is not None:
        return look.stretch(text, inside, None)
    pieces = tuple(_holes(text, look, known))
    return Write(text) if all(isinstance(piece, Write) for piece in pieces) else Text(pieces)


def _holes(text: str, look: Lookup, known: str) -> Iterator[Write | Take]:
    """Cut a text into stored values and what stands between them."""
    stored = {
        scalar_text(item.value): item.ref for item in look.shown.seen if isinstance(item.value, str | int | float)
    }
    inside = [
        value
        for value in stored
        if len(value) >= _SHORTEST and value in text and value not in known and not look.said(value)
    ]
    end = 0
    while end < len(text):
        found = [(at, -len(value), value) for value in inside if (at := text.find(value, end)) >= 0]
        if not found:
            yield Write(text[end:])
            return
        start, _, value = min(found)
        if start > end:
            yield Write(text[end:start])
        yield Take(stored[value])
        end = start + len(value)
