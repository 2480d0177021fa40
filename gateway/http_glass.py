"""The HTTP API of emergencies: break the glass, see what waits for a look, write down what was found.

1. Breaking the glass takes a reviewer's token, the whole digest in ``If-Match``, a reason in words, and the person's
password: a program holds the token, so another one is no proof that a person is there. Who has a passkey uses the page.
Whether the glass may be broken at all is looked at before the password is: who may not learns nothing of it.
2. The look takes another reviewer's token.

Guarantees: tries of passwords are counted for the account, as at the door; a client's token sees and does nothing here.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from checkvalve.approvals.afterlooks import MAX_FINDING, MIN_FINDING, AfterLooks
from checkvalve.approvals.breakglass import (
    MAX_REASON,
    MIN_REASON,
    break_glass,
    checked_reason,
    require_may_break,
    require_worth_proving,
)
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.errors import ApprovalError, StoreError
from checkvalve.approvals.ladder import stuck_now
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.seed_cards import plan_of
from checkvalve.gateway.http_access import PROBLEMS, Server
from checkvalve.gateway.http_approval_views import Card, card
from checkvalve.gateway.http_callers import Caller, Calling
from checkvalve.gateway.http_deciding import DECIDING, Match, Name, Wanted, refused, wanted_of
from checkvalve.gateway.http_once import OnceRoute
from checkvalve.gateway.http_runs import RunServer
from checkvalve.gateway.http_seed_items import open_seed, to_act_on
from checkvalve.gateway.http_stepup import step_up

View: TypeAlias = dict[str, Any]
router: Final = APIRouter(tags=["emergencies"], route_class=OnceRoute)


class Breaking(BaseModel):
    """Why one person alone lets a call run, and the proof that this person is there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    note: str = Field(min_length=MIN_REASON, max_length=MAX_REASON, description="why; kept for ever")
    password: SecretStr = Field(min_length=1, max_length=300, description="the reviewer's, once more; no token")


class Finding(BaseModel):
    """What somebody found who looked afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    note: str = Field(min_length=MIN_FINDING, max_length=MAX_FINDING, description="what you found; kept for ever")
    disagreed: bool = Field(False, description="it should not have run")


@router.post("/approvals/{name}/break-glass", responses=DECIDING)
def break_(
    name: Name, body: Breaking, server: Server, caller: Calling, response: Response, if_match: Match = ""
) -> Card:
    """Let exactly this call run, once, by one person's word. Every channel is told; another person has to look."""
    reviewer = caller.must_decide()
    wanted, queue = wanted_of(if_match), server.gateway.queue
    row = to_act_on(server, caller, name, refusing=lambda found: _stays_whole(server, caller, found, wanted, body))
    try:
        require_worth_proving(queue, row, reviewer, wanted.digest, reason=body.note, channel="rest", seen=wanted.seen)
        proof = step_up(queue, row, reviewer, body.password.get_secret_value(), "break_glass")
        row = break_glass(
            queue,
            name,
            reviewer,
            wanted.digest,
            reason=body.note,
            step_up=proof,
            channel="rest",
            seen=wanted.seen,
        )
    except ApprovalError as error:
        raise refused(error) from error
    response.headers["ETag"] = f'"{row.digest}"'
    return card(queue.veiling.seen(row))


def _stays_whole(server: RunServer, caller: Caller, row: Proposal, wanted: Wanted, body: Breaking) -> None:
    """Tell an item what a real call would: whom it waits for can decide it alone, so there is no glass to break."""
    queue, item = server.gateway.queue, open_seed(server, caller, row.id)
    checked_reason(body.note)
    if item is not None:
        with queue.store.read() as connection:
            require_may_break(
                connection,
                queue,
                row,
                plan_of(item),
                caller.must_decide(),
                wanted.digest,
                at=queue.clock(),
                channel="rest",
            )


@router.get("/afterlooks", responses=PROBLEMS)
def listing(
    server: Server,
    caller: Calling,
    *,
    everything: Annotated[bool, Query(alias="all", description="also those that somebody has looked at")] = False,
) -> list[View]:
    """List the calls that ran by one person's word and that nobody has looked at yet."""
    caller.must_decide()
    return [item.to_json() for item in _looks(server).list(everything=everything)]


@router.post("/afterlooks/{name}/finding", responses=PROBLEMS)
def close(name: Name, body: Finding, server: Server, caller: Calling) -> View:
    """Write down what you found. Neither who broke the glass nor who asked for the call can."""
    reviewer = caller.must_decide()
    try:
        return _looks(server).close(name, reviewer, body.note, disagreed=body.disagreed).to_json()
    except StoreError:
        raise
    except ApprovalError as error:
        raise refused(error) from error


@router.get("/unreachable", responses=PROBLEMS)
def unreachable(server: Server, caller: Calling) -> list[View]:
    """List the calls that nobody can decide: too few enabled reviewers may."""
    caller.must_decide()
    found = stuck_now(server.gateway.queue)
    return [{"approval": name, "since": rfc3339(since)} for name, since in found.items()]


def _looks(server: RunServer) -> AfterLooks:
    queue = server.gateway.queue
    return AfterLooks(queue.store, queue.clock, queue.reviewers)


__all__ = ["router"]
