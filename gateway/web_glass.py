"""The pages of emergencies: break the glass on a card, see what waits for a look, write down what was found.

Guarantees: breaking the glass takes the seal over what was shown, the typed start of the digest, a reason in words, and
a fresh proof of who it is, for this very glass; whatever fails, nothing is decided and a page says why.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from checkvalve.approvals.afterlooks import MAX_FINDING, MIN_FINDING, AfterLooks
from checkvalve.approvals.breakglass import MAX_REASON, MIN_REASON, break_glass, require_worth_proving
from checkvalve.approvals.errors import ConflictError, DigestError, NotAllowedError, QueueError
from checkvalve.approvals.pages_data import PAGE
from checkvalve.approvals.queue import match_digest
from checkvalve.gateway.web_answers import proven
from checkvalve.gateway.web_desk import HOME, Looking, Sent, Stop, back, link
from checkvalve.gateway.web_glass_view import look_view
from checkvalve.gateway.web_item import Id
from checkvalve.gateway.web_prove import step_up_of

LOOKS: Final = f"{HOME}/afterlooks"
router: Final = APIRouter()


@router.post("/items/{name}/glass")
def break_(request: Request, sent: Sent, name: Id) -> Response:
    """Let this call run once by one person's word."""
    proposal = proven(sent, name, sent.get("shown"))
    where, queue = link(f"/items/{name}"), sent.visit.desk.queue
    try:
        match_digest(proposal, sent.get("digest"))
    except DigestError:
        raise Stop(422, "digest", back=where) from None
    reason = sent.get("note")
    if not MIN_REASON <= len(" ".join(reason.split())) <= MAX_REASON:
        raise Stop(422, "glass.reason", str(MIN_REASON), back=where)
    who, digest = sent.visit.reviewer, proposal.digest
    try:  # first, or who may not would be asked for a password in vain
        require_worth_proving(queue, proposal, who, digest, reason=reason, channel="web")
    except QueueError as error:
        raise _no(error, "glass", where) from error
    proof = step_up_of(request, sent, proposal, "break_glass")
    if isinstance(proof, Response):  # the page that asks for it
        return proof
    try:
        break_glass(queue, name, who, digest, reason=reason, step_up=proof, channel="web")
    except QueueError as error:
        raise _no(error, "glass", where) from error
    return back(link(f"/items/{name}", done="broken"))


@router.get("/afterlooks")
def listing(visit: Looking, done: str = "") -> Response:
    """Show what ran by one person's word: what nobody has looked at yet, and what others found."""
    queue = visit.desk.queue
    found = AfterLooks(queue.store, queue.clock, queue.reviewers).list(everything=True)
    open_ = [item for item in found if item.is_open]
    over = [item for item in reversed(found) if not item.is_open]
    rows = [look_view(item, queue.get(item.proposal_id), visit.reviewer.name) for item in [*open_, *over[:PAGE]]]
    return visit.page(
        "afterlooks.html",
        rows=rows,
        more=max(0, len(over) - PAGE),
        least=MIN_FINDING,
        most=MAX_FINDING,
        notice=done,
    )


@router.post("/afterlooks/{name}/finding")
def close(sent: Sent, name: Id) -> Response:
    """Write down what somebody found who looked."""
    queue = sent.visit.desk.queue
    try:
        looks, no = AfterLooks(queue.store, queue.clock, queue.reviewers), sent.get("disagree") == "yes"
        looks.close(name, sent.visit.reviewer, sent.get("finding"), disagreed=no)
    except QueueError as error:
        raise _no(error, "looked", LOOKS) from error
    return back(f"{LOOKS}?done=looked")


def _no(error: QueueError, code: str, where: str) -> Stop:
    status = 403 if isinstance(error, NotAllowedError) else 409 if isinstance(error, ConflictError) else 422
    return Stop(status, code, str(error), back=where)


__all__ = ["router"]
