"""From a tool's result to labelled fields: flatten, match the declared rules, mark what merely echoes the call."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from checkvalve.filters.labels import Authority, Readers, Trust
from checkvalve.filters.origins import UNDECLARED, Field, FieldRule
from checkvalve.filters.values import words

Step = str | int


def leaves(value: object, path: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], object]]:
    """Yield every scalar of a JSON-like value with its path, depth first and without recursion limits."""
    stack: list[tuple[tuple[Step, ...], object]] = [(path, value)]
    while stack:
        where, item = stack.pop()
        if isinstance(item, Mapping):
            stack.extend(((*where, str(key)), member) for key, member in reversed(list(item.items())))
        elif isinstance(item, list | tuple):
            stack.extend(((*where, index), item[index]) for index in range(len(item) - 1, -1, -1))
        else:
            yield where, item


def dotted(path: Sequence[Step]) -> str:
    """Return a path as people write it: ``participants.0``."""
    return ".".join(str(step) for step in path)


def matches(pattern: str, path: Sequence[Step]) -> bool:
    """Say whether a declared pattern covers ``path``.

    Lists are transparent: ``sender`` covers ``0.sender``, and ``to.*`` covers ``0.to.1`` as ``to`` does.
    """
    wanted = [] if pattern == "$" else pattern.split(".")
    places = _closed({0}, wanted)  # how much of the pattern may be used up: no backtracking, whatever the data is
    for step in path:
        further = (
            places if isinstance(step, int) else {place for place in places if wanted[place : place + 1] == ["**"]}
        )
        taken = {place + 1 for place in places if place < len(wanted) and wanted[place] in {"*", str(step)}}
        places = _closed(further | taken, wanted)
    return len(wanted) in places


def _closed(places: set[int], wanted: Sequence[str]) -> set[int]:
    """Add the places behind each ``**``, which may stand for no step at all."""
    found = set(places)
    for place in sorted(places):
        while wanted[place : place + 1] == ["**"]:
            place += 1  # noqa: PLW2901 - a walk over neighbours
            found.add(place)
    return found


def rule_for(rules: Sequence[FieldRule], path: Sequence[Step]) -> FieldRule:
    """Return the declared rule for ``path``; of several the one with the fewest wildcards, then the longest."""
    found = [rule for rule in rules if matches(rule.path, path)]
    return min(found, key=lambda rule: (rule.path.count("*"), -len(rule.path)), default=UNDECLARED)


class _Rules:
    """The rules of one result; that for a path is worked out once for all members of a list."""

    def __init__(self, rules: Sequence[FieldRule]) -> None:
        self._rules = rules
        self._steps = {step for rule in rules for step in rule.path.split(".")}
        self._known: dict[tuple[Step | None, ...], FieldRule] = {}

    def find(self, path: Sequence[Step]) -> FieldRule:
        """Return the rule for ``path``. A position that no rule spells out is as good as any other."""
        shape = tuple(None if isinstance(step, int) and str(step) not in self._steps else step for step in path)
        if shape not in self._known:
            self._known[shape] = rule_for(self._rules, path)
        return self._known[shape]


def result_fields(
    value: object, *, tool: str, call: str, args: Mapping[str, object], rules: Sequence[FieldRule]
) -> Iterator[Field]:
    """Yield one :class:`Field` for every scalar of a result, and for every key that is data rather than a name."""
    rules = with_readers(rules, args)
    for _, field in scalar_fields(value, tool=tool, call=call, args=args, rules=rules):
        yield field
    for _, field in key_fields(value, tool=tool, call=call, rules=rules):
        yield field


def with_readers(rules: Sequence[FieldRule], args: Mapping[str, object]) -> Sequence[FieldRule]:
    """Return the rules with the readers that the arguments of this call name; a missing argument names none."""
    if not any(rule.reader_args for rule in rules):
        return rules
    return [replace(rule, readers=_with_readers(rule, args), reader_args=()) for rule in rules]


def place_name(start: str, value: str) -> str:
    """Return the reader's name of a place, by its exact spelling: names of readers are compared without case."""
    return f"{start}{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _with_readers(rule: FieldRule, args: Mapping[str, object]) -> Readers:
    given = ((start, args.get(name)) for name, start in rule.reader_args)
    named = [place_name(start, value) for start, value in given if isinstance(value, str)]
    return Readers.of({*rule.readers.names, *named}) if named and not rule.readers.public else rule.readers


def key_fields(
    value: object, *, tool: str, call: str, rules: Sequence[FieldRule]
) -> Iterator[tuple[tuple[Step, ...], Field]]:
    """Yield every key of a result that is data as a :class:`Field`, with the path of what it names.

    A key is trusted only where a rule says so of the keys themselves.
    """
    source = source_of(tool, call)
    said, of_keys = _Rules([rule for rule in rules if not rule.keys]), _Rules([rule for rule in rules if rule.keys])
    for path in _data_keys(value, rules):
        own = of_keys.find(path)
        rule = own if own is not UNDECLARED else replace(said.find(path), trust=Trust.UNTRUSTED, kind="text")
        holds = _holds(rule, value, path)
        yield (
            path,
            Field(
                source=source,
                path=f"{dotted(path[:-1])} (key)".strip(),
                text=str(path[-1]),
                authority=Authority.NONE,
                trust=rule.trust if holds else Trust.UNTRUSTED,
                readers=rule.readers,
                kind=rule.kind,
                record=f"{source}#{_record(path[:-1])}" if own is not UNDECLARED else "",
                contact=rule.contact and holds,
            ),
        )


def source_of(tool: str, call: str) -> str:
    """Return the source that the fields of a result carry."""
    return f"tool:{tool}/{call}" if call else f"tool:{tool}"


def scalar_fields(
    value: object, *, tool: str, call: str, args: Mapping[str, object], rules: Sequence[FieldRule]
) -> Iterator[tuple[tuple[Step, ...], Field]]:
    """Yield every scalar of a result that is not null as a :class:`Field`, with its exact path."""
    rules = with_readers(rules, args)
    echoes = {words(str(item)) for _, item in leaves(args) if item is not None and not isinstance(item, bool)}
    source = source_of(tool, call)
    said = _Rules([rule for rule in rules if not rule.keys])
    for path, item in leaves(value):
        if item is None:
            continue
        text = scalar_text(item)
        rule = said.find(path)
        holds = _holds(rule, value, path)
        yield (
            path,
            Field(
                source=source,
                path=dotted(path),
                text=text,
                authority=Authority.NONE,
                trust=rule.trust if holds else Trust.UNTRUSTED,
                readers=rule.readers,
                kind=rule.kind,
                record=f"{source}#{_record(path)}",
                names_record=rule.names_record,
                echo=words(text) in echoes,
                contact=rule.contact and holds,
                stamped=rule.stamped,
            ),
        )


def _record(path: Sequence[Step]) -> str:
    """Return the path of the innermost object around ``path``: a list inside it is a part of it."""
    ends = (end for end in range(len(path) - 1, -1, -1) if end == 0 or not isinstance(path[end], int))
    return dotted(path[: next(ends, 0)])


def _holds(rule: FieldRule, value: object, path: Sequence[Step]) -> bool:
    """Say whether all conditions of a rule hold in the record around ``path``; else it says nothing good of a field."""
    return all(_sibling(value, path, other.split(".")) in allowed for other, allowed in rule.when)


def _sibling(value: object, path: Sequence[Step], wanted: Sequence[str]) -> str | None:
    """Return the text (lower case) of the field ``wanted`` of the same record as ``path``; None when there is none.

    Both paths are followed together, through the same members of lists, as far as they are the same.
    """
    shared = end = 0
    while end < len(path):
        step = path[end]
        if isinstance(step, str):
            if shared >= len(wanted) - 1 or step != wanted[shared]:
                break
            shared += 1
        end += 1
    found = value
    for step in (*path[:end], *wanted[shared:]):
        if isinstance(found, Mapping) and isinstance(step, str):
            found = found.get(step)
        elif isinstance(found, list | tuple) and isinstance(step, int):
            found = found[step]
        else:
            return None
    return unicodedata.normalize("NFC", scalar_text(found)).lower() if isinstance(found, str | int | float) else None


def scalar_text(value: object) -> str:
    """Return a scalar as the text under which it is indexed and looked up."""
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _data_keys(value: object, rules: Sequence[FieldRule]) -> Iterator[tuple[Step, ...]]:
    """Yield the path of every key that is data: one that no declared path spells out, such as a name or an address."""
    names = {step for rule in rules for step in rule.path.split(".")}
    stack: list[tuple[tuple[Step, ...], object]] = [((), value)]
    while stack:
        where, item = stack.pop()
        if isinstance(item, Mapping):
            yield from ((*where, str(key)) for key in item if str(key) not in names)
            stack.extend(((*where, str(key)), member) for key, member in item.items())
        elif isinstance(item, list | tuple):
            stack.extend(((*where, index), member) for index, member in enumerate(item))


def name_of(path: str) -> str:
    """Return the last step of a path that is no position in a list."""
    rest, _, step = path.rpartition(".")
    while step.isdigit() and rest:
        rest, _, step = rest.rpartition(".")
    return "" if step.isdigit() else step


def listing_of(record: str) -> str:
    """Return what records of one tool's lists have in common: no call, and no position in the list."""
    source, _, path = record.partition("#")
    return f"{source.rpartition('/')[0]}#{path.rstrip('0123456789')}"
