"""What a standing rule would have done: every recorded call that it would have let through, before it is saved.

1. Take the calls of the tool on the server since a moment, from the record, oldest first. 2. Which does the rule cover,
by the very code that judges live calls? Digests of the tool and limits do not matter for that: what people said of the
call before the tool changed counts. 3. How did each end: refused by a person, approved, denied by a rule, run out,
still open? 4. How many questions would the rule have saved within its limits?

Guarantees: reads only; a call is refused by a person when somebody rejected it, voted no, or changed it before saying
yes; nothing that a person refused may be covered by a rule that is saved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import plans
from checkvalve.approvals.clock import micros, rfc3339
from checkvalve.approvals.errors import ConflictError, StoreCorruptError
from checkvalve.approvals.records import Proposal, State, from_row
from checkvalve.approvals.review_tables import plans as plan_rows
from checkvalve.approvals.review_tables import votes
from checkvalve.approvals.standing import ANYBODY, PREFIX, StandingRule
from checkvalve.approvals.standing_cover import amount_of, covers
from checkvalve.approvals.standing_draft import asked_call
from checkvalve.approvals.standing_entry import DAY
from checkvalve.approvals.tables import grants, proposals
from checkvalve.filters.strictjson import JSON

SPAN: Final = micros(timedelta(days=30))
"""How far back a rule is tried at least before it is saved."""
LISTED: Final = 50
"""Calls of one kind that a report lists; the others are counted."""
ENDS: Final = ("rejected", "denied", "unanswered", "open", "approved", "standing")
"""How a covered call ended, what people have to look at first."""
_REVIEWER: Final = "reviewer:"
_EDITED: Final = "edited"
_CHUNK: Final = 500


@dataclass(frozen=True, slots=True)
class PastCall:
    """One recorded call that the rule covers: how it ended, by whom, and whether its limits would have reached it."""

    id: str
    at: int
    end: str
    by: str
    code: str
    requester: str
    thread: str
    within: bool

    def to_json(self) -> dict[str, JSON]:
        """Return it for programs: names and moments, no values."""
        return {
            "id": self.id,
            "at": rfc3339(self.at),
            "end": self.end,
            "by": self.by,
            "code": self.code,
            "requester": self.requester,
            "thread": self.thread,
            "within_limits": self.within,
        }


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a rule would have done over a span; times are microseconds. ``looked`` is how many calls of the tool."""

    since: int
    until: int
    looked: int
    covered: tuple[PastCall, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    saved: int = 0
    unreadable: int = 0

    @property
    def rejected(self) -> tuple[PastCall, ...]:
        """The calls that people refused and the rule would have let through."""
        return tuple(item for item in self.covered if item.end == "rejected")

    def ordered(self) -> list[PastCall]:
        """Return the covered calls: those that people refused first, of each kind the newest :data:`LISTED`."""
        found: list[PastCall] = []
        for end in ENDS:
            found += [item for item in reversed(self.covered) if item.end == end][:LISTED]
        return found

    def require_clean(self) -> None:
        """Refuse a rule that would have let through what a person refused.

        Raises:
            ConflictError: it would have.
        """
        if self.rejected:
            raise ConflictError(
                f"people refused {len(self.rejected)} of the calls that this rule would have let through",
                remedy="nothing was saved; make the rule narrower, and look at the dry run",
            )

    def to_json(self) -> dict[str, JSON]:
        """Return it for programs."""
        return {
            "since": rfc3339(self.since),
            "until": rfc3339(self.until),
            "calls_of_the_tool": self.looked,
            "would_have_let_through": len(self.covered),
            "rejected_by_people": len(self.rejected),
            "questions_saved": self.saved,
            "unreadable": self.unreadable,
            "may_be_saved": not self.rejected,
            "ends": {name: self.counts.get(name, 0) for name in ENDS},
            "calls": [item.to_json() for item in self.ordered()],
        }


@dataclass(frozen=True, slots=True)
class Trial:
    """A rule that was not saved: what it says, what it would have done, and how many people have to agree."""

    rule: StandingRule
    run: DryRun
    proposal_id: str
    days: int

    def to_json(self) -> dict[str, JSON]:
        """Return it for programs."""
        return {
            "approval": self.proposal_id,
            "rule": self.rule.to_json(),
            "in_words": self.rule.in_words(),
            "days": self.days,
            "persons_needed": self.rule.persons,
            "dry_run": self.run.to_json(),
        }


def dry_run(connection: sa.Connection, rule: StandingRule, *, tenant: str, since: int, until: int) -> DryRun:
    """Return what a rule would have done from ``since`` on."""
    row = proposals.c
    query = sa.select(proposals).where(row.tool == rule.tool, row.server == rule.server)
    query = query.where(row.created_at >= since, row.created_at <= until).order_by(row.created_at, row.id)
    found, looked, unreadable = list[tuple[Proposal, Decimal]](), 0, 0
    for stored in connection.execute(query).mappings():
        looked += 1
        try:
            proposal = from_row(stored)
            if (amount := _covered(rule, proposal)) is not None:
                found.append((proposal, amount))
        except StoreCorruptError:
            unreadable += 1  # changed behind the gateway's back: `audit verify` names it
    ours = _ours(connection, tenant, [proposal.id for proposal, _ in found])
    found = [item for item in found if item[0].id in ours]
    ends = dict(_ends(connection, [proposal for proposal, _ in found]))
    calls = tuple(_past(proposal, ends[proposal.id], within=within) for proposal, within in _limited(rule, found))
    saved = sum(item.within and item.end not in {"denied", "standing"} for item in calls)
    return DryRun(since, until, looked, calls, Counter(item.end for item in calls), saved, unreadable)


def _covered(rule: StandingRule, proposal: Proposal) -> Decimal | None:
    """Return what a recorded call moves, if the rule covers it; None if it does not."""
    if rule.requester not in {ANYBODY, proposal.requester} or not proposal.decision.get("facts"):
        return None
    asked = asked_call(proposal)
    if proposal.verdict_name == "allow" and not proposal.rule.startswith(PREFIX):
        return None  # nobody would have been asked
    if proposal.verdict_name == "deny":  # what the policy asked, and something else refused: it stays refused
        asked = replace(asked, rules=tuple(name for name in asked.rules if name != proposal.rule))
    return amount_of(rule, asked) if covers(rule, asked) else None


def _ours(connection: sa.Connection, tenant: str, names: list[str]) -> set[str]:
    """Return the calls of this tenant; one without a plan may be anybody's, so it counts."""
    found = set(names)
    for part in _parts(names):
        planned = connection.execute(sa.select(plan_rows.c.proposal_id).where(plan_rows.c.proposal_id.in_(part)))
        for name, plan in plans.read_all(connection, list(planned.scalars())).items():
            if plan.tenant != tenant:
                found.discard(name)
    return found


def _ends(connection: sa.Connection, rows: list[Proposal]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield how each call ended for those who look at a rule, and by whose word."""
    names = [row.id for row in rows]
    noes, yeses = set[str](), dict[str, str]()
    for part in _parts(names):
        said_no = sa.select(votes.c.proposal_id).where(votes.c.proposal_id.in_(part), votes.c.vote == "no")
        given = sa.select(grants.c.proposal_id, grants.c.issued_by).where(
            grants.c.proposal_id.in_(part), grants.c.issued_by.startswith(_REVIEWER)
        )
        noes |= set(connection.execute(said_no).scalars())
        yeses |= {str(name): str(by) for name, by in connection.execute(given)}
    for row in rows:
        changed = row.state is State.SUPERSEDED and row.code == _EDITED
        if row.state in {State.REJECTED, State.REVOKED} or row.id in noes or changed:
            yield row.id, ("rejected", row.decided_by)
        elif row.verdict_name == "deny":
            yield row.id, ("denied", f"rule:{row.rule}")
        elif row.verdict_name == "allow":
            yield row.id, ("standing", f"rule:{row.rule}")
        elif row.id in yeses:
            yield row.id, ("approved", yeses[row.id])
        else:
            yield row.id, ("open" if row.state is State.PENDING else "unanswered", row.decided_by)


def _limited(rule: StandingRule, found: Iterable[tuple[Proposal, Decimal]]) -> Iterator[tuple[Proposal, bool]]:
    """Yield each covered call, and whether the limits would have reached so far."""
    taken: list[tuple[int, Decimal]] = []
    for proposal, amount in found:
        lately = sum(at > proposal.created_at - DAY for at, _ in taken)
        total = sum((moved for _, moved in taken), amount)
        enough = len(taken) < rule.max_calls and lately < rule.per_day
        within = enough and (rule.max_total is None or total <= rule.max_total)
        if within:
            taken.append((proposal.created_at, amount))
        yield proposal, within


def _past(row: Proposal, end: tuple[str, str], *, within: bool) -> PastCall:
    return PastCall(row.id, row.created_at, *end, row.code, row.requester, row.thread, within)


def _parts(names: list[str]) -> Iterator[list[str]]:
    yield from (names[at : at + _CHUNK] for at in range(0, len(names), _CHUNK))


__all__ = ["ENDS", "LISTED", "SPAN", "DryRun", "PastCall", "Trial", "dry_run"]
