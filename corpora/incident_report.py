"""What the incident fixtures came to: each side against what it expects, beside the usual report.

Guarantees: a side that waits for a capability is never counted as passed; the numbers are computed from the sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from rich.box import SIMPLE_HEAD
from rich.table import Table

from checkvalve.corpora.incidents import Expected, Side
from checkvalve.corpora.report import Report

State: TypeAlias = Literal["passed", "waits", "wrong"]
NOT_RUN: Final = "not run"
_WANTED: Final[dict[Expected, str]] = {
    "allow": "allow",
    "sanitise": "sanitise",
    "ask": "review",
    "withhold": "withhold",
    "deny": "deny",
}
_STRICTNESS: Final = ("allow", "review", "deny")


@dataclass(frozen=True, slots=True)
class SideResult:
    """One side of a fixture: what it expects, and what the gateway says today."""

    incident: str
    side: Side
    expect: Expected
    verdict: str
    rule: str
    waits_for: str = ""

    @property
    def meets(self) -> bool:
        """Say whether the verdict fits the expectation. A twin has to get exactly what it expects.

        An attack may be treated more strictly, except where it is expected to be harmless data. Where it is to be
        sanitised, only a refusal is stricter: whoever says yes to a question lets out the whole text.
        """
        if self.verdict == NOT_RUN:
            return False
        wanted = _WANTED[self.expect]
        if self.side == "twin" or wanted in {"allow", self.verdict}:
            return self.verdict == wanted
        if wanted not in _STRICTNESS:
            return self.verdict == "deny"
        return _STRICTNESS.index(self.verdict) > _STRICTNESS.index(wanted)

    @property
    def state(self) -> State:
        """Say what the side counts as. What waits for a capability counts as waiting, whatever is decided today."""
        if self.waits_for:
            return "waits"
        return "passed" if self.meets else "wrong"

    @property
    def stricter(self) -> bool:
        """Say whether the side passed by more than it expects."""
        return self.state == "passed" and self.verdict != _WANTED[self.expect]

    def __str__(self) -> str:
        """Name the side with its expectation and verdict."""
        today = self.verdict if self.verdict == NOT_RUN else f"{self.verdict} by {self.rule}"
        return f"{self.incident} {self.side}: expects {self.expect}, is {today}"

    def to_json(self) -> dict[str, Any]:
        """Return the side as plain data."""
        return {**asdict(self), "state": self.state, "stricter": self.stricter, "meets_today": self.meets}


@dataclass(frozen=True)
class IncidentReport(Report):
    """The report of a corpus run, with every side against its expectation."""

    sides: Sequence[SideResult] = ()

    def by_expectation(self) -> dict[str, dict[str, int]]:
        """Return the counts per side and expectation, such as ``attack: deny``."""
        names = dict.fromkeys(f"{one.side}: {one.expect}" for one in sorted(self.sides, key=lambda one: one.side))
        return {name: counts(one for one in self.sides if f"{one.side}: {one.expect}" == name) for name in names}

    def wrong(self) -> list[SideResult]:
        """Return the sides whose verdict is not right, and that wait for nothing."""
        return [one for one in self.sides if one.state == "wrong"]

    def waiting(self) -> dict[str, list[SideResult]]:
        """Return the sides that wait, per capability."""
        names = sorted({one.waits_for for one in self.sides if one.waits_for})
        return {name: [one for one in self.sides if one.waits_for == name] for name in names}

    def to_json(self) -> dict[str, Any]:
        """Return the usual document, and the sides under ``fixtures``."""
        fixtures = {
            "total": counts(self.sides),
            "by_expectation": self.by_expectation(),
            "waits_for": {
                name: [f"{one.incident} {one.side}" for one in ones] for name, ones in self.waiting().items()
            },
            "sides": [one.to_json() for one in self.sides],
        }
        return {**super().to_json(), "fixtures": fixtures}


def counts(sides: Iterable[SideResult]) -> dict[str, int]:
    """Count the states of ``sides``; ``stricter`` is a part of ``passed``."""
    chosen = list(sides)
    states = {name: sum(one.state == name for one in chosen) for name in ("passed", "waits", "wrong")}
    return {"total": len(chosen), **states, "stricter": sum(one.stricter for one in chosen)}


def expectation_table(report: IncidentReport) -> Table:
    """Draw the counts by expectation, and the totals of the guards beside this one."""
    drawn = Table(
        title="what the fixtures expect",
        caption="waits: for a capability that is not there yet, never counted as passed; stricter: part of passed",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    drawn.add_column("", no_wrap=True)
    headings = ("total", "passed", "stricter", "waits", "wrong")
    for heading in headings:
        drawn.add_column(heading, justify="right")
    for other in report.others:
        if isinstance(other, IncidentReport):
            drawn.add_row(other.guard, *(str(counts(other.sides)[heading]) for heading in headings))
    for name, numbers in report.by_expectation().items():
        drawn.add_row(name, *(str(numbers[heading]) for heading in headings))
    total = counts(report.sides)
    drawn.add_section()
    drawn.add_row(report.guard, *(str(total[heading]) for heading in headings), style="bold")
    return drawn
