"""Passwords of reviewers: argon2id hashes, set by the person, with a fresh proof or through a one-time link.

Guarantees: a password is kept as its hash alone; checking one takes one hash whoever is named, so that nobody can find
out by the time it takes which names exist; setting one ends the person's sessions and forgets their browsers, in one
transaction with its event; one that was planted in the table lets nobody in.
"""

from __future__ import annotations

import secrets
import threading
import unicodedata
from dataclasses import replace
from typing import Final

import argon2
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.account_tables import devices, passwords, sessions
from checkvalve.approvals.accountcheck import account_subject, password_digest, require_account
from checkvalve.approvals.clock import Clock, system_clock
from checkvalve.approvals.errors import AccountError, CredentialError
from checkvalve.approvals.password_rules import MAX_LENGTH, MIN_LENGTH, folded_password, problem_of
from checkvalve.approvals.people import MAX_NAME, folded
from checkvalve.approvals.proof_holds import of_password, require_holding
from checkvalve.approvals.proofs import Proof, require_fresh
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.sessions import end_sessions, require_reviewer
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import reviewers

_REFUSED: Final = "the name or the password was not accepted"
_REMEDY: Final = "try again, or ask an administrator for a new link: checkvalve approvals reviewer invite NAME"
_SAID: Final = {
    "short": f"a password has at least {MIN_LENGTH} characters",
    "long": f"a password has at most {MAX_LENGTH} characters",
    "unprintable": "a password has no control characters",
    "common": "this password is one of the commonest, or made of them",
    "name": "this password is made of the account's own name",
}
_ONE_AT_A_TIME: Final = threading.Lock()  # each hash takes tens of megabytes


class WeakPasswordError(AccountError):
    """A password that is refused; ``problem`` is one of ``password_rules.PROBLEMS``."""

    def __init__(self, problem: str) -> None:
        """Say what is wrong with it, and nothing of it."""
        super().__init__(_SAID[problem], remedy="take a few words that do not belong together")
        self.problem = problem


class Passwords:
    """The passwords in one store."""

    def __init__(self, store: Store, clock: Clock = system_clock, hasher: argon2.PasswordHasher | None = None) -> None:
        """Use ``hasher`` only to make tests fast; the default costs what argon2 recommends."""
        self._store = store
        self._clock = clock
        self._hasher = hasher or argon2.PasswordHasher()
        self._dummy = ""

    def change(self, reviewer: Reviewer, password: str, proof: Proof) -> Proof:
        """Set a person's own password. Every session of theirs ends, the one that asks too.

        Returns the same proof, of the same moment, which holds as long as the new password is theirs.

        Raises:
            WeakPasswordError: it is too short, too long, too common, or their own name.
            CredentialError: the proof is not fresh, or the account is no longer one.
        """
        now = self._clock()
        require_fresh(proof, reviewer, now)
        hashed = self.hash_for(reviewer.name, password)
        with self._store.write() as connection:
            require_reviewer(connection, reviewer)
            require_holding(connection, proof)
            set_password(connection, reviewer.name, hashed, at=now, by=proof.method)
        return replace(proof, bound=of_password(reviewer.name, hashed))

    def hash_for(self, name: str, password: str) -> str:
        """Return the hash of a password that may be one for ``name``.

        Raises:
            WeakPasswordError: it may not.
        """
        if problem := problem_of(password, name):
            raise WeakPasswordError(problem)
        with _ONE_AT_A_TIME:
            return self._hasher.hash(folded_password(password))

    def authenticate(self, name: str, password: str) -> Proof:
        """Return the proof of whoever this name and password are.

        1. Look the name up; there may be nobody. 2. Hash once, in any case. 3. What the table holds is what was set.

        Raises:
            CredentialError: they are nobody's, in the same words whatever is wrong.
            StoreCorruptError: the stored password is not what was set.
        """
        person, nobody = folded(name[: 4 * MAX_NAME]), self._nobody()
        usable = len(password) <= MAX_LENGTH and not any(unicodedata.category(char) == "Cs" for char in password)
        given = folded_password(password) if usable else ""
        query = sa.select(reviewers.c.name, reviewers.c.selector, passwords.c.password_hash)
        query = query.join(passwords, passwords.c.name == reviewers.c.name)
        with self._store.read() as connection:  # 1.
            found = query.where(reviewers.c.name == person, reviewers.c.disabled_at.is_(None))
            row = connection.execute(found).one_or_none()
        try:
            with _ONE_AT_A_TIME:
                self._hasher.verify(row.password_hash if row else nobody, given)  # 2.
        except argon2.exceptions.VerificationError:
            row = None
        except argon2.exceptions.InvalidHashError as error:
            raise CredentialError("the stored credential cannot be read", remedy="verify the audit log") from error
        if row is None or not usable:
            raise CredentialError(_REFUSED, remedy=_REMEDY)
        with self._store.read() as connection:
            require_account(connection, row.name)  # 3.
        held = of_password(row.name, row.password_hash)
        return Proof(Reviewer(row.name, row.selector, "password"), "password", self._clock(), held)

    def has(self, name: str) -> bool:
        """Say whether this person has a password."""
        with self._store.read() as connection:
            query = sa.select(passwords.c.name).where(passwords.c.name == name)
            return connection.execute(query).scalar() is not None

    def _nobody(self) -> str:
        """Return a hash to check unknown names against, so that they take as long as known ones."""
        if not self._dummy:
            self._dummy = self._hasher.hash(secrets.token_urlsafe(32))
        return self._dummy


def set_password(connection: sa.Connection, name: str, password_hash: str, *, at: int, by: str) -> None:
    """Store a password's hash inside the caller's write transaction; sessions end and browsers are forgotten.

    ``by`` says how the person had proved who they are.
    """
    connection.execute(sa.delete(passwords).where(passwords.c.name == name))
    connection.execute(sa.insert(passwords).values(name=name, password_hash=password_hash, set_at=at))
    connection.execute(sa.delete(devices).where(devices.c.name == name))
    credential = password_digest(name, password_hash)
    body = {"name": name, "credential": credential, "proof": by}
    audit.append(connection, at=at, kind="password.set", subject=account_subject(name), body={**body})
    end_sessions(connection, sessions.c.name == name, at=at, code="credential")


__all__ = ["Passwords", "WeakPasswordError", "set_password"]
