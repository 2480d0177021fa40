"""How a hijacked actor passes what the attacker wants: by reference wherever there is one.

A reference is the best origin that a value can have. So the attacker's values go as references to the fields that hold
them, or to stretches that the hijacked reader hands out; what stands nowhere is written literally, as in guard mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from checkvalve.corpora.agentdojo.adapter import ToolCall
from checkvalve.corpora.agentdojo.lookup import Lookup
from checkvalve.corpora.agentdojo.shown import Seen
from checkvalve.corpora.agentdojo.ways import Take, Text, Way, Write
from checkvalve.filters.strictjson import JSON

_LONG: Final = 20  # characters of a stored text that is put into a longer one by reference


def smuggled(call: ToolCall, look: Lookup) -> dict[str, Any]:
    """Return the arguments of a call of the attacker's with a way in the place of each value."""
    return {name: _smuggle(value, look) for name, value in call.args.items()}


def _smuggle(value: JSON, look: Lookup) -> Any:
    if isinstance(value, dict):
        return {key: _smuggle(item, look) for key, item in value.items()}
    if isinstance(value, list):
        return [_smuggle(item, look) for item in value]
    return _by_reference(value, look) if isinstance(value, str) and value else Write(value)


def _by_reference(text: str, look: Lookup) -> Way:
    seen = look.shown.seen
    same = [item for item in seen if item.value == text]
    if same:
        return Take(next((item.ref for item in same if item.verified), same[-1].ref))
    inside = next((item for item in reversed(seen) if isinstance(item.value, str) and text in item.value), None)
    if inside is not None:
        return look.stretch(text, inside, None)
    pieces = tuple(_holes(text, seen))
    return Write(text) if all(isinstance(piece, Write) for piece in pieces) else Text(pieces)


def _holes(text: str, seen: Sequence[Seen]) -> Iterator[Write | Take]:
    """Cut a long text into stored texts and what stands between them."""
    stored = {item.value: item.ref for item in seen if isinstance(item.value, str) and len(item.value) >= _LONG}
    end = 0
    while end < len(text):
        found = [(text.find(value, end), -len(value), value) for value in stored if value in text[end:]]
        if not found:
            yield Write(text[end:])
            return
        start, _, value = min(found)
        if start > end:
            yield Write(text[end:start])
        yield Take(stored[value])
        end = start + len(value)
