"""From a tool's result to labelled fields: flatten, match the declared rules, mark what merely echoes the call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from checkvalve.filters.labels import Authority, Trust
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
    """Say whether a declared pattern covers ``path``. Lists are transparent: ``sender`` covers ``0.sender``."""
    wanted = [] if pattern == "$" else pattern.split(".")
    return _walk(wanted, [str(step) for step in path]) or _walk(
        wanted, [step for step in path if isinstance(step, str)]
    )


def _walk(wanted: Sequence[str], steps: Sequence[str]) -> bool:
    if not wanted:
        return not steps
    if wanted[0] == "**":
        return any(_walk(wanted[1:], steps[index:]) for index in range(len(steps) + 1))
    return bool(steps) and wanted[0] in {"*", steps[0]} and _walk(wanted[1:], steps[1:])


def rule_for(rules: Sequence[FieldRule], path: Sequence[Step]) -> FieldRule:
    """Return the declared rule for ``path``; of several the one with the fewest wildcards, then the longest."""
    found = [rule for rule in rules if matches(rule.path, path)]
    return min(found, key=lambda rule: (rule.path.count("*"), -len(rule.path)), default=UNDECLARED)


def result_fields(
    value: object, *, tool: str, call: str, args: Mapping[str, object], rules: Sequence[FieldRule]
) -> Iterator[Field]:
    """Yield one :class:`Field` for every scalar of a result, and for every key that is data rather than a name."""
    for _, field in scalar_fields(value, tool=tool, call=call, args=args, rules=rules):
        yield field
    for _, field in key_fields(value, tool=tool, call=call, rules=rules):
        yield field


def key_fields(
    value: object, *, tool: str, call: str, rules: Sequence[FieldRule]
) -> Iterator[tuple[tuple[Step, ...], Field]]:
    """Yield every key of a result that is data as a :class:`Field`, with the path of what it names."""
    for path in _data_keys(value, rules):
        rule = rule_for(rules, path)
        name = f"{dotted(path[:-1])} (key)".strip()
        yield path, Field(source_of(tool, call), name, str(path[-1]), Authority.NONE, Trust.UNTRUSTED, rule.readers)


def source_of(tool: str, call: str) -> str:
    """Return the source that the fields of a result carry."""
    return f"tool:{tool}/{call}" if call else f"tool:{tool}"


def scalar_fields(
    value: object, *, tool: str, call: str, args: Mapping[str, object], rules: Sequence[FieldRule]
) -> Iterator[tuple[tuple[Step, ...], Field]]:
    """Yield every scalar of a result that is not null as a :class:`Field`, with its exact path."""
    echoes = {words(str(item)) for _, item in leaves(args) if item is not None and not isinstance(item, bool)}
    source = source_of(tool, call)
    for path, item in leaves(value):
        if item is None:
            continue
        text = scalar_text(item)
        rule = rule_for(rules, path)
        record = next(
            (dotted(path[:end]) for end in range(len(path) - 1, -1, -1) if end == 0 or not isinstance(path[end], int)),
            "",
        )
        yield (
            path,
            Field(
                source=source,
                path=dotted(path),
                text=text,
                authority=Authority.NONE,
                trust=rule.trust,
                readers=rule.readers,
                kind=rule.kind,
                record=f"{source}#{record}",
                names_record=rule.names_record,
                echo=words(text) in echoes,
            ),
        )


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
