"""Read tool schemas as servers and frameworks ship them: MCP ``tools/list``, OpenAI tool arrays, OpenAPI.

Guarantees: pure; a server's hints are kept apart and may only make a draft stricter; a form that is not known is an
error, never an empty list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from checkvalve.approvals.errors import ConfigError

_METHODS: Final = ("get", "put", "post", "delete", "patch", "head", "options")
_FORM: Final = "give a `tools/list` answer of MCP, an array of OpenAI tools, or an OpenAPI document"
_DEPTH: Final = 24
"""Levels of nesting that references are followed to: eight objects in one another."""
MAX_TOOLS: Final = 2_000
"""Tools of one file; more is not a tool server."""


@dataclass(frozen=True)
class ToolSchema:
    """One tool as somebody else describes it. ``hints`` are the server's, and never relax anything."""

    name: str
    schema: Mapping[str, Any]
    description: str = ""
    hints: Mapping[str, Any] = field(default_factory=dict)
    output: Mapping[str, Any] = field(default_factory=dict)
    """The schema of its results, where one is given."""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The declared arguments by name, each with its schema, local references followed."""
        found = self.schema.get("properties")
        if not isinstance(found, Mapping):
            return {}
        return {str(name): inlined(item, self.schema) for name, item in found.items()}

    @property
    def required(self) -> frozenset[str]:
        """The arguments that have to be given."""
        return frozenset(str(name) for name in _list(self.schema.get("required")))


def inlined(item: Any, document: Mapping[str, Any], depth: int = 0) -> Any:
    """Return a schema with its local references followed, eight levels deep; one that leads nowhere stays."""
    if depth > _DEPTH:
        return item
    if isinstance(item, list):
        return [inlined(one, document, depth + 1) for one in item]
    if not isinstance(item, Mapping):
        return item
    ref = item.get("$ref")
    if isinstance(ref, str) and ref.startswith("#/"):
        found = _step(document, ref)
        if isinstance(found, Mapping):
            named = {"title": ref.rpartition("/")[2], **found}
            return inlined({**named, **{key: one for key, one in item.items() if key != "$ref"}}, document, depth + 1)
    return {key: inlined(one, document, depth + 1) for key, one in item.items() if key != "$defs"}


def _step(document: Mapping[str, Any], ref: str) -> Any:
    found: Any = document
    for step in ref.removeprefix("#/").split("/"):
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found


def read_tools(value: object, name: str) -> tuple[ToolSchema, ...]:
    """Return the tools in a parsed document, in its order.

    Raises:
        ConfigError: the document has none of the known forms, or a tool has no usable name or schema.
    """
    if isinstance(value, Mapping) and isinstance(value.get("result"), Mapping):
        value = value["result"]  # the whole JSON-RPC answer
    if isinstance(value, Mapping) and isinstance(value.get("paths"), Mapping):
        found = list(_openapi(value, name))
    else:
        items = value.get("tools") if isinstance(value, Mapping) else value
        if not isinstance(items, list):
            raise ConfigError("no tool schemas that are known here", file=name, remedy=_FORM)
        found = [_tool(item, number, name) for number, item in enumerate(items, 1)]
    if not found or len(found) > MAX_TOOLS:
        raise ConfigError(f"holds {'no' if not found else 'too many'} tools", file=name, remedy=_FORM)
    seen: set[str] = set()
    for tool in found:
        if tool.name in seen:
            raise ConfigError(f"the tool {tool.name!r} stands there twice", file=name, remedy="leave one of them out")
        seen.add(tool.name)
    return tuple(found)


def _tool(item: object, number: int, name: str) -> ToolSchema:
    if isinstance(item, Mapping) and isinstance(item.get("function"), Mapping):
        item = item["function"]
    if not isinstance(item, Mapping) or not isinstance(item.get("name"), str) or not item["name"].strip():
        raise ConfigError(f"tool {number} has no name", file=name, remedy=_FORM)
    schema: object = next(
        (item[key] for key in ("inputSchema", "input_schema", "parameters") if item.get(key) is not None), {}
    )
    if not isinstance(schema, Mapping):
        raise ConfigError(f"the schema of {item['name']!r} is no object", file=name, remedy=_FORM)
    hints, output = item.get("annotations"), item.get("outputSchema")
    return ToolSchema(
        item["name"].strip()[:200],
        schema,
        str(item.get("description") or ""),
        dict(hints) if isinstance(hints, Mapping) else {},
        dict(output) if isinstance(output, Mapping) else {},
    )


def _openapi(document: Mapping[str, Any], name: str) -> Iterator[ToolSchema]:
    """Yield one tool for each operation: its parameters, and the members of its JSON body, are the arguments."""
    for path, operations in document["paths"].items():
        if not isinstance(operations, Mapping):
            raise ConfigError(f"the path {str(path)[:80]!r} is no object", file=name, remedy=_FORM)
        for method, operation in operations.items():
            if method not in _METHODS or not isinstance(operation, Mapping):
                continue
            slug = re.sub(r"[^A-Za-z0-9]+", "_", f"{method}_{path}").strip("_")
            properties: dict[str, Any] = {}
            required: list[str] = []
            for parameter in (*_list(operations.get("parameters")), *_list(operation.get("parameters"))):
                item = _resolve(document, parameter, name)
                properties[str(item.get("name", ""))] = item.get("schema", {})
                required += [str(item.get("name", ""))] if item.get("required") is True else []
            body = _body(document, operation, name)
            members = body.get("properties")
            if isinstance(members, Mapping):
                properties |= {str(key): _resolve(document, item, name) for key, item in members.items()}
                required += [str(key) for key in _list(body.get("required"))]
            elif body:
                properties["body"] = body
            schema = {"type": "object", "properties": properties, "required": required}
            text = str(operation.get("summary") or operation.get("description") or "")
            yield ToolSchema(str(operation.get("operationId") or slug), schema, text, {"method": method})


def _body(document: Mapping[str, Any], operation: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    body = _resolve(document, operation.get("requestBody") or {}, name)
    content = body.get("content")
    media = content.get("application/json") if isinstance(content, Mapping) else None
    return _resolve(document, media.get("schema") or {}, name) if isinstance(media, Mapping) else {}


def _resolve(document: Mapping[str, Any], item: object, name: str) -> Mapping[str, Any]:
    """Follow one local reference; one that leads anywhere else is refused, since nothing is ever fetched."""
    for _ in range(8):
        if not isinstance(item, Mapping):
            break
        ref = item.get("$ref")
        if ref is None:
            return item
        item = _step(document, str(ref))
    raise ConfigError("a reference that leads nowhere in this file", file=name, remedy="bundle it into one file first")


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
