"""Step-up: a fresh proof of who decides, bound to one call, its digest and the decision, and good once.

1. The server draws a nonce, and the challenge is SHA-256 over a domain, the call's id, its digest, the decision and the
nonce. 2. A person with a passkey signs that challenge; one without gives password or token once more. 3. Either makes a
:class:`StepUp`, which nothing else can make. 4. The deciding transaction spends it: it must be this person's, for this
very call, digest and decision, fresh, and never spent before; the event of it commits with the decision.

What it does not show: that the person read the call. A proof by password shows that the password was typed, and is not
taken from anybody who has a passkey.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import sqlalchemy as sa

from checkvalve.approvals import audit, challenges
from checkvalve.approvals.errors import CredentialError, StepUpError
from checkvalve.approvals.passkeys import Passkeys, Site
from checkvalve.approvals.password_rules import TOKEN
from checkvalve.approvals.passwords import Passwords
from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.refusals import StepUpOldError, StepUpOtherError
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.filters.strictjson import JSON

Decision = Literal["approve", "break_glass"]
_MADE_HERE: Final = object()
_REMEDY: Final = (
    "on the review page: press approve and give your passkey or password; in a terminal: type password or token again"
)


@dataclass(frozen=True, slots=True)
class Item:
    """What somebody is about to decide: the call, the digest that was shown, and how."""

    proposal_id: str
    digest: str
    decision: Decision = "approve"

    @classmethod
    def of(cls, proposal: Proposal, decision: Decision = "approve") -> Item:
        """Return it for a stored call."""
        return cls(proposal.id, proposal.digest, decision)

    def challenge(self, nonce: str) -> bytes:
        """Return the bytes to sign: those of this call, digest and decision alone."""
        return challenges.challenge("step-up", self.proposal_id, self.digest, self.decision, nonce=nonce)


@dataclass(frozen=True, slots=True)
class StepUp:
    """One fresh proof for one decision. Only :func:`with_passkey` and :func:`with_secret` make one."""

    item: Item
    reviewer: Reviewer
    method: str
    challenge: bytes
    at: int
    made_by: object

    def __post_init__(self) -> None:
        """Refuse one that was made elsewhere."""
        if self.made_by is not _MADE_HERE:
            raise TypeError("a StepUp is made by checking a proof: with_passkey or with_secret")


@dataclass(frozen=True, slots=True)
class Checks:
    """Where proofs are checked: tokens, passwords and passkeys of one store."""

    reviewers: Reviewers
    passwords: Passwords
    passkeys: Passkeys

    @classmethod
    def of(cls, reviewers: Reviewers) -> Checks:
        """Return those of the store that the reviewers are in."""
        store, clock = reviewers.store, reviewers.clock
        return cls(reviewers, Passwords(store, clock, reviewers.hasher), Passkeys(store, clock))


def with_passkey(checks: Checks, site: Site, reviewer: Reviewer, item: Item, *, nonce: str, response: str) -> StepUp:
    """Return the step-up of a passkey's answer to the challenge of this item.

    Raises:
        CredentialError: the answer is not good, to another item, or another person's.
    """
    value = item.challenge(nonce)
    proof = checks.passkeys.verify(site, response, value)
    if proof.reviewer != reviewer:
        raise CredentialError("this is another person's passkey", remedy="use your own")
    return StepUp(item, reviewer, "passkey", value, _drawn(nonce, proof.at), _MADE_HERE)


def with_secret(checks: Checks, reviewer: Reviewer, item: Item, secret: str) -> StepUp:
    """Return the step-up of a password or token that was given for this item just now.

    Raises:
        StepUpError: this person has a passkey, so nothing less will do.
        CredentialError: the password or token is wrong, or another person's.
    """
    refuse_passkey_holder(checks, reviewer)
    now = checks.reviewers.clock()
    if secret.strip().startswith(TOKEN):
        proof = Proof(checks.reviewers.authenticate(secret), "token", now)
    else:
        proof = checks.passwords.authenticate(reviewer.name, secret)
    if proof.reviewer != reviewer:
        raise CredentialError("this is another person's credential", remedy="give your own")
    return StepUp(item, reviewer, proof.method, item.challenge(challenges.draw_nonce(now)), now, _MADE_HERE)


def refuse_passkey_holder(checks: Checks, reviewer: Reviewer) -> None:
    """Refuse a password or token of somebody who has a passkey: what can be typed can be stolen.

    Raises:
        StepUpError: this person has one.
    """
    if checks.passkeys.of(reviewer.name):
        raise StepUpError("you have a passkey, and this call takes it", remedy="decide it on the review page")


def spend(
    connection: sa.Connection,
    step_up: StepUp | None,
    proposal: Proposal,
    reviewer: Reviewer,
    *,
    at: int,
    decision: Decision = "approve",
) -> None:
    """Take a step-up inside the deciding transaction, with its event; then it is worth nothing any more.

    Raises:
        StepUpError: there is none, or it is for another call, digest, decision or person, too old, or used before.
    """
    if step_up is None:
        raise StepUpError("this call takes a fresh proof of who approves it", remedy=_REMEDY)
    if step_up.item != Item.of(proposal, decision) or step_up.reviewer != reviewer:
        raise StepUpOtherError("this proof was made for another call, or by another person", remedy=_REMEDY)
    if not 0 <= at - step_up.at <= challenges.GOOD_FOR:
        raise StepUpOldError("this proof is too old", remedy=_REMEDY)
    challenges.spend(connection, step_up.challenge, "step-up", reviewer.name, at)
    body: dict[str, JSON] = {"challenge": step_up.challenge.hex(), "method": step_up.method, "decision": decision}
    body |= {"digest": proposal.digest, "by": reviewer.name}
    audit.append(connection, at=at, kind="stepup.used", subject=proposal.id, body=body)


def _drawn(nonce: str, now: int) -> int:
    """Return when the challenge was drawn; the answer may not be older than that."""
    if not challenges.is_fresh(nonce, now):
        raise CredentialError("the passkey was asked too long ago", remedy="try again")
    return int(nonce.partition(".")[0])


__all__ = ["Checks", "Decision", "Item", "StepUp", "refuse_passkey_holder", "spend", "with_passkey", "with_secret"]
