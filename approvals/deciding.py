"""Deciding one question: who may say what, and what follows when enough people have said it.

1. The question is open and its clocks have not run out; for a yes, it is what was recorded: call, plan and votes, and
the rules and settings of this process are in force. 2. The person still is a reviewer. 3. They did not ask for the
call, under any account, unless this is a single-user setting. 4. Their roles, where they hold, are such as the plan
asks for; else those of somebody who handed over to them. 5. For a yes: the digest is that of the call, the channel may
decide, a reason is given where one is needed, a fresh proof of who it is where one is needed, and they have not said
yes so often within the hour that nobody could have looked. 6. The vote is stored. 7. Votes of people who could not cast
them any more do not count; the rest is tallied. 8. Enough noes: rejected. Enough yeses: approved, the permit, and the
accepted data if everybody who said yes accepted it, too. Else it waits on.

Guarantees: all of it is one transaction; whatever fails, nothing is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import askers, attention, endorsing, moves, pin_record, plans, reach, stepup, votes
from checkvalve.approvals.adopted import Adopted
from checkvalve.approvals.counting import still_counting, used_voices
from checkvalve.approvals.delegations import standing_in
from checkvalve.approvals.errors import ApprovalError, NotAllowedError, NoteNeededError, RoleNeededError
from checkvalve.approvals.matching import match_digest
from checkvalve.approvals.own_call import own_call
from checkvalve.approvals.people import is_usable
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.program_rule import require_person
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.refusals import OutOfScopeError
from checkvalve.approvals.review_tables import plans as plan_rows
from checkvalve.approvals.review_tables import votes as vote_rows
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.roles import Account, Role, Roster, account_of, accounts, either, who_could
from checkvalve.approvals.said_where import require_channel
from checkvalve.approvals.spoken import kept, says_something
from checkvalve.approvals.stepup import StepUp
from checkvalve.approvals.subjectrows import Held, read
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.votes import Vote, Voter

SAYS_NO: Final = frozenset({Role.RESPONDER, Role.APPROVER})
"""Who may say no to any question in their scope; so may everybody whose yes would count."""
_SECOND: Final = 1_000_000  # microseconds


@dataclass(frozen=True, slots=True)
class Bench:
    """What deciding depends on beside the question: settings of the queue. Times are in microseconds.

    ``adopted`` says whether these settings and the rules are in force: without that nobody's yes is taken.
    """

    reviewers: Reviewers
    single_user: bool
    budget: int
    execute_within: int
    endorsed_for: int
    adopted: Adopted = field(default_factory=Adopted)


@dataclass(frozen=True, slots=True)
class Yes:
    """What somebody says together with a yes."""

    digest: str
    endorse: bool = True
    note: str = ""
    channel: str = ""
    step_up: StepUp | None = None


def say_yes(
    connection: sa.Connection,
    bench: Bench,
    proposal: Proposal,
    reviewer: Reviewer,
    yes: Yes,
    *,
    at: int,
    held: Held | None = None,
) -> Proposal:
    """Let ``reviewer`` say yes; returns the proposal as it is then, pending where more voices are needed.

    ``held`` is what the tables hold of the question, where this transaction has read it together with ``proposal``.

    Raises:
        ConflictError, CredentialError, NotAdoptedError, NotAllowedError, BudgetError, DigestError, NoteNeededError,
        StepUpError, QueueError, StoreCorruptError: nothing was changed.
    """
    roster, held = Roster(connection), held or read(connection, proposal.id)
    plan, voter = admitted(roster, bench, proposal, reviewer, yes, at=at, held=held)
    if plan.step_up or yes.step_up is not None:
        stepup.spend(connection, yes.step_up, proposal, reviewer, at=at)
    attention.spend(connection, reviewer.name, bench.budget, at)
    proof = yes.step_up.method if yes.step_up is not None else ""
    before, said = _cast(roster, held, voter, at), {"note": yes.note, "channel": yes.channel, "proof": proof}
    cast = votes.cast(connection, proposal, voter, before=before, yes=True, at=at, endorse=yes.endorse, **said)
    return _go_on(roster, bench, proposal, plan, voter, cast, at=at, note=yes.note)


def admitted(
    roster: Roster, bench: Bench, proposal: Proposal, reviewer: Reviewer, yes: Yes, *, at: int, held: Held
) -> tuple[Plan, Voter]:
    """Do steps 1 to 5 for a yes, but for what is good once; raises as :func:`say_yes`, and changes nothing."""
    kept(yes.note)
    plan = _open(roster, bench, proposal, reviewer, at, held)
    require_recorded(roster.connection, proposal.id, held)
    pin_record.require_read(roster.connection, proposal)
    bench.adopted.require(roster.connection, at)
    voter = voter_of(roster, bench, proposal, plan, reviewer, yes=True, at=at)
    match_digest(proposal, yes.digest)
    require_channel(plan, yes.channel)
    if plan.note_required and not says_something(yes.note):
        raise NoteNeededError("a yes to this call takes a reason in words", remedy="say why it is right: a note")
    return plan, voter


def say_no(  # noqa: PLR0913  # each is a part of the no
    connection: sa.Connection,
    bench: Bench,
    proposal: Proposal,
    reviewer: Reviewer,
    *,
    at: int,
    code: str,
    note: str,
    channel: str = "",
    held: Held | None = None,
) -> Proposal:
    """Let ``reviewer`` say no, also to what they said yes to before. A no is taken everywhere, and from who asked.

    It is also taken where the tables were edited by hand: nothing runs because of it.

    Raises:
        ConflictError, CredentialError, NotAllowedError, QueueError, StoreCorruptError: nothing was changed.
    """
    kept(code + note)
    roster, held = Roster(connection), held or read(connection, proposal.id)
    plan = _open(roster, bench, proposal, reviewer, at, held)
    voter = voter_of(roster, bench, proposal, plan, reviewer, yes=False, at=at)
    before = _cast(roster, held, voter, at)
    cast = votes.cast(
        connection, proposal, voter, before=before, yes=False, at=at, code=code, note=note, channel=channel
    )
    return _go_on(roster, bench, proposal, plan, voter, cast, at=at, code=code, note=note)


def refusal(
    connection: sa.Connection, bench: Bench, proposal: Proposal, reviewer: Reviewer, *, yes: bool, at: int
) -> str:
    """Say why somebody's answer would not count, and whose would; empty where it would. Changes nothing."""
    try:
        roster, held = Roster(connection), read(connection, proposal.id)
        plan = _open(roster, bench, proposal, reviewer, at, held)
        if yes:
            bench.adopted.require(connection, at)
            pin_record.require_read(connection, proposal)
        voter = voter_of(roster, bench, proposal, plan, reviewer, yes=yes, at=at)
        votes.require_unused(_cast(roster, held, voter, at), voter, yes=yes)
    except ApprovalError as error:
        return str(error)
    return ""


def require_responder(connection: sa.Connection, bench: Bench, proposal: Proposal, reviewer: Reviewer) -> Account:
    """Return the account of a reviewer who may answer this question so that nothing runs because of it.

    Raises:
        CredentialError, NotAllowedError: no reviewer any more, or not their role, or not within their scope.
    """
    roster = Roster(connection)
    bench.reviewers.require(roster, reviewer)
    account, plan = account_of(roster, reviewer.name), plans.read(connection, proposal.id)
    if account.roles_for(plan.question(proposal), yes=False).isdisjoint(SAYS_NO):
        raise _not_their_role(roster, proposal, replace(plan, approve=()), account, yes=False)
    return account


def _open(roster: Roster, bench: Bench, proposal: Proposal, reviewer: Reviewer, at: int, held: Held) -> Plan:
    """Do steps 1 and 2."""
    moves.require_open(proposal, at)
    bench.reviewers.require(roster, reviewer)
    row = held.one(plan_rows.c.proposal_id)
    return plans.read(roster.connection, proposal.id) if row is None else plans.of_row(row)


def _cast(roster: Roster, held: Held, voter: Voter, at: int) -> list[Vote]:
    """Return the votes on a question before this one."""
    before = [] if held.is_empty(vote_rows.c.proposal_id) else votes.read(roster.connection, held.subject)
    return used_voices(roster, before, voter, at)


def voter_of(
    roster: Roster, bench: Bench, proposal: Proposal, plan: Plan, reviewer: Reviewer, *, yes: bool, at: int
) -> Voter:
    """Do steps 3 and 4: return the person with the roles that count.

    Raises:
        NotAllowedError: their yes or no does not count here; it says whose would.
    """
    account = account_of(roster, reviewer.name)
    require_person(account)
    own = reach.asked(roster, proposal.asked_by, account)
    if yes and own and not bench.single_user:
        unknown = not is_usable(proposal.requester)
        remedy = "let the gateway name the requester" if unknown else "another reviewer has to decide"
        raise own_call(roster, proposal, account, remedy=f"{remedy}, or use the single-user setting")
    if yes:  # else who took a name of theirs, or an account, out would have asked for nothing
        earlier = account.person in askers.require_as_told(roster, proposal.asked_by, {account.name})
        if earlier and not bench.single_user:
            raise own_call(roster, proposal, account, remedy="another reviewer has to decide")
        own = own or earlier
    wanted = plan.roles if yes else plan.roles | SAYS_NO
    question = plan.question(proposal)
    if roles := account.roles_for(question, yes=yes) & wanted:
        return Voter(account, roles, own=yes and own, means=reviewer.means)
    for handed in standing_in(roster.connection, account.person, at):
        giver = account_of(roster, handed.giver)
        asked = yes and reach.asked(roster, proposal.asked_by, giver)
        roles = giver.roles_for(question, yes=yes) & wanted
        if roles and not asked:
            if yes and giver.person in askers.require_as_told(roster, proposal.asked_by, {giver.name}):
                continue
            return Voter(account, roles, via=giver.person, own=yes and own, means=reviewer.means)
    raise _not_their_role(roster, proposal, plan, account, yes=yes)


def _not_their_role(roster: Roster, proposal: Proposal, plan: Plan, account: Account, *, yes: bool) -> NotAllowedError:
    """Return the error that says which roles are asked for, what this person has, and whose answer would count."""
    wanted = plan.roles if yes else plan.roles | SAYS_NO
    question = plan.question(proposal)
    elsewhere = account.has(*wanted)
    has = f"their role does not reach this call ({account.scope.in_words()})" if elsewhere else either(account.roles)
    out = reach.requesters(proposal.asked_by, accounts(roster, everyone=True)) if yes else frozenset()

    def could(one: Account) -> bool:
        return one.person not in out and not one.roles_for(question, yes=yes).isdisjoint(wanted)

    answer = "yes" if yes else "no"
    text = f"a {answer} to this call takes the role {either(wanted)}; of {account.name}: {has or 'no role'}"
    return (OutOfScopeError if elsewhere else RoleNeededError)(text, remedy=who_could(roster, could))


def _go_on(  # noqa: PLR0913  # what was read, and what was said
    roster: Roster,
    bench: Bench,
    proposal: Proposal,
    plan: Plan,
    voter: Voter,
    cast: Sequence[Vote],
    *,
    at: int,
    code: str = "",
    note: str = "",
) -> Proposal:
    """Do steps 7 and 8."""
    connection = roster.connection
    counting = still_counting(roster, cast, plan, proposal, single_user=bench.single_user, at=at)
    tally = votes.tally(plan, counting)
    by = f"reviewer:{voter.account.name}"
    if tally.decided == "no":
        return moves.move(connection, proposal, State.REJECTED, at=at, by=by, code=code, note=note)
    if tally.decided != "yes":
        return proposal
    until = at + (plan.execute_within * _SECOND or bench.execute_within)
    said_yes = [vote for vote in counting if vote.yes]
    askers.require_as_told(roster, proposal.asked_by, askers.voices(said_yes))
    own = voter.own or _asked_themselves(roster, proposal, said_yes)
    approved = moves.move(
        connection, proposal, State.APPROVED, at=at, by=by, note=note, execute_by=until, self_approved=own
    )
    voters = sorted(vote.reviewer for vote in said_yes)
    moves.issue_grant(connection, approved, by=by, at=at, execute_by=until, voters=voters)
    if all(vote.endorse for vote in said_yes):
        endorsing.store(connection, approved, by=by, at=at, expires_at=at + bench.endorsed_for)
    return approved


def _asked_themselves(roster: Roster, proposal: Proposal, said_yes: Sequence[Vote]) -> bool:
    """Say whether one of them asked for the call; a single-user setting lets that pass, and the record says so."""
    return any(reach.asked(roster, proposal.asked_by, account_of(roster, vote.reviewer)) for vote in said_yes)


__all__ = [
    "SAYS_NO", "Bench", "Yes", "admitted", "refusal", "require_responder", "say_no", "say_yes", "still_counting",
    "voter_of",
]  # fmt: skip
