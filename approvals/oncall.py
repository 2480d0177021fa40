"""Who is on call now: asked of something that the organisation has, to choose whom to tell, and for nothing else.

1. A step of escalation names ``oncall:NAME``. 2. When it is climbed, the hook of this name is asked, outside of any
transaction. 3. What it says is checked: at most :data:`MAX_PEOPLE` usable names, and no end after :data:`LATEST`.
4. An answer that does not come, or is none, is a failure with a stable word; the step then reaches nobody, which is
said, and the next one is climbed.

Guarantees: an answer gives nobody a right: who is named and has no role here is told of the call, and cannot decide it;
whatever a hook raises or returns, :meth:`OnCall.who` returns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.moments import micros, micros_of, moment
from checkvalve.approvals.people import is_usable
from checkvalve.filters.strictjson import JSON

ONCALL: Final = "oncall:"
"""Before the name of a hook in a step."""
MAX_PEOPLE: Final = 10
"""People whom one answer may name."""
YEARS: Final = range(1970, 9001)
"""Of these years every moment can be written in every zone."""
LATEST: Final = micros_of(datetime(YEARS.stop, 1, 2, tzinfo=UTC))
"""No answer is good for longer; the last local day of the years ends earlier everywhere."""
AHEAD: Final = micros(timedelta(days=3_653))
"""Microseconds, ten years: what somebody else's service may say of how long its answer is good."""
DEADLINE: Final = 10.0
"""Seconds that a program of the organisation has to answer."""
NOBODY: Final = "nobody"
NO_HOOK: Final = "no_hook"
BAD_ANSWER: Final = "bad_answer"
BROKEN: Final = "hook_error"
LATE: Final = "timeout"

Program = Callable[[str, datetime], Sequence[str]]
"""A program of the organisation: it takes the hook's name and a moment in UTC, and returns names of people."""


@dataclass(frozen=True, slots=True)
class OnDuty:
    """Who is on call: names of people, and until when as far as it is known (microseconds); or why nobody knows."""

    people: tuple[str, ...] = ()
    failed: str = ""
    until: int | None = None

    def to_json(self) -> dict[str, JSON]:
        """Return the published and recorded form."""
        if self.failed:
            return {"failed": self.failed}
        found: dict[str, JSON] = {"people": [*self.people]}
        return found if self.until is None else {**found, "until": rfc3339(self.until)}


class Hook(Protocol):
    """Something that knows who is on call. It may raise; then nobody knows."""

    def __call__(self, name: str, at: int, /) -> OnDuty:
        """Return who is on call at a moment, in microseconds."""


def answered(names: Iterable[object], until: object = None) -> OnDuty:
    """Return an answer as it may be used; see steps 3 and 4."""
    found = list(names)
    if until is not None and (not isinstance(until, int) or not 0 <= until < LATEST):
        return OnDuty(failed=BAD_ANSWER)
    if any(not isinstance(name, str) or not is_usable(name) for name in found) or len(found) > MAX_PEOPLE:
        return OnDuty(failed=BAD_ANSWER)
    people = tuple(dict.fromkeys(str(name).strip() for name in found))
    return OnDuty(people, until=until) if people else OnDuty(failed=NOBODY)


@dataclass(slots=True)
class OnCall:
    """The hooks of one gateway by their names. Safe to use from several threads."""

    hooks: dict[str, Hook] = field(default_factory=dict)

    def add(self, name: str, program: Program) -> None:
        """Let a program of this process answer for ``name``: for those who embed the gateway."""
        self.hooks[name] = Bounded(program)

    def load(self) -> None:
        """Make sure that what answers can be used, for who starts something; here there is nothing to read."""

    def names(self) -> frozenset[str]:
        """Return the names that can be asked for."""
        return frozenset(self.hooks)

    def who(self, name: str, at: int) -> OnDuty:
        """Return who is on call, or why nobody knows. Never raises."""
        hook = self.hooks.get(name)
        if hook is None:
            return OnDuty(failed=NO_HOOK)
        try:
            found = hook(name, at)
            return found if found.failed else answered(found.people, found.until)
        except Exception:  # noqa: BLE001  # whatever it is, the next step has to be climbed
            return OnDuty(failed=BROKEN)


class Bounded:
    """A program that has :data:`DEADLINE` to answer; one that hangs is not asked again before it has returned."""

    def __init__(self, program: Program, deadline: float = DEADLINE) -> None:
        """Nothing is asked yet."""
        self._program, self._deadline = program, deadline
        self._lock = threading.Lock()
        self._running: threading.Thread | None = None

    def __call__(self, name: str, at: int) -> OnDuty:
        """Ask it in a thread of its own."""
        told: list[OnDuty] = []
        with self._lock:
            if self._running is not None and self._running.is_alive():
                return OnDuty(failed=LATE)
            self._running = threading.Thread(
                target=lambda: told.append(self._ask(name, moment(at))), name=f"checkvalve-oncall-{name}", daemon=True
            )
            self._running.start()
            running = self._running
        running.join(self._deadline)
        return told[0] if told else OnDuty(failed=LATE)

    def _ask(self, name: str, when: datetime) -> OnDuty:
        try:
            found = self._program(name, when)
            return answered(found) if isinstance(found, list | tuple) else OnDuty(failed=BAD_ANSWER)
        except Exception:  # noqa: BLE001  # somebody else's code
            return OnDuty(failed=BROKEN)


__all__ = ["AHEAD", "BAD_ANSWER", "BROKEN", "DEADLINE", "LATE", "LATEST", "MAX_PEOPLE", "NOBODY", "NO_HOOK", "ONCALL",
    "YEARS", "Bounded", "Hook", "OnCall", "OnDuty", "Program", "answered",
]  # fmt: skip
