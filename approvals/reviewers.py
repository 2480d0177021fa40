"""Who may decide: people with a credential that the agent does not have.

A token has a public selector and a secret of 256 bits; the database keeps the selector and an argon2 hash. The first
reviewer may be added by whoever set the database up; each later one needs the credential of an administrator, so an
agent that can merely start the command cannot make a reviewer of itself. Nobody gives himself a role, and somebody
stays who can give roles.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import argon2
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.clock import Clock, system_clock
from checkvalve.approvals.errors import CredentialError, QueueError
from checkvalve.approvals.people import RULE, folded, is_usable, same_person
from checkvalve.approvals.program_rule import require_person
from checkvalve.approvals.recorded_account import ADDED, DISABLED, credential_digest
from checkvalve.approvals.roles import (
    EARLIER,
    LOOKS,
    Account,
    People,
    Role,
    Roster,
    Scope,
    account,
    account_of,
    accounts,
    require_as_recorded,
    require_role,
    subject_of,
)
from checkvalve.approvals.rolesgiven import give, keep_one_administrator, may_give, owner_for, person_for
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import reviewers
from checkvalve.filters.strictjson import JSON

_PREFIX: Final = "cvr"  # recognisable, so that secret scanners can find a lost one
_SELECTOR_BYTES: Final = 8
_SECRET_BYTES: Final = 32
_MAX_TOKEN: Final = 200  # nothing longer was ever issued; do not hash a megabyte
_REMEDY: Final = "use the token that `checkvalve approvals reviewer add` printed"

_NAMED: Final = sa.select(reviewers).where(reviewers.c.name == sa.bindparam("wanted"))

EVERYWHERE: Final = Scope()
Accounts: TypeAlias = list[Account]  # inside the class, `list` is the method


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Whose credential was checked, and by which means. Only what checks credentials should make one."""

    name: str
    selector: str
    means: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ReviewerEntry:
    """A line of the list of reviewers."""

    name: str
    added_by: str
    added_at: int
    disabled_at: int | None


class Reviewers:
    """The reviewers in one store."""

    def __init__(self, store: Store, clock: Clock = system_clock, hasher: argon2.PasswordHasher | None = None) -> None:
        """Use ``hasher`` only to make tests fast; the default costs what argon2 recommends."""
        self._store = self.store = store
        self._clock = self.clock = clock
        self._hasher = self.hasher = hasher or argon2.PasswordHasher()
        self._dummy = ""

    def add(
        self,
        name: str,
        *,
        by: Reviewer | None = None,
        roles: Iterable[Role] | None = None,
        scope: Scope = EVERYWHERE,
        person: str = "",
        owner: str | None = None,
    ) -> str:
        """Add a reviewer and return the token, which is shown once and kept nowhere.

        ``roles`` hold within ``scope``; without any, everything but breaking the glass, everywhere. ``person`` says
        whose account it is, where it is a further one of somebody who has one: the two have one voice. With ``owner``,
        which may be empty, the account is a program's: it looks at calls, and does nothing else.

        Raises:
            CredentialError: there are reviewers already, and ``by`` is none of them.
            NotAllowedError: ``by`` is no administrator, or would give himself a role.
            QueueError: the name is empty, too long, not printable, of several scripts, or taken, also by a name that
                looks the same; the first one would be no administrator; or the owner is a program, or no name.
        """
        label = folded(name)
        if not is_usable(name):
            raise QueueError(
                f"a reviewer needs a printable name: {RULE}", remedy="use the name or address people know them by"
            )
        selector, secret = secrets.token_hex(_SELECTOR_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        hashed = self._hasher.hash(secret)
        now = self._clock()
        with self._store.write() as connection:
            known = accounts(connection, everyone=True)
            giver = self._administrator(connection, by, known)
            if any(same_person(label, other.name) for other in known):
                raise QueueError("there is a reviewer of this name already", remedy="choose another name")
            whose = person_for(known, label, person)
            owner = None if owner is None else owner_for(known, owner, label)
            if roles is not None:
                may_give(giver, whose, frozenset(roles), scope)
            adder = by.name if by else "setup"
            values = {"name": label, "selector": selector, "token_hash": hashed, "added_by": adder, "added_at": now}
            connection.execute(sa.insert(reviewers).values(disabled_at=None, **values))
            body: dict[str, JSON] = {"reviewer": label, "by": adder, "credential": credential_digest(selector, hashed)}
            audit.append(connection, at=now, kind=ADDED, subject=subject_of(label), body=body)
            if roles is not None or whose != label or owner is not None:
                chosen = giver.roles - {Role.BREAKER} if giver and whose == giver.person else EARLIER
                chosen = chosen if owner is None else LOOKS
                given = chosen if roles is None else roles
                give(connection, label, given, scope, person=whose, by=adder, at=now, owner=owner)
                keep_one_administrator(connection)
        return f"{_PREFIX}_{selector}_{secret}"

    def _administrator(self, connection: sa.Connection, by: Reviewer | None, known: Accounts) -> Account | None:
        """Return who adds somebody; None where it is the first one.

        Raises:
            CredentialError, NotAllowedError: nobody who may.
        """
        if by is not None:
            self.require(connection, by)
            return require_role(connection, by, Role.ADMINISTRATOR)
        if known:
            raise CredentialError("only a reviewer can add another one", remedy="give an existing reviewer's token")
        return None

    def set_roles(self, name: str, roles: Iterable[Role], *, by: Reviewer, scope: Scope = EVERYWHERE) -> Account:
        """Say what somebody may do from now on, instead of what they could before.

        Raises:
            CredentialError, NotAllowedError: ``by`` is no reviewer any more, is no administrator, or would give
                himself a role.
            QueueError: there is no such reviewer, or nobody would be left who gives roles.
        """
        with self._store.write() as connection:
            self.require(connection, by)
            giver = require_role(connection, by, Role.ADMINISTRATOR)
            found = self._named(connection, name)
            wanted = frozenset(roles)
            may_give(giver, found.person, wanted, scope)
            owner = found.owner if found.program else None
            give(connection, found.name, wanted, scope, person=found.person, by=by.name, at=self._clock(), owner=owner)
            keep_one_administrator(connection)
            return account_of(connection, found.name)

    def _named(self, connection: sa.Connection, name: str) -> Account:
        known = accounts(connection, everyone=True)
        found = next((one for one in known if folded(one.name) == folded(name)), None)
        if found is None:
            raise QueueError("there is no such reviewer", remedy="list them: checkvalve approvals reviewer list")
        return found

    def account(self, name: str) -> Account:
        """Return an account with its roles.

        Raises:
            QueueError: there is none of this name.
        """
        with self._store.read() as connection:
            return account_of(connection, self._named(connection, name).name)

    def accounts(self) -> Accounts:
        """Return everybody who ever was a reviewer, with roles and whose account it is."""
        with self._store.read() as connection:
            return accounts(connection, everyone=True)

    def authenticate(self, token: str) -> Reviewer:
        """Return the reviewer whose token this is.

        Raises:
            CredentialError: it is nobody's, or that reviewer was disabled. The text does not say which.
            StoreCorruptError: somebody wrote the account by hand.
        """
        prefix, _, rest = token.strip().partition("_")
        selector, _, secret = rest.partition("_")
        if prefix != _PREFIX or len(token) > _MAX_TOKEN or not token.isascii():
            raise CredentialError("this is not a reviewer's token", remedy=_REMEDY)
        query = sa.select(reviewers).where(reviewers.c.selector == selector, reviewers.c.disabled_at.is_(None))
        with self._store.read() as connection:
            row = connection.execute(query).mappings().one_or_none()
        try:
            self._hasher.verify(row["token_hash"] if row else self._nobody(), secret)
        except argon2.exceptions.VerificationError:
            row = None
        except argon2.exceptions.InvalidHashError as error:
            raise CredentialError("the stored credential cannot be read", remedy="verify the audit log") from error
        if row is None:
            raise CredentialError("the credential was not accepted", remedy=_REMEDY)
        with self._store.read() as connection:  # also where nothing asks for a role: a planted row lets nobody look
            require_as_recorded(connection, row)
        return Reviewer(row["name"], row["selector"], "token")

    def _nobody(self) -> str:
        """Return a hash to check unknown selectors against, so that they take as long as known ones."""
        if not self._dummy:
            self._dummy = self._hasher.hash(secrets.token_urlsafe(_SECRET_BYTES))
        return self._dummy

    def require(self, people: People, reviewer: Reviewer) -> None:
        """Check again, inside the deciding transaction, that this reviewer still is one, and a person.

        Raises:
            CredentialError: the account was disabled, or has another credential now.
            NotAllowedError: a program holds it.
        """
        require_person(self.require_known(people, reviewer))

    def require_known(self, people: People, reviewer: Reviewer) -> Account:
        """Return the account of a credential that still is one, be it a program's: for what decides nothing.

        Raises:
            CredentialError: the account was disabled, or has another credential now.
            StoreCorruptError: somebody wrote the account by hand.
        """
        row = self._held(people, reviewer)
        if isinstance(people, Roster):
            return people.account_of(reviewer.name)
        require_as_recorded(people, row)
        return account(row)

    def require_row(self, connection: sa.Connection, reviewer: Reviewer) -> None:
        """Do what :meth:`require` does by the table alone: for who closes a log that cannot be relied on.

        Raises:
            CredentialError, NotAllowedError: as there. What the good part of the log says is for the caller to ask.
        """
        require_person(account(self._held(connection, reviewer)))

    @staticmethod
    def _held(people: People, reviewer: Reviewer) -> sa.RowMapping:
        if isinstance(people, Roster):
            row = people.rows().get(reviewer.name)
        else:
            row = people.execute(_NAMED, {"wanted": reviewer.name}).mappings().one_or_none()
        if row is None or row["disabled_at"] is not None or row["selector"] != reviewer.selector:
            raise CredentialError("the credential is no longer accepted", remedy=_REMEDY)
        return row

    def disable(self, name: str, *, by: Reviewer) -> None:
        """Take a reviewer's right to decide; what they decided stays on record.

        Raises:
            CredentialError, NotAllowedError: ``by`` is no reviewer any more, or no administrator.
            QueueError: there is no such reviewer, or nobody would be left who gives roles.
        """
        now = self._clock()
        with self._store.write() as connection:
            self.require(connection, by)
            require_role(connection, by, Role.ADMINISTRATOR)
            person = self._named(connection, name).name
            enabled = sa.update(reviewers).where(reviewers.c.name == person, reviewers.c.disabled_at.is_(None))
            if connection.execute(enabled.values(disabled_at=now)).rowcount != 1:
                raise QueueError("there is no such reviewer any more", remedy="they are disabled already")
            keep_one_administrator(connection)
            gone: dict[str, JSON] = {"reviewer": person, "by": by.name}
            audit.append(connection, at=now, kind=DISABLED, subject=subject_of(person), body=gone)

    def list(self) -> list[ReviewerEntry]:
        """Return everybody who ever was a reviewer."""
        columns = (reviewers.c.name, reviewers.c.added_by, reviewers.c.added_at, reviewers.c.disabled_at)
        with self._store.read() as connection:
            return [
                ReviewerEntry(*row) for row in connection.execute(sa.select(*columns).order_by(reviewers.c.added_at))
            ]
