"""Guess one argument from its schema: role and kind, its values that need nobody's word, whether it may be left out.

Guarantees: pure; a type or format that says more than the name wins where it is stricter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.kit_roles import MAX_TYPE, guess_role
from checkvalve.approvals.kit_words import parts

FORMATS: Final = {
    "email": "email",
    "idn-email": "email",
    "uri": "url",
    "url": "url",
    "uri-reference": "url",
    "hostname": "host",
    "ipv4": "host",
    "ipv6": "host",
}
"""Formats of JSON Schema that are kinds of ours."""
_LEAST: Final = frozenset(
    {"r", "read", "reader", "view", "viewer", "readonly", "read-only", "read_only", "private", "draft"}
)
_FURTHER: Final = frozenset(
    {"recurring", "repeat", "force", "recursive", "overwrite", "public", "permanent", "broadcast", "admin"}
)


def role_of(name: str, schema: Mapping[str, Any], effect: Effect, tool: str = "") -> tuple[Role, str, str, str]:
    """Return role, kind, confidence and reason for one argument."""
    found = plain(schema)
    kind_of_value = found.get("type")
    typed = kind_of_value if isinstance(kind_of_value, str) else ""
    told = f"{schema.get('description', '')}"
    role, kind, sure = guess_role(name, effect, typed, tool=tool, description=told)
    form = FORMATS.get(str(found.get("format", "")))
    if form is not None:
        if role is Role.CONTENT or kind == "text":
            role = Role.SELECTOR if effect is Effect.READ and form == "email" else Role.TARGET
        return role, form, "high", "from its format"
    if typed in {"number", "integer"} and role in {Role.TARGET, Role.COMMAND}:
        named = parts(name)
        return Role.SELECTOR, f"id:{named[-1][:MAX_TYPE]}" if named else "text", "low", "a number that names something"
    if typed == "boolean" and role is not Role.CONTROL:
        return Role.CONTROL, "text", "medium", "a switch"
    if isinstance(found.get("enum"), list) and (sure == "low" or (role is Role.CONTENT and kind == "text")):
        return Role.CONTROL, "text", "medium", "one of a few values"
    if name in {"attachments", "attachment"}:
        return Role.SELECTOR, "text", "medium", "it sends whole files along"
    return role, kind, sure, "from the name" if sure != "low" else "the name says nothing, so a strict guess"


def safe_values(name: str, schema: Mapping[str, Any]) -> list[str | bool]:
    """Return the values of a setting that promise least: to read and not to change, and no for what goes further."""
    found = plain(schema)
    listed = [str(value) for value in _list(found.get("enum"))]
    least = [value for value in listed if value.lower() in _LEAST]
    if found.get("type") == "boolean" and set(parts(name)) & _FURTHER:
        return [False]
    return list(least[:1]) if len(listed) > 1 else []


def plain(schema: Mapping[str, Any]) -> Mapping[str, Any]:
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


def members_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schemas of the members of an object, or of a list's objects."""
    found = plain(schema).get("properties")
    return found if isinstance(found, Mapping) else {}
