"""What a look at an installation finds, and how it is said: one list of findings, worst first, and an exit code.

Guarantees: looking changes nothing; what could not be looked at is said to be unknown, and is never a good answer.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from checkvalve.filters.strictjson import JSON


class State(enum.StrEnum):
    """How a thing stands, worst first."""

    PROBLEM = "problem"
    UNKNOWN = "unknown"
    WARNING = "warning"
    OK = "ok"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. ``how`` says how: ``tried`` as that user, ``computed`` from modes, or nothing."""

    check: str
    state: State
    text: str
    remedy: str = ""
    how: str = ""

    def to_json(self) -> dict[str, JSON]:
        """Return it for programs."""
        return {
            "check": self.check,
            "state": self.state.value,
            "text": self.text,
            "remedy": self.remedy,
            "how": self.how,
        }


Check = Callable[[], Iterable[Finding]]

GOOD: Final = 0
BAD: Final = 1
"""The exit code when a problem was found."""
NOT_JUDGED: Final = 2
"""The exit code when there is no problem among what could be looked at, and not everything could."""


def ok(check: str, text: str, *, how: str = "") -> Finding:
    """Return a good answer."""
    return Finding(check, State.OK, text, how=how)


def problem(check: str, text: str, remedy: str, *, how: str = "") -> Finding:
    """Return something to mend."""
    return Finding(check, State.PROBLEM, text, remedy, how)


def warning(check: str, text: str, remedy: str = "", *, how: str = "") -> Finding:
    """Return something to know."""
    return Finding(check, State.WARNING, text, remedy, how)


def unknown(check: str, text: str, remedy: str = "") -> Finding:
    """Return something that could not be looked at."""
    return Finding(check, State.UNKNOWN, text, remedy)


def examine(checks: Iterable[tuple[str, Check]]) -> list[Finding]:
    """Run every check; one that cannot run is unknown, and the others go on."""
    found: list[Finding] = []
    for name, check in checks:
        try:
            found.extend(check())
        except Exception as error:  # noqa: BLE001  # whatever is broken is what the doctor is asked about
            text = f"could not be looked at ({type(error).__name__}: {error})"
            found.append(unknown(name, text, str(getattr(error, "remedy", ""))))
    return found


def result(findings: Sequence[Finding]) -> int:
    """Return the exit code: 1 for a problem, 2 where something could not be judged, else 0."""
    states = {finding.state for finding in findings}
    if State.PROBLEM in states:
        return BAD
    return NOT_JUDGED if State.UNKNOWN in states else GOOD


__all__ = [
    "BAD", "GOOD", "NOT_JUDGED", "Check", "Finding", "State", "examine", "ok", "problem", "result", "unknown",
    "warning",
]  # fmt: skip
