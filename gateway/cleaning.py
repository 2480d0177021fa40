"""What a model is shown of a tool's result: its messages without what hides in them and without keys, else as it was.

Guarantees: a copy is changed and never the result itself, which attribution and the record work on; the shape stays:
text stays text, a block of whatever kind keeps its fields, and what is no text is handed on as it is.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.types import Command, Overwrite, Send

from checkvalve.gateway.block_words import block_words
from checkvalve.gateway.handover import ToolResult
from checkvalve.graphs.inbound import Inbound


def cleaned(result: ToolResult, inbound: Inbound) -> ToolResult:
    """Return ``result`` as a model is shown it; the same object when nothing has to change."""
    if inbound.mode != "on":
        return result
    shown: ToolResult = _shown(result, inbound)
    return shown


def _shown(value: Any, inbound: Inbound) -> Any:
    match value:
        case ToolMessage():
            content = _content(value.content, inbound, value.name or "")
            return value if content == value.content else value.model_copy(update={"content": content})
        case Command():
            update, goto = _shown(value.update, inbound), _shown(value.goto, inbound)
            same = update is value.update and goto is value.goto
            return value if same else Command(graph=value.graph, update=update, resume=value.resume, goto=goto)
        case Send():
            arg = _shown(value.arg, inbound)
            return value if arg is value.arg else Send(value.node, arg)
        case Overwrite():
            inner = _shown(value.value, inbound)
            return value if inner is value.value else Overwrite(inner)
        case dict():
            found = {name: _shown(item, inbound) for name, item in value.items()}
            return value if all(found[name] is item for name, item in value.items()) else found
        case list() | tuple():
            items = [_shown(item, inbound) for item in value]
            same = all(new is old for new, old in zip(items, value, strict=True))
            return value if same else type(value)(items)
        case _:
            return value


def _content(content: str | list[Any], inbound: Inbound, tool: str) -> str | list[Any]:
    if isinstance(content, str):
        return _text(content, inbound, tool)
    return [_block(block, inbound, tool) for block in content]


def _block(block: Any, inbound: Inbound, tool: str) -> Any:
    match block:
        case {"type": "json", "json": value, **rest} if not rest:
            return {"type": "json", "json": inbound.shown(value, tool)}
        case _:
            return block_words(block, lambda text: _text(text, inbound, tool))


def _text(text: str, inbound: Inbound, tool: str) -> str:
    return str(inbound.shown(text, tool))
