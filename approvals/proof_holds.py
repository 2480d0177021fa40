"""Whether what somebody proved themselves with still opens their account, at the moment something rests on it.

Between a proof and what is done with it, the password may have been changed, the passkey removed, the session ended by
its person. So each proof names what it was made of, and the transaction that relies on it looks again.

Guarantees: a proof by password, passkey or organisation that names nothing holds nowhere.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.account_tables import identities, passkeys, passwords, sessions
from checkvalve.approvals.accountcheck import password_digest
from checkvalve.approvals.canonical import digest
from checkvalve.approvals.errors import CredentialError
from checkvalve.approvals.proofs import Proof

_NAMES_SOMETHING: Final = frozenset({"password", "passkey", "oidc"})
"""Ways to prove who one is that are looked for again. A token is in the account itself, and a link is used up."""
OF_ACCOUNT: Final = "account:"
"""What a proof names that holds as long as the account has this token: whoever relies on one looks for that anyway."""


def of_password(name: str, password_hash: str) -> str:
    """Return what a proof by password names."""
    return f"password:{password_digest(name, password_hash)}"


def of_passkey(credential: str) -> str:
    """Return what a proof by passkey names."""
    return f"passkey:{credential}"


def of_identity(issuer: str, subject: str) -> str:
    """Return what a proof by an organisation's sign-in names."""
    return f"oidc:{digest([issuer, subject])}"


def of_session(key: str) -> str:
    """Return what a proof that was given in a session names."""
    return f"session:{key}"


def require_holding(connection: sa.Connection, proof: Proof) -> None:
    """Make sure, inside the caller's transaction, that what a proof was made of still opens the account.

    Raises:
        CredentialError: it does not.
    """
    name, (kind, _, what) = proof.reviewer.name, proof.bound.partition(":")
    if kind == "password":
        stored = connection.execute(sa.select(passwords.c.password_hash).where(passwords.c.name == name)).scalar()
        holds = stored is not None and password_digest(name, str(stored)) == what
    elif kind == "passkey":
        row = passkeys.c
        mine = (row.credential == what, row.name == name, row.removed_at.is_(None))
        holds = bool(connection.execute(sa.select(sa.exists().where(*mine))).scalar())
    elif kind == "oidc":
        one = identities.c
        query = sa.select(one.issuer, one.subject).where(one.name == name, one.removed_at.is_(None))
        holds = what in {digest([str(issuer), str(subject)]) for issuer, subject in connection.execute(query)}
    elif kind == "session":
        open_ = (sessions.c.key == what, sessions.c.name == name)
        holds = bool(connection.execute(sa.select(sa.exists().where(*open_))).scalar())
    elif kind == "account":
        holds = True
    else:
        holds = not proof.bound and proof.method not in _NAMES_SOMETHING
    if not holds:
        raise CredentialError("what proved this opens the account no more", remedy="sign in again")


__all__ = ["OF_ACCOUNT", "of_identity", "of_passkey", "of_password", "of_session", "require_holding"]
