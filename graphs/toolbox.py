"""The tools of a pipeline: what runs, and what the actor is told of it, which comes from the manifest alone.

Guarantees: a tool server's own names of arguments, descriptions and schemas never reach the actor; a tool that the
manifest does not declare is not offered; a tool that is declared and not given cannot be called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.tools import BaseTool
from pydantic import BaseModel

from checkvalve.approvals.fieldspec import ArgumentSpec
from checkvalve.approvals.manifest import schema_digest
from checkvalve.approvals.toolspec import Manifest, ToolSpec
from checkvalve.graphs.errors import PipelineError
from checkvalve.graphs.references import REF

BUILT_IN: Final = frozenset({"read", "select", "each", "join", "answer"})
"""Names that the actor's own tools have; a tool of the same name would be shadowed."""

_SHAPE: Final = frozenset(
    (  # noqa: SIM905  # the words read better than a column of them
        "type properties items required enum const anyOf oneOf allOf minimum maximum exclusiveMinimum exclusiveMaximum "
        "minLength maxLength minItems maxItems multipleOf format additionalProperties prefixItems"
    ).split()
)
"""What is shown of a schema that the deployer ships: structure, and none of the words that servers write into it."""
_REFERENCE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {REF: {"type": "string"}},
    "required": [REF],
    "additionalProperties": False,
}
_ANY: Final[list[dict[str, Any]]] = [{"type": kind} for kind in ("string", "number", "boolean", "object")]


@dataclass(frozen=True)
class Toolbox:
    """The tools of one agent, by the name the actor calls them by."""

    tools: Mapping[str, Any]  # BaseTool, or a sub-agent
    specs: Mapping[str, ToolSpec]
    digests: Mapping[str, str]

    @classmethod
    def build(cls, tools: Sequence[Any], manifest: Manifest, servers: Mapping[str, str]) -> Toolbox:
        """Match ``tools`` with the manifest.

        Raises:
            PipelineError: two tools have one name, or one has the name of a built-in.
        """
        known: dict[str, Any] = {}
        for tool in tools:
            if tool.name in known or tool.name in BUILT_IN:
                raise PipelineError(f"the tool name {tool.name!r} is taken", "give the tool another name")
            known[tool.name] = tool
        found = {name: manifest.find(name, servers.get(name, "")) for name in known}
        specs = {name: spec for name, spec in found.items() if spec is not None}
        pinned = [name for name, spec in specs.items() if spec.schema_digest and isinstance(known[name], BaseTool)]
        return cls(known, specs, {name: schema_digest(schema_of(known[name])) for name in pinned})

    def public_name(self, name: str) -> str:
        """Return a tool's name if the manifest spells it out: one that a server or a model made up is not repeated."""
        return name if name in self.specs else "unknown"

    def shown(self) -> list[dict[str, Any]]:
        """Return what the actor is told: declared tools in the order of their names."""
        return [_function(name, spec.description, _parameters(spec)) for name, spec in sorted(self.specs.items())]


def schema_of(tool: BaseTool) -> dict[str, Any]:
    """Return the JSON Schema of what a model may give to ``tool``: what a manifest pins by its digest."""
    schema = tool.tool_call_schema
    return schema if isinstance(schema, dict) else _model_schema(schema)


def _model_schema(model: Any) -> dict[str, Any]:
    schema: dict[str, Any] = model.model_json_schema() if issubclass(model, BaseModel) else model.schema()
    return schema


def _function(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "description": description or name, "parameters": parameters},
    }


def _parameters(spec: ToolSpec) -> dict[str, Any]:
    shipped = spec.input_schema or {}
    shapes = shipped.get("properties")
    shapes = shapes if isinstance(shapes, dict) else {}
    tried = spec.preview.dry_run if spec.preview is not None else ()  # the gateway alone gives it
    names = [*spec.args, *(name for name in shapes if name not in (*spec.args, *tried))]
    required = shipped.get("required")
    return {
        "type": "object",
        "properties": {name: _argument(spec.args.get(name, ArgumentSpec()), shapes.get(name)) for name in names},
        "required": [name for name in required if isinstance(name, str)] if isinstance(required, list) else [],
        "additionalProperties": not names,
    }


def _argument(argument: ArgumentSpec, shape: object) -> dict[str, Any]:
    """Return the shape of one argument: a value, or a reference in its place."""
    values = [_structure(shape)] if isinstance(shape, dict) else [*_ANY, {"type": "array", "items": {}}]
    return {"description": f"{argument.role.value}, {argument.kind}", "anyOf": [*values, _REFERENCE]}


def _structure(schema: object) -> Any:
    if isinstance(schema, list):
        return [_structure(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            kept[key] = {name: _structure(item) for name, item in value.items()}
        elif key in _SHAPE:
            kept[key] = _structure(value)
    return kept


def _object(required: Sequence[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


_ID_LIST: Final = {"type": "array", "items": {"type": "string"}, "minItems": 1}
_TEXT: Final = {"type": "string"}
_FIELD_SHAPE: Final = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": ["bool", "number", "date", "enum", "id", "reference"]},
        "question": _TEXT,
        "min": {"type": "number"},
        "max": {"type": "number"},
        "step": {"type": "number"},
        "from": _TEXT,
        "to": _TEXT,
        "values": {"type": "array", "items": _TEXT},
        "of": _TEXT,
    },
    "required": ["type"],
}
_CONDITION: Final = _object(
    ["field", "value"],
    field=_TEXT,
    op={"type": "string", "enum": ["eq", "ne", "lt", "le", "gt", "ge"]},
    value={"anyOf": [*_ANY[:3], _REFERENCE]},
)


def built_in(schemas: Sequence[str]) -> list[dict[str, Any]]:
    """Return the actor's own tools; ``schemas`` are the names of registered ones."""
    named = {"type": "string", "enum": list(schemas)}
    schema: dict[str, Any] = _object(["fields"], fields={"type": "object", "additionalProperties": _FIELD_SHAPE})
    return [
        _function(
            "read",
            "Ask the reader about content. It answers in closed types; a field of type reference gives a reference.",
            _object(
                ["references", "schema"], references=_ID_LIST, schema={"anyOf": [schema, named]} if schemas else schema
            ),
        ),
        _function(
            "select",
            "Keep the records of a list whose fields fit; then, with pick, the one with the largest or smallest field.",
            _object(
                ["reference"],
                reference=_TEXT,
                where={"type": "array", "items": _CONDITION},
                pick=_object(["field", "most"], field=_TEXT, most={"type": "string", "enum": ["max", "min"]}),
            ),
        ),
        _function(
            "each",
            "Take one field of each record of a list.",
            _object(["reference", "field"], reference=_TEXT, field=_TEXT),
        ),
        _function(
            "join",
            "Pair the records of two lists whose fields are equal.",
            _object(
                ["left", "right", "left_field", "right_field"],
                left=_TEXT,
                right=_TEXT,
                left_field=_TEXT,
                right_field=_TEXT,
            ),
        ),
        _function(
            "answer", "End the task with this text; {ref:ID} is replaced by the value.", _object(["text"], text=_TEXT)
        ),
    ]
