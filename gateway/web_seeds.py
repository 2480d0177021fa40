"""Seeded items on the pages: what they are, whether one has agreed, and what an answered one was.

Guarantees: an item is revealed to the one person it was made for, after the answer; figures of others are nobody's.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from fastapi.responses import Response

from checkvalve.approvals import seed_figures, seeds
from checkvalve.approvals.errors import NotFoundError
from checkvalve.gateway.web_desk import HOME, Looking, Sent, back
from checkvalve.gateway.web_item import Id
from checkvalve.gateway.web_text import line

router: Final = APIRouter()


@router.get("/attention/{name}")
def revealed(visit: Looking, name: Id) -> Response:
    """Say what an item was that this person has answered."""
    found = seeds.find(visit.desk.queue, name, visit.reviewer)
    if found is None or not found.answer:
        raise NotFoundError("there is no such item")
    told = found.revealed()
    shown = {key: line(str(told[key])) for key in ("tool", "path", "good", "bad")}
    return visit.page("revealed.html", caught=bool(told["caught"]), flaw=found.flaw, shown=shown, answer=found.answer)


@router.get("/attention")
def attention(visit: Looking, done: str = "") -> Response:
    """Show what seeded items are, whether one has agreed, one's own figures, and those of the team."""
    queue = visit.desk.queue
    mine = next((item for item in seeds.consents(queue) if item.reviewer == visit.reviewer.name), None)
    return visit.page(
        "attention.html",
        per_week=visit.desk.seeded_items,
        agreed=mine.agreed_at if mine is not None and mine.holds else None,
        own=seed_figures.own(queue.store, visit.reviewer),
        team=seed_figures.team(queue.store),
        least=seed_figures.MIN_PEOPLE,
        notice=done,
    )


@router.post("/attention/agree")
def agree(sent: Sent) -> Response:
    """Agree to be shown seeded items."""
    seeds.agree(sent.visit.desk.queue, sent.visit.reviewer)
    return back(f"{HOME}/attention?done=attention.agreed")


@router.post("/attention/withdraw")
def withdraw(sent: Sent) -> Response:
    """Take that back."""
    seeds.withdraw(sent.visit.desk.queue, sent.visit.reviewer)
    return back(f"{HOME}/attention?done=attention.withdrawn")


__all__ = ["router"]
