"""Can anybody of one step be reached now? Pure: over what was told, who is there, and what failed.

1. The first step is the question itself: those whose yes would count. Each further one is a step of escalation. 2. A
step reaches somebody where one of its channels works, or one of its people may say yes now. 3. For each of the others
there is one reason: see :data:`REASONS`. 4. A role stands for everybody who has it; who has handed over is away, and
the colleague who stands in is looked at instead.

Guarantees: it only chooses whom to tell next; nobody's right to decide comes from here, or is taken away.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from checkvalve.approvals.oncall import BAD_ANSWER, BROKEN, LATE, NO_HOOK, NOBODY, ONCALL, OnDuty
from checkvalve.approvals.people import same_person
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.question import Question
from checkvalve.approvals.reach import requesters, voices
from checkvalve.approvals.roles import Account, Role
from checkvalve.approvals.rungs import CHANNEL, MAX_NAMED, ROLES, Staff

NO_CHANNEL: Final = "no_channel"
CHANNEL_FAILED: Final = "channel_failed"
NO_ACCOUNT: Final = "no_account"
DISABLED: Final = "disabled"
REQUESTER: Final = "requester"
NO_RIGHT: Final = "no_right"
VOTED: Final = "voted"
AWAY: Final = "away"
BUDGET: Final = "budget"
NO_ONE: Final = "no_one"
TOO_FEW: Final = "too_few"
REASONS: Final[Mapping[str, str]] = {
    NO_CHANNEL: "there is no channel of this name",
    CHANNEL_FAILED: "messages to this channel do not arrive",
    NO_ACCOUNT: "has no account here",
    DISABLED: "the account is disabled",
    REQUESTER: "asked for the call",
    NO_RIGHT: "has no role that counts for this call",
    VOTED: "has said yes or no already",
    AWAY: "has handed over, and nobody stands in who may decide this",
    BUDGET: "has said yes as often as one may within an hour",
    NO_ONE: "nobody has this role, or a role that counts",
    TOO_FEW: "too few enabled reviewers may say yes to it",
    NOBODY: "nobody is on call now",
    NO_HOOK: "there is no such on-call schedule or service",
    BAD_ANSWER: "the on-call service gave no usable answer",
    BROKEN: "the on-call program failed",
    LATE: "the on-call service did not answer in time",
    "bad_file": "the file of on-call schedules cannot be used",
}
"""Why somebody, or something, cannot be reached; other words are those of a failed request, such as ``status_500``."""
ASKED: Final = "approvers"
"""Stands for those who were asked first."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step told: its words, what hooks answered, and which of its channels do not work."""

    to: tuple[str, ...] = ()
    oncall: Mapping[str, OnDuty] = field(default_factory=dict)
    failed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Scene:
    """One question as it stands: who is there, who has used up the hour's budget, and who has voted.

    ``channels`` are the names that are known, None where nobody here knows them.
    """

    staff: Staff
    plan: Plan
    question: Question
    requester: tuple[str, ...]
    spent: frozenset[str] = frozenset()
    voted: frozenset[str] = frozenset()
    channels: frozenset[str] | None = None


def why_nobody(step: Step, scene: Scene) -> dict[str, str]:
    """Return why nobody of a step can be reached, by name; empty where somebody can."""
    found: dict[str, str] = {}
    people = _People(scene)
    for word in step.to or (ASKED,):
        for name, reason in _of_word(word, step, scene, people):
            if not reason:
                return {}
            found.setdefault(name, reason)
    return dict(list(found.items())[:MAX_NAMED])


def cannot(step: Step, scene: Scene) -> dict[str, str]:
    """Return who of those on call cannot decide the question, with the reason; and which hooks failed."""
    people = _People(scene)
    found = (pair for word in step.to if word.startswith(ONCALL) for pair in _of_hook(word, step, people))
    return {name: reason for name, reason in found if reason}


def _of_word(word: str, step: Step, scene: Scene, people: _People) -> Sequence[tuple[str, str]]:
    if word.startswith(CHANNEL):
        name = word.removeprefix(CHANNEL)
        known = scene.channels is None or name in scene.channels
        return [(word, NO_CHANNEL if not known else CHANNEL_FAILED if name in step.failed else "")]
    if word.startswith(ONCALL):
        return _of_hook(word, step, people)
    if not step.to:
        listed = people.asked()
    elif word in ROLES:
        listed = [one for one in scene.staff.accounts if Role(word) in one.roles]
    else:
        return [(word, people.named(word))]
    return [(one.name, people.reason(one)) for one in listed] or [(word, NO_ONE)]


def _of_hook(word: str, step: Step, people: _People) -> Sequence[tuple[str, str]]:
    duty = step.oncall.get(word.removeprefix(ONCALL), OnDuty(failed=NO_HOOK))
    return [(word, duty.failed)] if duty.failed else [(name, people.named(name)) for name in duty.people]


class _People:
    """Why each account cannot decide the question of a scene."""

    def __init__(self, scene: Scene) -> None:
        staff = scene.staff
        self._scene = scene
        self._own: Collection[str] = frozenset() if staff.single_user else requesters(scene.requester, staff.accounts)
        self._roles = voices(staff.accounts, scene.question, requester=scene.requester, single_user=staff.single_user)

    def asked(self) -> list[Account]:
        """Return those whose yes would count."""
        return [one for one in self._scene.staff.accounts if self._counts(one.person)]

    def named(self, name: str) -> str:
        """Return the reason for somebody by name; a person with several accounts can be reached under any of them."""
        staff = self._scene.staff
        found = [one for one in staff.accounts if goes_by(name, one)]
        if not found:
            return DISABLED if any(goes_by(name, one) for one in staff.gone) else NO_ACCOUNT
        reasons = [self.reason(one) for one in found]
        return "" if "" in reasons else reasons[0]

    def reason(self, one: Account) -> str:
        """Return why somebody cannot decide this now; empty: they can."""
        if one.person in self._own:
            return REQUESTER
        if not self._counts(one.person):
            return NO_RIGHT
        if one.person in self._scene.voted:
            return VOTED
        taker = self._scene.staff.standing_in.get(one.name)
        if taker is not None:
            return "" if self._stands_in(taker) else AWAY
        return BUDGET if one.name in self._scene.spent else ""

    def _counts(self, person: str) -> bool:
        return not self._scene.plan.roles.isdisjoint(self._roles.get(person, frozenset()))

    def _stands_in(self, taker: str) -> bool:
        found = next((one for one in self._scene.staff.accounts if one.name == taker), None)
        taken = {*self._own, *self._scene.voted}
        return found is not None and found.person not in taken and found.name not in self._scene.spent


def goes_by(name: str, one: Account) -> bool:
    """Say whether a name, as a step or a hook says it, is that of an account or of its person."""
    return same_person(name, one.name) or same_person(name, one.person)


__all__ = ["ASKED", "REASONS", "TOO_FEW", "Scene", "Step", "cannot", "goes_by", "why_nobody"]
