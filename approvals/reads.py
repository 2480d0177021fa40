"""The calls of a session that mandates look at: what was read, with which arguments, and what was passed when.

Guarantees: pure. A source that is not here was not read through the gateway, and no mandate means it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from checkvalve.approvals.mandate_source import NamedSource
from checkvalve.filters.fields import leaves, scalar_text, source_of
from checkvalve.filters.normalise import normalise
from checkvalve.filters.strictjson import JSON
from checkvalve.filters.values import NUMBER, canonical
from checkvalve.filters.words import tokens

_LONG = 6
"""Letters and digits from which on a value inside a longer text is no accident."""


@dataclass(frozen=True, slots=True)
class Read:
    """One call whose result was read. ``until`` is when it had ended, on the scale of :attr:`Reads.passed`."""

    tool: str
    server: str
    args: Mapping[str, JSON]
    until: int

    @property
    def name(self) -> str:
        """The tool as a mandate names it."""
        return f"{self.server}/{self.tool}" if self.server else self.tool

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return every argument that is not absent, as a mandate writes them."""
        found = (
            (".".join(str(step) for step in path), scalar_text(value))
            for path, value in leaves(self.args)
            if value is not None and value != ""
        )
        return tuple(sorted(found))


@dataclass
class Reads:
    """Every call of one session. ``passed`` are the arguments of all calls, with a number that grows with time."""

    by_source: dict[str, Read] = field(default_factory=dict)
    passed: list[tuple[int, Mapping[str, JSON]]] = field(default_factory=list)

    def add(self, tool: str, call: str, args: Mapping[str, JSON], *, server: str = "") -> None:
        """Note a call and its result, after everything that was noted before; for sessions that keep no record."""
        self.passed.append((len(self.passed), args))
        self.by_source.setdefault(source_of(tool, call), Read(tool, server, args, len(self.passed)))

    def is_meant(self, named: NamedSource, source: str) -> bool:
        """Say whether ``source`` is one that a mandate names: this tool, and where it says so these arguments."""
        read = self.by_source.get(source)
        if read is None:
            return False
        if named.name not in {read.name, source}:
            return False
        return named.args is None or named.args == read.pairs()

    def was_passed(self, value: str, kind: str, source: str) -> bool:
        """Say whether the agent itself passed ``value`` to a tool before ``source`` was read: then it may come back.

        What a model wrote into a file, or searched for, proves nothing when it is read again.
        """
        read = self.by_source.get(source)
        earlier = (args for at, args in self.passed if read is None or at < read.until)
        return any(_holds(text, value, kind) for args in earlier for text in _texts(args))


def _texts(args: Mapping[str, JSON]) -> Iterator[str]:
    for path, value in leaves(args):
        yield from (str(step) for step in path[1:] if isinstance(step, str))
        if value is not None:
            yield scalar_text(value)


def _holds(text: str, value: str, kind: str) -> bool:
    form = canonical(kind, value)
    if form is not None and form == canonical(kind, text):
        return True
    if kind == "number" and any(form == canonical(kind, match[0]) for match in NUMBER.finditer(normalise(text).text)):
        return True  # "12.50" in a text is 12.5
    wanted, held = _squeezed(value), _squeezed(text)
    if len(wanted) >= _LONG:
        return wanted in held
    spaced = " ".join(word for word, *_ in tokens(normalise(text).text))
    own = " ".join(word for word, *_ in tokens(normalise(value).text))
    return not own or f" {own} " in f" {spaced} "


def _squeezed(text: str) -> str:
    return "".join(char for char in normalise(text).text if char.isalnum())
