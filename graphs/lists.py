"""Working on lists by reference: code looks at the content, the actor sees which records are left.

Guarantees: what a comparison of untrusted fields tells is charged like a reader's answer, one bit for each record;
what does not fit into the account becomes one reference that shows nothing. Order is by verified fields only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

from checkvalve.filters.fields import scalar_text
from checkvalve.filters.labels import Trust
from checkvalve.filters.origins import Field
from checkvalve.filters.strictjson import JSON
from checkvalve.filters.values import canonical
from checkvalve.graphs.contents import Place
from checkvalve.graphs.errors import CodedError
from checkvalve.graphs.expansion import is_reference
from checkvalve.graphs.references import REF, Book

_ORDERED: Final = frozenset({"lt", "le", "gt", "ge"})
MAX_CONDITIONS: Final = 8


@dataclass(frozen=True, slots=True)
class Found:
    """Places that are left, the bits that showing them would cost, and the source that would be charged."""

    lists: tuple[tuple[Place, ...], ...]
    bits: float
    source: str
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class _Cell:
    """One value of one record, with the field it is; ``field`` is None for what the actor wrote."""

    value: JSON
    field: Field | None

    @property
    def trusted(self) -> bool:
        """Say whether outsiders had no hand in it."""
        return self.field is None or (self.field.trust >= Trust.VERIFIED and not self.field.echo)


def select(book: Book, args: Mapping[str, JSON]) -> Found:
    """Return the records of ``reference`` that fit every condition of ``where``, and of those the one to ``pick``.

    Raises:
        CodedError: a reference, field or condition cannot be used.
    """
    entry = book.entry(args.get("reference"))
    places = book.records(entry)
    where, bits = args.get("where", []), 0.0
    if not isinstance(where, list) or len(where) > MAX_CONDITIONS or not set(args) <= {"reference", "where", "pick"}:
        raise CodedError("bad_request")
    kept = places
    for condition in where:
        name, op, wanted = _condition(book, condition)
        cells = _column(book, places, name)
        if op in _ORDERED and not all(cell.trusted for cell in cells.values()):
            raise CodedError("unverified_field")
        if not wanted.trusted or not all(cell.trusted for cell in cells.values()):
            bits += len(places)
        kept = [place for place in kept if place in cells and _holds(cells[place], op, wanted)]
    if (pick := args.get("pick")) is not None:
        kept = _pick(book, kept, pick)
    return Found((tuple(kept),), bits, _source(book, places), entry.hidden)


def each(book: Book, args: Mapping[str, JSON]) -> Found:
    """Return one field of each record of a list.

    Raises:
        CodedError: a reference or field cannot be used.
    """
    entry = book.entry(args.get("reference"))
    name = args.get("field")
    if not isinstance(name, str) or set(args) != {"reference", "field"}:
        raise CodedError("bad_request")
    places = book.records(entry)
    found = [book.member(place, name) for place in places]
    if places and not any(found):
        raise CodedError("unknown_field")
    return Found((tuple(place for place in found if place),), 0.0, _source(book, places), entry.hidden)


def join(book: Book, args: Mapping[str, JSON]) -> Found:
    """Return the pairs of two lists whose fields are equal, as two lists of the same length.

    Raises:
        CodedError: a reference or field cannot be used.
    """
    names = ("left", "right", "left_field", "right_field")
    if set(args) != set(names) or not all(isinstance(args[name], str) for name in names):
        raise CodedError("bad_request")
    entries = [book.entry(args[side]) for side in ("left", "right")]
    left, right = (book.records(entry) for entry in entries)
    one = _column(book, left, str(args["left_field"]))
    other = _column(book, right, str(args["right_field"]))
    pairs = [(a, b) for a in left for b in right if a in one and b in other and _same(one[a], other[b])]
    if len(pairs) > book.max_shown:
        raise CodedError("too_large")
    trusted = all(cell.trusted for cell in (*one.values(), *other.values()))
    bits = 0.0 if trusted else len(left) * math.log2(len(right) + 1)
    lists = (tuple(a for a, _ in pairs), tuple(b for _, b in pairs))
    return Found(lists, bits, _source(book, left or right), any(entry.hidden for entry in entries))


def _source(book: Book, places: Sequence[Place]) -> str:
    return book.contents.item(places[0].item).source if places else ""


def _column(book: Book, places: Sequence[Place], name: str) -> dict[Place, _Cell]:
    """Return the scalar field ``name`` of each record that has one."""
    cells: dict[Place, _Cell] = {}
    known = False
    for place in places:
        where = book.member(place, name)
        known = known or where is not None
        found = next((item for path, item in book.contents.fields(where) if not path), None) if where else None
        if where is not None and found is not None:
            cells[place] = _Cell(book.contents.value(where), book.held(found))
    if places and not known:
        raise CodedError("unknown_field")
    return cells


def _condition(book: Book, data: JSON) -> tuple[str, str, _Cell]:
    if not isinstance(data, dict) or not set(data) <= {"field", "op", "value"} or "value" not in data:
        raise CodedError("bad_request")
    name, op, value = data.get("field"), data.get("op", "eq"), data["value"]
    if not isinstance(name, str) or not isinstance(op, str) or op not in _ORDERED | {"eq", "ne"}:
        raise CodedError("bad_request")
    if is_reference(value):
        entry = book.entry(value[REF] if isinstance(value, dict) else None)
        if entry.many or len(fields := list(book.fields(entry))) != 1 or fields[0][0]:
            raise CodedError("bad_request")
        return name, op, _Cell(book.value(entry), book.held(fields[0][1]))
    if isinstance(value, dict | list) or value is None:
        raise CodedError("bad_request")
    return name, op, _Cell(value, None)


def _holds(cell: _Cell, op: str, wanted: _Cell) -> bool:
    if op == "eq":
        return _same(cell, wanted)
    if op == "ne":
        return not _same(cell, wanted)
    one, other = _measure(cell), _measure(wanted)
    if one is None or other is None or type(one) is not type(other):
        raise CodedError("not_comparable")
    order = (one > other) - (one < other)  # type: ignore[operator]  # the same type, as checked
    return {"lt": order < 0, "le": order <= 0, "gt": order > 0, "ge": order >= 0}[op]


def _same(one: _Cell, other: _Cell) -> bool:
    a, b = scalar_text(one.value), scalar_text(other.value)
    if a == b:
        return True
    kinds = {cell.field.kind.partition(":")[0] for cell in (one, other) if cell.field is not None} - {"text", "id"}
    if len(kinds) != 1:
        return False
    kind = kinds.pop()
    form = canonical(kind, a)
    return form is not None and form == canonical(kind, b)


def _measure(cell: _Cell) -> Decimal | str | None:
    text = scalar_text(cell.value)
    if isinstance(cell.value, int | float) and not isinstance(cell.value, bool):
        return Decimal(text)
    if (day := canonical("date", text)) is not None:
        return day
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _pick(book: Book, places: Sequence[Place], pick: JSON) -> list[Place]:
    if not isinstance(pick, dict) or set(pick) != {"field", "most"} or pick["most"] not in {"max", "min"}:
        raise CodedError("bad_request")
    cells = _column(book, places, str(pick["field"]))
    if not all(cell.trusted for cell in cells.values()):
        raise CodedError("unverified_field")
    measured = {place: _measure(cell) for place, cell in cells.items()}
    if any(value is None for value in measured.values()) or len({type(value) for value in measured.values()}) > 1:
        raise CodedError("not_comparable")
    if not measured:
        return []
    best = (max if pick["most"] == "max" else min)(measured.values())  # type: ignore[type-var]  # one type, no None
    return [place for place, value in measured.items() if value == best]
