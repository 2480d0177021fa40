"""From a call that ran to the call that takes it back: pure, and complete before anything is stored.

1. Each argument is taken from where the manifest says: the call, its result, the record read before it, or a constant.
2. What is missing, or too large to keep, makes the whole undoing one that cannot be kept, with a word that says why.

Guarantees: the stored call is fixed at the moment of the effect; nothing is added to it later.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from checkvalve.approvals.canonical import canonical, digest
from checkvalve.approvals.undospec import LookSpec, UndoSpec
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, check_value, parse_strict

MAX_BODY: Final = 256 * 1024
"""Bytes of a kept undoing: a document fits, a database dump does not. What is larger says `too_large`."""
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Seen:
    """What was there to take values from. ``record`` is empty where nothing was read, and ``why`` then says why."""

    result: object = _MISSING
    record: object = _MISSING
    proposal: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is stored beside an effect: the call that undoes it as canonical JSON, or why there is none."""

    body: str = ""
    why: str = ""
    within: int | None = None


@dataclass(frozen=True, slots=True)
class UndoCall:
    """A kept undoing, read back. ``origins`` says where each argument is from; ``look`` reads the present state."""

    tool: str
    server: str
    args: dict[str, JSON]
    origins: dict[str, dict[str, JSON]]
    declared: str
    look: tuple[str, dict[str, JSON]] | None = None
    before: str = ""


def declared_digest(undo: UndoSpec) -> str:
    """Return the digest of a declaration: where it is another one by now, what was kept under it does not count."""
    return digest(undo.model_dump(mode="json"))


def kept(undo: UndoSpec, *, server: str, args: Mapping[str, JSON], seen: Seen) -> Kept:
    """Return what to store of an effect that just happened."""
    given: dict[str, JSON] = {}
    for name, value in undo.args.items():
        found = _taken(value.to_json(), args, seen)
        if found is _MISSING:
            missing = seen.why or "not_read" if value.before is not None else "no_such_field"
            return Kept(why="no_such_argument" if value.argument is not None else missing, within=undo.microseconds)
        given[name] = found  # type: ignore[assignment]  # checked with the whole below
    body: dict[str, Any] = {"tool": undo.tool, "server": server, "args": given, "declared": declared_digest(undo)}
    body["from"] = {name: value.to_json() for name, value in undo.args.items()}
    if undo.before is not None and (looked := look_args(undo.before, args)) is not None:
        body["look"] = {"tool": undo.before.tool, "args": looked}
        body["before"] = seen.proposal
    try:
        text = canonical(check_value(body)).decode()
    except HostileInputError:
        return Kept(why="not_canonical", within=undo.microseconds)
    if len(text.encode()) > MAX_BODY:
        return Kept(why="too_large", within=undo.microseconds)
    return Kept(body=text, within=undo.microseconds)


def is_from_before(kept: Kept) -> bool:
    """Say whether a value of what was kept is from the record that was read before the effect."""
    return bool(kept.body) and any("before" in where for where in json.loads(kept.body)["from"].values())


def look_args(before: LookSpec, args: Mapping[str, JSON]) -> dict[str, JSON] | None:
    """Return the arguments of the reading call, or nothing where the call had left one out."""
    found: dict[str, JSON] = {}
    for name, value in before.args.items():
        if value.argument is None:
            found[name] = value.value
        elif value.argument in args:
            found[name] = args[value.argument]
        else:
            return None
    return found


def read_body(text: str) -> UndoCall:
    """Return a kept undoing.

    Raises:
        ValueError: it is none.
    """
    try:
        body: Any = parse_strict(text.encode())
        look = body.get("look")
        looked = None if look is None else (str(look["tool"]), dict(look["args"]))
        origins = {str(name): dict(value) for name, value in body["from"].items()}
        call = str(body["tool"]), str(body["server"]), dict(body["args"])
        return UndoCall(*call, origins, str(body["declared"]), looked, str(body.get("before") or ""))
    except (HostileInputError, KeyError, TypeError, AttributeError) as error:
        raise ValueError("this is no kept undoing") from error


def _taken(where: Mapping[str, JSON], args: Mapping[str, JSON], seen: Seen) -> object:
    match where:
        case {"argument": str(name)}:
            return args.get(name, _MISSING)
        case {"result": str(path)}:
            return at(seen.result, path)
        case {"before": str(path)}:
            return at(seen.record, path)
        case _:
            return where["value"]


def at(value: object, path: str) -> object:
    """Return what stands at ``path`` (``$``, ``$.id``, ``$.items.0.id``) of a value, or a mark of ours."""
    for step in path.split(".")[1:]:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isascii() and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return _MISSING
    return value


def differences(old: JSON, new: JSON) -> list[tuple[str, JSON, JSON]]:
    """Return every leaf in which two records differ: its path, what it was, what it is; ``None`` where it is not there.

    Two records without any difference are the same JSON: a null that is there is not one that is missing, true is not
    1, and where two leaves have one name the whole records stand side by side.
    """
    before, after = dict(_leaves(old, "$")), dict(_leaves(new, "$"))
    names = [*before, *(name for name in after if name not in before)]
    found = [
        (name, before.get(name), after.get(name))
        for name in names
        if (name in before) != (name in after) or _text(before[name]) != _text(after[name])
    ]
    return found if found or _text(old) == _text(new) else [("$", old, new)]


def _text(value: JSON) -> str:
    return json.dumps(value, sort_keys=True)


def _leaves(value: JSON, path: str) -> list[tuple[str, JSON]]:
    if isinstance(value, dict) and value:
        return [leaf for name, item in value.items() for leaf in _leaves(item, f"{path}.{name}")]
    if isinstance(value, list) and value:
        return [leaf for number, item in enumerate(value) for leaf in _leaves(item, f"{path}.{number}")]
    return [(path, value)]


__all__ = [
    "MAX_BODY", "Kept", "Seen", "UndoCall", "at", "declared_digest", "differences", "is_from_before", "kept",
    "look_args", "read_body",
]  # fmt: skip
