"""What the pages show of standing rules: values as :class:`Shown`, codes and numbers as they are. Reads only."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from checkvalve.approvals.clock import micros
from checkvalve.approvals.moves import OBSERVE
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.redaction import Veil
from checkvalve.approvals.report import Group, report
from checkvalve.approvals.risk import Tier, tier_of
from checkvalve.approvals.standing import ANYBODY, Constraint, StandingRule
from checkvalve.approvals.standing_dryrun import LISTED, DryRun, PastCall
from checkvalve.approvals.standing_entry import StandingEntry
from checkvalve.gateway.web_text import Shown, line, shown

WEEK: Final = micros(timedelta(days=7))
FAST: Final = 2.0
"""Seconds in which nobody reads a card; only for the report's own figures."""


@dataclass(frozen=True, slots=True)
class ConstraintView:
    """What a rule says of one value: how, the values, and how else it may be bounded."""

    path: Shown
    name: str
    role: str
    kind: str
    how: str
    values: tuple[Shown, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PastView:
    """One covered call of the record."""

    id: str
    at: int
    end: str
    by: Shown
    requester: Shown
    within: bool


@dataclass(frozen=True, slots=True)
class RunView:
    """A dry run: what people refused comes first."""

    since: int
    looked: int
    covered: int
    saved: int
    rejected: int
    unreadable: int
    rows: tuple[PastView, ...]
    more: int


@dataclass(frozen=True, slots=True)
class RuleView:
    """A rule's words."""

    tool: Shown
    effect: str
    requester: Shown | None
    constraints: tuple[ConstraintView, ...]
    answers: tuple[str, ...]
    max_calls: int
    per_day: int
    max_amount: str
    max_total: str
    persons: int


@dataclass(frozen=True, slots=True)
class EntryView:
    """A stored rule as it stands."""

    id: str
    state: str
    rule: RuleView
    proposal_id: str
    made_by: Shown
    made_at: int
    confirmed_by: Shown
    expires_at: int
    ended_at: int | None
    ended_by: Shown
    used: str
    waits: bool
    holds: bool


@dataclass(frozen=True, slots=True)
class CardNote:
    """What a card says of standing rules: one that answered, one that no longer does, or that one may be made."""

    id: str = ""
    why: str = ""
    asked: str = ""
    may_be_made: bool = False


@dataclass(frozen=True, slots=True)
class Advice:
    """One line of the week's report: what is always approved, or never."""

    tool: Shown
    rule: str
    source: Shown
    asked: int
    approved: int
    tier: Tier
    kind: str
    example: str = field(default="")


def card_note(proposal: Proposal) -> CardNote:
    """Return what the card of a call says of standing rules."""
    told = proposal.decision.get("standing")
    known = told if isinstance(told, dict) else {}
    if "why" not in known and proposal.verdict_name != "allow":
        known = {}  # something else made it stricter again
    effect = str(proposal.decision.get("action") or "")
    asked = proposal.verdict_name == "review" and proposal.mode != OBSERVE
    may = proposal.state is State.SUCCEEDED and asked and tier_of(effect, proposal.rule) is not Tier.CRITICAL
    return CardNote(str(known.get("id") or ""), str(known.get("why") or ""), str(known.get("rule") or ""), may)


def rule_view(rule: StandingRule, veil: Veil) -> RuleView:
    """Return a rule for a page."""
    return RuleView(
        tool=line(rule.name),
        effect=rule.effect,
        requester=None if rule.requester == ANYBODY else line(rule.requester),
        constraints=tuple(_constraint(item, veil) for item in rule.constraints),
        answers=rule.answers,
        max_calls=rule.max_calls,
        per_day=rule.per_day,
        max_amount="" if rule.max_amount is None else format(rule.max_amount, "f"),
        max_total="" if rule.max_total is None else format(rule.max_total, "f"),
        persons=rule.persons,
    )


def _constraint(item: Constraint, veil: Veil) -> ConstraintView:
    values = tuple(shown(veil.bound(item.role, text)) for text in item.values)
    return ConstraintView(line(item.dotted()), item.dotted(), item.role, item.kind, item.how, values, item.others())


def entry_view(item: StandingEntry, veil: Veil) -> EntryView:
    """Return a stored rule for a page."""
    used = f"{len(item.used)} / {item.rule.max_calls}"
    if item.rule.max_total is not None:
        used += f", {item.spent:f} / {item.rule.max_total:f}"
    return EntryView(
        id=item.id,
        state=item.state,
        rule=rule_view(item.rule, veil),
        proposal_id=item.proposal_id,
        made_by=line(item.made_by),
        made_at=item.made_at,
        confirmed_by=line(item.confirmed_by),
        expires_at=item.expires_at,
        ended_at=item.ended_at,
        ended_by=line(item.ended_by),
        used=used,
        waits=item.state == "waiting",
        holds=item.state in {"waiting", "in force", "used up"},
    )


def run_view(run: DryRun) -> RunView:
    """Return a dry run for a page."""
    return RunView(
        since=run.since,
        looked=run.looked,
        covered=len(run.covered),
        saved=run.saved,
        rejected=len(run.rejected),
        unreadable=run.unreadable,
        rows=tuple(_past(item) for item in run.ordered()),
        more=sum(max(0, count - LISTED) for count in run.counts.values()),
    )


def _past(item: PastCall) -> PastView:
    return PastView(item.id, item.at, item.end, line(item.by), line(item.requester), item.within)


def advice(queue: Queue) -> list[Advice]:
    """Return what the last seven days say could be a rule, and what could be denied."""
    now = queue.clock()
    found = report(queue.store, since=now - WEEK, until=now, fast=FAST)
    return [_advice(group) for group in found.groups if group.advice]


def _advice(group: Group) -> Advice:
    kind = "never" if not group.approved else "grave" if group.tier is Tier.CRITICAL else "always"
    tool, source, example = line(group.tool), line(group.source), group.example
    return Advice(tool, group.rule, source, group.asked, group.approved, group.tier, kind, example)


__all__ = ["CardNote", "EntryView", "RuleView", "RunView", "advice", "card_note", "entry_view", "rule_view", "run_view"]
