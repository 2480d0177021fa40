"""What each person with a credential may do: roles, and the scope in which they hold.

1. A ``viewer`` sees calls. 2. A ``responder`` also says no, asks back, answers, and says how an unknown outcome ended:
nothing runs because of it. 3. An ``approver`` also says yes. 4. An ``auditor`` sees the audit log, and counts where a
review rule asks for one. 5. A ``breaker`` may break the glass where a review rule lets him. 6. A ``revealer`` may look
at what a card does not show, and each look is recorded. 7. An ``administrator`` says who has which role.

Guarantees: who was added before there were roles has all but ``breaker``; what a row says is compared with the log
before it is relied on, so a role that was written into the database by hand is worth nothing. A scope limits what one
may decide, never what one sees; its amount limits a yes and never a no.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import sqlalchemy as sa

from checkvalve.approvals.account_tables import identities
from checkvalve.approvals.audit import Event
from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.errors import CredentialError, QueueError, RoleNeededError, StoreCorruptError
from checkvalve.approvals.program_rule import require_person
from checkvalve.approvals.question import Question
from checkvalve.approvals.quorumcheck import ACCOUNT
from checkvalve.approvals.recorded_account import require_account_recorded
from checkvalve.approvals.scope import Scope
from checkvalve.approvals.sound_events import sound_events, sound_of_subjects
from checkvalve.approvals.tables import reviewers
from checkvalve.filters.strictjson import JSON

if TYPE_CHECKING:
    from checkvalve.approvals.reviewers import Reviewer


class Role(enum.StrEnum):
    """What somebody may do; see the module's list."""

    VIEWER = "viewer"
    RESPONDER = "responder"
    APPROVER = "approver"
    AUDITOR = "auditor"
    BREAKER = "breaker"
    REVEALER = "revealer"
    ADMINISTRATOR = "administrator"


EARLIER: Final = frozenset(Role) - {Role.BREAKER}
"""What everybody had before there were roles, and has who is added without any."""
LOOKS: Final = frozenset({Role.VIEWER})
"""All that a program's account may have: it looks, and fills no place of any quorum."""
PROGRAM: Final = "program"
GIVEN: Final = "reviewer.roles"
"""The kind of the event that says which roles an account has, and whose it is."""
MAX_LISTED: Final = 5
"""People that an error names."""
_WITH_NAMES: Final = sa.select(reviewers, identities.c.subject, identities.c.address).select_from(
    reviewers.outerjoin(identities, identities.c.name == reviewers.c.name)
)
_EVERYONE: Final = _WITH_NAMES.order_by(reviewers.c.added_at, reviewers.c.name)
_NAMED: Final = _WITH_NAMES.where(reviewers.c.name == sa.bindparam("wanted"))


@dataclass(frozen=True, slots=True)
class Account:
    """A credential, whose it is, and what that person may do with it.

    ``program`` says that no person holds it; ``owner`` is then whose program it is. ``known_as`` are the names that the
    person has at a provider or in a chat, also of links that were removed.
    """

    name: str
    person: str
    roles: frozenset[Role] = EARLIER
    scope: Scope = field(default_factory=Scope)
    disabled: bool = False
    program: bool = False
    owner: str = ""
    known_as: frozenset[str] = frozenset()

    def has(self, *wanted: Role) -> bool:
        """Say whether it has one of these roles."""
        return not self.roles.isdisjoint(wanted)

    def roles_for(self, question: Question, *, yes: bool = True) -> frozenset[Role]:
        """Return the roles that count for a question; none outside the scope, or when it was disabled."""
        return frozenset() if self.disabled or self.program or not self.scope.covers(question, yes=yes) else self.roles


def stored(roles: Iterable[Role], scope: Scope, *, owner: str | None = None) -> str:
    """Return what a row and its event keep of roles and their scope; ``owner`` is that of a program, None of people."""
    names: list[JSON] = [*sorted(role.value for role in roles)]
    kind: dict[str, JSON] = {} if owner is None else {"kind": PROGRAM, "owner": owner}
    return canonical({"roles": names, "scope": scope.to_json(), **kind}).decode()


def account(row: sa.RowMapping, known_as: Iterable[str] = ()) -> Account:
    """Return the account in a row, without looking at the log. A program looks, whatever else its row says.

    Raises:
        StoreCorruptError: the row holds what this program never writes.
    """
    roles, scope, program, owner = EARLIER, Scope(), False, ""
    if row["roles"]:
        try:
            body = json.loads(row["roles"])
            roles, scope = frozenset(Role(word) for word in body["roles"]), Scope.from_json(body["scope"])
            program, owner = "kind" in body, str(body.get("owner") or "")
        except (ValueError, TypeError, KeyError, QueueError) as error:
            raise StoreCorruptError("the roles of a reviewer cannot be read", remedy="verify the audit log") from error
    roles = roles & LOOKS if program else roles
    whose, gone, names = row["person"] or row["name"], row["disabled_at"] is not None, frozenset(known_as)
    return Account(row["name"], whose, roles, scope, gone, program, owner, names)


class Roster:
    """Everybody's account as one transaction sees it, read once: good as long as the transaction changes none."""

    def __init__(self, connection: sa.Connection) -> None:
        """Read nothing yet."""
        self.connection = connection
        self._rows: dict[str, sa.RowMapping] | None = None
        self._known: dict[str, Account] = {}
        self._linked: dict[str, list[str]] = {}
        self._told: dict[str, list[Event]] = {}

    def told(self, subjects: Iterable[str]) -> Mapping[str, Sequence[Event]]:
        """Return the events about some subjects, as :func:`sound_events`, each read once; in one statement."""
        wanted = set(subjects)
        if missing := wanted - self._told.keys():
            self._told |= sound_of_subjects(self.connection, missing)
        return {subject: self._told[subject] for subject in wanted}

    def rows(self) -> Mapping[str, sa.RowMapping]:
        """Return the stored accounts by their names, oldest first."""
        if self._rows is None:
            self._rows = {}
            for row in self.connection.execute(_EVERYONE).mappings().all():
                self._rows.setdefault(row["name"], row)
                self._linked.setdefault(row["name"], []).extend(_names_in(row))
        return self._rows

    def known_as(self, name: str) -> list[str]:
        """Return the names that the person of an account has elsewhere: at a provider, in a chat."""
        return self._linked.get(name, []) if self.rows() else []

    def account_of(self, name: str) -> Account:
        """Return an account whose roles are what the log says of them; raises as the function of this name."""
        if name not in self._known:
            row = self.rows().get(name)
            own = None if row is None else self.told([subject := subject_of(name)])[subject]
            self._known[name] = _checked(self.connection, row, self.known_as(name), own)
        return self._known[name]


People: TypeAlias = sa.Connection | Roster
"""Where accounts are read from: a transaction, or what was read in it."""


def accounts(people: People, *, everyone: bool = False) -> list[Account]:
    """Return the accounts that are not disabled, or all, oldest first."""
    found = people if isinstance(people, Roster) else Roster(people)
    rows = [row for row in found.rows().values() if everyone or row["disabled_at"] is None]
    return [account(row, found.known_as(row["name"])) for row in rows]


def account_of(people: People, name: str) -> Account:
    """Return an account whose roles are what the log says of them.

    Raises:
        CredentialError: there is none of this name.
        StoreCorruptError: somebody wrote the row, its credential or its roles by hand.
    """
    if isinstance(people, Roster):
        return people.account_of(name)
    rows = people.execute(_NAMED, {"wanted": name}).mappings().all()
    return _checked(people, rows[0] if rows else None, [one for row in rows for one in _names_in(row)])


def _names_in(row: sa.RowMapping) -> list[str]:
    return [one for one in (row["subject"], row["address"]) if one]


def _checked(
    connection: sa.Connection, row: sa.RowMapping | None, known_as: Sequence[str], own: Sequence[Event] | None = None
) -> Account:
    if row is None:
        raise CredentialError("there is no such reviewer", remedy="list them: checkvalve approvals reviewer list")
    require_as_recorded(connection, row, own)
    return account(row, known_as)


def require_as_recorded(connection: sa.Connection, row: sa.RowMapping, own: Sequence[Event] | None = None) -> None:
    """Make sure that an account is what the log says of it: its roles, whose it is, its credential and its end.

    ``own`` are its sound events, where they were read already.

    Raises:
        StoreCorruptError: somebody wrote the row by hand.
    """
    told, own = ("", ""), sound_events(connection, subject_of(row["name"])) if own is None else own
    for event in own:
        if event.kind == GIVEN:
            body = json.loads(event.body)
            told = (str(body.get("roles")), str(body.get("person")))
    if (row["roles"], row["person"]) != told:
        raise StoreCorruptError(
            f"the roles of reviewer {row['name']!r} are not what the events say",
            remedy="nothing was done; verify the audit log: checkvalve audit verify",
        )
    require_account_recorded(connection, row, own)


def subject_of(name: str) -> str:
    """Return the subject of the events about an account's roles."""
    return ACCOUNT + name


def roles_of(connection: sa.Connection, name: str) -> frozenset[Role]:
    """Return the roles of an account; none where it was disabled. Raises as :func:`account_of`."""
    found = account_of(connection, name)
    return frozenset() if found.disabled else found.roles


def require_role(connection: sa.Connection, reviewer: Reviewer, *wanted: Role) -> Account:
    """Return the account of a reviewer who has one of these roles. The caller has checked the credential.

    Raises:
        RoleNeededError: none of them; it says who has one.
        NotAllowedError: a program holds the credential.
    """
    found = account_of(connection, reviewer.name)
    require_person(found)
    if found.disabled or not found.has(*wanted):
        raise RoleNeededError(
            f"this takes the role {either(wanted)}; {found.name} is {either(found.roles) or 'nothing'}",
            remedy=who_could(connection, lambda other: other.has(*wanted)),
        )
    return found


def who_could(people: People, test: Callable[[Account], bool]) -> str:
    """Return a remedy that names the accounts for which ``test`` is true, a few of them."""
    names = sorted(found.name for found in accounts(people) if test(found))
    if not names:
        return "nobody could now: an administrator gives roles with checkvalve approvals reviewer roles"
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f"who could: {', '.join(names[:MAX_LISTED])}{more}"


def either(roles: Iterable[Role]) -> str:
    """Return roles as words, in the order of the list."""
    found = frozenset(roles)
    names: Sequence[str] = [role.value for role in Role if role in found]
    return " or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


__all__ = [
    "EARLIER", "GIVEN", "LOOKS", "PROGRAM", "Account", "People", "Role", "Roster", "Scope", "account", "account_of",
    "accounts", "either", "require_as_recorded", "require_role", "roles_of", "stored", "subject_of", "who_could",
]  # fmt: skip
