"""Breaking the glass: in an emergency one person alone lets a call run, loudly, and has to answer for it afterwards.

1. The setting allows it and is in force, and so does the plan that was frozen with the question. 2. The question is
open, in time, and what was recorded; nobody has said no to it. 3. The person is a reviewer with the role ``breaker``
for such calls, and did not ask for the call, in a single-user setting neither. 4. Their ordinary yes would not be
enough: then the glass stays whole. 5. It is said where a yes is taken, the digest is that of the call, the reason is in
words, and there is a fresh proof of who it is, made for breaking this very glass. 6. Not too many after-looks are open.
7. The call is approved with the code ``break_glass``, permit and record name ``breakglass:NAME``, and an after-look is
opened. Nothing is endorsed by it.

Guarantees: all of it is one transaction; every channel is told, whatever its filters say; no role that was handed over
breaks a glass.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import afterlooks, askers, deciding, moves, pin_record, plans, reach, stepup, votes
from checkvalve.approvals.counting import yes_of
from checkvalve.approvals.errors import ConflictError, RoleNeededError
from checkvalve.approvals.handed import BROKEN, GLASS
from checkvalve.approvals.matching import match_digest
from checkvalve.approvals.own_call import own_call
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.program_rule import require_person
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.refusals import EditorAloneError, NotOfferedError, TooManyError
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.revisions import require_revision
from checkvalve.approvals.roles import Account, People, Role, Roster, account_of, either, who_could
from checkvalve.approvals.said_where import require_channel
from checkvalve.approvals.stepup import StepUp
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.filters.strictjson import JSON

MIN_REASON: Final = 20
MAX_REASON: Final = 2_000
"""Characters of a reason."""
_SECOND: Final = 1_000_000  # microseconds
_LIST: Final = "checkvalve approvals afterlook list"


def break_glass(
    queue: Queue,
    proposal_id: str,
    reviewer: Reviewer,
    digest_prefix: str,
    *,
    reason: str,
    step_up: StepUp | None,
    channel: str = "",
    seen: int | None = None,
) -> Proposal:
    """Let exactly the call with this digest run, once, because one person says so.

    ``seen`` is the revision of what was shown with the call, where it is known.

    Raises:
        NotFoundError, ConflictError, CredentialError, NotAdoptedError, NotAllowedError, DigestError, StepUpError,
        QueueError, StoreCorruptError: nothing was changed.
    """
    said = checked_reason(reason)
    queue.get(proposal_id)
    with queue.store.write() as connection:
        now = queue.clock()
        proposal = moves.load(connection, proposal_id)
        plan = _open(connection, queue, proposal, reviewer, now)
        account = require_may_break(connection, queue, proposal, plan, reviewer, digest_prefix, at=now, channel=channel)
        require_revision(connection, proposal, seen)
        stepup.spend(connection, step_up, proposal, reviewer, at=now, decision=BROKEN)
        by = GLASS + account.name
        until = now + (plan.execute_within * _SECOND or queue.bench.execute_within)
        details: dict[str, JSON] = {"channel": channel, "proof": step_up.method if step_up is not None else ""}
        approved = moves.move(
            connection,
            proposal,
            State.APPROVED,
            at=now,
            by=by,
            code=BROKEN,
            note=said,
            execute_by=until,
            details=details,
        )
        moves.issue_grant(connection, approved, by=by, at=now, execute_by=until, voters=[account.name])
        afterlooks.open_for(connection, proposal.id, by=account.name, at=now, reason=said)
    return approved


def require_worth_proving(
    queue: Queue,
    proposal: Proposal,
    reviewer: Reviewer,
    digest_prefix: str,
    *,
    reason: str,
    channel: str = "",
    seen: int | None = None,
) -> None:
    """Make sure that the glass would be broken if there were a good proof; :func:`break_glass` looks again.

    Raises:
        ApprovalError: as :func:`break_glass`.
    """
    checked_reason(reason)
    with queue.store.read() as connection:
        now = queue.clock()
        plan = _open(connection, queue, proposal, reviewer, now)
        require_may_break(connection, queue, proposal, plan, reviewer, digest_prefix, at=now, channel=channel)
        require_revision(connection, proposal, seen)


def require_may_break(
    connection: sa.Connection,
    queue: Queue,
    proposal: Proposal,
    plan: Plan,
    reviewer: Reviewer,
    digest_prefix: str,
    *,
    at: int,
    channel: str,
) -> Account:
    """Do what steps 1 and 3 to 6 say of an open call but for the proof; returns the account of who breaks it.

    Raises:
        ConflictError, NotAllowedError, DigestError, StoreCorruptError: the glass stays whole.
    """
    if not queue.glass.enabled:
        raise NotOfferedError("there is no glass to break here", remedy="the setting is break_glass, off by default")
    if not plan.may_break_glass:
        raise NotOfferedError(
            "the review rule of this call lets nobody break the glass", remedy="let those decide whom it names"
        )
    account = require_breaker(connection, proposal, plan, reviewer.name)
    _check_needed(connection, proposal, plan, account, single_user=queue.bench.single_user, at=at)
    require_channel(plan, channel)
    match_digest(proposal, digest_prefix)
    if afterlooks.require_counted(connection) >= queue.glass.max_open:
        raise TooManyError(
            f"{queue.glass.max_open} broken glasses have not been looked at: no further one is broken",
            remedy=f"let others look first: {_LIST}",
        )
    return account


def checked_reason(text: str) -> str:
    """Return a reason as it is kept.

    Raises:
        QueueError: it is no reason in words.
    """
    return afterlooks.words(text, "a reason", MIN_REASON, MAX_REASON)


def may_break(queue: Queue, proposal: Proposal, reviewer: Reviewer) -> bool:
    """Say whether a surface should offer it: settings, plan and role allow it; everything is checked again then."""
    if not queue.glass.enabled or proposal.state is not State.PENDING:
        return False
    with queue.store.read() as connection:
        plan = plans.read(connection, proposal.id)
        account = account_of(connection, reviewer.name)
        return (
            plan.may_break_glass
            and Role.BREAKER in account.roles_for(plan.question(proposal))
            and not reach.asked(connection, proposal.asked_by, account)
        )


def _open(connection: sa.Connection, queue: Queue, proposal: Proposal, reviewer: Reviewer, at: int) -> Plan:
    """Do step 2, but for what was said: the record is open and sound, and so are who acts and the rules in force."""
    moves.require_open(proposal, at)
    require_recorded(connection, proposal.id)
    queue.reviewers.require(connection, reviewer)
    queue.adopted.require(connection, at)
    pin_record.require_read(connection, proposal)
    return plans.read(connection, proposal.id)


def require_breaker(people: People, proposal: Proposal, plan: Plan, name: str) -> Account:
    """Do step 3: return the account of somebody who may break the glass of this call now.

    Raises:
        NotAllowedError: they may not.
        StoreCorruptError: their account was written by hand.
    """
    roster = people if isinstance(people, Roster) else Roster(people)
    account, question = account_of(roster, name), plan.question(proposal)
    require_person(account)
    if Role.BREAKER not in account.roles_for(question):
        raise RoleNeededError(
            f"breaking the glass takes the role breaker for this call; {account.name} is {either(account.roles)}",
            remedy=who_could(roster, lambda other: Role.BREAKER in other.roles_for(question)),
        )
    earlier = askers.require_as_told(roster, proposal.asked_by, {name})
    if account.person in earlier or reach.asked(roster, proposal.asked_by, account):
        raise own_call(
            roster,
            proposal,
            account,
            remedy="nobody breaks the glass for a call of their own: let another breaker look",
        )
    if plan.edited_by and plan.edited_by in {account.name, account.person}:
        raise EditorAloneError("you edited this call yourself", remedy="let another breaker look")
    return account


def _check_needed(
    connection: sa.Connection, proposal: Proposal, plan: Plan, account: Account, *, single_user: bool, at: int
) -> None:
    """Do the rest of step 2, and step 4."""
    question = plan.question(proposal)
    said = votes.read(connection, proposal.id)
    cast = deciding.still_counting(connection, said, plan, proposal, single_user=single_user, at=at)
    if refused := [vote for vote in cast if not vote.yes]:
        raise ConflictError(
            f"{refused[0].reviewer} has said no: a glass is broken where nobody is there, not against somebody",
            remedy="talk to them",
        )
    roles = account.roles_for(question) & plan.roles
    others = [vote for vote in cast if vote.person != account.person]
    if roles and votes.tally(plan, [*others, yes_of(account, proposal, roles)]).decided == "yes":
        raise ConflictError(
            "your ordinary yes is enough for this call: the glass stays whole",
            remedy="approve it: checkvalve approvals approve",
        )


__all__ = [
    "MAX_REASON", "MIN_REASON", "break_glass", "checked_reason", "may_break", "require_breaker", "require_may_break",
    "require_worth_proving",
]  # fmt: skip
