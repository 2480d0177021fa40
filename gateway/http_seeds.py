"""Seeded items over HTTP: whether one has agreed, and what they showed.

Guarantees: everything here takes a reviewer's token; nobody is told another one's figures; auditors see which ids are
made up, and never whose they were.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from pydantic import BaseModel, Field

from checkvalve.approvals import seed_figures, seeds
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.http_access import Server
from checkvalve.gateway.http_approvals import LOOKING
from checkvalve.gateway.http_callers import Caller, Calling
from checkvalve.gateway.http_deciding import DECIDING, refused
from checkvalve.gateway.http_once import OnceRoute
from checkvalve.gateway.http_runs import RunServer

router: Final = APIRouter(tags=["attention"], route_class=OnceRoute)


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


__all__ = ["router"]
