"""What stood against a call, kept so that a report can explain its questions and count what a weaker rule would admit.

Guarantees: pure; kept beside a case and never part of its JSON, since it holds values of the corpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from checkvalve.approvals.decision import ArgumentReport, Decision
from checkvalve.approvals.verdicts import Allow, Review


@dataclass(frozen=True, slots=True)
class Place:
    """A field that a value stands in: tool and path without numbers, or ``user`` and ``system`` with no path."""

    tool: str
    field: str
    trust: str
    match: str

    @property
    def name(self) -> str:
        """The place as people read it."""
        return f"{self.tool}.{self.field}" if self.field else self.tool


@dataclass(frozen=True, slots=True)
class Lacking:
    """One argument without a sufficient origin: its value, and every place it stands in, best first."""

    argument: str
    role: str
    kind: str
    value: str
    places: tuple[Place, ...]

    def stands_in(self, place: str) -> bool:
        """Say whether the value stands in a place of this name; the empty name is nowhere at all."""
        return any(item.name == place for item in self.places) if place else not self.places

    @property
    def best(self) -> Place | None:
        """The best place, None when the value stands nowhere."""
        return self.places[0] if self.places else None


@dataclass(frozen=True, slots=True)
class Evidence:
    """One call that did not simply run: which rules stopped it, and which arguments were lacking."""

    by: Literal["user", "attacker"]
    tool: str
    verdict: str
    rules: frozenset[str]
    lacking: tuple[Lacking, ...]


def evidence_of(by: Literal["user", "attacker"], tool: str, args: Mapping[str, Any], judged: object) -> Evidence | None:
    """Return what stood against a call; None when it was allowed, or when its guard keeps no record."""
    if not isinstance(judged, Decision) or isinstance(judged.verdict, Allow):
        return None
    lacking = tuple(_lacking(item, args) for item in judged.arguments if not item.sufficient and item.role != "content")
    rules = frozenset(judged.rules) if isinstance(judged.verdict, Review) else frozenset({judged.verdict.rule})
    return Evidence(by, tool, judged.verdict.name, rules, lacking)


def _lacking(item: ArgumentReport, args: Mapping[str, Any]) -> Lacking:
    places = dict.fromkeys(_place(origin) for origin in item.origins)
    name = ".".join(step for step in item.path.split(".") if not step.isdigit())
    return Lacking(name, item.role, item.kind, str(_value(item.path, args)), tuple(places))


def _place(origin: Mapping[str, object]) -> Place:
    source, _, path = str(origin["source"]).partition("#")
    tool = source.removeprefix("tool:").partition("/")[0]
    field = ".".join(step for step in path.split(".") if step and not step.isdigit())
    return Place(tool, field, str(origin["trust"]), str(origin["match"]))


def _value(path: str, args: Mapping[str, Any]) -> object:
    """Follow a dotted path into the arguments; a name that is not there is a key, and stands for itself."""
    here: Any = args
    for step in path.split("."):
        here = next(iter(_member(here, step)), None)
        if here is None:
            return path.rpartition(".")[2]
    return here


def _member(here: Any, step: str) -> Iterator[Any]:
    if isinstance(here, Mapping) and step in here:
        yield here[step]
    elif isinstance(here, list | tuple) and step.isdigit() and int(step) < len(here):
        yield here[int(step)]
