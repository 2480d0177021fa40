"""The ladder of one question: when people are reminded, when others are told, and who should look now. Pure.

1. The moments are parts of the time to decide, as the plan has them; equal ones in the plan's order. 2. A reminder
goes to whoever could say yes and has not said anything yet. 3. A step of escalation goes to those whom it names: a
role, a person, ``channel:NAME`` of the file of channels, or ``oncall:NAME``, whoever that says is on call. 4. Whoever
asked is never among them, under any account; who has handed over stands beside the colleague who stands in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkvalve.approvals.asked_by import AskedBy
from checkvalve.approvals.oncall import ONCALL, OnDuty
from checkvalve.approvals.people import same_person
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.question import Question
from checkvalve.approvals.reach import requesters, voices
from checkvalve.approvals.roles import Account, Role

CHANNEL: Final = "channel:"
"""Before the name of a channel in a step."""
MAX_NAMED: Final = 10
"""People whom one message names."""
_PERCENT: Final = 100
ROLES: Final = frozenset(role.value for role in Role)
"""Words of a step that stand for everybody who has the role."""
_NO_ANSWERS: Final[Mapping[str, OnDuty]] = {}


@dataclass(frozen=True, slots=True)
class Rung:
    """One moment: ``percent`` of the time to decide is over. ``to`` is empty for a reminder."""

    at: int
    percent: int
    to: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What happens then: ``reminded`` or ``escalated``."""
        return "escalated" if self.to else "reminded"


@dataclass(frozen=True, slots=True)
class Staff:
    """Who is there: the enabled accounts, and who stands in for whom (giver to taker, by account).

    ``gone`` are the accounts that were disabled.
    """

    accounts: tuple[Account, ...]
    standing_in: Mapping[str, str]
    single_user: bool = False
    gone: tuple[Account, ...] = ()


def rungs(plan: Plan, *, created_at: int, decide_by: int) -> list[Rung]:
    """Return the rungs of a question in the order of time; all lie before its deadline."""
    span = decide_by - created_at
    return [Rung(created_at + int(span * part), round(part * _PERCENT), to) for part, to in plan.moments()]


def next_at(ladder: Sequence[Rung], done: int) -> int | None:
    """Return when the next rung is due after ``done`` of them; None where there is none."""
    return ladder[done].at if done < len(ladder) else None


def who_should_look(  # what is known of the question, and who is there
    rung: Rung,
    staff: Staff,
    plan: Plan,
    question: Question,
    *,
    requester: AskedBy,
    voted: Collection[str] = (),
    oncall: Mapping[str, OnDuty] = _NO_ANSWERS,
) -> tuple[str, ...]:
    """Return the accounts that should look now, at most :data:`MAX_NAMED`; ``voted`` are persons who have.

    ``oncall`` is what the hooks answered that the step names.
    """
    own = frozenset[str]() if staff.single_user else requesters(requester, staff.accounts)
    named = _named(_spelled(rung.to, oncall), staff.accounts) if rung.to else _asked(staff, plan, question, requester)
    found = [one.name for one in named if one.person not in own]
    found += [staff.standing_in[name] for name in found if name in staff.standing_in]
    person = {one.name: one.person for one in staff.accounts}
    waiting = [name for name in dict.fromkeys(found) if person.get(name) not in own and person.get(name) not in voted]
    return tuple(waiting[:MAX_NAMED])


def _spelled(to: Iterable[str], oncall: Mapping[str, OnDuty]) -> Iterator[str]:
    """Yield the words of a step, with the names of people in the place of a hook."""
    for word in to:
        if word.startswith(ONCALL):
            yield from oncall.get(word.removeprefix(ONCALL), OnDuty()).people
        else:
            yield word


def _named(to: Iterable[str], accounts: Sequence[Account]) -> list[Account]:
    found: list[Account] = []
    for word in to:
        if word in ROLES:
            found += [one for one in accounts if Role(word) in one.roles]
        elif not word.startswith(CHANNEL):
            found += [one for one in accounts if same_person(word, one.name) or same_person(word, one.person)]
    return found


def _asked(staff: Staff, plan: Plan, question: Question, requester: AskedBy) -> list[Account]:
    people = voices(staff.accounts, question, requester=requester, single_user=staff.single_user)
    counted = {person for person, roles in people.items() if not plan.roles.isdisjoint(roles)}
    return [one for one in staff.accounts if one.person in counted]


__all__ = ["CHANNEL", "MAX_NAMED", "ROLES", "Rung", "Staff", "next_at", "rungs", "who_should_look"]
