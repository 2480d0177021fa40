"""Looking at what a call's card does not show, over HTTP: a request of its own, that the log has before the answer.

Guarantees: it takes a reviewer's token with the role ``revealer``; a client sees the marks of its calls and no more;
the answer is not to be kept by anybody on the way.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Response

from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.reveals import require_may_reveal, reveal
from checkvalve.gateway.http_access import Server
from checkvalve.gateway.http_approval_views import Card
from checkvalve.gateway.http_approvals import DECIDING, Name, full_card, refused
from checkvalve.gateway.http_callers import Calling
from checkvalve.gateway.http_once import OnceRoute
from checkvalve.gateway.http_seed_items import to_act_on

router: Final = APIRouter(tags=["approvals"], route_class=OnceRoute)


@router.post("/approvals/{name}/reveal", responses=DECIDING)
def look(name: Name, server: Server, caller: Calling, response: Response) -> Card:
    """Show one call with its exact arguments. Takes a reviewer's token; the log says who looked, and at what."""
    reviewer = caller.must_decide()
    queue = server.gateway.queue
    row = to_act_on(server, caller, name, refusing=lambda found: require_may_reveal(queue, found, reviewer))
    try:
        found = reveal(queue, row.id, reviewer, channel="rest")
    except ApprovalError as error:
        raise refused(error) from error
    response.headers["ETag"] = f'"{found.digest}"'
    response.headers["Cache-Control"] = "no-store"
    return full_card(server, found, caller)


__all__ = ["router"]
