"""The people who may decide: who they are, what they may do, inviting one, and taking somebody's right.

Guarantees: an administrator's page; a link that invites is shown once, to whoever made it; nobody is removed from the
record, since what they decided stays.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from fastapi.responses import Response

from checkvalve.approvals.errors import NotAllowedError, QueueError
from checkvalve.approvals.proofs import FRESH
from checkvalve.approvals.roles import Role, require_role
from checkvalve.gateway.web_desk import HOME, Looking, Posted, Sent, Stop, Visit, back, link
from checkvalve.gateway.web_text import line

PEOPLE: Final = f"{HOME}/people"
PRESET: Final = frozenset({Role.VIEWER, Role.RESPONDER, Role.APPROVER})
"""What somebody who is invited here may do, unless the form says something else."""
router: Final = APIRouter()


@router.get("/people")
def people(visit: Looking, done: str = "") -> Response:
    """List everybody who ever was a reviewer."""
    return _page(visit, notice=done)


def _page(
    visit: Visit, status: int = 200, *, notice: str = "", invited: str = "", name: str = "", problem: str = ""
) -> Response:
    queue = visit.desk.queue
    with queue.store.read() as connection:
        try:
            require_role(connection, visit.reviewer, Role.ADMINISTRATOR)
        except NotAllowedError:
            raise Stop(403, "administrator") from None
    added = {entry.name: entry for entry in queue.reviewers.list()}
    rows = [
        (
            one,
            line(one.name),
            line(one.person),
            line(one.owner),
            [role for role in Role if role in one.roles],
            added[one.name].added_at,
        )
        for one in queue.reviewers.accounts()
    ]
    return visit.page(
        "people.html",
        status,
        rows=rows,
        every=list(Role),
        preset=PRESET,
        invited=invited,
        invited_name=line(name),
        problem=line(problem),
        fresh=_is_fresh(visit),
        notice=notice,
    )


@router.post("/people/invite")
def invite(sent: Sent) -> Response:
    """Make a one-time link for somebody new, or for somebody who has lost every way in, and show it once."""
    visit, name = sent.visit, sent.get("name").strip()
    _require_fresh(sent)
    roles = [Role(word) for word in sent.form.get("role", []) if word in set(Role)]
    known = {one.name for one in visit.desk.queue.reviewers.accounts()}
    try:
        code = visit.desk.door.invitations.invite(name, by=visit.reviewer, roles=None if name in known else roles)
    except QueueError as error:
        return _page(visit, 422, problem=str(error))
    return _page(visit, invited=f"{visit.desk.origin}{HOME}/join/{code}", name=name)


@router.post("/people/disable")
def disable(sent: Sent) -> Response:
    """Take somebody's right to decide; their sessions end."""
    visit = sent.visit
    _require_fresh(sent)
    try:
        visit.desk.queue.reviewers.disable(sent.get("name"), by=visit.reviewer)
    except QueueError as error:
        return _page(visit, 422, problem=str(error))
    return back(f"{PEOPLE}?done=disabled")


def _is_fresh(visit: Visit) -> bool:
    return 0 <= visit.desk.queue.clock() - visit.session.proved <= FRESH


def _require_fresh(sent: Posted) -> None:
    if not _is_fresh(sent.visit):
        raise Stop(403, "prove", back=link("/prove", next=PEOPLE))


__all__ = ["PRESET", "router"]
