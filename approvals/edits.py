"""An edit makes a new proposal: the old question is replaced, and the edited call waits for a decision of its own.

1. The question is open and what was recorded; the editor may say no to it, and holds its digest. 2. The new arguments
become a request of the same tool, server, thread and requester: nothing else of a call can be edited. 3. The call is
decided again from step 0, over the whole stored context of its task; a refusal leaves the old question open, and the
log says who tried what. 4. In one transaction: the new question with its plan, the link to the old one, and the old
one's end; whoever decided the old one meanwhile was first, and nothing is stored. 5. Whoever waits for the old one
follows the link.

Guarantees: an edit is never approved by being made; an approval of the old call permits nothing of the new one, since
both bind to their own digest; of one question there is one successor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, Literal, TypeAlias, cast

import sqlalchemy as sa

from checkvalve.approvals import audit, moves, plans, reach
from checkvalve.approvals.deciding import require_responder
from checkvalve.approvals.decision import Decision
from checkvalve.approvals.editing import EDITED, Change, as_edit, changes
from checkvalve.approvals.errors import ConflictError, EditRefusedError, RoleNeededError
from checkvalve.approvals.matching import match_digest
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.refusals import TooManyError
from checkvalve.approvals.remarks import Remark, read_talk
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.reveals import reveal
from checkvalve.approvals.review_tables import plans as plan_rows
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.seen_edits import meant, sends_a_secret
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.undos import RULE as UNDO
from checkvalve.approvals.verdicts import Deny
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON

Decide: TypeAlias = Callable[[Proposal, Mapping[str, JSON]], Decision]
"""Decides the call of a stored proposal anew, with other arguments, and records nothing."""
REFUSED: Final = "edit.refused"
"""The kind of the event that says what somebody wanted to make of a call, and which rule refused it."""
MAX_EDITS: Final = 20
"""Edits of one call: beyond it, people are not deciding but writing, and the agent should be told what is wanted."""
_MARK: Final = "~"  # between a call's id and the number of its edit


def edit(
    queue: Queue,
    proposal_id: str,
    reviewer: Reviewer,
    digest_prefix: str,
    args: Mapping[str, object],
    decide: Decide,
) -> Proposal:
    """Replace an open question by one about ``args``, and return the new one; see the module's list.

    Raises:
        NotFoundError, ConflictError, CredentialError, NotAllowedError, DigestError, StoreCorruptError: see the queue.
        EditRefusedError: the arguments cannot be a call, or a rule refuses the call that they make.
    """
    old = queue.get(proposal_id)
    shown = queue.veiling.seen(old)
    args = meant(shown, cast("Mapping[str, JSON]", args))  # who edits was shown marks
    with queue.store.read() as connection:
        editor = _may_edit(connection, queue, old, reviewer, digest_prefix)
        call_id = _next_id(connection, old)
    request = _request(old, args, call_id)
    if sends_a_secret(shown, args):
        _look(queue, old, reviewer)
    decision = as_edit(decide(old, dict(request.args)), old.args(), dict(request.args), editor=reviewer.name)
    if isinstance(decision.verdict, Deny):
        _note_refusal(queue, old, reviewer, request.digest, decision.verdict)
        raise EditRefusedError.by_rule(decision.verdict.rule, decision.verdict.remedy)

    def take_over(connection: sa.Connection, new: Proposal) -> None:
        """Do step 4 beside the new row."""
        now = queue.clock()
        current = moves.load(connection, old.id)
        _may_edit(connection, queue, current, reviewer, digest_prefix)
        if new.state is not State.PENDING:
            raise EditRefusedError.by_rule(new.rule, new.remedy)
        plans.link(connection, new.id, parent=old.id, edited_by=_four_eyes(connection, queue, new, editor), at=now)
        by, details = f"reviewer:{reviewer.name}", {"edited_to": new.id}
        moves.move(connection, current, State.SUPERSEDED, at=now, by=by, code=EDITED, details={**details})

    return queue.propose(request, decision, mode=_mode(old), idempotency=old.idempotency, beside=take_over)


def _look(queue: Queue, old: Proposal, reviewer: Reviewer) -> None:
    """Record an edit that sends a secret elsewhere as a look at it.

    Raises:
        EditRefusedError: this person may not see it, and so sends it nowhere.
    """
    try:
        reveal(queue, old.id, reviewer, channel="edit")
    except RoleNeededError as error:
        raise EditRefusedError(
            "something redacted would go with the call to where you send it, and you may not see it",
            remedy=f"leave destinations as they are, or write the redacted value anew; {error.remedy}",
        ) from error


def _four_eyes(connection: sa.Connection, queue: Queue, new: Proposal, editor: str) -> str:
    """Return whose yes to an edit does not count alone: the editor's, but where one person does everything.

    Raises:
        EditRefusedError: nobody else could say yes, so the edit could never run.
    """
    bench = queue.bench
    if bench.single_user:
        return ""
    plan = plans.read(connection, new.id)
    alone = not reach.can_be_approved(connection, new, replace(plan, edited_by=editor), single_user=False)
    if alone and reach.can_be_approved(connection, new, plan, single_user=False):
        raise EditRefusedError(
            "nobody but you could say yes to the edited call, and the yes of an editor does not count alone",
            remedy="reject it and say what is wanted, or let another reviewer be added",
        )
    return editor


def _mode(old: Proposal) -> Literal["enforce"]:
    """Return the mode of an edit: nothing waits in observe mode, so there is nothing to edit."""
    if old.mode != "enforce":
        raise moves.conflict(old)
    return "enforce"


def _may_edit(
    connection: sa.Connection, queue: Queue, proposal: Proposal, reviewer: Reviewer, digest_prefix: str
) -> str:
    """Do step 1, and return the person whose hand it is."""
    moves.require_open(proposal, queue.clock())
    if proposal.rule == UNDO:
        raise EditRefusedError("what undoes an effect is fixed since then", remedy="reject it, or change it by hand")
    require_recorded(connection, proposal.id)
    account = require_responder(connection, queue.bench, proposal, reviewer)
    match_digest(proposal, digest_prefix)
    return account.person


def _request(old: Proposal, args: Mapping[str, object], call_id: str) -> ActionRequest:
    """Do step 2."""
    try:
        request = ActionRequest.build(
            old.tool,
            args,
            server=old.server,
            thread=old.thread,
            call_id=call_id,
            requester=old.requester,
            behind=old.behind,
        )
    except HostileInputError as error:
        raise EditRefusedError(f"these are no arguments of a call [{error.code}]", remedy=str(error)) from error
    if request.digest == old.digest:
        raise EditRefusedError("nothing was changed", remedy="change an argument, or answer the question as it is")
    return request


def _next_id(connection: sa.Connection, old: Proposal) -> str:
    """Return the id of the next edit: ``call~n``, where nobody's call has this id yet.

    Raises:
        ConflictError: it was edited too often.
    """
    root, depth = old, 0
    while parent := parent_of(connection, root.id):
        root, depth = moves.load(connection, parent), depth + 1
    if depth >= MAX_EDITS:
        raise TooManyError(f"this call was edited {depth} times", remedy="reject it, and say what is wanted instead")
    row = proposals.c
    start = f"{root.call_id}{_MARK}"
    query = sa.select(row.call_id).where(row.thread == old.thread, row.call_id.startswith(start, autoescape=True))
    known = set(connection.execute(query).scalars())
    return next(name for number in range(1, len(known) + 2) if (name := f"{start}{number}") not in known)


def _note_refusal(queue: Queue, old: Proposal, reviewer: Reviewer, digest: str, verdict: Deny) -> None:
    body: dict[str, JSON] = {"by": f"reviewer:{reviewer.name}", "digest": digest, "rule": verdict.rule}
    with queue.store.write() as connection:
        audit.append(connection, at=queue.clock(), kind=REFUSED, subject=old.id, body=body)


def parent_of(connection: sa.Connection, proposal_id: str) -> str:
    """Return the id of the call of which this one is an edit, or nothing."""
    query = sa.select(plan_rows.c.parent).where(plan_rows.c.proposal_id == proposal_id)
    return str(connection.execute(query).scalar() or "")


def is_edit_of(queue: Queue, proposal: Proposal, other: Proposal) -> bool:
    """Say whether a call is what a person made of another one."""
    with queue.store.read() as connection:
        return parent_of(connection, proposal.id) == other.id


def successor_of(connection: sa.Connection, proposal: Proposal) -> Proposal | None:
    """Return what a call was edited to, None where it was not.

    Raises:
        StoreCorruptError: a row says so that no event has.
    """
    if proposal.state is not State.SUPERSEDED or proposal.code != EDITED:
        return None
    found = connection.execute(sa.select(plan_rows.c.proposal_id).where(plan_rows.c.parent == proposal.id)).scalar()
    if found is None:
        return None
    require_recorded(connection, proposal.id)
    require_recorded(connection, found)
    return moves.load(connection, found)


def current(queue: Queue, proposal_id: str) -> Proposal:
    """Return a call as it stands now, or where it was edited, what the last edit made of it.

    Raises:
        NotFoundError: there is none with this id.
        StoreCorruptError: a link was written that no event has.
    """
    proposal = queue.get(proposal_id)
    for _ in range(MAX_EDITS + 1):
        if proposal.state is not State.SUPERSEDED or proposal.code != EDITED:
            return proposal
        with queue.store.read() as connection:
            following = successor_of(connection, proposal)
        if following is None:
            return proposal
        proposal = queue.get(following.id)
    raise ConflictError("this call was edited too often to follow", remedy="look at its record")


def first_of(queue: Queue, proposal: Proposal) -> Proposal:
    """Return the call that an agent proposed, of which this one is an edit or an edit of an edit; or the call itself.

    Raises:
        StoreCorruptError: a link was written that no event has.
    """
    with queue.store.read() as connection:
        for _ in range(MAX_EDITS + 1):
            parent = parent_of(connection, proposal.id)
            if not parent:
                return proposal
            require_recorded(connection, proposal.id)
            proposal = moves.load(connection, parent)
    raise ConflictError("this call was edited too often to follow", remedy="look at its record")


def lineage(queue: Queue, proposal: Proposal) -> tuple[Proposal | None, Proposal | None]:
    """Return the call of which this one is an edit, and the one that it was edited to, where there are such."""
    with queue.store.read() as connection:
        parent = parent_of(connection, proposal.id)
        following = successor_of(connection, proposal)
        return (moves.load(connection, parent) if parent else None), following


def whole_talk(queue: Queue, proposal: Proposal) -> list[Remark]:
    """Return what was said about a call and about those that it is an edit of, oldest first.

    Raises:
        StoreCorruptError: a remark is there that nobody made.
    """
    said, found = list[Remark](), proposal
    for _ in range(MAX_EDITS + 1):
        said = [*read_talk(queue, found), *said]
        with queue.store.read() as connection:
            if not (parent := parent_of(connection, found.id)):
                break
            found = moves.load(connection, parent)
    return said


def edited(before: Proposal, after: Proposal) -> list[Change]:
    """Return what differs between a call and its edit."""
    return changes(before.args(), after.args())


__all__ = [
    "MAX_EDITS", "REFUSED", "Decide", "current", "edit", "edited", "first_of", "is_edit_of", "lineage", "parent_of",
    "successor_of", "whole_talk",
]  # fmt: skip
