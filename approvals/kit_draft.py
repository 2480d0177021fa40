"""Draft a manifest from tool schemas: a guess for every line, with how sure it is, for a person to correct.

What a server says of itself never relaxes anything: hints such as ``readOnlyHint`` count only where they make the draft
stricter, and results stay undeclared, so untrusted and private. What cannot be guessed takes the strict default.

Guarantees: pure; what is returned loads as a manifest; names from a schema are quoted wherever YAML could read them as
something else, and its descriptions do not get into the draft.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from checkvalve.approvals.kit_schemas import ToolSchema
from checkvalve.approvals.kit_words import MAX_TYPE, RANK, asks_for_name, guess_effect, guess_role, leaves_domain, parts
from checkvalve.approvals.toolspec import Effect, Role

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WORDS_OF_YAML: Final = frozenset({"yes", "no", "on", "off", "true", "false", "null", "y", "n"})
_FORMATS: Final = {
    "email": "email",
    "idn-email": "email",
    "uri": "url",
    "url": "url",
    "uri-reference": "url",
    "hostname": "host",
    "ipv4": "host",
    "ipv6": "host",
}
_ORDER: Final = ("high", "medium", "low")
_HEAD: Final = """\
# Drafted by `checkvalve policy draft`. Every line is a guess from names and types, with how sure it is. To do:
# 1. Read every line marked `low`, then those marked `medium`; correct them, and delete the marks you have checked.
# 2. Say who the agent works for, and what is inside: `principal`.
# 3. Results are undeclared: untrusted and private. Trust a field only where you can write down the evidence.
# 4. Run `checkvalve policy lint` on this file, and `checkvalve policy pin` once it is right.
"""


def draft(tools: Sequence[ToolSchema], name: str, *, server: str = "") -> str:
    """Return the text of a manifest that declares ``tools``."""
    lines = [*_HEAD.splitlines(), "version: 1", f"name: {_quoted(name)}", "tools:"]
    for tool in tools:
        lines += _tool(tool, server)
    return "\n".join(lines) + "\n"


def _tool(tool: ToolSchema, server: str) -> Iterator[str]:
    effect, sure, why = effect_of(tool)
    yield f"  {_quoted(f'{server}/{tool.name}' if server else tool.name)}:"
    if server:
        yield f"    name: {_quoted(tool.name)}"
        yield f"    server: {_quoted(server)}"
    yield _marked(f"    effect: {effect}", sure, why)
    if effect is Effect.READ and (
        leaves_domain(tool.name, list(tool.arguments)) or tool.hints.get("openWorldHint") is True
    ):
        yield _marked("    leaves_domain: true", "medium", "its arguments seem to go outside")
    if effect is not Effect.READ:
        words = ", ".join(_quoted(word) for word in asks_for_name(tool.name))
        yield _marked(f"    asks: [{words}]", "medium" if sure != "low" else "low", "from the name; add what users say")
    if effect is Effect.PAY:
        yield "    # limits: {amount: 100, calls_per_task: 1}   # above this a person is asked, whatever the origin"
    arguments = tool.arguments
    if arguments:
        yield "    args:"
        for argument, schema in arguments.items():
            yield from _argument(argument, schema if isinstance(schema, Mapping) else {}, effect, 6)


def effect_of(tool: ToolSchema) -> tuple[Effect, str, str]:
    """Return effect, confidence and reason: the name's guess, raised by hints that warn, never lowered by any."""
    effect, sure = guess_effect(tool.name)
    why = "from the name" if sure != "low" else "the name says nothing, so the strictest guess"
    if effect is Effect.READ and (
        tool.hints.get("readOnlyHint") is False
        or tool.hints.get("destructiveHint") is True
        or str(tool.hints.get("method", "get")) not in {"get", "head", "options"}
    ):
        destructive = tool.hints.get("destructiveHint") is True or tool.hints.get("method") == "delete"
        return (Effect.DELETE if destructive else Effect.WRITE), "low", "the name reads, but the server says it changes"
    if tool.hints.get("destructiveHint") is True and RANK[effect] < RANK[Effect.DELETE]:
        return effect, "low", "the server says that it destroys; is it a `delete`?"
    return effect, sure, why


def _argument(name: str, schema: Mapping[str, Any], effect: Effect, indent: int) -> Iterator[str]:
    role, kind, sure, why = role_of(name, schema, effect)
    space = " " * indent
    members = _members(schema)
    if members and indent < 18:  # noqa: PLR2004 - deeper objects inherit what stands above them
        yield f"{space}{_quoted(name)}:"
        yield _marked(f"{space}  role: {role}", sure, why)
        yield f"{space}  fields:"
        for member, inner in members.items():
            yield from _argument(str(member), inner if isinstance(inner, Mapping) else {}, effect, indent + 4)
        return
    said = f"role: {role}" + (f", kind: {_quoted(kind)}" if kind != "text" else "")
    yield _marked(f"{space}{_quoted(name)}: {{{said}}}", sure, why)


def role_of(name: str, schema: Mapping[str, Any], effect: Effect) -> tuple[Role, str, str, str]:
    """Return role, kind, confidence and reason for one argument."""
    found = _plain(schema)
    kind_of_value = found.get("type")
    typed = kind_of_value if isinstance(kind_of_value, str) else ""
    role, kind, sure = guess_role(name, effect, typed)
    form = _FORMATS.get(str(found.get("format", "")))
    if form is not None:
        if role is Role.CONTENT or kind == "text":
            role = Role.SELECTOR if effect is Effect.READ and form == "email" else Role.TARGET
        return role, form, "high", "from its format"
    if typed in {"number", "integer"} and role in {Role.TARGET, Role.COMMAND}:
        return (
            Role.SELECTOR,
            f"id:{parts(name)[-1][:MAX_TYPE]}" if parts(name) else "text",
            "low",
            "a number that names something",
        )
    if typed == "boolean" and role is not Role.CONTROL:
        return Role.CONTROL, "text", "medium", "a switch"
    if role is Role.CONTENT and kind == "text" and isinstance(found.get("enum"), list):
        return Role.CONTROL, "text", "medium", "one of a few values"
    return role, kind, sure, "from the name" if sure != "low" else "the name says nothing, so a strict guess"


def _plain(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of one value: of a list's members, or of the one alternative that is not null."""
    for _ in range(4):
        listed = [item for key in ("anyOf", "oneOf") for item in _list(schema.get(key))]
        choices = [item for item in listed if isinstance(item, Mapping) and item.get("type") != "null"]
        inner = schema.get("items") if schema.get("type") == "array" else choices[0] if len(choices) == 1 else None
        if not isinstance(inner, Mapping):
            break
        schema = inner
    kinds = schema.get("type")
    if isinstance(kinds, list):
        left = [kind for kind in kinds if kind != "null"]
        return {**schema, "type": left[0] if len(left) == 1 else ""}
    return schema


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _members(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found = _plain(schema).get("properties")
    return found if isinstance(found, Mapping) else {}


def _marked(line: str, sure: str, why: str) -> str:
    assert sure in _ORDER  # noqa: S101
    return f"{line}  # {sure}: {why}"


def _quoted(text: str) -> str:
    """Return text as a YAML scalar; whatever does not print, or changes how a line reads, is escaped."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS_OF_YAML:
        return text
    marks = {'"': '\\"', "\\": "\\\\"}
    return '"' + "".join(marks.get(char) or (char if char.isprintable() else _escaped(char)) for char in text) + '"'


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"  # noqa: PLR2004
