"""How people decide, over some days: what is always approved, what never is, and whether anybody looked.

1. Take the calls that were asked about since the start. 2. Group them by rule, tool, and where the doubtful argument
came from. 3. Of each group: how many were approved, rejected, ran out, or wait; how long it took. 4. A group that was
always approved could be a rule or a mandate; one that never was could be denied without asking. 5. Of each person: how
many, how quickly after the call was shown, and the fullest hour.

Guarantees: nothing is changed by it, and nothing is suggested for calls of the gravest tier but to go on asking; times
come from the log. A call whose card was never shown to somebody known counts in no figure about showing.
"""

from __future__ import annotations

import json
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import afterlooks, seed_figures
from checkvalve.approvals.afterlooks import AfterLook
from checkvalve.approvals.attention import HOUR, SHOWN
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.moments import micros_of
from checkvalve.approvals.moves import OBSERVE
from checkvalve.approvals.records import Proposal, State, from_row
from checkvalve.approvals.risk import TIERS, Tier, tier_of
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events, proposals
from checkvalve.filters.strictjson import JSON

ALWAYS: Final = 5
"""Decided questions, all of them approved, from which on a group could be a rule: fewer may be chance."""
NEVER: Final = 3
"""Decided questions, none of them approved, from which on a group could be denied."""
NO_SOURCE: Final = "nowhere"
_SECOND: Final = 1_000_000
_CALL: Final = re.compile(r"/[^#]*")  # of a source such as tool:read_mail/c1#body: which call it was
_REVIEWER: Final = "reviewer:"


@dataclass(frozen=True, slots=True)
class Decided:
    """One question, and how it ended: a state of the queue's, ``pending`` while it waits."""

    proposal: Proposal
    end: str
    by: str
    at: int | None
    shown_at: int | None

    @property
    def key(self) -> tuple[str, str, str]:
        """The rule, the tool, and the source of what was in doubt."""
        row = self.proposal
        return row.rule, f"{row.server}/{row.tool}" if row.server else row.tool, source_of_doubt(row)


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
    """How one reviewer decided. ``quick`` is the share of yeses within ``fast`` seconds after the card was shown."""

    name: str
    approved: int
    rejected: int
    shown: int
    median_seconds: float | None
    quick: float | None
    fullest_hour: int


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

    def to_json(self) -> dict[str, JSON]:
        """Return it for programs."""
        return {
            "since": rfc3339(self.since),
            "until": rfc3339(self.until),
            "fast_seconds": self.fast,
            "groups": [{**asdict(item), "tier": item.tier.value} for item in self.groups],
            "people": [asdict(item) for item in self.people],
            "broken_glasses": [item.to_json() for item in self.glasses],
            "seeded": None if self.seeded is None else self.seeded.to_json(),
        }


def report(store: Store, *, since: int, until: int, fast: float) -> Report:
    """Return how people decided what was asked from ``since`` on; ``fast`` is in seconds."""
    found = decided(store, since)
    grouped: dict[tuple[str, str, str], list[Decided]] = defaultdict(list)
    for item in found:
        grouped[item.key].append(item)
    groups = sorted((_group(key, items) for key, items in grouped.items()), key=lambda item: (-item.asked, item.tool))
    with store.read() as connection:
        broken = [one for one in afterlooks.entries(connection, everything=True) if one.is_open or one.at >= since]
    seen = seed_figures.team(store, since=since)
    return Report(since, until, fast, groups, _people(found, fast), broken, seen)


def decided(store: Store, since: int) -> list[Decided]:
    """Return every call that a person was asked about since then, oldest first."""
    row = proposals.c
    asked = sa.select(proposals).where(row.verdict == "review", row.created_at >= since, row.mode != OBSERVE)
    with store.read() as connection:
        rows = [from_row(found) for found in connection.execute(asked.order_by(row.created_at, row.id)).mappings()]
        later = sa.select(events.c.subject, events.c.kind, events.c.at, events.c.body)
        later = later.where(events.c.at >= since, events.c.kind.like("proposal.%") | (events.c.kind == SHOWN))
        told: dict[str, list[Any]] = defaultdict(list)
        for event in connection.execute(later.order_by(events.c.seq)):
            told[event.subject].append(event)
    return [_decided(proposal, told[proposal.id]) for proposal in rows]


def _decided(proposal: Proposal, told: Iterable[Any]) -> Decided:
    """Read the first answer, and when it had been shown to whoever gave it."""
    shown: dict[str, int] = {}
    for event in told:
        body: Mapping[str, Any] = json.loads(event.body) if event.body else {}
        by = str(body.get("by") or "")
        if event.kind == SHOWN:
            shown.setdefault(by, _moment(body.get("shown_at")) or event.at)
        elif event.kind != "proposal.recorded" and body.get("from") == State.PENDING.value:
            end = event.kind.removeprefix("proposal.")
            return Decided(proposal, end, by, event.at, shown.get(by))
    return Decided(proposal, State.PENDING.value, "", None, None)


def _moment(text: object) -> int | None:
    try:
        return micros_of(datetime.fromisoformat(str(text)))
    except (ValueError, TypeError):
        return None


def source_of_doubt(proposal: Proposal) -> str:
    """Return where the arguments that were not sufficient came from: the tool and field, without which call it was."""
    arguments = proposal.decision.get("arguments")
    found: set[str] = set()
    for report_ in arguments if isinstance(arguments, list) else []:
        if isinstance(report_, dict) and report_.get("sufficient") is False:
            origins = report_.get("origins")
            sources = [item for item in origins if isinstance(item, dict)] if isinstance(origins, list) else []
            found |= {_CALL.sub("", str(item.get("source")), count=1) for item in sources} or {NO_SOURCE}
    return ", ".join(sorted(found)) or NO_SOURCE


def _group(key: tuple[str, str, str], items: list[Decided]) -> Group:
    rule, tool, source = key
    counted = {end: sum(item.end == end for item in items) for end in ("approved", "rejected", "expired", "pending")}
    waits = [(item.at - item.proposal.created_at) / _SECOND for item in items if item.at and _is_person(item)]
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
        statistics.median(waits) if waits else None,
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
        if _is_person(item):
            by[item.by.removeprefix(_REVIEWER)].append(item)
    return [_person(name, items, fast) for name, items in sorted(by.items())]


def _is_person(item: Decided) -> bool:
    return item.by.startswith(_REVIEWER) and item.end in {"approved", "rejected"}


def _person(name: str, items: list[Decided], fast: float) -> Person:
    yes = [item for item in items if item.end == "approved"]
    seen = [item for item in items if item.shown_at is not None and item.at is not None]
    took = [(item.at - item.shown_at) / _SECOND for item in seen if item.at and item.shown_at]
    quick = [(item.at - item.shown_at) / _SECOND <= fast for item in seen if item in yes and item.at and item.shown_at]
    times = sorted(item.at for item in items if item.at)
    fullest = max((sum(start <= other < start + HOUR for other in times) for start in times), default=0)
    return Person(
        name,
        len(yes),
        len(items) - len(yes),
        len(seen),
        statistics.median(took) if took else None,
        sum(quick) / len(quick) if quick else None,
        fullest,
    )


__all__ = ["ALWAYS", "NEVER", "Decided", "Group", "Person", "Report", "decided", "report", "source_of_doubt"]
