"""The HTTP API of handing over: who stands in for whom, let somebody stand in for you, end it.

Guarantees: everything here takes a reviewer's token; one hands over only what is one's own; ending it is for giver,
taker and administrators.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, Path, Query, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from checkvalve.approvals.delegations import MAX_REASON, MIN_REASON, Delegations
from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.moments import micros_of
from checkvalve.gateway.http_access import PROBLEMS, Server
from checkvalve.gateway.http_callers import Calling
from checkvalve.gateway.http_once import OnceRoute
from checkvalve.gateway.http_problems import Problem, problem_of
from checkvalve.gateway.http_runs import RunServer

HandedId: TypeAlias = Annotated[str, Path(pattern=r"^[0-9a-f-]{36}$", description="the id of the hand-over")]
View: TypeAlias = dict[str, Any]
router: Final = APIRouter(tags=["delegations"], route_class=OnceRoute)


class NewDelegation(BaseModel):
    """Who stands in, why, and for how long; at most thirty days."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    taker: str = Field(min_length=1, max_length=200, description="the reviewer who stands in for you")
    note: str = Field(min_length=MIN_REASON, max_length=MAX_REASON, description="why; kept with it as its reason")
    starts_at: AwareDatetime | None = Field(None, description="RFC 3339; now where it is not given")
    expires_at: AwareDatetime = Field(description="RFC 3339")


@router.get("/delegations", responses=PROBLEMS)
def listing(
    server: Server,
    caller: Calling,
    *,
    everything: Annotated[bool, Query(alias="all", description="also those that are over")] = False,
) -> list[View]:
    """List who stands in for whom, now and from when on."""
    caller.must_decide()
    now = server.gateway.queue.clock()
    return [item.to_json(now) for item in _handing(server).list(everything=everything)]


@router.post("/delegations", status_code=201, responses=PROBLEMS)
def give(body: NewDelegation, server: Server, caller: Calling, response: Response) -> View:
    """Let a colleague say yes and no for you, with your roles, for a limited time."""
    giver = caller.must_decide()
    start = None if body.starts_at is None else _micros(body.starts_at)
    try:
        given = _handing(server).give(
            giver, body.taker, reason=body.note, starts_at=start, expires_at=_micros(body.expires_at)
        )
    except ApprovalError as error:
        raise _refused(error) from error
    response.headers["Location"] = f"/delegations/{given.id}"
    return given.to_json(server.gateway.queue.clock())


@router.delete("/delegations/{name}", responses=PROBLEMS)
def end(name: HandedId, server: Server, caller: Calling) -> View:
    """End it at once; a yes that was said because of it counts for no call that has not begun."""
    by = caller.must_decide()
    try:
        return _handing(server).end(name, by).to_json(server.gateway.queue.clock())
    except ApprovalError as error:
        raise _refused(error) from error


def _handing(server: RunServer) -> Delegations:
    queue = server.gateway.queue
    return Delegations(queue.store, queue.clock, queue.reviewers)


def _micros(when: datetime) -> int:
    return micros_of(when)


def _refused(error: ApprovalError) -> Problem:
    return problem_of(error, ("no_such_delegation", "there is no such hand-over", "list them: GET /delegations"))


__all__ = ["router"]
