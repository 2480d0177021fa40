"""Looking at what a card does not show, on the pages: a form of its own, and the card once, with nothing left out.

Guarantees: the form carries the seal of the session for this address, the right is checked and the look is in the log
before anything is shown; the page is the answer to that form and to nothing else, so no link leads there, and nothing
keeps it: looking again is another look in the log.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from fastapi.responses import Response

from checkvalve.approvals.reveals import reveal
from checkvalve.gateway.web_desk import Sent
from checkvalve.gateway.web_item import Id, show_card
from checkvalve.gateway.web_item_parts import show_bytes

router: Final = APIRouter()


@router.post("/items/{name}/reveal")
def look(sent: Sent, name: Id) -> Response:
    """Show one card with nothing left out, or the bytes of its call."""
    row = reveal(sent.visit.desk.queue, name, sent.visit.reviewer, channel="web")
    if sent.get("what") == "bytes":
        start = sent.get("start")
        first = int(start) if start.isascii() and start.isdigit() and len(start) < 13 else 0  # noqa: PLR2004  # digits
        return show_bytes(sent.visit, row, first)
    return show_card(sent.visit, row)


__all__ = ["router"]
