"""Load the tool manifest, the one file people edit; every mistake in it is named with file, line, field and remedy.

Guarantees: only :class:`ManifestError` is raised; nothing is guessed, and what is not declared keeps the strict default
of ``toolspec.py``; a digest of the manifest and of the schema it pins goes into every verdict.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from checkvalve.approvals.canonical import digest
from checkvalve.approvals.config_file import config_bytes
from checkvalve.approvals.errors import ManifestError
from checkvalve.approvals.pin_declared import pin_problem
from checkvalve.approvals.preview_declared import preview_problem
from checkvalve.approvals.probe_declared import probe_problem
from checkvalve.approvals.schemadigest import schema_digest
from checkvalve.approvals.strictyaml import MAX_YAML_BYTES, Document, dotted, nearest, read_yaml
from checkvalve.approvals.toolspec import Manifest, ToolSpec
from checkvalve.approvals.undo_declared import Problem, look_problem, undo_problem
from checkvalve.filters.errors import HostileInputError

__all__ = [
    "SCHEMA_ID",
    "load_manifest", "manifest_digest", "manifest_schema", "parse_manifest", "schema_digest", "tool_digest",
]  # fmt: skip

_LISTED: Final = 10
"""Mistakes that one error lists beside the first; whoever mends these sees the rest."""
SCHEMA_ID: Final = "urn:checkvalve:manifest:1"
"""Names the published JSON Schema; a URN, because nothing is ever fetched from it."""


def load_manifest(path: Path | str) -> Manifest:
    """Return the manifest in the file at ``path``.

    Raises:
        ManifestError: the file cannot be read, or something in it is wrong.
    """
    path = Path(path)
    return parse_manifest(config_bytes(path, MAX_YAML_BYTES, ManifestError), str(path))


def parse_manifest(text: str | bytes, name: str) -> Manifest:
    """Return the manifest in ``text``; ``name`` stands for the file in errors.

    Raises:
        ManifestError: the text is not YAML of one meaning, or not a manifest.
    """
    document = read_yaml(text, name)
    if not isinstance(document.value, dict):
        raise ManifestError(
            "a manifest is a mapping of fields", file=name, line=1, remedy="start with `name:` and `tools:`"
        )
    try:
        manifest = Manifest.model_validate(document.value)
    except ValidationError as error:
        raise _explain(error, document, name) from None
    for key, spec in manifest.tools.items():
        _check_tool(key, spec, document, name)
        if (wrong := _beside(spec, manifest)) is not None:
            path = ("tools", key, *wrong.steps)
            line = document.line(path)
            raise ManifestError(wrong.message, file=name, line=line, field=dotted(path), remedy=wrong.remedy)
    try:
        manifest_digest(manifest)
    except HostileInputError as error:
        raise ManifestError(str(error), file=name, remedy="use numbers within plus or minus 2**53") from None
    return manifest


def _beside(spec: ToolSpec, manifest: Manifest) -> Problem | None:
    """Return the first thing that is wrong with the calls that are made beside those of a tool, if anything is."""
    checks = (undo_problem, look_problem, preview_problem, pin_problem, probe_problem)
    return next((wrong for check in checks if (wrong := check(spec, manifest)) is not None), None)


def manifest_digest(manifest: Manifest) -> str:
    """Return ``sha256:<hex>`` over everything the manifest says, defaults included; shipped schemas by meaning."""
    if manifest._digest:  # noqa: SLF001 - kept where it belongs, computed where canonical form is known
        return manifest._digest  # noqa: SLF001
    content = manifest.model_dump(mode="json")
    for tool in content["tools"].values():
        _without_news(tool)
    for key, spec in manifest.tools.items():
        if spec.input_schema is not None:
            content["tools"][key]["input_schema"] = schema_digest(spec.input_schema)
    manifest._digest = digest(content)  # noqa: SLF001
    return manifest._digest  # noqa: SLF001


def _without_news(tool: dict[str, Any]) -> dict[str, Any]:
    """Leave out titles, pins and probes nobody gave, so that a manifest from before there were any keeps its digest."""
    if not tool["pin"]:
        del tool["pin"]
    if tool["probe_with"] is None:
        del tool["probe_with"]
    for form in (tool, *tool["variants"]):
        if not form["title"]:
            del form["title"]
    return tool


def tool_digest(spec: ToolSpec) -> str:
    """Return ``sha256:<hex>`` over everything the manifest says of one tool: what a standing rule was made for."""
    content = _without_news(spec.model_dump(mode="json"))
    if spec.input_schema is not None:
        content["input_schema"] = schema_digest(spec.input_schema)
    return digest(content)


def manifest_schema() -> dict[str, Any]:
    """Return the JSON Schema of the manifest file, for editors and other tools."""
    schema = Manifest.model_json_schema()
    tools = schema["properties"]["tools"]
    tools["additionalProperties"] = {
        "anyOf": [tools["additionalProperties"], {"type": "null"}]
    }  # `tool:` alone is fine
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID, **schema}


def _check_tool(key: str, spec: ToolSpec, document: Document, name: str) -> None:
    """Check what one tool's fields must say of each other.

    1. The key is the tool's name, or ``server/name``. 2. A shipped schema is one that can be pinned, it is the pinned
    one, and it knows every declared argument.
    """

    def fail(message: str, remedy: str, *steps: str) -> ManifestError:
        path = ("tools", key, *steps)
        return ManifestError(message, file=name, line=document.line(path), field=dotted(path), remedy=remedy)

    if key not in (spec.name, f"{spec.server}/{spec.name}"):
        named = f"the tool is called {spec.name!r} on the server {spec.server!r}, which is not its key"
        raise fail(named, "leave out `name`, or write the key as `server/name`")
    if spec.input_schema is None:
        return
    try:
        found = schema_digest(spec.input_schema)
    except HostileInputError as error:
        raise fail(str(error), "ship a self-contained JSON Schema", "input_schema") from None
    if spec.schema_digest is not None and spec.schema_digest != found:
        raise fail("the schema is not the pinned one", f"pin {found} if the change is wanted", "schema_digest")
    known = spec.input_schema.get("properties")
    if isinstance(known, dict):
        for argument in spec.args:
            if argument not in known:  # the real argument would be left at its default: strict, but puzzling
                raise fail("no such argument in the tool's schema", nearest(argument, list(known)), "args", argument)


def _explain(error: ValidationError, document: Document, name: str) -> ManifestError:
    """Turn pydantic's list into one error: the first mistake in the file with its remedy, then the places of others."""
    problems = error.errors(include_url=False)
    problems.sort(
        key=lambda item: (item["type"] == "missing", document.line(item["loc"]) or 0)
    )  # a typo explains what is missing
    first = problems[0]
    others = {problem["loc"]: problem for problem in problems if problem["loc"] != first["loc"]}
    listed = [_listed(problem, document) for problem in list(others.values())[:_LISTED]]
    more = len(others) - len(listed)
    text, remedy = _describe(first)
    return ManifestError(
        "; ".join([text, *listed, *([f"and {more} more"] if more else [])]),
        file=name,
        line=document.line(first["loc"]),
        field=dotted(first["loc"]),
        remedy=remedy,
    )


def _listed(problem: ErrorDetails, document: Document) -> str:
    text, remedy = _describe(problem)
    line = document.line(problem["loc"])
    place = ": ".join(part for part in (f"line {line}" if line else "", dotted(problem["loc"])) if part)
    return f"{place}: {text}" + (f" ({remedy})" if remedy else "")


def _describe(problem: ErrorDetails) -> tuple[str, str]:
    """Return message and remedy for one of pydantic's findings."""
    loc, kind = problem["loc"], problem["type"]
    if kind == "extra_forbidden":
        return "unknown field", nearest(str(loc[-1]), _fields_at(loc[:-1]))
    if kind == "missing":
        return "a required field is missing", f"add `{loc[-1]}:`"
    text = (
        problem["msg"]
        .removeprefix("Value error, ")
        .replace("valid tuple", "list")
        .replace("valid dictionary", "mapping")
        .replace("Input should be a valid", "this has to be a")
        .replace("Input should be", "this has to be")
    )
    expected = problem.get("ctx", {}).get("expected")
    if kind in ("enum", "literal_error") and isinstance(expected, str) and isinstance(problem["input"], str):
        return text, nearest(problem["input"], [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")])
    return text, "put it in quotes" if kind == "string_type" and isinstance(problem["input"], int | float) else ""


def _fields_at(loc: Sequence[str | int]) -> list[str]:
    """Return the names of the fields that are known at ``loc``."""
    here: Any = Manifest
    for step in loc:
        if isinstance(here, type) and issubclass(here, BaseModel):
            field = here.model_fields.get(str(step))
            here = field.annotation if field is not None else None
        else:
            here = _model_in(here)  # the step is a key of a mapping or an index of a list
    model = here if isinstance(here, type) and issubclass(here, BaseModel) else _model_in(here)
    return list(model.model_fields) if model is not None else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    for part in typing.get_args(annotation):
        if isinstance(part, type) and issubclass(part, BaseModel):
            return part
        found = _model_in(part)
        if found is not None:
            return found
    return None
