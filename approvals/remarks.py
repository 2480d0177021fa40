"""Asking back: a reviewer asks about an open question, and whoever asked for the call answers, as often as needed.

1. A question comes from somebody who may say no, an answer from the requester or what acts for the requester; another
reviewer may add a reply. 2. Each is a row and an event, in one transaction, while the call is still pending. 3. The
clock of the call goes on all the while.

Guarantees: text is kept with its author and shown as that author's, unverified; it is part of no decision, no
attribution and no model's view; an answer by the agent's own process is marked as the agent's, one by a program's
token as that program's. What nobody asked is not answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import sqlalchemy as sa

from checkvalve.approvals import audit, moves, reach
from checkvalve.approvals.canonical import digest
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.deciding import require_responder
from checkvalve.approvals.errors import ConflictError, QueueError
from checkvalve.approvals.people import folded, is_usable
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.refusals import NotYoursError
from checkvalve.approvals.review_tables import remarks
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import account_of
from checkvalve.approvals.spoken import kept
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.filters.strictjson import JSON

MAX_TEXT: Final = 2_000
"""Characters of one remark: what somebody reads beside a card."""
MAX_REMARKS: Final = 40
"""Remarks about one call: beyond it the talk belongs elsewhere."""
QUESTION: Final = "question"
ANSWER: Final = "answer"
REPLY: Final = "reply"
Kind: TypeAlias = Literal["question", "answer", "reply"]
Means: TypeAlias = Literal["reviewer", "client", "agent"]
"""By which credential an answer came: the requester's own as a reviewer, a program's token, or the agent's process."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that was said. ``by`` is ``reviewer:NAME``, ``client:NAME`` or ``agent:NAME``."""

    id: int
    proposal_id: str
    kind: str
    by: str
    text: str = field(repr=False)
    at: int

    @property
    def means(self) -> str:
        """By which credential it came."""
        return self.by.partition(":")[0]

    @property
    def author(self) -> str:
        """Whose it is, or in whose name it came."""
        return self.by.partition(":")[2]

    def to_json(self) -> dict[str, JSON]:
        """Return the published form."""
        return {"kind": self.kind, "by": self.by, "text": self.text, "at": rfc3339(self.at), "verified": False}


def ask(queue: Queue, proposal_id: str, reviewer: Reviewer, text: str) -> Remark:
    """Ask whoever asked for an open call; several questions may be open at once.

    Raises:
        NotFoundError, ConflictError, CredentialError, NotAllowedError, QueueError: nothing was stored.
    """
    return _say(queue, proposal_id, QUESTION, f"reviewer:{reviewer.name}", text, reviewer)


def reply(queue: Queue, proposal_id: str, reviewer: Reviewer, text: str) -> Remark:
    """Add to the talk as a reviewer: as the answer, where this person asked for the call, else as a reply.

    Raises:
        NotFoundError, ConflictError, CredentialError, NotAllowedError, QueueError: nothing was stored.
    """
    proposal = queue.get(proposal_id)
    with queue.store.read() as connection:
        asks = reach.asked(connection, proposal.asked_by, account_of(connection, reviewer.name))
    own = is_usable(proposal.requester) and asks
    return _say(queue, proposal_id, ANSWER if own else REPLY, f"reviewer:{reviewer.name}", text, reviewer)


def answer(queue: Queue, proposal_id: str, text: str, *, means: Literal["client", "agent"], name: str) -> Remark:
    """Answer in the name of the requester: by a program's token, or from the agent's own process.

    Args:
        queue: the queue.
        proposal_id: an open call.
        text: what is answered.
        means: by which credential.
        name: in whose name; it has to be the requester's.

    Raises:
        NotFoundError, ConflictError, NotAllowedError, QueueError: nothing was stored.
    """
    if folded(queue.get(proposal_id).requester) != folded(name):
        raise NotYoursError("this call was not asked for in your name", remedy="the requester answers")
    return _say(queue, proposal_id, ANSWER, f"{means}:{name}", text, None)


def _say(queue: Queue, proposal_id: str, kind: Kind, by: str, text: str, reviewer: Reviewer | None) -> Remark:
    """Do steps 1 and 2."""
    said = checked_text(text)
    queue.get(proposal_id)
    with queue.store.write() as connection:
        now = queue.clock()
        proposal = moves.load(connection, proposal_id)
        moves.require_open(proposal, now)
        require_recorded(connection, proposal.id)
        if reviewer is not None:
            require_responder(connection, queue.bench, proposal, reviewer)
        earlier = read(connection, proposal.id)
        if kind == ANSWER and not any(item.kind == QUESTION for item in earlier):
            raise ConflictError("nobody has asked anything about this call", remedy="nothing was stored")
        if len(earlier) >= MAX_REMARKS:
            raise ConflictError(
                f"there are {len(earlier)} remarks about this call", remedy="decide it, or talk elsewhere"
            )
        values = {"proposal_id": proposal.id, "kind": kind, "by": by, "text": said, "at": now}
        number = connection.execute(sa.insert(remarks).values(values).returning(remarks.c.id)).scalar_one()
        body: dict[str, JSON] = {"by": by, "text_digest": digest(said)}
        audit.append(connection, at=now, kind=f"remark.{kind}", subject=proposal.id, body=body)
    return Remark(int(number), proposal.id, kind, by, said, now)


def checked_text(text: str) -> str:
    """Return a remark without the blanks around it.

    Raises:
        QueueError: it is empty, too long, or no text.
    """
    said = text.strip()
    if not said or len(said) > MAX_TEXT:
        raise QueueError("a remark is a text", remedy=f"of at most {MAX_TEXT:,} characters")
    return kept(said)


def read(connection: sa.Connection, proposal_id: str) -> list[Remark]:
    """Return what was said about a call, oldest first."""
    query = sa.select(remarks).where(remarks.c.proposal_id == proposal_id).order_by(remarks.c.id)
    return [Remark(**row) for row in connection.execute(query).mappings()]


def read_talk(queue: Queue, proposal: Proposal) -> list[Remark]:
    """Return what was said about a call, after comparing it with the log.

    Raises:
        StoreCorruptError: a remark is there that nobody made.
    """
    with queue.store.read() as connection:
        found = read(connection, proposal.id)
        if found:
            require_recorded(connection, proposal.id)
    return found


def unanswered(said: Sequence[Remark]) -> Remark | None:
    """Return the latest question that no answer came after."""
    for item in reversed(said):
        if item.kind == ANSWER:
            return None
        if item.kind == QUESTION:
            return item
    return None


__all__ = [
    "ANSWER", "MAX_REMARKS", "MAX_TEXT", "QUESTION", "REPLY", "Kind", "Means", "Remark", "answer", "ask",
    "checked_text", "read", "read_talk", "reply", "unanswered",
]  # fmt: skip
