"""The HTTP API around an open call that decides nothing: ask back and answer, put off, take back.

1. A reviewer asks, and puts questions off for himself; who asked for the call answers, and takes it back: with the
token that acts in that name, or as a reviewer of that name. 2. A request that says something names the call by its
digest, and under an ``Idempotency-Key`` it says so once.

Guarantees: an answer is kept with the credential it came by, and is shown as unverified words of that author; it is no
part of any decision; the clock of the call goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Response
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from checkvalve.approvals import remarks, responding, snoozes
from checkvalve.approvals.calling import call_others
from checkvalve.approvals.canonical import digest
from checkvalve.approvals.causes import Cause
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.records import Proposal
from checkvalve.gateway.http_access import Server
from checkvalve.gateway.http_approval_views import Card
from checkvalve.gateway.http_approvals import full_card
from checkvalve.gateway.http_callers import Caller, Calling
from checkvalve.gateway.http_deciding import DECIDING, Key, Match, Name, refused, wanted_of
from checkvalve.gateway.http_deciding import was_done as done_before
from checkvalve.gateway.http_once import OnceRoute
from checkvalve.gateway.http_problems import Problem
from checkvalve.gateway.http_runs import RunServer
from checkvalve.gateway.http_seed_items import to_act_on

_MICROS: Final = 1_000_000
_YEARS: Final = range(1970, 9_999)
T = TypeVar("T")
router: Final = APIRouter(tags=["approvals"], route_class=OnceRoute)


class Text(BaseModel):
    """Something to say about a call."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    note: str = Field(min_length=1, max_length=remarks.MAX_TEXT, description="what you say, as plain text")


def _plain(moment: datetime) -> datetime:
    if moment.year not in _YEARS:
        raise ValueError("no such moment")
    return moment


class Until(BaseModel):
    """Until when a question is put off."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    until: Annotated[AwareDatetime, AfterValidator(_plain)] = Field(description="RFC 3339, before `decide_by`")


class PutOff(BaseModel):
    """What became of putting a question off."""

    id: str
    until: str
    hidden: bool = Field(description="false where everybody who may say yes has put it off: then it waits for all")
    decide_by: str = Field(description="its clock goes on")


@router.post("/approvals/{name}/question", responses=DECIDING)
def question(  # each is a part of the request
    name: Name,
    body: Text,
    server: Server,
    caller: Calling,
    response: Response,
    *,
    if_match: Match = "",
    idempotency_key: Key = "",
) -> Card:
    """Ask whoever asked for a call. Takes a reviewer's token."""
    reviewer = caller.must_decide()
    row, told = _said(
        server, caller, name, if_match=if_match, key=idempotency_key, text=body.note, by=f"reviewer:{reviewer.name}"
    )
    if told:
        response.headers["Idempotency-Replayed"] = "true"
    else:
        _do(lambda: remarks.ask(server.gateway.queue, name, reviewer, body.note))
    return full_card(server, row, caller)


@router.post("/approvals/{name}/answer", responses=DECIDING)
def answer(  # each is a part of the request
    name: Name,
    body: Text,
    server: Server,
    caller: Calling,
    response: Response,
    *,
    if_match: Match = "",
    idempotency_key: Key = "",
) -> Card:
    """Answer what a reviewer asked, as whoever asked for the call; a reviewer who is not adds a reply."""
    require_run(caller)  # before the key is taken: a token that only reads must not use up that of another one
    by = f"client:{caller.client.name}" if caller.client is not None else f"reviewer:{caller.must_decide().name}"
    row, told = _said(server, caller, name, if_match=if_match, key=idempotency_key, text=body.note, by=by)
    if told:
        response.headers["Idempotency-Replayed"] = "true"
    else:
        _do(lambda: _answered(server, caller, name, body.note))
    return full_card(server, row, caller)


def _answered(server: RunServer, caller: Caller, name: str, text: str) -> object:
    queue = server.gateway.queue
    if caller.client is not None:
        return remarks.answer(queue, name, text, means="client", name=caller.client.name)
    return remarks.reply(queue, name, caller.must_decide(), text)


def require_run(caller: Caller) -> None:
    """Make sure that a client's token may do more than look.

    Raises:
        Problem: it may not.
    """
    if caller.client is not None and "run" not in caller.client.scopes:
        text = "this token lacks the scope run"
        raise Problem(403, "not_allowed", text, "use a token that has it", cause=Cause.SCOPE_MISSING)


def _said(
    server: RunServer, caller: Caller, name: str, *, if_match: str, key: str, text: str, by: str
) -> tuple[Proposal, bool]:
    """Return the call, and whether this very request was done before."""
    wanted = wanted_of(if_match)
    row = to_act_on(server, caller, name, wanted=wanted, refusing=lambda _: remarks.checked_text(text))
    _do(lambda: wanted.require_digest(row))
    made = partial(_made, by, digest(text.strip()))
    told = done_before(server, by, key, [name, "says", text], name, made)
    if not told:
        _do(lambda: wanted.require_seen(server, row))
    return row, told


def _made(by: str, text: str, kind: str, body: Mapping[str, Any]) -> bool:
    return kind.startswith("remark.") and (body.get("by"), body.get("text_digest")) == (by, text)


@router.post("/approvals/{name}/snooze", responses=DECIDING)
def snooze(name: Name, body: Until, server: Server, caller: Calling) -> PutOff:
    """Put a question off, for yourself alone. Takes a reviewer's token; sending it again moves the moment."""
    reviewer, queue = caller.must_decide(), server.gateway.queue
    until = int(body.until.astimezone(UTC).timestamp() * _MICROS)
    row = to_act_on(server, caller, name, refusing=lambda found: snoozes.require_ahead(found, until, queue.clock()))
    hidden = _do(lambda: snoozes.snooze(queue, name, reviewer, until))
    return PutOff(id=name, until=rfc3339(until), hidden=hidden, decide_by=rfc3339(row.decide_by))


@router.delete("/approvals/{name}/snooze", status_code=204, responses=DECIDING)
def wake(name: Name, server: Server, caller: Calling) -> None:
    """Take a question back into your own queue."""
    reviewer = caller.must_decide()
    to_act_on(server, caller, name, refusing=partial(_refuse, snoozes.not_put_off()))
    _do(lambda: snoozes.wake(server.gateway.queue, name, reviewer))


class Called(BaseModel):
    """Who was called to a question."""

    id: str
    who: list[str]


@router.post("/approvals/{name}/escalate", responses=DECIDING)
def escalate(name: Name, server: Server, caller: Calling) -> Called:
    """Call others to an open question now, once; it goes on waiting. Takes a reviewer's token."""
    reviewer, queue = caller.must_decide(), server.gateway.queue
    to_act_on(server, caller, name)
    return Called(id=name, who=[*_do(lambda: call_others(queue, name, reviewer, channel="rest"))])


@router.post("/approvals/{name}/cancel", responses=DECIDING)
def cancel(name: Name, server: Server, caller: Calling, *, if_match: Match = "") -> Card:
    """Take an open question back, as whoever asked it. Sending it again finds it taken back."""
    wanted = wanted_of(if_match)
    row = to_act_on(server, caller, name, wanted=wanted, refusing=partial(_refuse, responding.not_yours()))
    _do(lambda: wanted.require_digest(row))
    queue = server.gateway.queue
    by = f"client:{caller.client.name}" if caller.client is not None else f"reviewer:{caller.must_decide().name}"
    if (row.code, row.decided_by) == (responding.CANCELLED, by):
        return full_card(server, row, caller)
    require_run(caller)
    _do(lambda: wanted.require_seen(server, row))
    if caller.client is not None:
        client = caller.client.name
        found = _do(lambda: responding.cancel(queue, name, means="client", name=client))
    else:
        found = _do(lambda: responding.cancel_as(queue, name, caller.must_decide()))
    return full_card(server, found, caller)


def _refuse(error: ApprovalError, _: Proposal) -> None:
    raise error


def _do(act: Callable[[], T]) -> T:
    """Do one thing, and tell a no as a problem."""
    try:
        return act()
    except ApprovalError as error:
        raise refused(error) from error


__all__ = ["router"]
