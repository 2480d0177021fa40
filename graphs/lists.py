"""Working on lists by reference: code looks at the content, the actor sees which records are left.

Guarantees: what a comparison of untrusted fields tells is charged like a reader's answer, one bit for each record;
what does not fit into the account becomes one reference that shows nothing. Order is by verified fields only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
from checkvalve.graphs.references import REF, Book, Entry

_ORDERED: Final = frozenset({"lt", "le", "gt", "ge"})
MAX_CONDITIONS: Final = 8


@dataclass(frozen=True)
class Look:
    """A look at lists that was checked and not yet taken: what it costs, whom, and how many lists it gives.

    ``seen`` are the compared fields by the name of their column: who may read what the actor is told. ``hidden`` says
    that nothing of the outcome may be told, since a list or value that it starts from is hidden.
    """

    take: Callable[[], tuple[tuple[Place, ...], ...]]
    lists: int = 1
    bits: float = 0.0
    charged: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    seen: Mapping[str, Sequence[Field]] = field(default_factory=dict)
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class _Cell:
    """One value of one record, with the field it is; ``field`` is None for what the actor wrote."""

    value: JSON
    field: Field | None
    place: Place | None = None

    @property
    def kind(self) -> str:
        """The kind by which it is compared."""
        return self.field.kind if self.field is not None else "text"

    @property
    def trusted(self) -> bool:
        """Say whether outsiders had no hand in it."""
        return self.field is None or (self.field.trust >= Trust.VERIFIED and not self.field.echo)


@dataclass(frozen=True)
class _Test:
    """A column of cells against one value."""

    cells: Mapping[Place, _Cell]
    op: str
    wanted: _Cell
    name: str

    @property
    def trusted(self) -> bool:
        """Say whether outsiders had no hand in anything that is compared."""
        return all(cell.trusted for cell in (*self.cells.values(), self.wanted))

    def holds(self, place: Place) -> bool:
        """Say whether the record at ``place`` fits."""
        return _holds(self.cells[place], self.op, self.wanted)

    def untrusted_sources(self, book: Book) -> frozenset[str]:
        """Return the sources of everything compared that outsiders had a hand in."""
        cells = [cell for cell in (*self.cells.values(), self.wanted) if not cell.trusted and cell.place is not None]
        return frozenset(book.contents.item(cell.place.item).source for cell in cells if cell.place is not None)


def select(book: Book, args: Mapping[str, JSON]) -> Look:
    """Look for the records of ``reference`` that fit every condition of ``where``, and of those the one to ``pick``.

    Raises:
        CodedError: a reference, field or condition cannot be used.
    """
    entry, where, pick = book.entry(args.get("reference")), args.get("where", []), args.get("pick")
    if not isinstance(where, list) or len(where) > MAX_CONDITIONS or not set(args) <= {"reference", "where", "pick"}:
        raise CodedError("bad_request")
    shapes = [_condition_shape(book, item) for item in where]
    picked = _pick_shape(pick) if pick is not None else None
    given = [value for _, _, value in shapes if isinstance(value, Entry)]
    sources = frozenset().union(*(book.sources(item) for item in (entry, *given)))

    def prepared() -> tuple[list[Place], list[_Test], dict[Place, _Cell]]:
        places = book.records(entry)
        tests = [_Test(_column(book, places, name), op, _wanted(book, value), name) for name, op, value in shapes]
        return places, tests, _column(book, places, picked[0]) if picked else {}

    def take() -> tuple[tuple[Place, ...], ...]:
        places, tests, measured = prepared()
        # every record against every condition: which comparison fails must not depend on the one before
        fits = [{place for place in places if place in test.cells and test.holds(place)} for test in tests]
        kept = [place for place in places if all(place in found for found in fits)]
        return (
            tuple(
                _pick({place: measured[place] for place in kept if place in measured}, picked[1]) if picked else kept
            ),
        )

    if entry.hidden or any(item.hidden for item in given):
        return Look(take, sources=sources, hidden=True)
    places, tests, measured = prepared()
    ordered = [test for test in tests if test.op in _ORDERED]
    if not all(cell.trusted for cell in (*(c for test in ordered for c in test.cells.values()), *measured.values())):
        raise CodedError("unverified_field")
    told = [test for test in tests if not test.trusted]
    charged = frozenset().union(*(test.untrusted_sources(book) for test in told))
    # one bit for each record and condition, and one more where a comparison may turn out to be impossible
    bits = float(len(places) * len(told) + bool(ordered or picked)) if told else 0.0
    seen = {test.name: [*_fields(test.cells.values()), *_fields([test.wanted])] for test in tests}
    if picked:
        seen[picked[0]] = [*seen.get(picked[0], ()), *_fields(measured.values())]
    return Look(take, 1, bits, charged, sources, seen)


def each(book: Book, args: Mapping[str, JSON]) -> Look:
    """Look for the field ``field`` of each record of ``reference``, where it has one.

    Raises:
        CodedError: the reference or field cannot be used.
    """
    if set(args) != {"reference", "field"} or not isinstance(args["field"], str):
        raise CodedError("bad_request")
    entry, name = book.entry(args["reference"]), args["field"]

    def take() -> tuple[tuple[Place, ...], ...]:
        places = book.records(entry)
        found = [book.member(place, name) for place in places]
        if places and not any(found):
            raise CodedError("unknown_field")
        return (tuple(place for place in found if place is not None),)

    if not entry.hidden:
        take()  # what it can say is of the structure, which is shown
    return Look(take, sources=frozenset(book.sources(entry)), hidden=entry.hidden)


def join(book: Book, args: Mapping[str, JSON]) -> Look:
    """Look for the pairs of records of two lists whose fields are equal, as two lists of one length.

    Raises:
        CodedError: a reference or field cannot be used.
    """
    names = ("left", "right", "left_field", "right_field")
    if set(args) != set(names) or not all(isinstance(args[name], str) for name in names):
        raise CodedError("bad_request")
    entries = [book.entry(args[side]) for side in ("left", "right")]
    sources = frozenset().union(*(book.sources(item) for item in entries))

    def columns() -> list[dict[Place, _Cell]]:
        lists = [book.records(item) for item in entries]
        return [_column(book, lists[side], str(args[names[side + 2]])) for side in (0, 1)]

    def take() -> tuple[tuple[Place, ...], ...]:
        one, other = columns()
        pairs = [(a, b) for a in one for b in other if _same(one[a], other[b])]
        if len(pairs) > book.max_shown:
            raise CodedError("too_large")
        return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)

    if any(item.hidden for item in entries):
        return Look(take, 2, sources=sources, hidden=True)
    found = columns()
    test = _Test({**found[0], **found[1]}, "eq", _Cell(None, None), "")
    seen = {str(args[names[side + 2]]): _fields(found[side].values()) for side in (0, 1)}
    bits = 0.0 if test.trusted else _pairing_bits(found[0].values(), found[1].values()) + 1  # too many, or these
    return Look(take, 2, bits, test.untrusted_sources(book), sources, seen)


def _pairing_bits(left: Collection[_Cell], right: Collection[_Cell]) -> float:
    """Return the logarithm of how many ways there are for the records of two lists to be equal, or a bound of it.

    Any pair may be equal or not. Where equality sorts the records into classes, each is in one of at most as many as
    the shorter list has records, or in none that both lists share.
    """
    pairs = float(len(left) * len(right))
    if any(len({cell.kind for cell in side}) > 1 for side in (left, right)):
        return pairs
    return min(pairs, (len(left) + len(right)) * math.log2(min(len(left), len(right)) + 1))


def _fields(cells: Iterable[_Cell]) -> list[Field]:
    return [cell.field for cell in cells if cell.field is not None]


def _column(book: Book, places: Sequence[Place], name: str) -> dict[Place, _Cell]:
    """Return the scalar field ``name`` of each record that has one."""
    cells: dict[Place, _Cell] = {}
    known = False
    for place in places:
        where = book.member(place, name)
        known = known or where is not None
        found = next((item for path, item in book.contents.fields(where) if not path), None) if where else None
        if where is not None and found is not None:
            cells[place] = _Cell(book.contents.value(where), book.held(found), where)
    if places and not known:
        raise CodedError("unknown_field")
    return cells


def _condition_shape(book: Book, data: JSON) -> tuple[str, str, JSON | Entry]:
    """Return field, operator and value of a condition, checked as far as nothing has to be looked at."""
    if not isinstance(data, dict) or not set(data) <= {"field", "op", "value"} or "value" not in data:
        raise CodedError("bad_request")
    name, op, value = data.get("field"), data.get("op", "eq"), data["value"]
    if not isinstance(name, str) or not isinstance(op, str) or op not in _ORDERED | {"eq", "ne"}:
        raise CodedError("bad_request")
    if is_reference(value):
        return name, op, book.entry(value[REF] if isinstance(value, dict) else None)
    if isinstance(value, dict | list) or value is None:
        raise CodedError("bad_request")
    return name, op, value


def _wanted(book: Book, value: JSON | Entry) -> _Cell:
    if not isinstance(value, Entry):
        return _Cell(value, None)
    if value.many or len(fields := list(book.fields(value))) != 1 or fields[0][0]:
        raise CodedError("bad_request")
    return _Cell(book.value(value), book.held(fields[0][1]), value.places[0])


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


def _pick_shape(pick: JSON) -> tuple[str, str]:
    if not isinstance(pick, dict) or set(pick) != {"field", "most"} or pick["most"] not in ("max", "min"):
        raise CodedError("bad_request")
    return str(pick["field"]), str(pick["most"])


def _pick(cells: Mapping[Place, _Cell], most: str) -> list[Place]:
    measured = {place: _measure(cell) for place, cell in cells.items()}
    if any(value is None for value in measured.values()) or len({type(value) for value in measured.values()}) > 1:
        raise CodedError("not_comparable")
    if not measured:
        return []
    best = (max if most == "max" else min)(measured.values())  # type: ignore[type-var]  # one type, no None
    return [place for place, value in measured.items() if value == best]
