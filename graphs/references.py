"""References: how the actor names content that it never sees.

Guarantees: an id is a number of this thread's book (``r1``, ``r2``, ...) and says nothing; what is shown of a value is
its kind, its rough size, whether outsiders could write it, the tool and call it came from, and names that the manifest
spells out; a key that no declared path names is shown as its position. An id of another thread is unknown here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from checkvalve.filters.fields import Step, rule_for, scalar_text
from checkvalve.filters.labels import Trust
from checkvalve.filters.origins import Field, FieldRule
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.contents import Contents, Item, Place, walk
from checkvalve.graphs.errors import CodedError

REF: Final = "$ref"
_WILD: Final = frozenset({"*", "**", "$"})


@dataclass(frozen=True, slots=True)
class Entry:
    """What an id stands for. ``many`` is a list made of several places; ``hidden`` ones are never shown one by one."""

    places: tuple[Place, ...]
    many: bool = False
    hidden: bool = False
    sources: tuple[str, ...] = ()  # of a hidden one: what a look at it is charged to, also when it is empty

    def to_json(self) -> dict[str, JSON]:
        """Return the form that graph state keeps."""
        return {
            "places": [place.to_json() for place in self.places],
            "many": self.many,
            "hidden": self.hidden,
            "sources": list(self.sources),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, JSON]) -> Entry:
        """Return the entry that graph state keeps."""
        places = data.get("places")
        found = tuple(Place.from_json(place) for place in places) if isinstance(places, list) else ()
        sources = data.get("sources")
        named = tuple(str(name) for name in sources) if isinstance(sources, list) else ()
        return cls(found, bool(data.get("many")), bool(data.get("hidden")), named)


@dataclass
class Book:
    """The references of one agent in one thread: those of the state, and those made since."""

    contents: Contents
    known: Mapping[str, JSON]
    max_shown: int
    held: Callable[[Field], Field] = lambda field: field  # as the whole session knows it
    made: dict[str, JSON] = field(default_factory=dict)
    _ids: dict[Place, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Look up which single places have an id already: a value that was shown keeps its id."""
        for name, data in self.known.items():
            self._note(name, Entry.from_json(data) if isinstance(data, dict) else None)

    def _note(self, name: str, entry: Entry | None) -> None:
        if entry is not None and len(entry.places) == 1 and not entry.many and not entry.hidden:
            self._ids.setdefault(entry.places[0], name)

    def add(self, entry: Entry) -> str:
        """Give ``entry`` the next id."""
        name = f"r{len(self.known) + len(self.made) + 1}"
        self.made[name] = entry.to_json()
        self._note(name, entry)
        return name

    def entry(self, name: object) -> Entry:
        """Return what ``name`` stands for.

        Raises:
            CodedError: nothing, in this thread.
        """
        data = self.made.get(name, self.known.get(name)) if isinstance(name, str) else None
        if not isinstance(data, dict):
            raise CodedError("unknown_reference")
        return Entry.from_json(data)

    def value(self, entry: Entry) -> JSON:
        """Return the content an entry stands for."""
        values = [self.contents.value(place) for place in entry.places]
        return values if entry.many else values[0]

    def fields(self, entry: Entry) -> Iterator[tuple[tuple[Step, ...], Field]]:
        """Yield the labelled fields of an entry, each with its path inside the value."""
        for number, place in enumerate(entry.places):
            start: tuple[Step, ...] = (number,) if entry.many else ()
            yield from (((*start, *below), found) for below, found in self.contents.fields(place))

    def everything(self, entry: Entry) -> Iterator[tuple[tuple[Step, ...], Field]]:
        """Yield what using an entry hands on: its labelled fields, and its keys that are data, each with its path."""
        yield from self.fields(entry)
        for number, place in enumerate(entry.places):
            start: tuple[Step, ...] = (number,) if entry.many else ()
            yield from (((*start, *below), found) for below, found in self.contents.keys(place))

    def records(self, entry: Entry) -> list[Place]:
        """Return the places of a list's items.

        Raises:
            CodedError: it is no list.
        """
        if entry.many:
            return list(entry.places)
        place = entry.places[0]
        value = self.contents.value(place)
        if not isinstance(value, list):
            raise CodedError("not_a_list")
        return [Place(place.item, (*place.positions, number)) for number in range(len(value))]

    def member(self, place: Place, name: str) -> Place | None:
        """Return where the member of the record at ``place`` stands that is shown as ``name``, if it has one."""
        value = self.contents.value(place)
        rules, path = self._surroundings(place)
        if not isinstance(value, dict):
            return None
        for number, key in enumerate(value):
            if shown_name(rules, [*path, key], number) == name:
                return Place(place.item, (*place.positions, number))
        return None

    def show(self, parts: Sequence[Item]) -> dict[str, JSON]:
        """Give ids to a result that was stored in ``parts``, and return the tree to show."""
        budget = [self.max_shown]
        if len(parts) == 1:
            return self._node(Place(parts[0].key), budget)
        name = self.add(Entry(tuple(Place(part.key) for part in parts), many=True))
        return {"ref": name, "kind": "list", "items": [self._node(Place(part.key), budget) for part in parts]}

    def sources(self, entry: Entry) -> set[str]:
        """Return what a look at an entry is charged to."""
        return {*entry.sources, *(self.contents.item(place.item).source for place in entry.places)}

    def show_places(
        self, places: Sequence[Place], *, hidden: bool = False, sources: Iterable[str] = ()
    ) -> dict[str, JSON]:
        """Give ids to a list of places and to each of them; a hidden list has one id, and nothing else is shown."""
        name = self.add(Entry(tuple(places), many=True, hidden=hidden, sources=tuple(sorted(sources))))
        if hidden:
            return {"ref": name, "kind": "list", "hidden": True}
        budget = [self.max_shown]
        return {"ref": name, "kind": "list", **self._items(places, budget)}

    def show_value(self, place: Place) -> dict[str, JSON]:
        """Give an id to one value, and return what is shown of it."""
        return self._node(place, [self.max_shown])

    def show_hidden(self, place: Place) -> dict[str, JSON]:
        """Give an id to one value, and show nothing of it."""
        return {"ref": self.add(Entry((place,), hidden=True)), "hidden": True, "trust": "untrusted"}

    def _items(self, places: Sequence[Place], budget: list[int]) -> dict[str, JSON]:
        shown: list[JSON] = []
        for place in places:
            if budget[0] <= 0:
                break
            shown.append(self._node(place, budget))
        more = len(places) - len(shown)
        return {"items": shown, **({"not_shown": more} if more else {})}

    def _node(self, place: Place, budget: list[int]) -> dict[str, JSON]:
        budget[0] -= 1
        if place in self._ids:
            return {"ref": self._ids[place]}
        name = self.add(Entry((place,)))
        value = self.contents.value(place)
        if isinstance(value, list):
            inside = [Place(place.item, (*place.positions, number)) for number in range(len(value))]
            return {"ref": name, "kind": "list", **self._items(inside, budget)}
        if isinstance(value, dict):
            return {"ref": name, "kind": "record", **self._members(place, value, budget)}
        rules, path = self._surroundings(place)
        rule = rule_for(rules, path)
        kind = rule.kind if rule.kind != "text" else _kind(value)
        trust = "verified" if rule.trust >= Trust.VERIFIED else "untrusted"
        return {"ref": name, "kind": kind, "size": size_class(value), "trust": trust}

    def _members(self, place: Place, value: Mapping[str, JSON], budget: list[int]) -> dict[str, JSON]:
        rules, path = self._surroundings(place)
        shown: dict[str, JSON] = {}
        for number, key in enumerate(value):
            if budget[0] <= 0:
                break
            below = Place(place.item, (*place.positions, number))
            shown[shown_name(rules, [*path, key], number)] = self._node(below, budget)
        more = len(value) - len(shown)
        return {"fields": shown, **({"not_shown": more} if more else {})}

    def _surroundings(self, place: Place) -> tuple[tuple[FieldRule, ...], tuple[Step, ...]]:
        item = self.contents.item(place.item)
        return item.rules, walk(item.value, place.positions)[0]


def shown_name(rules: Sequence[FieldRule], path: Sequence[Step], number: int) -> str:
    """Return the name of an object's member if a declared path spells it out, else its position."""
    names = [step for step in path if isinstance(step, str)]
    spelled = any(_spelled(rule.path.split("."), names) for rule in rules)
    return names[-1] if spelled else f"#{number + 1}"


def _spelled(wanted: Sequence[str], names: Sequence[str]) -> bool:
    """Say whether a declared path, or its beginning, covers ``names`` and writes the last of them out."""
    if not wanted or not names:
        return False
    if wanted[0] == "**":
        return any(_spelled(wanted[1:], names[index:]) for index in range(len(names)))
    if wanted[0] != "*" and wanted[0] != names[0]:
        return False
    return (wanted[0] not in _WILD) if len(names) == 1 else _spelled(wanted[1:], names[1:])


def size_class(value: JSON) -> int:
    """Return the size of a scalar in bytes, rounded up to a power of two: an exact length would carry more bits."""
    size = len(scalar_text(value).encode("utf-8", "surrogatepass")) if value is not None else 0
    return 1 << (size - 1).bit_length() if size > 0 else 0


def _kind(value: JSON) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, int | float) else "text"


def as_text(value: JSON) -> str:
    """Return a value as it stands inside a text."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else scalar_text(value)
