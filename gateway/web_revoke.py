"""The page's way to take an approval back before its call has begun.

Guarantees: the form carries the seal of this session and of exactly the record that was shown; whether this person may,
and whether the call has begun meanwhile, is decided in the transaction.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from fastapi.responses import Response

from checkvalve.approvals import revoking
from checkvalve.gateway.web_answers import MAX_NOTE, proven
from checkvalve.gateway.web_desk import Sent, back, link
from checkvalve.gateway.web_item import Id

router: Final = APIRouter()


@router.post("/items/{name}/revoke")
def revoke(sent: Sent, name: Id) -> Response:
    """Take the approval of a call back."""
    proposal = proven(sent, name, sent.get("shown"))
    note = sent.get("note")[:MAX_NOTE]
    revoking.revoke(sent.visit.desk.queue, proposal.id, sent.visit.reviewer, note, channel="web")
    return back(link(f"/items/{name}", done="revoked"))


__all__ = ["router"]
