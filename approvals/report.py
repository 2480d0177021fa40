"""How people decide, over some days: what is always approved, what never is, and whether anybody looked.

1. Take the calls that were asked about since the start. 2. Group them by rule, tool, and where the doubtful argument
came from. 3. Of each group: how many were approved, rejected, ran out, or wait; how long it took. 4. A group that was
always approved could be a rule or a mandate; one that never was could be denied without asking. 5. Of each person: how
many, how quickly after the call was shown, and the fullest hour.

Guarantees: nothing is changed by it, and nothing is suggested for calls of the gravest tier but to go on asking; times
come from the log. A call whose card was never shown to somebody known counts in no figure about showing.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections import defaultdict
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Final

from checkvalve.approvals import afterlooks, seed_figures
from checkvalve.approvals.afterlooks import AfterLook
from checkvalve.approvals.attention import HOUR
from checkvalve.approvals.clock import micros, rfc3339
from checkvalve.approvals.records import State
from checkvalve.approvals.report_attention import approved, attention_of, looks, quick, waits
from checkvalve.approvals.report_decided import Decided, decided, is_person, reviewer_of, source_of_doubt
from checkvalve.approvals.report_figures import LEAST, Attention, Middle, Share
from checkvalve.approvals.risk import TIERS, Tier, tier_of
from checkvalve.approvals.store import Store
from checkvalve.filters.strictjson import JSON

ALWAYS: Final = 5
"""Decided questions, all of them approved, from which on a group could be a rule: fewer may be chance."""
NEVER: Final = 3
"""Decided questions, none of them approved, from which on a group could be denied."""
WEEK: Final = 7
"""Days of a report, where nobody says how many."""
FAST: Final = 2.0
"""Seconds in which nobody reads a card."""


@dataclass(frozen=True, slots=True)
class Group:
    """Questions of one kind. Times are in seconds, the middle one of all; None where none is known.

    ``example`` is the id of the newest call that was approved and succeeded: a standing rule is made of one.
    """

    rule: str
    tool: str
    source: str
    tier: Tier
    asked: int
    approved: int
    rejected: int
    expired: int
    open: int
    median_wait: float | None
    advice: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True)
class Person:
    """How one reviewer decided. ``quick`` are the yeses within ``fast`` seconds after the card was shown.

    ``look`` is from then to the answer. Of fewer than :data:`LEAST` there is neither a middle nor a share.
    """

    name: str
    approved: int
    rejected: int
    shown: int
    look: Middle
    quick: Share
    fullest_hour: int

    @property
    def rate(self) -> Share:
        """How many of the questions they answered were approved."""
        return Share(self.approved, self.approved + self.rejected)

    def to_json(self) -> dict[str, JSON]:
        """Return it for programs."""
        counts: dict[str, JSON] = {"name": self.name, "approved": self.approved, "rejected": self.rejected}
        counts |= {"approve_rate": self.rate.to_json(), "shown": self.shown, "median_seconds": self.look.seconds}
        return {**counts, "quick": self.quick.to_json(), "fullest_hour": self.fullest_hour}


@dataclass(frozen=True, slots=True)
class Report:
    """Everything of one span."""

    since: int
    until: int
    fast: float
    groups: list[Group] = field(default_factory=list)
    people: list[Person] = field(default_factory=list)
    glasses: list[AfterLook] = field(default_factory=list)  # broken within the span, or not looked at yet
    seeded: seed_figures.Figures | None = None  # of the whole team; None where too few people have answered
    attention: Attention = field(default_factory=Attention)  # of everybody together

    def to_json(self) -> dict[str, JSON]:
        """Return it for programs."""
        return {
            "since": rfc3339(self.since),
            "until": rfc3339(self.until),
            "fast_seconds": self.fast,
            "groups": [{**asdict(item), "tier": item.tier.value} for item in self.groups],
            "least": LEAST,
            "attention": self.attention.to_json(),
            "people": [item.to_json() for item in self.people],
            "broken_glasses": [item.to_json() for item in self.glasses],
            "seeded": None if self.seeded is None else self.seeded.to_json(),
        }


def lately(store: Store, now: int, *, days: int, fast: float = FAST) -> Report:
    """Return how people decided within the last days; see :func:`report`."""
    return report(store, since=now - micros(timedelta(days=days)), until=now, fast=fast)


def report(store: Store, *, since: int, until: int, fast: float) -> Report:
    """Return how people decided what was asked from ``since`` on; ``fast`` is in seconds."""
    found = decided(store, since)
    grouped: dict[tuple[str, str, str], list[Decided]] = defaultdict(list)
    for item in found:
        grouped[item.key].append(item)
    groups = sorted((_group(key, items) for key, items in grouped.items()), key=lambda item: (-item.asked, item.tool))
    with store.read() as connection:
        broken = [one for one in afterlooks.entries(connection, everything=True) if one.is_open or one.at >= since]
        figures = attention_of(connection, found, since=since, until=until, fast=fast)
    seen = seed_figures.team(store, since=since)
    return Report(since, until, fast, groups, _people(found, fast), broken, seen, figures)


def _group(key: tuple[str, str, str], items: list[Decided]) -> Group:
    rule, tool, source = key
    counted = {end: sum(item.end == end for item in items) for end in ("approved", "rejected", "expired", "pending")}
    waited = waits(item for item in items if is_person(item))
    tiers = {tier_of(str(item.proposal.decision.get("action") or ""), item.proposal.rule) for item in items}
    worst = min(tiers, key=TIERS.index)
    group = Group(
        rule,
        tool,
        source,
        worst,
        len(items),
        counted["approved"],
        counted["rejected"],
        counted["expired"],
        counted["pending"],
        statistics.median(waited) if waited else None,
    )
    return replace(group, advice=_advice(group), example=_example(items))


def _example(items: list[Decided]) -> str:
    good = [item.proposal for item in items if item.end == "approved" and item.proposal.state is State.SUCCEEDED]
    return good[-1].id if good else ""


def _advice(group: Group) -> str:
    answered = group.approved + group.rejected + group.expired
    if group.approved == answered >= ALWAYS:
        if group.tier is Tier.CRITICAL:
            return "always approved, and too grave for a rule: look whether anybody reads it"
        return "always approved: make a rule, or a mandate for the source"
    if group.approved == 0 and group.rejected and answered >= NEVER:
        return "never approved: deny it"
    return ""


def _people(found: list[Decided], fast: float) -> list[Person]:
    by: dict[str, list[Decided]] = defaultdict(list)
    for item in found:
        if is_person(item):
            by[reviewer_of(item.by)].append(item)
    return [_person(name, items, fast) for name, items in sorted(by.items())]


def _person(name: str, items: list[Decided], fast: float) -> Person:
    rate, took = approved(items), looks(items)
    times = sorted(item.at for item in items if item.at is not None)
    fullest = max((bisect_left(times, start + HOUR) - number for number, start in enumerate(times)), default=0)
    return Person(name, rate.count, rate.of - rate.count, len(took), Middle.among(took), quick(items, fast), fullest)


__all__ = ["ALWAYS", "FAST", "NEVER", "WEEK", "Decided", "Group", "Person", "Report", "decided", "lately", "report",
    "source_of_doubt",
]  # fmt: skip
