"""The weekly report and who is on call, over HTTP: the same figures as on the page and in the terminal.

Guarantees: it takes a reviewer's token; of people each sees their own row alone; asking who is on call tells nobody
anything, and gives no right.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query

from checkvalve.approvals.report import WEEK, lately
from checkvalve.approvals.report_shown import MAX_DAYS, shown_to
from checkvalve.gateway.http_access import PROBLEMS, Server
from checkvalve.gateway.http_callers import Calling
from checkvalve.gateway.oncall_view import duties

router: Final = APIRouter(tags=["attention"])


@router.get("/report", responses=PROBLEMS)
def weekly(
    server: Server,
    caller: Calling,
    days: Annotated[int, Query(ge=1, le=MAX_DAYS, description="how many days back")] = WEEK,
) -> dict[str, Any]:
    """Return what is always approved, what never is, and how people decide. Takes a reviewer's token.

    A share of fewer than `least` cases is null, and its two counts are there. `people` is null: of people you see
    `mine` alone. With `few_people` the figures of how people look are left out.
    """
    reviewer, queue = caller.must_decide(), server.gateway.queue
    return shown_to(lately(queue.store, queue.clock(), days=days), reviewer.name).to_json()


@router.get("/oncall", responses=PROBLEMS)
def oncall(server: Server, caller: Calling) -> list[dict[str, Any]]:
    """Return who is on call now, as a step of escalation would be told, and who of them could approve nothing.

    Takes a reviewer's token. `failed` says why nobody is known.
    """
    caller.must_decide()
    return [one.to_json() for one in duties(server.gateway.queue)]


__all__ = ["router"]
