"""The HTTP API of what was given ahead of time: the mandates and endorsements of one's own runs.

Guarantees: a client sees, grants and takes back only what belongs to runs of its own name; data can be accepted only in
a review surface, never here.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, Path, Response

from checkvalve.approvals.bounds_shown import mandate_shown
from checkvalve.approvals.errors import ConflictError, NotFoundError
from checkvalve.approvals.still_given import accepted, granted
from checkvalve.gateway.http_access import PROBLEMS, Looker, Runner, Server, Thread
from checkvalve.gateway.http_causes import STATUS
from checkvalve.gateway.http_once import OnceRoute
from checkvalve.gateway.http_problems import Problem
from checkvalve.gateway.http_runs import NewMandate

Given: TypeAlias = Annotated[str, Path(pattern=r"^[0-9a-f-]{6,36}$")]
View: TypeAlias = dict[str, Any]
router: Final = APIRouter(route_class=OnceRoute)


@router.get("/runs/{thread}/mandates", responses=PROBLEMS)
def mandates(thread: Thread, server: Server, client: Looker) -> list[View]:
    """List the mandates of a run, ended ones too."""
    server.own(thread, client)
    queue = server.gateway.queue
    veil, now = queue.veiling.veil(thread), queue.clock()
    return [mandate_shown(item.to_json(now), veil) for item in granted(queue, thread=thread)]


@router.post("/runs/{thread}/mandates", status_code=201, responses=PROBLEMS)
def grant(thread: Thread, body: NewMandate, server: Server, client: Runner, response: Response) -> View:
    """Let a source fill roles of a tool in this run, within limits. The same mandate again is the same one."""
    server.own(thread, client)
    (found,) = server.give(thread, client, [body.value()])
    response.headers["Location"] = f"/runs/{thread}/mandates/{found.id}"
    queue = server.gateway.queue
    return mandate_shown(found.to_json(queue.clock()), queue.veiling.veil(thread))


@router.delete("/runs/{thread}/mandates/{given}", responses=PROBLEMS)
def revoke(thread: Thread, given: Given, server: Server, client: Runner) -> View:
    """Take a mandate back: calls that rely on it and have not run yet will not."""
    server.own(thread, client)
    queue = server.gateway.queue
    try:
        found = queue.mandates.find(given, thread=thread)
        ended = queue.mandates.take_back(found.id, by=f"client:{client.name}")
    except NotFoundError as error:
        raise _unknown("mandate") from error
    except ConflictError as error:
        raise _ended(error, "mandate") from error
    return mandate_shown(ended.to_json(queue.clock()), queue.veiling.veil(thread))


@router.get("/runs/{thread}/endorsements", responses=PROBLEMS)
def endorsements(thread: Thread, server: Server, client: Looker) -> list[View]:
    """List the data that people accepted in a run. Values are content: show them as text and nothing else."""
    server.own(thread, client)
    queue = server.gateway.queue
    return [item.to_json(queue.clock()) for item in queue.veiling.accepted(accepted(queue, thread=thread))]


@router.delete("/runs/{thread}/endorsements/{given}", responses=PROBLEMS)
def take_back(thread: Thread, given: Given, server: Server, client: Runner) -> View:
    """Take accepted data back: calls that rely on it and have not run yet will not."""
    server.own(thread, client)
    queue = server.gateway.queue
    try:
        found = queue.endorsed.take_back(given, thread=thread, by=f"client:{client.name}")
        return queue.veiling.accepted([found])[0].to_json(queue.clock())
    except NotFoundError as error:
        raise _unknown("endorsement") from error
    except ConflictError as error:
        raise _ended(error, "endorsement") from error


def _ended(error: ConflictError, what: str) -> Problem:
    remedy = f"see GET /runs/{{thread}}/{what}s"
    return Problem(STATUS[error.cause], f"{what}_ended", error.message, remedy, cause=error.cause)


def _unknown(what: str) -> Problem:
    return Problem(404, f"no_such_{what}", f"this run has no such {what}", f"list them: GET /runs/{{thread}}/{what}s")


__all__ = ["router"]
