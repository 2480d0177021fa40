"""The ways on which an actor that never sees content gets a value, and what becomes of them.

A call's arguments are planned with a way in the place of each value; once the reader and the lists were asked, the
ways are filled with references and closed values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from checkvalve.approvals.fieldspec import Role
from checkvalve.corpora.agentdojo.shown import Seen
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.references import REF

Path: TypeAlias = tuple[str | int, ...]
MAX_FIELDS: Final = 20
"""Fields of one question: the limit of the pipeline."""


@dataclass(frozen=True)
class Aim:
    """What a value is for."""

    tool: str
    arg: str
    kind: str = "text"
    role: Role = Role.CONTENT


@dataclass(frozen=True)
class Write:
    """The actor writes the value itself."""

    value: JSON


@dataclass(frozen=True)
class Take:
    """The actor passes a reference."""

    ref: str


@dataclass(frozen=True)
class Pick:
    """Code picks the record from a list (``select``), then its field is passed as a reference."""

    args: Mapping[str, Any]
    found: str  # the reference, when exactly the one record is left


@dataclass(frozen=True)
class Ask:
    """The reader is asked. ``use`` makes the argument of the closed values, or of the references that were given."""

    aim: Aim | None  # None for a question that the attacker himself asks
    seen: Seen
    fields: Mapping[str, Mapping[str, JSON]]
    answers: Mapping[str, JSON]
    use: Callable[[Mapping[str, JSON]], JSON]
    key: str = ""  # the same question asked for two arguments is asked once
    options: tuple[JSON, ...] = ()  # what the closed values stand for, where they stand for something
    computed: bool = False  # the argument is made of the values, so a reference cannot stand for them


@dataclass(frozen=True)
class Text:
    """A template: what the actor writes, with holes."""

    pieces: tuple[Way, ...]


Way: TypeAlias = "Write | Take | Pick | Ask | Text"


def each(ways: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every way with its path, those inside templates after one another."""
    if isinstance(ways, dict):
        for key, item in ways.items():
            yield from each(item, (*path, key))
    elif isinstance(ways, list | tuple):
        for number, item in enumerate(ways):
            yield from each(item, (*path, number))
    elif isinstance(ways, Text):
        yield path, ways
        yield from ((where, way) for where, way in each(ways.pieces, path) if not isinstance(way, Write))
    else:
        yield path, ways


def grouped(asks: list[Ask]) -> Iterator[list[Ask]]:
    """Yield the questions that can be asked at once: about results of one tool, and not too many."""
    tools = dict.fromkeys(ask.seen.tool for ask in asks)
    for tool in tools:
        group: list[Ask] = []
        for ask in (one for one in asks if one.seen.tool == tool):
            if sum(len(one.fields) for one in (*group, ask)) > MAX_FIELDS:
                yield group
                group = []
            group.append(ask)
        yield group


def filled(ways: Any, said: Mapping[int, Mapping[str, JSON]], picked: Mapping[int, str]) -> Any:
    """Return the arguments with the values in the place of the ways."""
    if isinstance(ways, dict):
        return {key: filled(item, said, picked) for key, item in ways.items()}
    if isinstance(ways, list | tuple):
        return [filled(item, said, picked) for item in ways]
    match ways:
        case Write(value):
            return value
        case Take(ref):
            return {REF: ref}
        case Pick():
            return {REF: picked[id(ways)]}
        case Text(pieces):
            return "".join(as_template(filled(piece, said, picked)) for piece in pieces)
        case _:
            return ways.use(said[id(ways)])


def as_template(value: Any) -> str:
    """Return a value as it stands in a template."""
    return f"{{ref:{value[REF]}}}" if isinstance(value, dict) and REF in value else str(value)
