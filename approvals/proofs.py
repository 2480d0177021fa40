"""That a person has just proved who they are: what changes of their own account take.

Guarantees: pure; a proof is of one person's account as it was, and old after :data:`FRESH`. Who has merely an open
session (a page left alone, a stolen cookie) changes no password and adds no passkey.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from checkvalve.approvals.errors import CredentialError
from checkvalve.approvals.reviewers import Reviewer

FRESH: Final = 300_000_000
"""Microseconds for which a proof is fresh: five minutes."""
METHODS: Final = ("token", "password", "passkey", "oidc", "link")
"""How somebody can prove who they are; ``link`` is the one-time link that a person was given."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Who proved who they are, how, and when (microseconds). Only code that checked a credential should make one.

    ``bound`` names what it was made of, which is looked for again by whatever relies on it (``proof_holds``).
    """

    reviewer: Reviewer
    method: str
    at: int
    bound: str = ""


STRONG: Final = frozenset({"passkey", "link"})
"""What changes the passkeys of somebody who has one: the passkey, or a link that an administrator made."""


def require_fresh(proof: Proof, reviewer: Reviewer, now: int) -> None:
    """Make sure that this person proved who they are a moment ago.

    Raises:
        CredentialError: it was somebody else, or too long ago.
    """
    if proof.reviewer != reviewer or proof.method not in METHODS or not 0 <= now - proof.at <= FRESH:
        raise CredentialError(
            "this takes a fresh proof of who you are", remedy="give your password, passkey or token once more"
        )


def require_strong(proof: Proof) -> None:
    """Make sure that nothing that can be typed stands behind a change of somebody's passkeys.

    Raises:
        CredentialError: a password, a token or another sign-in does.
    """
    if proof.method not in STRONG:
        raise CredentialError(
            "you have a passkey, and changing passkeys takes it",
            remedy="prove with the passkey who you are, or ask an administrator for a link",
        )


__all__ = ["FRESH", "METHODS", "STRONG", "Proof", "require_fresh", "require_strong"]
