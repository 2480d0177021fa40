"""Draft a manifest from tool schemas: a guess for every line, with how sure it is, for a person to correct.

What a server says of itself relaxes nothing that matters: hints such as ``readOnlyHint`` and descriptions count only
where they make the draft stricter; results are untrusted and private but for the server's own handles; and where
something goes is for the user's words alone to say. What cannot be guessed takes the strict default.

Guarantees: pure; what is returned loads as a manifest; names from a schema are quoted wherever YAML could read them as
something else, and its descriptions do not get into the draft.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.kit_arguments import members_of, role_of, safe_values
from checkvalve.approvals.kit_asks import asks_for_name, nouns_for_name
from checkvalve.approvals.kit_effects import effect_of, goes_outside, is_side_target
from checkvalve.approvals.kit_results import handles, is_personal, types_taken
from checkvalve.approvals.kit_roles import MAX_TYPE
from checkvalve.approvals.kit_schemas import ToolSchema
from checkvalve.approvals.kit_titles import drafted_title
from checkvalve.approvals.kit_variants import drafted_variants

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WORDS_OF_YAML: Final = frozenset({"yes", "no", "on", "off", "true", "false", "null", "y", "n"})
_ORDER: Final = ("high", "medium", "low")
_SIZE: Final = '"a size in bytes, which the server measures"'
_HANDLE: Final = '"its schema calls it the id of the record, and the server takes it back as one"'
_HEAD: Final = """\
# Drafted by `checkvalve policy draft`. Every line is a guess from names and types, with how sure it is. To do:
# 1. Read every line marked `low`, then those marked `medium`; correct them, and delete the marks you have checked.
# 2. Say who the agent works for, and what is inside: `principal`.
# 3. Results are untrusted and private, but for ids that the server gives out itself; see that nobody else chooses them.
#    Trust another field only where you can write down the evidence. Until then, people are asked more often.
# 4. Run `checkvalve policy lint` on this file, and `checkvalve policy pin` once it is right.
"""


def draft(tools: Sequence[ToolSchema], name: str, *, server: str = "") -> str:
    """Return the text of a manifest that declares ``tools``."""
    lines = [*_HEAD.splitlines(), "version: 1", f"name: {_quoted(name)}", "tools:"]
    taken = types_taken(tools)
    for tool in tools:
        lines += _tool(tool, server, taken)
    return "\n".join(lines) + "\n"


def _tool(tool: ToolSchema, server: str, taken: Collection[str]) -> Iterator[str]:
    effect, sure, why = effect_of(tool)
    yield f"  {_quoted(f'{server}/{tool.name}' if server else tool.name)}:"
    if server:
        yield f"    name: {_quoted(tool.name)}"
        yield f"    server: {_quoted(server)}"
    yield _marked(f"    effect: {effect}", sure, why)
    if title := _title(tool, effect):
        yield _marked(f"    title: {_quoted(title)}", "medium", "from the name; people read it above a question")
    if effect is Effect.READ and goes_outside(tool):
        yield _marked("    leaves_domain: true", "medium", "its arguments seem to go outside")
    if effect is not Effect.READ:
        words = ", ".join(_quoted(word) for word in asks_for_name(tool.name, effect))
        yield _marked(f"    asks: [{words}]", "medium" if sure != "low" else "low", "from the name; add what users say")
        if nouns := nouns_for_name(tool.name):
            yield _marked(f"    about: [{', '.join(nouns)}]", "medium", "one of these has to be said; add or delete")
    if effect is Effect.PAY:
        yield "    # limits: {amount: 100, calls_per_task: 1}   # above this a person is asked, whatever the origin"
    if effect is Effect.EXECUTE:
        yield "    # sandbox: and commands: are yours to declare; until then it is denied"
    yield from drafted_variants(tool, effect)
    if tool.arguments:
        yield "    args:"
        for argument, schema in tool.arguments.items():
            known = _Place(tool, effect, server, optional=is_side_target(argument, tool, effect))
            yield from _argument(argument, schema if isinstance(schema, Mapping) else {}, known, 6)
    yield from _results(tool, effect, server, taken)


def _title(tool: ToolSchema, effect: Effect) -> str:
    """Return a headline for what people may be asked about; a plain read is hardly ever."""
    if effect is Effect.READ and not goes_outside(tool):
        return ""
    shapes = {name: schema if isinstance(schema, Mapping) else {} for name, schema in tool.arguments.items()}
    plain = {name: schema for name, schema in shapes.items() if not members_of(schema)}
    return drafted_title(
        tool.name, effect, {name: role_of(name, schema, effect, tool.name)[0] for name, schema in plain.items()}
    )


def _results(tool: ToolSchema, effect: Effect, server: str, taken: Collection[str]) -> Iterator[str]:
    found = [] if effect in {Effect.DELETE, Effect.EXECUTE} else list(handles(tool, taken))
    personal = effect is Effect.READ and is_personal(tool)
    if not found and not personal:
        return
    yield "    result:"
    for item in found:
        if item.is_name:
            yield _marked(
                f"      - {{path: {_quoted(item.path)}, names_record: true}}", "medium", "what people call it by"
            )
            continue
        kind = item.kind.removeprefix("id:")
        typed, why = (f'"{_id_kind(kind, server)}"', _HANDLE) if kind != item.kind else (item.kind, _SIZE)
        said = f"path: {_quoted(item.path)}, kind: {typed}, writable_by: owner, evidence: {why}"
        yield _marked(f"      - {{{said}}}", "medium", "make sure that nobody chooses it")
    if personal:
        yield _marked('      - {path: "**", readers: owner}', "medium", "personal data, by the words of its name")


@dataclass(frozen=True)
class _Place:
    """Where an argument stands."""

    tool: ToolSchema
    effect: Effect
    server: str
    optional: bool = False


def _argument(name: str, schema: Mapping[str, Any], place: _Place, indent: int) -> Iterator[str]:
    role, kind, sure, why = role_of(name, schema, place.effect, place.tool.name)
    space = " " * indent
    members = members_of(schema)
    if members and indent < 18:  # noqa: PLR2004 - deeper objects inherit what stands above them
        yield f"{space}{_quoted(name)}:"
        yield _marked(f"{space}  role: {role}", sure, why)
        yield f"{space}  fields:"
        for member, inner in members.items():
            yield from _argument(str(member), inner if isinstance(inner, Mapping) else {}, place, indent + 4)
        return
    said = [f"role: {role}"]
    if kind != "text":
        said.append(f"kind: {_quoted(_id_kind(kind.removeprefix('id:'), place.server) if kind[:3] == 'id:' else kind)}")
    if role is Role.TARGET and place.effect is not Effect.READ:
        said.append("accepts: [user, system]")  # a draft trusts no field that much
        said += ["optional: true"] if place.optional else []
    if role is Role.CONTROL and (safe := safe_values(name, schema)):
        said.append(f"safe_values: [{', '.join(_scalar(value) for value in safe)}]")
    yield _marked(f"{space}{_quoted(name)}: {{{', '.join(said)}}}", sure, why)


def _id_kind(kind: str, server: str) -> str:
    """Return the kind of an id; another server's ids of the same name are others."""
    own = re.sub(r"[^A-Za-z0-9_.-]+", "-", server)
    return f"id:{f'{own}.{kind}'[-MAX_TYPE:] if own else kind}"


def _marked(line: str, sure: str, why: str) -> str:
    assert sure in _ORDER  # noqa: S101
    return f"{line}  # {sure}: {why}"


def _scalar(value: str | bool) -> str:  # noqa: FBT001 - a value of a schema
    return str(value).lower() if isinstance(value, bool) else _quoted(value)


def _quoted(text: str) -> str:
    """Return text as a YAML scalar; whatever does not print, or changes how a line reads, is escaped."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS_OF_YAML:
        return text
    marks = {'"': '\\"', "\\": "\\\\"}
    return '"' + "".join(marks.get(char) or (char if char.isprintable() else _escaped(char)) for char in text) + '"'


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"  # noqa: PLR2004
