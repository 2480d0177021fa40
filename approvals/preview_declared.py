"""What a manifest's ``preview`` must say of the tools around it. Each check is a line of :func:`preview_problem`.

1. The tool has an effect, and is not one that runs code where it would try itself. 2. Another tool only reads inside,
and its arguments exist on both sides. 3. Of a dry run: the arguments of the tool are declared, so that a call with any
other is denied; the fixed argument is none of them, so that no agent and no edit can give it; a shipped schema has it,
with a type that the value fits, and neither needs it nor has it by default, so that the real call is real without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from checkvalve.approvals.fieldspec import Effect
from checkvalve.approvals.strictyaml import nearest
from checkvalve.approvals.toolspec import Manifest, ToolSpec
from checkvalve.approvals.undo_declared import Problem, reading_problems
from checkvalve.filters.strictjson import JSON

_HERE: Final = ("preview",)
_FIXED: Final = ("preview", "dry_run")
_NAMES: Final = {bool: "boolean", int: "integer", str: "string"}
_FITTING: Final = {"boolean": {"boolean"}, "integer": {"integer", "number"}, "string": {"string"}}


def preview_problem(spec: ToolSpec, manifest: Manifest) -> Problem | None:
    """Return the first thing that is wrong with how ``spec`` says its effect is previewed, if anything is."""
    return next(_problems(spec, manifest), None) if spec.preview is not None else None


def schema_problem(name: str, value: JSON, schema: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return what is wrong with a fixed argument under a tool's real schema, and what to do; nothing when it fits."""
    members = schema.get("properties")
    known = members if isinstance(members, Mapping) else {}
    shape = known.get(name)
    if not isinstance(shape, Mapping):
        return f"the tool's schema has no argument {name!r}, so the call would be real", nearest(name, list(known))
    wanted = shape.get("type")
    if wanted is not None and wanted not in _FITTING[_NAMES[type(value)]]:
        return f"the argument is of type {wanted}", "give a value of that type"
    needed = schema.get("required")
    if isinstance(needed, list) and name in needed:
        return "the tool needs this argument, and the real call comes without it", "make it one that can be left out"
    if shape.get("default") == value and type(shape.get("default")) is type(value):
        return "the tool has this value by default, so the real call would be a dry run too", "change its default"
    return None


def _problems(spec: ToolSpec, manifest: Manifest) -> Iterator[Problem]:
    preview = spec.preview
    if preview is None:
        return
    if spec.effect is Effect.READ:
        yield Problem("a tool that reads has no effect to preview", "leave `preview` out", _HERE)
    if preview.look is not None:
        yield from reading_problems(spec, preview.look, manifest, _HERE)
    if preview.fixed is not None:
        yield from _dry_run(spec, *preview.fixed)


def _dry_run(spec: ToolSpec, name: str, value: JSON) -> Iterator[Problem]:
    if spec.effect is Effect.EXECUTE:
        text = "what runs code has no dry run: nothing holds the code back but itself"
        yield Problem(text, "name in `tool` another tool that only reads", _FIXED)
    if not spec.args:
        text = "a tool whose arguments are not declared takes any, this one too"
        yield Problem(text, "declare its arguments under `args`, without this one", _FIXED)
    if name in spec.args:
        text = f"{name!r} is declared, so a call could carry it"
        yield Problem(text, "leave it out of `args`: the gateway alone gives it", ("args", name))
    if spec.input_schema is not None and (wrong := schema_problem(name, value, spec.input_schema)) is not None:
        yield Problem(*wrong, (*_FIXED, name))


__all__ = ["preview_problem", "schema_problem"]
