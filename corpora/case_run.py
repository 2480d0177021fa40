"""One case, run: its twin alone, then its attack with a model that the attacker owns.

The attacker's calls are proposed word for word, either as soon as the poisoned content has been read (``first``) or
after the user's own calls have run (``end``). A careful person says yes to the user's calls and no to the attacker's.
What counts as executed is read from the office's journal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from checkvalve.approvals.verdicts import Deny, Review, Verdict
from checkvalve.corpora.cases import Call, Case, Reading, Words
from checkvalve.corpora.guard import Guard, Judged
from checkvalve.corpora.report import SEVERITY, CallRecord, CaseResult, Outcome
from checkvalve.corpora.world import Office
from checkvalve.filters.labels import Authority

MakeGuard: TypeAlias = Callable[[], Guard]
By: TypeAlias = Literal["user", "attacker"]
MOMENTS: Final = ("first", "end")
SCHEDULES: Final = ("both", *MOMENTS)


@dataclass
class Session:
    """One run: a guard, an office, and what was proposed. Another corpus may run its cases with it, too."""

    guard: Guard
    office: Office = field(default_factory=Office)
    calls: list[CallRecord] = field(default_factory=list)

    def read(self, task: Iterable[Words], history: Iterable[Reading]) -> None:
        """Put the task and everything that was read so far into the context."""
        for words in task:
            self.guard.words(words.text, authority=Authority.USER if words.authority == "user" else Authority.NONE)
        for number, item in enumerate(history, start=1):
            self.guard.result(item.tool, f"read-{number}", item.args, item.result, server=item.server)

    def attempt(self, calls: Iterable[Call], by: By, effects: Sequence[str] = ()) -> bool:
        """Propose ``calls`` in order; say whether all of them ran."""
        ran = [self._attempt(call, by, effect=call.name in effects) for call in calls]
        return all(ran)

    def _attempt(self, call: Call, by: By, *, effect: bool) -> bool:
        judged = self.guard.propose(call.tool, call.args, server=call.server)
        verdict = judged.verdict
        before = len(self.office.journal)
        if self._may_run(judged, by):
            value = self.office.call(call.name, call.args)
            self.guard.result(call.tool, f"call-{len(self.calls)}", call.args, value, server=call.server)
        executed = len(self.office.journal) > before
        self.calls.append(CallRecord(by, call.name, verdict.name, verdict.rule, _reason(verdict), executed, effect))
        return executed

    def _may_run(self, judged: Judged, by: By) -> bool:
        if isinstance(judged.verdict, Deny):
            return False
        if isinstance(judged.verdict, Review):
            if by == "attacker":
                return False
            self.guard.endorse(judged)
        return True


def _reason(verdict: Verdict) -> str:
    return verdict.reason if isinstance(verdict, Review | Deny) else ""


def run_case(case: Case, make_guard: MakeGuard, schedule: str) -> tuple[CaseResult, CaseResult]:
    """Run the twin alone, then the attack; of several moments for the attack the worst one counts."""
    started = time.perf_counter()
    twin = Session(make_guard())
    twin.read(*_twin_context(case))
    finished = twin.attempt(case.twin.calls, "user")
    now = time.perf_counter()
    benign = CaseResult(case.area, case.id, "benign", finished, seconds=now - started, calls=tuple(twin.calls))
    moments = MOMENTS if schedule == "both" else (schedule,)
    attacked = max((_attack(case, make_guard, moment) for moment in moments), key=_severity)
    return benign, attacked


def _severity(result: CaseResult) -> tuple[int, bool]:
    return SEVERITY.index(result.outcome), result.executed_if_all_approved


def _attack(case: Case, make_guard: MakeGuard, moment: str) -> CaseResult:
    """Run the attack in the session of the task; the twin's calls follow (or, at the ``end``, come before)."""
    started = time.perf_counter()
    session = Session(make_guard())
    session.read(case.task, case.history)
    shared = case.twin.task is None and case.twin.history is None
    finished = shared and moment == "end" and session.attempt(case.twin.calls, "user")
    session.attempt(case.attack, "attacker", case.effects)
    if not shared:
        finished = _twin_under_attack(case, make_guard, session)
    elif moment == "first":
        finished = session.attempt(case.twin.calls, "user")
    outcome = outcome_of(session.calls) if case.effects else "text_only"
    return CaseResult(
        case.area,
        case.id,
        outcome,
        finished,
        attack="attack",
        schedule=moment,
        goal_reached=outcome == "executed",
        seconds=time.perf_counter() - started,
        calls=tuple(session.calls),
    )


def _twin_under_attack(case: Case, make_guard: MakeGuard, attacked: Session) -> bool:
    """Run a twin that has a task of its own in a session of its own, with the same attack before it."""
    session = Session(make_guard())
    session.read(*_twin_context(case))
    session.attempt(case.attack, "attacker", case.effects)
    finished = session.attempt(case.twin.calls, "user")
    attacked.calls.extend(call for call in session.calls if call.by == "user")
    return finished


def _twin_context(case: Case) -> tuple[Iterable[Words], Iterable[Reading]]:
    twin = case.twin
    return (case.task if twin.task is None else twin.task, case.history if twin.history is None else twin.history)


def outcome_of(calls: Sequence[CallRecord]) -> Outcome:
    """Say what became of the attacker's calls that have an effect."""
    attacker = [call for call in calls if call.by == "attacker" and call.effect]
    if any(call.executed for call in attacker):
        return "executed"
    return "reviewed" if any(call.verdict == "review" for call in attacker) else "denied"
