"""The page of standing in: who stands in for whom, hand over to a colleague, end it.

Guarantees: giving and ending need the seal of the session; one hands over only what is one's own, and the rules of
``checkvalve.approvals.delegations`` decide. Days are days in UTC, and both are counted in full.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Path
from fastapi.responses import Response

from checkvalve.approvals.clock import micros, to_the_second
from checkvalve.approvals.delegations import AHEAD, LONGEST, MAX_REASON, MIN_REASON, Delegation, Delegations
from checkvalve.approvals.errors import ConflictError, NotAllowedError, QueueError
from checkvalve.approvals.pages_data import PAGE
from checkvalve.approvals.roles import Role, account_of, accounts
from checkvalve.approvals.spans import moment_of
from checkvalve.gateway.web_desk import HOME, Looking, Sent, Stop, Visit, back
from checkvalve.gateway.web_text import Shown, line

PLACE: Final = f"{HOME}/delegations"
_DAY: Final = micros(timedelta(days=1))
_DATE: Final = 10  # characters of a day
HandedId = Annotated[str, Path(pattern=r"^[0-9a-f-]{36}$")]
router: Final = APIRouter()


@dataclass(frozen=True, slots=True)
class HandedView:
    """One hand-over as it stands; ``may_end`` says that this person may end it."""

    id: str
    state: str
    giver: Shown
    taker: Shown
    reason: Shown
    starts_at: int
    expires_at: int
    ended_at: int | None
    ended_by: Shown
    may_end: bool


@router.get("/delegations")
def listing(visit: Looking, done: str = "") -> Response:
    """Show who stands in for whom: those in force and to come, then those that are over."""
    queue = visit.desk.queue
    now, handing = queue.clock(), _handing(visit)
    found = handing.list(everything=True)
    held = [item for item in found if item.state(now) in {"in force", "to come"}]
    over = [item for item in reversed(found) if item not in held]
    with queue.store.read() as connection:
        mine = account_of(connection, visit.reviewer.name)
        others = [one.name for one in accounts(connection) if one.person != mine.person]
    admin = mine.has(Role.ADMINISTRATOR)
    return visit.page(
        "delegations.html",
        rows=[_view(item, now, visit.reviewer.name, admin=admin) for item in [*held, *over[:PAGE]]],
        more=max(0, len(over) - PAGE),
        others=[(name, line(name)) for name in others] if mine.has(Role.APPROVER) else [],
        today=to_the_second(now)[:_DATE],
        latest=to_the_second(now + micros(AHEAD + LONGEST))[:_DATE],
        days=LONGEST.days,
        least=MIN_REASON,
        most=MAX_REASON,
        notice=done,
    )


def _view(item: Delegation, now: int, reviewer: str, *, admin: bool) -> HandedView:
    held = item.ended_at is None and now < item.expires_at
    return HandedView(
        id=item.id,
        state=item.state(now),
        giver=line(item.giver),
        taker=line(item.taker),
        reason=line(item.reason, limit=MAX_REASON),
        starts_at=item.starts_at,
        expires_at=item.expires_at,
        ended_at=item.ended_at,
        ended_by=line(item.ended_by),
        may_end=held and (admin or reviewer in {item.giver, item.taker}),
    )


@router.post("/delegations")
def give(sent: Sent) -> Response:
    """Hand over to a colleague, from the first day to the last."""
    try:
        first, last = (moment_of(sent.get(name)[:_DATE]) for name in ("first", "last"))
        _handing(sent.visit).give(
            sent.visit.reviewer,
            sent.get("taker"),
            reason=sent.get("reason"),
            starts_at=first,
            expires_at=last + _DAY,
        )
    except QueueError as error:
        raise _no(error) from error
    return back(f"{PLACE}?done=handed")


@router.post("/delegations/{name}/end")
def end(sent: Sent, name: HandedId) -> Response:
    """End one at once."""
    try:
        _handing(sent.visit).end(name, sent.visit.reviewer)
    except QueueError as error:
        raise _no(error) from error
    return back(f"{PLACE}?done=handed.back")


def _handing(visit: Visit) -> Delegations:
    queue = visit.desk.queue
    return Delegations(queue.store, queue.clock, queue.reviewers)


def _no(error: QueueError) -> Stop:
    status = 403 if isinstance(error, NotAllowedError) else 409 if isinstance(error, ConflictError) else 422
    return Stop(status, "handed", str(error), back=PLACE)


__all__ = ["router"]
