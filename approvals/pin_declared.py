"""What a manifest's ``pin`` must say of the tools around it. Each check is a line of :func:`pin_problem`.

1. The tool has an effect. 2. Of a file: the argument is declared, it is a path, and a shipped schema says that it is a
text. 3. Of a record: another tool of the server only reads inside, its arguments exist on both sides, and it declares
the fields that are the version, so that somebody has said who writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from checkvalve.approvals.fieldspec import Effect, ResultField
from checkvalve.approvals.pinspec import PinSpec
from checkvalve.approvals.strictyaml import nearest
from checkvalve.approvals.toolspec import Manifest, ToolSpec
from checkvalve.approvals.undo_declared import Problem, Steps, reading_problems

WHOLE: Final = "$"


def pin_problem(spec: ToolSpec, manifest: Manifest) -> Problem | None:
    """Return the first thing that is wrong with what ``spec`` says is pinned, if anything is."""
    return next(_problems(spec, manifest), None) if spec.pin else None


def type_problem(name: str, schema: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return what is wrong with an argument that is to name a file, under a tool's real schema; nothing if it fits."""
    members = schema.get("properties")
    known = members if isinstance(members, Mapping) else {}
    shape = known.get(name)
    if not isinstance(shape, Mapping):
        return f"the tool's schema has no argument {name!r}", nearest(name, list(known))
    if shape.get("type", "string") != "string":
        return f"the argument is of type {shape.get('type')}, and a file is named by a text", "name another argument"
    return None


def field_of(path: str, fields: Sequence[ResultField]) -> ResultField | None:
    """Return the declared field that a path of a result is of; where several are, the most exact one."""
    return min(fields_of(path, fields), key=lambda field: field.path.count("*"), default=None)


def fields_of(path: str, fields: Sequence[ResultField]) -> list[ResultField]:
    """Return every declared field that a path of a result is of; of ``$``, the declarations of the whole result."""
    steps = [step for step in path.split(".")[1:] if not step.isdigit()] or [WHOLE]
    return [field for field in fields if not field.keys and _fits(field.path.split("."), steps)]


def _fits(declared: Sequence[str], steps: Sequence[str]) -> bool:
    if not declared or not steps:
        return not declared and not steps
    first, *rest = declared
    if first == "**":
        return any(_fits(rest, steps[number:]) for number in range(len(steps) + 1)) or not rest
    return first in {"*", steps[0]} and _fits(rest, steps[1:])


def _problems(spec: ToolSpec, manifest: Manifest) -> Iterator[Problem]:
    if spec.effect is Effect.READ:
        yield Problem("a tool that reads changes nothing that could be pinned", "leave `pin` out", ("pin",))
    for number, pin in enumerate(spec.pin):
        here = ("pin", number)
        if pin.file:
            yield from _file(spec, pin, here)
        if pin.look is not None:
            yield from reading_problems(spec, pin.look, manifest, here)
            yield from _version(spec, pin, manifest, here)


def _file(spec: ToolSpec, pin: PinSpec, here: Steps) -> Iterator[Problem]:
    steps, declared = (*here, "file"), spec.args.get(pin.file)
    if declared is None:
        text = f"{spec.name!r} declares no argument {pin.file!r}"
        yield Problem(text, nearest(pin.file, list(spec.args)), steps)
    elif declared.kind != "path":
        text = f"the argument is of kind {declared.kind}, and a file is named by a path"
        yield Problem(text, "give the argument `kind: path`, or name another one", steps)
    elif spec.input_schema is not None and (wrong := type_problem(pin.file, spec.input_schema)) is not None:
        yield Problem(*wrong, steps)


def _version(spec: ToolSpec, pin: PinSpec, manifest: Manifest, here: Steps) -> Iterator[Problem]:
    reads = manifest.find(pin.tool, spec.server)
    for path in pin.version if reads is not None else ():
        if path != WHOLE and field_of(path, reads.result if reads is not None else ()) is None:
            known = [f"{WHOLE}.{field.path}" for field in (reads.result if reads is not None else ())]
            text = f"{pin.tool!r} declares no field {path!r}"
            yield Problem(text, nearest(path, known) if known else "declare it under `result`", (*here, "version"))


__all__ = ["WHOLE", "field_of", "fields_of", "pin_problem", "type_problem"]
