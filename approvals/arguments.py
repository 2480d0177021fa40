"""Step 2 of deciding: do the arguments fit what is declared? Unknown names and wrong types never reach a tool."""

from __future__ import annotations

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable

from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.toolspec import ToolSpec


def ill_typed(request: ActionRequest, spec: ToolSpec) -> str:
    """Return the code of what is wrong with the arguments, or an empty text.

    1. Where arguments are declared, every argument must be one of them. 2. Where the deployer ships the tool's JSON
    Schema, the arguments must be valid under it; a schema that is itself broken refuses everything.
    """
    if spec.args and any(name not in spec.args for name in request.args):
        return "unknown-argument"
    if spec.input_schema is not None and not is_valid(dict(request.args), spec.input_schema):
        return "wrong-arguments"
    return ""


def is_valid(args: dict[str, object], schema: dict[str, object]) -> bool:
    """Say whether arguments are valid under a JSON Schema; under one that is itself broken nothing is."""
    try:
        Draft202012Validator.check_schema(schema)
        # An empty registry: a reference to another document is an error here, never a request to a server.
        return Draft202012Validator(schema, registry=Registry()).is_valid(args)
    except (SchemaError, Unresolvable, RecursionError):
        return False
