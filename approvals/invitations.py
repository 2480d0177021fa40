"""One-time links into an account: for the first reviewer, for somebody new, and for somebody who has lost every way in.

Guarantees: there is no default password; a link is drawn at random, kept as its hash, good once and for a time, and
worth nothing as soon as a newer one is made for the same account; looking at its page uses nothing up. Only an
administrator makes one for somebody else. Who comes in by a link has proved who they are, for the minutes in which they
set a password or add a passkey; every earlier session of the account ends.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.account_tables import devices, invitations, sessions
from checkvalve.approvals.accountcheck import account_subject, require_account
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.errors import AccountError
from checkvalve.approvals.passwords import Passwords, set_password
from checkvalve.approvals.people import folded
from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.roles import Role, require_role
from checkvalve.approvals.sessions import end_sessions, hashed
from checkvalve.approvals.tables import reviewers
from checkvalve.filters.strictjson import JSON

FIRST_FOR: Final = 3_600_000_000
"""Microseconds for which the link of the first start is good."""
INVITED_FOR: Final = 172_800_000_000
"""Microseconds for which an invitation is good: two days."""
_BYTES: Final = 32
_MAX_CODE: Final = 100


@dataclass(frozen=True, slots=True)
class Invitation:
    """A link that is good now; ``name`` is whose account it opens, empty for the first reviewer."""

    name: str
    made_by: str
    expires_at: int


class Invitations:
    """The links of one store."""

    def __init__(self, board: Reviewers, passwords: Passwords) -> None:
        """Invite into the accounts of ``board``."""
        self._board = board
        self._passwords = passwords
        self._store, self._clock = board.store, board.clock

    def first(self) -> str:
        """Return the code for the first reviewer; an older one is worth nothing any more.

        Raises:
            AccountError: there is a reviewer already.
        """
        with self._store.write() as connection:
            if _anybody(connection):
                raise AccountError("somebody is a reviewer already", remedy="let an administrator invite others")
            return self._make(connection, "", "setup", FIRST_FOR)

    def invite(self, name: str, *, by: Reviewer, roles: Iterable[Role] | None = None) -> str:
        """Return a code for ``name``, who becomes a reviewer with ``roles``, or is one and gets a new way in.

        Raises:
            CredentialError, NotAllowedError: ``by`` may not invite.
            QueueError: the name is unusable, taken by a disabled account, or has other roles.
        """
        known = {folded(one.name): one for one in self._board.accounts()}
        found = known.get(folded(name))
        if found is not None and found.program:
            raise AccountError(f"{found.name} is a program's account", remedy="invite a person under another name")
        if found is None:
            self._board.add(name, by=by, roles=roles)  # its token is shown to nobody
        elif roles is not None and frozenset(roles) != found.roles:
            raise AccountError(
                f"{found.name} has an account with other roles", remedy="invite without roles, and change them apart"
            )
        with self._store.write() as connection:
            self._board.require(connection, by)
            require_role(connection, by, Role.ADMINISTRATOR)
            person = _enabled(connection, folded(name))
            if person is None:
                raise AccountError("this account is disabled", remedy="invite under another name")
            return self._make(connection, person, by.name, INVITED_FOR)

    def look(self, code: str) -> Invitation | None:
        """Return the link of a code while it is good; uses nothing up."""
        with self._store.read() as connection:
            return self._good(connection, code)

    def accept_first(self, code: str, name: str, password: str = "") -> tuple[Proof, str]:
        """Make the first reviewer; return the proof of who that is, and the token.

        Raises:
            AccountError: the link is not good any more, the password not good enough, or the name unusable.
            CredentialError: somebody was faster.
        """
        found = self.look(code)
        if found is None or found.name:
            raise _over()
        secret = self._passwords.hash_for(folded(name), password) if password else ""
        token = self._board.add(name)
        reviewer = self._board.authenticate(token)
        with self._store.write() as connection:
            self._use(connection, code, "")
            if secret:
                set_password(connection, reviewer.name, secret, at=self._clock(), by="link")
        return Proof(reviewer, "link", self._clock()), token

    def accept(self, code: str, password: str = "") -> Proof:
        """Use a link up, with a new password or without one; return the proof of whose it was.

        Raises:
            AccountError: the link is not good any more, or the password not good enough.
        """
        found = self.look(code)
        if found is None or not found.name:
            raise _over()
        secret = self._passwords.hash_for(found.name, password) if password else ""
        now = self._clock()
        with self._store.write() as connection:
            require_account(connection, found.name)
            self._use(connection, code, found.name)
            if secret:
                set_password(connection, found.name, secret, at=now, by="link")
            connection.execute(sa.delete(devices).where(devices.c.name == found.name))
            end_sessions(connection, sessions.c.name == found.name, at=now, code="credential")
            query = sa.select(reviewers.c.selector).where(reviewers.c.name == found.name)
            selector = str(connection.execute(query).scalar_one())
        return Proof(Reviewer(found.name, selector, "link"), "link", now)

    def _make(self, connection: sa.Connection, name: str, by: str, good_for: int) -> str:
        code, now = secrets.token_urlsafe(_BYTES), self._clock()
        older = sa.select(invitations.c.key).where(invitations.c.name == name, invitations.c.used_at.is_(None))
        for key in connection.execute(older).scalars().all():
            self._end(connection, str(key), name, "replaced")
        key, until = hashed(code), now + good_for
        row = {"key": key, "name": name, "made_by": by, "made_at": now, "expires_at": until}
        connection.execute(sa.insert(invitations).values(**row, used_at=None))
        body: dict[str, JSON] = {"key": key, "name": name, "by": by, "expires_at": rfc3339(until)}
        audit.append(connection, at=now, kind="invitation.made", subject=account_subject(name), body=body)
        return code

    def _good(self, connection: sa.Connection, code: str) -> Invitation | None:
        row = invitations.c
        good = (row.key == hashed(code), row.used_at.is_(None), row.expires_at > self._clock())
        query = sa.select(row.name, row.made_by, row.expires_at).where(*good)
        found = connection.execute(query).one_or_none() if len(code) <= _MAX_CODE else None
        if found is None or (_anybody(connection) if not found.name else _enabled(connection, found.name) is None):
            return None
        return Invitation(found.name, found.made_by, found.expires_at)

    def _use(self, connection: sa.Connection, code: str, name: str) -> None:
        row = invitations.c
        good = (row.key == hashed(code), row.used_at.is_(None), row.expires_at > self._clock())
        if connection.execute(sa.select(row.name).where(*good)).scalar() != name:
            raise _over()
        self._end(connection, hashed(code), name, "used")

    def _end(self, connection: sa.Connection, key: str, name: str, how: str) -> None:
        now = self._clock()
        connection.execute(sa.update(invitations).where(invitations.c.key == key).values(used_at=now))
        body: dict[str, JSON] = {"key": key, "name": name}
        audit.append(connection, at=now, kind=f"invitation.{how}", subject=account_subject(name), body=body)


def _over() -> AccountError:
    return AccountError("this link is not good any more", remedy="ask an administrator for a new one")


def _anybody(connection: sa.Connection) -> bool:
    return connection.execute(sa.select(reviewers.c.name).limit(1)).scalar() is not None


def _enabled(connection: sa.Connection, name: str) -> str | None:
    query = sa.select(reviewers.c.name).where(reviewers.c.disabled_at.is_(None))
    return next((str(one) for one in connection.execute(query).scalars() if folded(str(one)) == name), None)


__all__ = ["FIRST_FOR", "INVITED_FOR", "Invitation", "Invitations"]
