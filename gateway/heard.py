"""Answers to a reviewer's questions that come through the agent's own process, in the words that LangChain's UIs use.

1. A graph that pauses for a call may be resumed with ``{"type": "respond", "message": ...}``, alone or as the one entry
of ``{"decisions": [...]}``. 2. Where a reviewer has asked something about that call and nobody has answered, the
message is kept as an answer, marked as the agent's: whoever can resume a graph speaks for the agent at best.

Guarantees: it decides nothing and never ends the wait; a replayed pause says nothing twice; what cannot be kept is
left out, and the log says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.remarks import answer, read_talk, unanswered
from checkvalve.gateway.app import Gateway
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.ticket import Ticket


def hear(gateway: Gateway, ticket: Ticket, value: object, number: int) -> None:
    """Keep the answer in what a pause was resumed with, if it has one; ``number`` counts the pauses of this call."""
    said = answer_in(value, ticket.proposal.id)
    mark = f"answer:{ticket.proposal.id}:{number}"
    if not said or ticket.session.delivered(mark):
        return
    try:
        ticket.session.deliver(mark)
        if unanswered(read_talk(gateway.queue, ticket.proposal)) is not None:
            answer(gateway.queue, ticket.proposal.id, said, means="agent", name=ticket.proposal.requester)
    except ApprovalError as error:
        get_logger().warning("an answer was not kept", error=type(error).__name__, remedy=error.remedy)


def answer_in(value: object, approval: str) -> str:
    """Return the message of a ``respond`` that is about this call; empty where there is none."""
    match value:
        case {"decisions": [Mapping() as only]}:
            return answer_in(only, approval)
        case {"type": "respond", "message": str(text), **rest} if rest.get("approval_id", approval) == approval:
            return text
        case _:
            return ""


__all__ = ["answer_in", "hear"]
