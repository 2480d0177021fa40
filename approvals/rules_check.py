"""Can the review rules be kept by the people who are there? Pure: over rules and accounts.

1. There is somebody at all. 2. For each plan that the file can come to: the enabled accounts could fill its quorum; if
not, that is an error. 3. They could still do so when any one of them asked for the call, and for any amount; if not,
that is a warning, since such a question would wait until it expires. 4. A rule behind one that takes all its questions
never counts, and somebody who is to be told is a role or an account.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from checkvalve.approvals.oncall import ONCALL
from checkvalve.approvals.people import same_person
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.question import UNREADABLE, Question
from checkvalve.approvals.reach import voices
from checkvalve.approvals.review_rules import ReviewRules, Rule, When
from checkvalve.approvals.roles import Account, Role
from checkvalve.approvals.rungs import CHANNEL
from checkvalve.approvals.votes import reachable

_OUTSIDER: Final = "somebody who is no reviewer"
_LISTS: Final = ("tool", "server", "tenant", "effect", "rule", "tier")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: ``where`` names tiers and rules."""

    level: Literal["error", "warning"]
    where: str
    text: str


def check(rules: ReviewRules, known: Iterable[Account]) -> list[Finding]:
    """Return what is wrong, errors first; see the module's list."""
    enabled = [one for one in known if not one.disabled]
    if not enabled:
        return [Finding("error", "everywhere", "nobody can approve anything: there is no enabled reviewer")]
    found = [*_quorums(rules, enabled), *_shadows(rules.rules), *_told(rules, enabled)]
    return sorted(_together(found), key=lambda item: item.level != "error")


def _together(found: Sequence[Finding]) -> Iterator[Finding]:
    """Yield findings of the same text as one, with every place."""
    places: dict[tuple[Literal["error", "warning"], str], dict[str, None]] = {}
    for item in found:
        places.setdefault((item.level, item.text), {})[item.where] = None
    for (level, text), where in places.items():
        yield Finding(level, ", ".join(where), text)


def _quorums(rules: ReviewRules, enabled: Sequence[Account]) -> Iterator[Finding]:
    for where, plan, when in rules.every():
        asks = [_asked(plan, tool, server, tenant) for tool, server, tenant in _places(when)]
        if when is not None and when.min_amount is not None:
            asks = [replace(question, amount=f"{when.min_amount:f}") for question in asks]
        if not all(_reached(plan, question, enabled) for question in asks):
            yield Finding("error", where, f"nobody can approve such a call: it takes {in_words(plan)}")
            continue
        people = sorted({one.person for one in enabled})
        alone = [p for p in people if not all(_reached(plan, q, enabled, requester=p) for q in asks)]
        if alone:
            yield Finding("warning", where, f"nobody can approve such a call when {' or '.join(alone)} asked for it")
        if not all(_reached(plan, replace(question, amount=UNREADABLE), enabled) for question in asks):
            yield Finding("warning", where, "nobody can approve such a call whose amount is large or cannot be read")


def _places(when: When | None) -> list[tuple[str, str, str]]:
    """Return the tools, servers and tenants to look at: those that a rule names, or any other."""
    if when is None:
        return [("", "", "")]
    tools = [name.rpartition("/")[::2] for name in when.tool] or [("", "")]
    named = [(tool, server) for server, tool in tools]
    return [
        (t, s or server, tenant) for t, s in named for server in when.server or [""] for tenant in when.tenant or [""]
    ]


def _asked(plan: Plan, tool: str, server: str, tenant: str) -> Question:
    return Question(tool, server, "", "", plan.tier, tenant)


def _reached(plan: Plan, question: Question, enabled: Sequence[Account], *, requester: str = _OUTSIDER) -> bool:
    return reachable(plan, voices(enabled, question, requester=requester))


def in_words(plan: Plan) -> str:
    """Return whom a plan takes, such as ``2 approvers, or one approver and one auditor``."""
    ways = (
        " and ".join(f"one {n.role.value}" if n.count == 1 else f"{n.count} {n.role.value}s" for n in needs)
        for needs in plan.approve
    )
    return ", or ".join(ways)


def _shadows(rules: Sequence[Rule]) -> Iterator[Finding]:
    for number, rule in enumerate(rules):
        if not rule.when.tiers():
            yield Finding("warning", f"rule {rule.name}", "it never counts: no call of this kind has such a tier")
        first = next((other for other in rules[:number] if _takes_all(other.when, rule.when)), None)
        if first is not None:
            text = f"it never counts: {first.name}, which stands before it, takes all its calls"
            yield Finding("warning", f"rule {rule.name}", text)


def _takes_all(first: When, second: When) -> bool:
    """Say whether each question of ``second`` is one of ``first`` as well."""
    for name in _LISTS:
        wide, narrow = getattr(first, name), getattr(second, name)
        if wide and not (narrow and set(narrow) <= set(wide)):
            return False
    low, high = first.min_amount, second.min_amount
    return low is None or (high is not None and high >= low)


def _told(rules: ReviewRules, enabled: Sequence[Account]) -> Iterator[Finding]:
    for where, plan, _ in rules.every():
        for name in sorted({name for step in plan.escalate for name in step.to}):
            if name.startswith((CHANNEL, ONCALL)):
                continue  # the gateway knows the files of channels and of schedules
            if name not in set(Role) and not any(same_person(name, one.name) for one in enabled):
                yield Finding(
                    "warning", where, f"{name!r} is to be told, and is neither a role nor an enabled reviewer"
                )


__all__ = ["Finding", "check", "in_words"]
