"""What pages say of emergencies: a glass that may be broken or was, what nobody can decide, what waits for a look.

Guarantees: words of people are in :class:`Shown` and nowhere else; everything is checked again when somebody acts.
"""

from __future__ import annotations

from dataclasses import dataclass

from checkvalve.approvals import afterlooks
from checkvalve.approvals.afterlooks import AfterLook
from checkvalve.approvals.breakglass import MAX_REASON, MIN_REASON, may_break
from checkvalve.approvals.card import named
from checkvalve.approvals.handed import BROKEN
from checkvalve.approvals.ladder import stuck_now
from checkvalve.approvals.records import Proposal
from checkvalve.gateway.web_desk import Visit
from checkvalve.gateway.web_text import Shown, line

MAX_LISTED = 20
"""Calls that one banner lists."""


@dataclass(frozen=True, slots=True)
class LookView:
    """One call that ran by one person's word, and what another one found."""

    id: str
    tool: Shown
    state: str
    by: Shown
    at: int
    reason: Shown
    looked_by: Shown
    looked_at: int | None
    finding: Shown
    is_own: bool = False
    disagreed: bool = False


@dataclass(frozen=True, slots=True)
class GlassView:
    """One card's part. ``may`` says that this person may break the glass; ``broken`` that somebody has."""

    may: bool
    broken: bool
    look: LookView | None
    least: int = MIN_REASON
    most: int = MAX_REASON


@dataclass(frozen=True, slots=True)
class UrgentView:
    """The banner of the queue: calls that nobody can decide (id, tool, since when), and how many wait for a look."""

    unreachable: tuple[tuple[str, Shown, int], ...]
    more: int
    open_looks: int


def glass_view(visit: Visit, proposal: Proposal) -> GlassView:
    """Return what the card of a call says of the glass."""
    queue = visit.desk.queue
    broken = proposal.code == BROKEN or proposal.decided_by.startswith("breakglass:")
    with queue.store.read() as connection:
        found = afterlooks.find(connection, proposal.id)
    look = None if found is None else look_view(found, proposal, visit.reviewer.name)
    return GlassView(may_break(queue, proposal, visit.reviewer), broken or found is not None, look)


def look_view(item: AfterLook, proposal: Proposal, reviewer: str) -> LookView:
    """Return one after-look for a page."""
    return LookView(
        id=item.proposal_id,
        tool=line(proposal.tool),
        state=proposal.state.value,
        by=line(item.by),
        at=item.at,
        reason=line(item.reason, limit=MAX_REASON),
        looked_by=line(item.looked_by),
        looked_at=item.looked_at,
        finding=line(item.finding, limit=afterlooks.MAX_FINDING),
        is_own=item.by == reviewer,
        disagreed=item.disagreed,
    )


def urgent_view(visit: Visit) -> UrgentView:
    """Return the banner of the queue."""
    queue = visit.desk.queue
    lost = list(stuck_now(queue).items())
    with queue.store.read() as connection:
        open_ = afterlooks.count_open(connection)
    rows = tuple((name, line(named(queue.get(name))), since) for name, since in lost[:MAX_LISTED])
    return UrgentView(rows, max(0, len(lost) - MAX_LISTED), open_)


__all__ = ["GlassView", "LookView", "UrgentView", "glass_view", "look_view", "urgent_view"]
