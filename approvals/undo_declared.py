"""What a manifest's ``undo_with`` must say of the tools around it. Each check is a line of :func:`undo_problem`.

1. The tool exists on the same server, and neither it nor the undone one runs code or changes settings. 2. Its arguments
exist, and so do the arguments that values are taken from. 3. Kinds and types of both ends can be the same. 4. A tool is
its own inverse only with an argument that differs. 5. What is read before is a tool that only reads inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from checkvalve.approvals.fieldspec import ArgumentSpec, Effect
from checkvalve.approvals.strictyaml import nearest
from checkvalve.approvals.toolspec import Manifest, ToolSpec
from checkvalve.approvals.undospec import LookSpec, UndoSpec, UndoValue

_NEVER: Final = frozenset({Effect.EXECUTE, Effect.CONFIGURE})
"""Effects that no undoing may have: code and settings are proposed anew, in words of their own."""
_NAMES: Final = {bool: "boolean", int: "integer", float: "number", str: "string"}
_FITTING: Final = {"integer": {"integer", "number"}, "number": {"number"}, "string": {"string"}, "boolean": {"boolean"}}


Steps: TypeAlias = tuple[str | int, ...]


class Problem(NamedTuple):
    """What is wrong, what to do, and where below the tool it stands."""

    message: str
    remedy: str
    steps: Steps


def undo_problem(spec: ToolSpec, manifest: Manifest) -> Problem | None:
    """Return the first thing that is wrong with how ``spec`` says it is undone, if anything is."""
    return next(_problems(spec, manifest), None) if spec.undo_with is not None else None


def look_problem(spec: ToolSpec, manifest: Manifest) -> Problem | None:
    """Return the first thing that is wrong with what ``spec`` has read first, if anything is."""
    if spec.look_first is None:
        return None
    if spec.effect is Effect.READ:
        return Problem("a tool that reads needs no other read first", "leave `look_first` out", ("look_first",))
    return next(reading_problems(spec, spec.look_first, manifest, ("look_first",)), None)


def _problems(spec: ToolSpec, manifest: Manifest) -> Iterator[Problem]:
    undo = spec.undo_with
    if undo is None:
        return
    here = ("undo_with",)
    inverse = manifest.find(undo.tool, spec.server)
    if spec.effect is Effect.READ:
        yield Problem("a tool that reads has no effect to undo", "leave `undo_with` out", here)
    if inverse is None:
        known = [tool.name for tool in manifest.tools.values() if tool.server == spec.server]
        yield Problem("there is no such tool on this server", nearest(undo.tool, known), (*here, "tool"))
        return
    if inverse.effect in _NEVER or spec.effect in _NEVER:
        which = spec if spec.effect in _NEVER else inverse
        text = f"a `{which.effect}` is no part of an undoing"
        yield Problem(text, "say in `undo` how a person takes it back", (*here, "tool"))
    yield from _arguments(spec, inverse, undo, manifest)
    if inverse == spec and not _differs(undo):
        text = "the tool would undo itself with the same arguments"
        yield Problem(text, "give one argument another value: a constant, or a field of `before`", (*here, "args"))
    if undo.before is not None:
        yield from reading_problems(spec, undo.before, manifest, (*here, "before"))
    elif any(value.before for value in undo.args.values()):
        yield Problem("values are taken from what was read before, and nothing is read", "add `before`", here)


def _arguments(spec: ToolSpec, inverse: ToolSpec, undo: UndoSpec, manifest: Manifest) -> Iterator[Problem]:
    for name, value in undo.args.items():
        steps = ("undo_with", "args", name)
        taken = inverse.args.get(name)
        if taken is None and not _has(inverse, name):
            text = f"{inverse.name!r} has no such argument"
            yield Problem(text, nearest(name, _names(inverse)), steps)
            continue
        given = _given(spec, value, undo, manifest)
        if value.argument is not None and given is None and not _has(spec, value.argument):
            yield Problem(f"{spec.name!r} has no argument {value.argument!r}", _near(value.argument, spec), steps)
        elif value.value is not None:
            yield from _constant(inverse, name, value.value, steps)
        elif not _fit(given, taken) or not _same_type(spec, value.argument, inverse, name):
            yield Problem("the value is of another kind than the argument", "take it from another place", steps)
    left = [name for name in _required(inverse) if name not in undo.args]
    if left:
        text = f"{inverse.name!r} needs {left[0]!r}, which is not given"
        yield Problem(text, f"say where {left[0]!r} is from", ("undo_with", "args"))


def _given(spec: ToolSpec, value: UndoValue, undo: UndoSpec, manifest: Manifest) -> str | None:
    """Return the declared kind of where a value is from, where it has one."""
    if value.argument is not None:
        return None if value.argument not in spec.args else spec.args[value.argument].kind
    source, path = spec, value.result
    if value.before is not None and undo.before is not None:
        found = manifest.find(undo.before.tool, spec.server)
        if found is None:
            return None
        source, path = found, value.before
    fields = {field.path: field.kind for field in source.result}
    plain = ".".join(step for step in (path or "").split(".")[1:] if not step.isdigit())
    return fields.get(plain)


def _fit(given: str | None, taken: ArgumentSpec | None) -> bool:
    """Say whether a value of one kind can be the other: what is only text, or not declared, may be anything."""
    if given is None or taken is None or "text" in {given, taken.kind}:
        return True
    return given == taken.kind


def _constant(inverse: ToolSpec, name: str, value: object, steps: tuple[str, ...]) -> Iterator[Problem]:
    wanted = _type(inverse, name)
    if wanted is not None and wanted not in _FITTING[_NAMES[type(value)]]:
        yield Problem(f"the argument is of type {wanted}", "give a constant of that type", steps)


def _same_type(spec: ToolSpec, argument: str | None, inverse: ToolSpec, name: str) -> bool:
    given, taken = (None if argument is None else _type(spec, argument)), _type(inverse, name)
    return given is None or taken is None or given == taken or {given, taken} == {"integer", "number"}


def _differs(undo: UndoSpec) -> bool:
    """Say whether some argument gets another value than in the call that is undone."""
    return any(value.argument != name for name, value in undo.args.items())


def reading_problems(spec: ToolSpec, before: LookSpec, manifest: Manifest, steps: Steps) -> Iterator[Problem]:
    """Yield what is wrong with a read that is made beside a call of ``spec``: its tool, then its arguments."""
    reads = manifest.find(before.tool, spec.server)
    if reads is None:
        known = [tool.name for tool in manifest.tools.values() if tool.effect is Effect.READ]
        yield Problem("there is no such tool on this server", nearest(before.tool, known), (*steps, "tool"))
        return
    if reads.effect is not Effect.READ or reads.leaves_domain:
        text = f"{before.tool!r} does more than read inside"
        yield Problem(text, "name a tool with `effect: read` that sends nothing outside", (*steps, "tool"))
    for name, value in before.args.items():
        if not _has(reads, name):
            yield Problem(f"{reads.name!r} has no such argument", _near(name, reads), (*steps, "args", name))
        elif value.argument is not None and not _has(spec, value.argument):
            text = f"{spec.name!r} has no argument {value.argument!r}"
            yield Problem(text, _near(value.argument, spec), (*steps, "args", name))


def has_argument(spec: ToolSpec, name: str) -> bool:
    """Say whether a tool has an argument of this name, by its declaration or its shipped schema."""
    return _has(spec, name)


def _near(name: str, spec: ToolSpec) -> str:
    return nearest(name, _names(spec))


def _has(spec: ToolSpec, name: str) -> bool:
    return name in spec.args or name in _shapes(spec)


def _names(spec: ToolSpec) -> list[str]:
    return list(dict.fromkeys([*spec.args, *_shapes(spec)]))


def _shapes(spec: ToolSpec) -> Mapping[str, Any]:
    found = (spec.input_schema or {}).get("properties")
    return found if isinstance(found, Mapping) else {}


def _required(spec: ToolSpec) -> list[str]:
    found = (spec.input_schema or {}).get("required")
    return [str(name) for name in found] if isinstance(found, list) else []


def _type(spec: ToolSpec, name: str) -> str | None:
    shape = _shapes(spec).get(name)
    found = shape.get("type") if isinstance(shape, Mapping) else None
    return found if isinstance(found, str) else None


__all__ = ["Problem", "Steps", "has_argument", "look_problem", "reading_problems", "undo_problem"]
