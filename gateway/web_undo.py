"""The answer of the review pages that asks for an undoing: a new question, which another person answers."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from fastapi.responses import Response

from checkvalve.gateway.web_answers import proven
from checkvalve.gateway.web_desk import Sent, Stop, back, link
from checkvalve.gateway.web_item import Id

router: Final = APIRouter()


@router.post("/items/{name}/undo")
def undo(sent: Sent, name: Id) -> Response:
    """Ask for the undoing of a call whose card was shown, and go on with the new question."""
    proposal = proven(sent, name, sent.get("shown"))
    point = sent.visit.desk.undo
    if point is None:
        raise Stop(409, "undo", back=link(f"/items/{name}"))
    asked = point.ask(proposal.id, sent.visit.reviewer)
    return back(link(f"/items/{asked.id}", done="undo"))


__all__ = ["router"]
