"""Schemas for the reader: closed types only, each with a domain whose size is known before anything is read.

Guarantees: a schema is data that the actor wrote (or the deployer registered) and code checked; a value that passes
:meth:`ReadSchema.check` is one of a known, finite number of values; a free string is possible as a reference only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.errors import CodedError

ENOUGH: Final = "have_enough_information"
MAX_TEXT: Final = 50_000  # characters of a piece of text that the reader hands out as a reference
MAX_STEPS: Final = 2**40  # values of one number: more is no closed type but a way to spell text
MAX_QUESTION: Final = 300
_ROUNDING: Final = 1e-6  # of a step: decimal fractions are not exact in binary
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@#+-]{0,63}")
_OPTIONS: Final[dict[str, frozenset[str]]] = {
    "bool": frozenset(),
    "number": frozenset({"min", "max", "step"}),
    "date": frozenset({"from", "to"}),
    "enum": frozenset({"values"}),
    "id": frozenset({"of"}),
    "reference": frozenset(),
}


@dataclass(frozen=True, slots=True)
class ReadField:
    """One field: its type, its bounds, and the question it answers."""

    type: str
    question: str = ""
    low: float = 0.0
    high: float = 0.0
    step: float = 1.0
    first: date = date.min
    last: date = date.max
    values: tuple[str, ...] = ()
    of: str = ""

    def bits(self, ids: Collection[str]) -> float:
        """Return the logarithm of the number of values that may cross; a reference shows nothing."""
        match self.type:
            case "bool":
                return 1.0
            case "number":
                return math.log2(math.floor((self.high - self.low) / self.step + _ROUNDING) + 1)
            case "date":
                return math.log2((self.last - self.first).days + 1)
            case "enum":
                return math.log2(len(self.values))
            case "id":
                return math.log2(max(len(ids), 1))
            case _:
                return 0.0

    def check(self, value: JSON, ids: Collection[str], pattern: re.Pattern[str]) -> JSON:
        """Return ``value`` in its one form.

        Raises:
            CodedError: it is not of this type or not in its domain.
        """
        match self.type:
            case "bool":
                _require(bool, value)
                return value
            case "number":
                return self._number(value)
            case "date":
                return self._date(_text(value))
            case "enum":
                if _text(value) not in self.values:
                    raise CodedError("not_in_enum")
                return value
            case "id":
                text = str(value) if type(value) is int else _text(value)
                if not pattern.fullmatch(text) or text not in ids:
                    raise CodedError("unknown_id")
                return text
            case _:
                if len(_text(value)) > MAX_TEXT:
                    raise CodedError("too_long")
                return value

    def _number(self, value: JSON) -> JSON:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise CodedError("wrong_type")
        if not self.low <= value <= self.high:
            raise CodedError("out_of_range")
        steps = round((value - self.low) / self.step)
        if abs((value - self.low) / self.step - steps) > _ROUNDING:
            raise CodedError("off_step")
        exact = round(self.low + steps * self.step, 10)
        return int(exact) if exact == int(exact) else exact

    def _date(self, text: str) -> JSON:
        try:
            day = date.fromisoformat(text)
        except ValueError:
            raise CodedError("wrong_type") from None
        if not self.first <= day <= self.last:
            raise CodedError("out_of_range")
        return day.isoformat()

    def to_json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of one value, for models that can be held to one."""
        shapes: dict[str, dict[str, Any]] = {
            "bool": {"type": "boolean"},
            "number": {"type": "number", "minimum": self.low, "maximum": self.high},
            "date": {"type": "string", "format": "date"},
            "enum": {"type": "string", "enum": list(self.values)},
            "id": {"type": "string"},
            "reference": {"type": "string"},
        }
        whole = self.type == "number" and self.step == int(self.step) and self.low == int(self.low)
        shape = {**shapes[self.type], **({"type": "integer"} if whole else {})}
        return {**shape, "description": self.question} if self.question else shape


def _require(kind: type, value: JSON) -> None:
    if type(value) is not kind:
        raise CodedError("wrong_type")


def _text(value: JSON) -> str:
    if not isinstance(value, str):
        raise CodedError("wrong_type")
    return value


@dataclass(frozen=True, slots=True)
class ReadSchema:
    """The fields that are asked of one piece of content."""

    fields: Mapping[str, ReadField] = field(default_factory=dict)

    def to_json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of an answer. Only the flag is required: without information there is no field."""
        return {
            "type": "object",
            "properties": {ENOUGH: {"type": "boolean"}, **{n: f.to_json_schema() for n, f in self.fields.items()}},
            "required": [ENOUGH],
            "additionalProperties": False,
        }

    def check(
        self,
        answer: JSON,
        ids: Mapping[str, Collection[str]],
        patterns: Mapping[str, re.Pattern[str]],
    ) -> dict[str, JSON] | None:
        """Return the checked values of an answer, or None when it says that the content does not tell.

        Raises:
            CodedError: it does not fit; ``place`` names the field of the schema.
        """
        if not isinstance(answer, dict):
            raise CodedError("not_json")
        if set(answer) - set(self.fields) - {ENOUGH}:
            raise CodedError("extra_field")
        if type(answer.get(ENOUGH)) is not bool:
            raise CodedError("missing_field", ENOUGH)
        if not answer[ENOUGH]:
            return None
        values: dict[str, JSON] = {}
        for name, wanted in self.fields.items():
            if name not in answer:
                raise CodedError("missing_field", name)
            try:
                values[name] = wanted.check(answer[name], ids.get(wanted.of, ()), patterns.get(wanted.of, _ID))
            except CodedError as error:
                raise CodedError(error.code, name) from None
        return values


def parse_schema(data: JSON, *, max_fields: int, max_enum: int) -> ReadSchema:
    """Return the schema that ``data`` describes: ``{"fields": {name: {"type": ..., ...}}}``.

    Raises:
        CodedError: it is not made of closed types.
    """
    fields = data.get("fields") if isinstance(data, dict) and set(data) == {"fields"} else None
    if not isinstance(fields, dict) or not 0 < len(fields) <= max_fields:
        raise CodedError("bad_schema")
    return ReadSchema({name: _parse_field(name, item, max_enum) for name, item in fields.items()})


def _parse_field(name: str, data: JSON, max_enum: int) -> ReadField:
    if not _NAME.fullmatch(name) or name == ENOUGH or not isinstance(data, dict):
        raise CodedError("bad_schema")
    kind, question = data.get("type"), data.get("question", "")
    if not isinstance(kind, str) or kind not in _OPTIONS or not isinstance(question, str):
        raise CodedError("bad_schema", name)
    if set(data) - _OPTIONS[kind] - {"type", "question"}:
        raise CodedError("bad_schema", name)
    try:
        return ReadField(kind, question[:MAX_QUESTION], **_bounds(kind, data, max_enum))
    except (KeyError, ValueError, TypeError):
        raise CodedError("bad_schema", name) from None


def _bounds(kind: str, data: Mapping[str, Any], max_enum: int) -> dict[str, Any]:
    """Return the bounds of a field.

    Raises:
        KeyError, ValueError, TypeError: they are missing or make no sense.
    """
    match kind:
        case "number":
            return _interval(data)
        case "date":
            first = date.fromisoformat(data.get("from", "1970-01-01"))
            last = date.fromisoformat(data.get("to", "2069-12-31"))
            if last < first:
                raise ValueError
            return {"first": first, "last": last}
        case "enum":
            return {"values": _choices(data["values"], max_enum)}
        case "id":
            if not isinstance(data["of"], str) or not (of := data["of"].removeprefix("id:")):
                raise TypeError
            return {"of": of}
        case _:
            return {}


def _interval(data: Mapping[str, Any]) -> dict[str, Any]:
    low, high, step = (data["min"], data["max"], data.get("step", 1))
    if any(isinstance(bound, bool) or not isinstance(bound, int | float) for bound in (low, high, step)):
        raise TypeError
    if step <= 0 or high < low or not (high - low) / step < MAX_STEPS:
        raise ValueError
    return {"low": low, "high": high, "step": step}


def _choices(values: Any, max_enum: int) -> tuple[str, ...]:
    if not isinstance(values, list) or not 0 < len(values) <= max_enum or len(set(values)) != len(values):
        raise ValueError
    if not all(isinstance(value, str) and 0 < len(value) <= MAX_QUESTION for value in values):
        raise TypeError
    return tuple(values)
