"""From what the actor wrote to what will run: references are put in, and it is kept which field each value is.

Guarantees: only ``{"$ref": id}`` and, inside content arguments and answers, ``{ref:id}`` are replaced, once: what was
put in is not looked at again; an id that this thread does not have is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from checkvalve.approvals.attributed import spec_for
from checkvalve.approvals.fieldspec import Role
from checkvalve.approvals.requests import Leaf, Path
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.filters.fields import dotted
from checkvalve.filters.origins import Field
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.errors import CodedError
from checkvalve.graphs.references import REF, Book, Entry, as_text

_HOLE: Final = re.compile(r"\{ref:([A-Za-z0-9_]{1,32})\}")


@dataclass
class Expansion:
    """Expanded arguments with, by dotted path, every stored field that was put in there, and every key that is data."""

    args: dict[str, JSON] = field(default_factory=dict)
    references: dict[str, tuple[Field, ...]] = field(default_factory=dict)
    used: int = 0


def expand(args: Mapping[str, JSON], spec: ToolSpec | None, book: Book, *, max_chars: int) -> Expansion:
    """Put stored values in for the references of ``args``.

    Raises:
        CodedError: a reference is unknown, or the result is too large.
    """
    done = Expansion()
    for name, value in args.items():
        done.args[name] = _expand((name,), value, spec, book, done, max_chars)
    return done


def expand_text(template: str, book: Book, *, max_chars: int) -> str:
    """Put stored values in for every ``{ref:id}`` of a template.

    Raises:
        CodedError: a reference is unknown, or the result is too large.
    """
    pieces: list[str] = []
    end = room = 0
    for hole in _HOLE.finditer(template):
        pieces += [template[end : hole.start()], as_text(book.value(book.entry(hole[1])))]
        end = hole.end()
        room = sum(map(len, pieces[-2:])) + room
        if room > max_chars:
            raise CodedError("too_large")
    return "".join([*pieces, template[end:]])


def has_reference(value: JSON) -> bool:
    """Say whether a value that the actor wrote holds a reference in any form."""
    if isinstance(value, dict):
        return is_reference(value) or any(has_reference(item) for item in value.values())
    if isinstance(value, list):
        return any(has_reference(item) for item in value)
    return isinstance(value, str) and _HOLE.search(value) is not None


def is_reference(value: JSON) -> bool:
    """Say whether ``value`` is ``{"$ref": id}`` and nothing else."""
    return isinstance(value, dict) and list(value) == [REF]


def count_references(value: JSON) -> int:
    """Return how many references stand in a value that the actor wrote."""
    if isinstance(value, dict):
        return 1 if is_reference(value) else sum(count_references(item) for item in value.values())
    if isinstance(value, list):
        return sum(count_references(item) for item in value)
    return len(_HOLE.findall(value)) if isinstance(value, str) else 0


def _expand(path: Path, value: JSON, spec: ToolSpec | None, book: Book, done: Expansion, max_chars: int) -> JSON:
    if isinstance(value, dict):
        if is_reference(value):
            return _put_in(path, value[REF], book, done, max_chars)
        return {key: _expand((*path, key), item, spec, book, done, max_chars) for key, item in value.items()}
    if isinstance(value, list):
        return [_expand((*path, number), item, spec, book, done, max_chars) for number, item in enumerate(value)]
    if isinstance(value, str) and _HOLE.search(value) and _is_content(path, value, spec):
        for hole in _HOLE.finditer(value):
            _note(path, book.entry(hole[1]), book, done)
        return expand_text(value, book, max_chars=max_chars)
    return value


def _put_in(path: Path, name: JSON, book: Book, done: Expansion, max_chars: int) -> JSON:
    entry = book.entry(name)
    value = book.value(entry)
    if len(as_text(value)) > max_chars:
        raise CodedError("too_large")
    done.used += 1
    for below, found in book.everything(entry):
        place = dotted((*path, *below))
        done.references[place] = (*done.references.get(place, ()), found)
    return value


def _note(path: Path, entry: Entry, book: Book, done: Expansion) -> None:
    """Keep which fields a text was filled with: each is an origin of a part of it, which suffices for nothing."""
    done.used += 1
    place = dotted(path)
    found = [item for _, item in book.everything(entry)]
    done.references[place] = (*done.references.get(place, ()), *found)


def _is_content(path: Path, value: str, spec: ToolSpec | None) -> bool:
    return spec is not None and spec_for(Leaf(path, value), spec).role is Role.CONTENT
