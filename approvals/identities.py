"""Identities of an organisation's sign-in (OpenID Connect): whose account an issuer's subject opens.

Guarantees: an identity is issuer and subject, never an address of mail or a name, which a provider may give to somebody
else tomorrow; it opens an account only after a person who had just proved who they are linked it, or where the settings
let everybody in whom the provider knows; one that was planted in the table opens nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.account_tables import identities
from checkvalve.approvals.accountcheck import account_subject, require_account
from checkvalve.approvals.errors import AccountError, CredentialError
from checkvalve.approvals.people import folded, is_usable, same_person
from checkvalve.approvals.proof_holds import of_identity, require_holding
from checkvalve.approvals.proofs import Proof, require_fresh
from checkvalve.approvals.recorded_account import ADDED, credential_digest
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.roles import (
    EARLIER,
    Role,
    Scope,
    account_of,
    accounts,
    require_as_recorded,
    subject_of,
)
from checkvalve.approvals.rolesgiven import give, keep_one_administrator
from checkvalve.approvals.sessions import begun_with, end_sessions, require_reviewer
from checkvalve.approvals.tables import reviewers
from checkvalve.filters.strictjson import JSON

BY: Final = "oidc"
"""Who adds accounts and gives roles where the provider's groups say so."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a provider said of somebody, after everything about it was checked.

    ``name`` is the address that it has verified. It opens nothing; a call asked for in it is this person's.
    """

    issuer: str
    subject: str
    name: str = ""
    roles: frozenset[Role] | None = field(default=None)  # of the provider's groups; None where groups give none


@dataclass(frozen=True, slots=True)
class Linked:
    """An identity of an account. ``linked_at`` is microseconds."""

    issuer: str
    subject: str
    linked_at: int


class Identities:
    """The identities in one store."""

    def __init__(self, board: Reviewers) -> None:
        """Link to the accounts of ``board``."""
        self._board = board
        self._store, self._clock = board.store, board.clock

    def find(self, identity: Identity) -> Proof | None:
        """Return the proof of whose identity this is, None where it is nobody's. Roles follow the provider's groups.

        Raises:
            CredentialError: the account was disabled.
            StoreCorruptError: somebody linked it beside the log.
        """
        row = identities.c
        mine = (row.issuer == identity.issuer, row.subject == identity.subject, row.removed_at.is_(None))
        with self._store.write() as connection:
            name = connection.execute(sa.select(row.name).where(*mine)).scalar()
            if name is None:
                return None
            require_account(connection, str(name))
            query = sa.select(reviewers).where(reviewers.c.name == name, reviewers.c.disabled_at.is_(None))
            account = connection.execute(query).mappings().one_or_none()
            if account is None:
                raise CredentialError("this account is disabled", remedy="ask an administrator")
            require_as_recorded(connection, account)
            self._follow(connection, str(name), identity.roles)
        held = of_identity(identity.issuer, identity.subject)
        return Proof(Reviewer(str(name), str(account["selector"]), "oidc"), "oidc", self._clock(), held)

    def link(self, reviewer: Reviewer, identity: Identity, proof: Proof) -> None:
        """Let an identity open a person's own account.

        Raises:
            CredentialError: the proof is not fresh.
            AccountError: it opens an account already, or was another person's.
        """
        now = self._clock()
        require_fresh(proof, reviewer, now)
        with self._store.write() as connection:
            require_reviewer(connection, reviewer)
            require_holding(connection, proof)
            self._insert(connection, reviewer.name, identity, by=proof.method, at=now)

    def add(self, identity: Identity) -> Proof:
        """Make an account for somebody whom the provider knows; for settings that say so.

        Raises:
            AccountError: the name is unusable, or is or looks like somebody else's; or the identity opened an account
                before, whose person would have two voices. Then it takes an invitation.
        """
        name, now = folded(identity.name), self._clock()
        if not is_usable(identity.name):
            raise AccountError("the provider gave no usable name", remedy="let an administrator invite this person")
        selector, unknown = secrets.token_hex(8), self._board.hasher.hash(secrets.token_urlsafe(32))
        with self._store.write() as connection:
            known = accounts(connection, everyone=True)
            if any(same_person(name, word) for one in known for word in (one.name, one.person, *one.known_as)):
                raise AccountError(
                    "there is an account of this name", remedy="whoever it is links the provider on the account's page"
                )
            if _was_of(connection, identity):
                raise AccountError(
                    "whoever this is had an account already", remedy="sign in to it another way, or take an invitation"
                )
            values = {"name": name, "selector": selector, "token_hash": unknown, "added_by": BY, "added_at": now}
            connection.execute(sa.insert(reviewers).values(disabled_at=None, **values))
            body: dict[str, JSON] = {"reviewer": name, "by": BY, "credential": credential_digest(selector, unknown)}
            audit.append(connection, at=now, kind=ADDED, subject=subject_of(name), body=body)
            roles = EARLIER - {Role.ADMINISTRATOR} if identity.roles is None else identity.roles
            give(connection, name, roles, Scope(), person=name, by=BY, at=now)
            self._insert(connection, name, identity, by=BY, at=now)
        return Proof(Reviewer(name, selector, "oidc"), "oidc", now, of_identity(identity.issuer, identity.subject))

    def of(self, name: str) -> list[Linked]:
        """Return the identities that open an account."""
        row = identities.c
        query = sa.select(row.issuer, row.subject, row.linked_at).where(row.name == name, row.removed_at.is_(None))
        with self._store.read() as connection:
            return [Linked(*found) for found in connection.execute(query.order_by(row.linked_at))]

    def remove(self, reviewer: Reviewer, issuer: str, subject: str, proof: Proof, *, keep: str = "") -> None:
        """Let an identity open a person's own account no more; sessions that began so end, but for the one of ``keep``.

        Raises:
            CredentialError: the proof is not fresh.
            AccountError: it does not open it.
        """
        now = self._clock()
        require_fresh(proof, reviewer, now)
        row = identities.c
        mine = (row.issuer == issuer, row.subject == subject, row.name == reviewer.name, row.removed_at.is_(None))
        with self._store.write() as connection:
            require_reviewer(connection, reviewer)
            if connection.execute(sa.update(identities).where(*mine).values(removed_at=now)).rowcount != 1:
                raise AccountError("this is no identity of yours", remedy="look at your account's page again")
            body: dict[str, JSON] = {"name": reviewer.name, "issuer": issuer, "subject": subject}
            subject_ = account_subject(reviewer.name)
            audit.append(connection, at=now, kind="identity.removed", subject=subject_, body=body)
            end_sessions(connection, begun_with("oidc", reviewer.name, keep), at=now, code="credential")

    @staticmethod
    def _insert(connection: sa.Connection, name: str, identity: Identity, *, by: str, at: int) -> None:
        key = {"issuer": identity.issuer, "subject": identity.subject}
        mine = sa.and_(identities.c.issuer == identity.issuer, identities.c.subject == identity.subject)
        found = connection.execute(sa.select(identities).where(mine)).mappings().one_or_none()
        if found is not None and found["removed_at"] is None:
            raise AccountError("this identity opens an account already", remedy="sign in with it, or remove it there")
        if found is not None and _persons(connection, name, found["name"]) > 1:
            # what is asked for in its names is still that person's, and one row says so of one account
            raise AccountError(
                "this identity was another person's here",
                remedy="if both are you, let an administrator join them: checkvalve approvals reviewer same",
            )
        connection.execute(sa.delete(identities).where(mine))
        said = {**key, "name": name, "address": folded(identity.name)}
        connection.execute(sa.insert(identities).values(**said, linked_at=at, removed_at=None))
        body: dict[str, JSON] = {**said, "proof": by}
        audit.append(connection, at=at, kind="identity.linked", subject=account_subject(name), body=body)

    def _follow(self, connection: sa.Connection, name: str, roles: Iterable[Role] | None) -> None:
        """Give an account the roles of the provider's groups, where groups give roles at all."""
        if roles is None:
            return
        found = account_of(connection, name)
        if found.roles != frozenset(roles):
            give(connection, name, frozenset(roles), found.scope, person=found.person, by=BY, at=self._clock())
            keep_one_administrator(connection)


def _persons(connection: sa.Connection, *names: str) -> int:
    """Return how many people the accounts of these names are."""
    return len({account_of(connection, name).person for name in names})


def _was_of(connection: sa.Connection, identity: Identity) -> bool:
    """Say whether an identity opened an account before, also one that it was taken from."""
    row = identities.c
    mine = (row.issuer == identity.issuer, row.subject == identity.subject)
    return connection.execute(sa.select(row.name).where(*mine)).first() is not None


__all__ = ["BY", "Identities", "Identity", "Linked"]
