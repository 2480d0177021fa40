"""The semantic digest of a tool's JSON Schema: what it accepts, not how it is worded.

Two schemas with the same digest take the same arguments. Wording (titles, descriptions, examples), the order of keys,
of ``required``, ``enum`` and ``anyOf``, the names of definitions, and the two spellings of one constant do not count.
Every keyword that is not known to be wording counts, so a pin breaks rather than overlooks a change.

Steps: 1. inline every local ``$ref`` (one that leads back into itself becomes the number of references it goes up);
2. drop wording; 3. bring equal spellings to one; 4. digest the canonical form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from checkvalve.approvals.canonical import canonical, digest
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, MAX_DEPTH, MAX_INTEGER

MAX_SCHEMA_NODES: Final = 20_000
"""Values after inlining: definitions that refer to each other twice would otherwise double at every step."""

_WORDING: Final = frozenset({"title", "description", "examples", "example", "deprecated", "$comment", "$schema"})
_DEFINITIONS: Final = frozenset({"$defs", "definitions"})
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
_UNORDERED: Final = frozenset({"anyOf", "oneOf", "allOf"})
_SINGLE: Final = frozenset(
    {"additionalProperties", "additionalItems", "items", "contains", "propertyNames", "not", "if", "then", "else"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
_ELSEWHERE: Final = frozenset({"$dynamicRef", "$recursiveRef"})
_NEUTRAL: Final[Mapping[str, JSON]] = {"required": [], "properties": {}}  # not `items: {}`: unevaluatedItems sees it


def schema_digest(json_schema: Mapping[str, object]) -> str:
    """Return ``sha256:<hex>`` over what ``json_schema`` accepts.

    Raises:
        HostileInputError: ``too_many`` or ``too_deep``, ``not_json``, or ``bad_reference`` for a reference that does
            not lead to a place inside this schema: what cannot be followed cannot be pinned.
    """
    try:
        return digest(_Normaliser(json_schema).schema(json_schema, (), 0))
    except RecursionError:  # only when the caller was already near the limit
        raise HostileInputError("too_deep", "the schema cannot be walked at this depth of calls") from None


class _Normaliser:
    def __init__(self, root: Mapping[str, object]) -> None:
        self._root = root
        self._nodes = 0

    def schema(self, schema: object, trail: tuple[int, ...], depth: int) -> JSON:
        """Return the one spelling of ``schema``; ``trail`` holds the references that are being inlined."""
        self._count(depth)
        if schema is True:
            return {}
        if schema is False:
            return {"not": {}}
        if not isinstance(schema, Mapping):
            raise HostileInputError("not_json", "a JSON Schema is an object or a boolean")
        self._refuse_other_documents(schema, depth)
        result: dict[str, JSON] = {}
        for key, value in schema.items():
            if not isinstance(key, str):
                raise HostileInputError("not_json", "a key that is not text")
            if key not in _WORDING and key not in _DEFINITIONS and key not in ("$ref", "$id"):
                result[key] = self._keyword(key, value, trail, depth + 1)
        if "$ref" in schema:
            parts = result.get("allOf", [])
            assert isinstance(parts, list)  # noqa: S101  # _keyword made it one
            result["allOf"] = _sorted([*parts, self._follow(schema["$ref"], trail, depth + 1)])
        return _tidy(result)

    def _keyword(self, key: str, value: object, trail: tuple[int, ...], depth: int) -> JSON:
        if key in _MAPS:
            if not isinstance(value, Mapping):
                raise HostileInputError("not_json", "a map of schemas that is no object")
            return {str(name): self.schema(item, trail, depth) for name, item in value.items()}
        if key in _UNORDERED or key == "prefixItems" or (key == "items" and isinstance(value, list)):
            if not isinstance(value, list | tuple):
                raise HostileInputError("not_json", "a list of schemas that is no list")
            members = [self.schema(item, trail, depth) for item in value]
            return _sorted(members, unique=key != "oneOf") if key in _UNORDERED else members
        if key in _SINGLE:
            return self.schema(value, trail, depth)
        data = self._data(value, depth)
        if key in ("required", "enum", "type") and isinstance(data, list):
            return _sorted(data, unique=True)
        if key == "dependentRequired" and isinstance(data, dict):
            return {name: _sorted(item, unique=True) if isinstance(item, list) else item for name, item in data.items()}
        return data

    def _data(self, value: object, depth: int) -> JSON:
        """Return plain JSON for a value that is data, such as a constant: nothing in it is wording."""
        self._count(depth)
        if value is None or isinstance(value, str | bool | float):
            return value
        if isinstance(value, int):  # bounds of 64-bit integers are common, and have no RFC 8785 form
            return value if abs(value) <= MAX_INTEGER else {"$integer": hex(value)}
        if isinstance(value, list | tuple):
            return [self._data(item, depth + 1) for item in value]
        if isinstance(value, Mapping):
            return {str(key): self._data(item, depth + 1) for key, item in value.items()}
        raise HostileInputError("not_json", "a value of a type that JSON does not have")

    def _follow(self, ref: object, trail: tuple[int, ...], depth: int) -> JSON:
        target = self._find(ref)
        if id(target) in trail:  # identity, not the text of the pointer: two spellings may lead to one place
            return {"$recursive": len(trail) - trail.index(id(target))}
        return self.schema(target, (*trail, id(target)), depth)

    def _find(self, ref: object) -> object:
        """Return what the JSON Pointer ``ref`` points to inside this schema."""
        if not isinstance(ref, str) or (ref != "#" and not ref.startswith("#/")):
            raise HostileInputError("bad_reference", "a reference that leads outside the schema")
        target: object = self._root
        for step in ref.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(target, Mapping) and name in target:
                target = target[name]
            elif isinstance(target, list) and re.fullmatch("[0-9]{1,5}", name) and int(name) < len(target):
                target = target[int(name)]
            else:
                raise HostileInputError("bad_reference", "a reference that leads nowhere")
        if not isinstance(target, Mapping | bool):
            raise HostileInputError("bad_reference", "a reference to something that is no schema")
        return target

    def _refuse_other_documents(self, schema: Mapping[object, object], depth: int) -> None:
        """A nested ``$id`` and dynamic references change what ``$ref`` means; they are not followed, so not pinned."""
        if any(key in schema for key in _ELSEWHERE) or ("$id" in schema and schema is not self._root and depth):
            raise HostileInputError("bad_reference", "a schema that embeds another document or refers dynamically")

    def _count(self, depth: int) -> None:
        self._nodes += 1
        if self._nodes > MAX_SCHEMA_NODES:
            raise HostileInputError("too_many", f"a schema of more than {MAX_SCHEMA_NODES} values when inlined")
        if depth > MAX_DEPTH:
            raise HostileInputError("too_deep", f"a schema of more than {MAX_DEPTH} levels when inlined")


def _tidy(schema: dict[str, JSON]) -> JSON:
    """Bring equal spellings of one schema to one, by rules that never change what it accepts."""
    if "const" in schema and "enum" not in schema:
        schema["enum"] = [schema.pop("const")]
    kind = schema.get("type")
    if isinstance(kind, list) and len(kind) == 1:
        schema["type"] = kind = kind[0]
    values = schema.get("enum")
    if isinstance(values, list) and values and all(_type_of(value) == kind for value in values):
        del schema["type"]
    if "default" in schema and schema["default"] is None:
        del schema["default"]
    for key, neutral in _NEUTRAL.items():
        if key in schema and schema[key] == neutral:
            del schema[key]
    for key in ("allOf", "anyOf", "oneOf"):
        members = schema.get(key)
        if isinstance(members, list) and len(members) == 1 and isinstance(members[0], dict):
            rest = schema.keys() - {key, "default"}
            if not rest and "default" not in members[0]:
                del schema[key]
                return {**members[0], **schema}
    return schema


def _type_of(value: JSON) -> str:
    """Return the JSON Schema type of a constant, where it is beyond doubt."""
    names = {bool: "boolean", str: "string", type(None): "null", int: "integer"}
    return names.get(type(value), "")


def _sorted(values: list[JSON], *, unique: bool = False) -> list[JSON]:
    forms = [(canonical(value), value) for value in values]
    if unique:
        forms = list(dict(forms).items())
    return [value for _, value in sorted(forms, key=lambda pair: pair[0])]
