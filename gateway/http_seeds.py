"""Seeded items over HTTP: shown to the one person they were made for like any other call, and revealed at once.

Guarantees: a client's token, and every other reviewer's, never gets one; nothing that comes before the answer says what
it is; auditors see which ids are made up at ``/attention/items``.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from checkvalve.approvals import seed_figures, seeds
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.seed_cards import as_question, standing_of
from checkvalve.approvals.seeds import Seed
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway import http_approvals
from checkvalve.gateway.http_access import Server
from checkvalve.gateway.http_approval_views import Answer, Card, Decisions, card
from checkvalve.gateway.http_approvals import LOOKING, Wait
from checkvalve.gateway.http_callers import Caller, Calling
from checkvalve.gateway.http_deciding import DECIDING, Key, Match, Name, digest_of, refused, require_digest
from checkvalve.gateway.http_runs import RunServer

router: Final = APIRouter(tags=["attention"])
_SAID: Final = {"approve": seeds.YES, "reject": seeds.NO}


class Figures(BaseModel):
    """How many made-up questions somebody saw."""

    caught: int
    missed: int
    rate: float | None


class Attention(BaseModel):
    """Made-up questions: whether you agreed, and what they showed."""

    per_week: int = Field(description="at most, for each person who has agreed; 0: the settings make none")
    agreed_at: str | None
    own: Figures = Field(description="yours; nobody else is told them")
    team: Figures | None = Field(description="of everybody together; null where too few people have answered")


class Marked(BaseModel):
    """An id that was made up, for auditors."""

    id: str
    seeded: bool
    state: str


def open_seed(server: RunServer, caller: Caller, name: str) -> Seed | None:
    """Return an item that waits for the caller, None where there is none with this id."""
    if caller.reviewer is None:
        return None
    found = seeds.find(server.gateway.queue, name, caller.reviewer)
    return found if found is not None and not found.answer else None


def _card(server: RunServer, seed: Seed, **more: Any) -> Card:
    row = server.gateway.queue.veiling.seen(as_question(seed))
    return card(row, standing=standing_of(seed)).model_copy(update=more)


@router.get("/approvals/{name}", include_in_schema=False)
async def show(name: Name, server: Server, caller: Calling, response: Response, wait: Wait = 0) -> Card:
    """Show a call, or an item that looks like one."""
    found = open_seed(server, caller, name)
    if found is None:
        return await http_approvals.show(name, server, caller, response, wait)
    response.headers["ETag"] = f'"{found.body["digest"]}"'
    response.headers["Cache-Control"] = "no-store"
    return _card(server, found)


@router.post("/approvals/{name}/decision", include_in_schema=False)
def decide(  # each is a part of the request
    name: Name,
    body: Answer | Decisions,
    server: Server,
    caller: Calling,
    response: Response,
    *,
    if_match: Match = "",
    idempotency_key: Key = "",
) -> Card:
    """Decide a call, or an item: then the answer says what it was, with ``state`` as ``revealed``."""
    found = open_seed(server, caller, name)
    if found is None:
        return http_approvals.decide(
            name, body, server, caller, response, if_match=if_match, idempotency_key=idempotency_key
        )
    said = body.decisions[0] if isinstance(body, Decisions) else body
    try:
        require_digest(as_question(found), digest_of(if_match))
        closed = seeds.answer(server.gateway.queue, name, caller.must_decide(), _SAID.get(said.type, seeds.DOUBT))
    except ApprovalError as error:
        raise refused(error) from error
    return _card(server, closed, state="revealed", seeded=closed.revealed())


@router.get("/attention", responses=LOOKING)
def attention(server: Server, caller: Calling) -> Attention:
    """Say whether you have agreed to made-up questions, and what they showed. Takes a reviewer's token."""
    queue, reviewer = server.gateway.queue, caller.must_decide()
    return _attention(server, reviewer, queue.store)


@router.post("/attention/agree", responses=DECIDING)
def agree(server: Server, caller: Calling) -> Attention:
    """Agree to be shown made-up questions now and then. Takes a reviewer's token."""
    return _changed(server, caller, seeds.agree)


@router.post("/attention/withdraw", responses=DECIDING)
def withdraw(server: Server, caller: Calling) -> Attention:
    """Take that back; what is open is closed. Takes a reviewer's token."""
    return _changed(server, caller, seeds.withdraw)


@router.get("/attention/items", responses=LOOKING)
def items(server: Server, caller: Calling) -> list[Marked]:
    """List which ids are made up and how they ended, never whose they were. Takes an auditor's token."""
    try:
        found = seeds.listed(server.gateway.queue, caller.must_decide())
    except ApprovalError as error:
        raise refused(error) from error
    return [Marked.model_validate(one) for one in found]


def _changed(server: RunServer, caller: Caller, act: Any) -> Attention:
    reviewer = caller.must_decide()
    try:
        act(server.gateway.queue, reviewer)
    except ApprovalError as error:
        raise refused(error) from error
    return _attention(server, reviewer, server.gateway.queue.store)


def _attention(server: RunServer, reviewer: Reviewer, store: Any) -> Attention:
    mine = next((one for one in seeds.consents(server.gateway.queue) if one.reviewer == reviewer.name), None)
    team = seed_figures.team(store)
    own: dict[str, JSON] = seed_figures.own(store, reviewer).to_json()
    return Attention(
        per_week=server.gateway.settings.seeded_items,
        agreed_at=rfc3339(mine.agreed_at) if mine is not None and mine.holds else None,
        own=Figures.model_validate(own),
        team=None if team is None else Figures.model_validate(team.to_json()),
    )


__all__ = ["open_seed", "router"]
