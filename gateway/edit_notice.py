"""What a model is told when a person changed its call before it ran: which values, and what the result is of.

Guarantees: the words are ours, the values those of the two records, cut and made visible, with a mark for what no
person is shown either: a password that a reviewer typed is told to no model. The result itself stays as it was, since
the notice stands before it in the one message that answers the call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.types import Command

from checkvalve.approvals.editing import EDITED, Change, changes
from checkvalve.approvals.render import short
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.veiled import Veiled
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.handover import ToolResult

MAX_CHANGES: Final = 20
"""Changed values that a notice names; of more it says how many."""
_VALUE: Final = 300  # bytes of a value: enough to go on with, the record has all of it
_FIRST: Final = (
    f"A person changed the arguments of this call before it ran [{EDITED}, approval {{approval}}]. Changed: {{what}}. "
    "Work with the changed call from now on, and do not make the one that you proposed unless the user asks."
)


def edit_notice(before: Mapping[str, JSON], edited: Seen) -> str:
    """Return what a model is told of an edit of its call; what no person is shown of it is a mark."""
    return notice(edited.hide(before), edited.args(), edited.id)


def notice(before: Mapping[str, JSON], after: Mapping[str, JSON], approval: str) -> str:
    """Return what is told of an edit."""
    found = changes(before, after)
    said = [_change(item) for item in found[:MAX_CHANGES]]
    more = [f"and {len(found) - MAX_CHANGES} more"] if len(found) > MAX_CHANGES else []
    return _FIRST.format(approval=approval, what="; ".join([*said, *more]))


def _change(item: Change) -> str:
    path = short(item.path)
    if item.kind == "removed":
        return f"{path} was left out"
    after = _shown(item.after)
    if item.kind == "added":
        return f"{path} was added as {after}"
    return f"{path} from {_shown(item.before)} to {after}"


def _shown(value: JSON) -> str:
    text = value if isinstance(value, Veiled) else json.dumps(value, ensure_ascii=False)
    return short(text, limit=_VALUE)


def with_notice(result: ToolResult, text: str, call_id: str) -> ToolResult:
    """Return a result in which the message that answers the call begins with the notice."""
    told: ToolResult = _told(result, text, call_id)
    return told


def begun(message: ToolMessage, text: str) -> ToolMessage:
    """Return a message that begins with the notice."""
    said = f"{text} The result of the changed call:\n"
    content = message.content
    both = said + content if isinstance(content, str) else [{"type": "text", "text": said}, *content]
    return message.model_copy(update={"content": both})


def _told(value: Any, text: str, call_id: str) -> Any:
    match value:
        case ToolMessage() if value.tool_call_id == call_id:
            return begun(value, text)
        case BaseMessage():
            return value
        case Command():
            update = _told(value.update, text, call_id)
            return Command(graph=value.graph, update=update, resume=value.resume, goto=value.goto)
        case dict():
            return {name: _told(item, text, call_id) for name, item in value.items()}
        case list():
            return [_told(item, text, call_id) for item in value]
        case tuple() if type(value) is tuple:
            return tuple(_told(item, text, call_id) for item in value)
        case _:
            return value


__all__ = ["MAX_CHANGES", "begun", "edit_notice", "notice", "with_notice"]
