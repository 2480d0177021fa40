"""Stored content of one thread, and the way to a value inside it that names nothing of what it says.

Guarantees: a place is the key of a stored item and positions, never a name or a value; a value comes with the labelled
field that the manifest makes of it; what is not declared is untrusted.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import uuid4

from checkvalve.approvals.content import HistoryItem, SqlContentStore
from checkvalve.approvals.facts import field_rules
from checkvalve.approvals.toolspec import Manifest
from checkvalve.filters.fields import Step, key_fields, leaves, scalar_fields
from checkvalve.filters.labels import CLEAN
from checkvalve.filters.origins import Field, FieldRule
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.bits import charge
from checkvalve.graphs.calls import EXTRACTION
from checkvalve.graphs.errors import CodedError

Positions: TypeAlias = tuple[int, ...]
"""Steps into a value: the number of a list's item, or of an object's member in the stored (sorted) order."""

MESSAGE: Final = "message"
"""The kind of a history item that holds what a user wrote to the thread, before a run has taken it in."""
CHARGE: Final = "charge"
"""The kind of a history item that charges sources for what their content has decided of an actor's view."""
_KINDS: Final = frozenset({"result", "extraction"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: in which item, and where in it."""

    item: str
    positions: Positions = ()

    def to_json(self) -> list[JSON]:
        """Return the form that graph state keeps."""
        return [self.item, list(self.positions)]

    @classmethod
    def from_json(cls, data: JSON) -> Place:
        """Return the place that graph state names.

        Raises:
            CodedError: it is none.
        """
        match data:
            case [str(item), list(positions)]:
                return cls(item, tuple(step for step in positions if isinstance(step, int)))
            case _:
                raise CodedError("unknown_reference")


@dataclass(frozen=True)
class Item:
    """One stored item: its value, where it came from, and its labelled fields by exact path."""

    key: str
    tool: str
    source: str  # the tool that delivered it, also of what the reader made of it; bits are counted by this
    call: str
    value: JSON
    rules: tuple[FieldRule, ...]
    fields: Mapping[tuple[Step, ...], Field]
    keys: Mapping[tuple[Step, ...], Field]  # those that are data, by the path of what they name


class Contents:
    """Reads the history of one thread, each item once. Content enters by :class:`~.session.GuardSession` only."""

    def __init__(self, content: SqlContentStore, manifest: Manifest, thread: str) -> None:
        """Read lazily: nothing is loaded before the first look."""
        self._content = content
        self._manifest = manifest
        self._thread = thread
        self._lock = threading.Lock()
        self._items: dict[str, Item] = {}
        self._messages: list[tuple[str, str]] = []
        self._seen = 0
        self._bits: dict[str, float] = {}
        self._refused: set[str] = set()  # the charges that did not fit

    def messages(self) -> list[tuple[str, str]]:
        """Return the user's messages to this thread, oldest first, each with the key it was stored under."""
        with self._lock:
            self._refresh()
            return list(self._messages)

    def item(self, key: str) -> Item:
        """Return a stored item.

        Raises:
            CodedError: this thread has none of this key.
        """
        with self._lock:
            if key not in self._items:
                self._refresh()
            if key not in self._items:
                raise CodedError("unknown_reference")
            return self._items[key]

    def accounts(self) -> dict[str, float]:
        """Return the bits that each source has used up in this thread, in every agent and process."""
        with self._lock:
            self._refresh()
            return dict(self._bits)

    def charge(self, sources: Iterable[str], bits: float, cap: float) -> bool:
        """Charge ``bits`` to each of ``sources``, or to none when one of them has not so many left; say which.

        The charge is stored first and then counted in the order of the store, so that two that come at once, here or
        in another process, never both get what is left for one.
        """
        key = f"bits:{uuid4()}"
        named: list[JSON] = [*sorted(set(sources))]
        self._content.append_item(self._thread, key, CHARGE, {"sources": named, "bits": bits, "cap": cap}, CLEAN)
        with self._lock:
            self._refresh()
            return key not in self._refused

    def _count(self, key: str, value: Mapping[str, JSON]) -> None:
        sources, bits, cap = value["sources"], value["bits"], value["cap"]
        if not isinstance(sources, list) or not isinstance(bits, int | float) or not isinstance(cap, int | float):
            return
        found = [charge(self._bits, str(name), bits, cap) for name in sources]
        if not all(item.fits for item in found):
            self._refused.add(key)
            return
        self._bits.update({item.source: item.spent for item in found})

    def parts(self, key: str) -> list[Item]:
        """Return the items of one value that was stored in numbered parts."""
        with self._lock:
            self._refresh()
            found: list[Item] = []
            while (name := f"{key}/{len(found)}") in self._items:
                found.append(self._items[name])
            return found

    def value(self, place: Place) -> JSON:
        """Return the value that stands at ``place``."""
        return walk(self.item(place.item).value, place.positions)[1]

    def fields(self, place: Place) -> Iterator[tuple[tuple[Step, ...], Field]]:
        """Yield the labelled fields at and below ``place``, each with its path from there."""
        item = self.item(place.item)
        path, value = walk(item.value, place.positions)
        for below, _ in leaves(value):
            if (found := item.fields.get((*path, *below))) is not None:
                yield below, found

    def keys(self, place: Place) -> Iterator[tuple[tuple[Step, ...], Field]]:
        """Yield the keys below ``place`` that are data, each with the path, from there, of what it names."""
        item = self.item(place.item)
        path, _ = walk(item.value, place.positions)
        for where, found in item.keys.items():
            if len(where) > len(path) and where[: len(path)] == path:
                yield where[len(path) :], found

    def _refresh(self) -> None:
        for stored in self._content.items(self._thread, after=self._seen):
            self._seen = stored.seq
            if stored.kind == MESSAGE and isinstance(stored.value, dict):
                self._messages.append((stored.key, str(stored.value["text"])))
            if stored.kind == CHARGE and isinstance(stored.value, dict):
                self._count(stored.key, stored.value)
            if stored.kind not in _KINDS or not isinstance(stored.value, dict):
                continue
            made = self._result(stored.value) if stored.kind == "result" else _extraction(stored, stored.value)
            self._items.setdefault(stored.key, _item(stored.key, made))

    def _result(self, data: Mapping[str, JSON]) -> _Made:
        tool, server = str(data["tool"]), str(data["server"])
        spec = self._manifest.find(tool, server) if data["declared"] else None
        args = data["args"] if isinstance(data["args"], dict) else {}
        rules = field_rules(spec, self._manifest) if spec else ()
        source = f"{server}/{tool}" if server else tool
        return _Made(tool, source, str(data["call"]), data["value"], args, rules)


@dataclass(frozen=True, slots=True)
class _Made:
    """What a history item says of its value, before the value is taken apart."""

    tool: str
    source: str
    call: str
    value: JSON
    args: Mapping[str, JSON]
    rules: tuple[FieldRule, ...]


def _extraction(stored: HistoryItem, data: Mapping[str, JSON]) -> _Made:
    rules = (FieldRule("**", readers=stored.label.readers),)
    return _Made(EXTRACTION, str(data["source"]), stored.key, data["value"], {}, rules)


def _item(key: str, made: _Made) -> Item:
    found = scalar_fields(made.value, tool=made.tool, call=made.call, args=made.args, rules=made.rules)
    fields = dict(found)
    keys = dict(key_fields(made.value, tool=made.tool, call=made.call, rules=made.rules))
    return Item(key, made.tool, made.source, made.call, made.value, made.rules, fields, keys)


def walk(value: JSON, positions: Sequence[int]) -> tuple[tuple[Step, ...], JSON]:
    """Return the path and the value that ``positions`` lead to.

    Raises:
        CodedError: they lead nowhere.
    """
    path: list[Step] = []
    for step in positions:
        if isinstance(value, list) and 0 <= step < len(value):
            path.append(step)
            value = value[step]
        elif isinstance(value, dict) and 0 <= step < len(value):
            name = list(value)[step]
            path.append(name)
            value = value[name]
        else:
            raise CodedError("unknown_reference")
    return tuple(path), value
