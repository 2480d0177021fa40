"""Around the decision on the pages: ask back and answer, answer instead of running, put off, take back.

Guarantees: each form carries the seal of this session for this address; what ends a call also carries the seal over the
record that was shown, like every answer; the queue checks the person and the state in the transaction.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from fastapi.responses import Response

from checkvalve.approvals import calling, remarks, responding, snoozes
from checkvalve.approvals.errors import ConflictError, NotAllowedError, NotFoundError, QueueError
from checkvalve.gateway.web_answers import proven
from checkvalve.gateway.web_desk import HOME, Posted, Sent, Stop, back, link
from checkvalve.gateway.web_item import Id
from checkvalve.gateway.web_seed_items import doubted

_MINUTE: Final = 60_000_000  # microseconds
_DIGITS: Final = 6
router: Final = APIRouter()


@router.post("/items/{name}/ask")
def ask(sent: Sent, name: Id) -> Response:
    """Ask whoever asked for a call."""
    if (item := doubted(sent, name)) is not None:
        return item
    remarks.ask(sent.visit.desk.queue, name, sent.visit.reviewer, _text(sent, name))
    return back(link(f"/items/{name}", done="asked"))


@router.post("/items/{name}/answer")
def answer(sent: Sent, name: Id) -> Response:
    """Answer a question, as whoever asked for the call; another reviewer adds a reply."""
    made = remarks.reply(sent.visit.desk.queue, name, sent.visit.reviewer, _text(sent, name))
    return back(link(f"/items/{name}", done="answered" if made.kind == remarks.ANSWER else "replied"))


@router.post("/items/{name}/respond")
def respond(sent: Sent, name: Id) -> Response:
    """End a call with a text for its agent."""
    if (item := doubted(sent, name)) is not None:
        return item
    proposal = proven(sent, name, sent.get("shown"))
    responding.respond(sent.visit.desk.queue, proposal.id, sent.visit.reviewer, _text(sent, name))
    return back(link(f"/items/{name}", done="responded"))


@router.post("/items/{name}/cancel")
def cancel(sent: Sent, name: Id) -> Response:
    """Take a question back, as whoever asked it."""
    proposal = proven(sent, name, sent.get("shown"))
    responding.cancel_as(sent.visit.desk.queue, proposal.id, sent.visit.reviewer)
    return back(link(f"/items/{name}", done="cancelled"))


@router.post("/items/{name}/snooze")
def snooze(sent: Sent, name: Id) -> Response:
    """Put a question off, for this person alone, and go on with the queue."""
    if (item := doubted(sent, name)) is not None:
        return item
    minutes = sent.get("minutes")
    if not (minutes.isascii() and minutes.isdigit() and len(minutes) <= _DIGITS):
        raise Stop(422, "until", back=link(f"/items/{name}"))
    queue = sent.visit.desk.queue
    try:
        until = queue.clock() + int(minutes) * _MINUTE
        hidden = snoozes.snooze(queue, name, sent.visit.reviewer, until)
    except (ConflictError, NotAllowedError, NotFoundError):
        raise
    except QueueError:
        raise Stop(422, "until", back=link(f"/items/{name}")) from None
    return back(f"{HOME}?done=snoozed" if hidden else link(f"/items/{name}", done="snoozed_by_all"))


@router.post("/items/{name}/escalate")
def escalate(sent: Sent, name: Id) -> Response:
    """Call others to a question now; it goes on waiting."""
    if (item := doubted(sent, name)) is not None:
        return item
    calling.call_others(sent.visit.desk.queue, name, sent.visit.reviewer, channel="web")
    return back(link(f"/items/{name}", done="escalated"))


@router.post("/items/{name}/wake")
def wake(sent: Sent, name: Id) -> Response:
    """Take a question back into one's own queue."""
    snoozes.wake(sent.visit.desk.queue, name, sent.visit.reviewer)
    return back(link(f"/items/{name}", done="woken"))


def _text(sent: Posted, name: str) -> str:
    """Return what was typed.

    Raises:
        Stop: nothing was, or too much.
    """
    try:
        return remarks.checked_text(sent.get("text").replace("\r\n", "\n"))
    except QueueError:
        raise Stop(422, "text", f"{remarks.MAX_TEXT:,}", back=link(f"/items/{name}")) from None


__all__ = ["router"]
