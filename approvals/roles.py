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
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import sqlalchemy as sa

from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.errors import CredentialError, QueueError, RoleNeededError, StoreCorruptError
from checkvalve.approvals.question import Question
from checkvalve.approvals.quorumcheck import ACCOUNT
from checkvalve.approvals.recorded_account import require_account_recorded
from checkvalve.approvals.risk import Tier
from checkvalve.approvals.sound_events import sound_events
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
GIVEN: Final = "reviewer.roles"
"""The kind of the event that says which roles an account has, and whose it is."""
MAX_LISTED: Final = 5
"""People that an error names."""
_EVERYONE: Final = sa.select(reviewers).order_by(reviewers.c.added_at, reviewers.c.name)
_NAMED: Final = sa.select(reviewers).where(reviewers.c.name == sa.bindparam("wanted"))


@dataclass(frozen=True, slots=True)
class Scope:
    """Where roles hold. Empty means everywhere; ``tools`` are names or ``server/name``."""

    tools: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    tiers: tuple[Tier, ...] = ()
    max_amount: Decimal | None = None

    def covers(self, question: Question, *, yes: bool = True) -> bool:
        """Say whether this person may decide such a question; a no may be about any amount."""
        return (
            (not self.tools or any(question.is_called(name) for name in self.tools))
            and (not self.tenants or question.tenant in self.tenants)
            and (not self.tiers or question.tier in self.tiers)
            and not (yes and self.max_amount is not None and question.exceeds(self.max_amount))
        )

    def in_words(self) -> str:
        """Return it for people; empty where it is everywhere."""
        parts = [f"{name} {', '.join(found)}" for name, found in self._lists() if found]
        return "; ".join([*parts, *([f"at most {self.max_amount:f}"] if self.max_amount is not None else [])])

    def _lists(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return ("tools", self.tools), ("tenants", self.tenants), ("tiers", tuple(tier.value for tier in self.tiers))

    def to_json(self) -> dict[str, JSON]:
        """Return the stored form: what limits nothing is left out."""
        found: dict[str, JSON] = {name: [*sorted(listed)] for name, listed in self._lists() if listed}
        return found if self.max_amount is None else {**found, "max_amount": f"{self.max_amount:f}"}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Scope:
        """Return the scope in a stored form.

        Raises:
            QueueError: there is no such tier, or the amount is none.
        """
        try:
            amount = None if body.get("max_amount") is None else Decimal(str(body["max_amount"]))
            tiers = tuple(Tier(word) for word in body.get("tiers", ()))
        except (ValueError, InvalidOperation):
            raise QueueError(
                "this is no scope", remedy="tiers are low, medium, high, critical; amounts digits"
            ) from None
        if amount is not None and not (amount.is_finite() and amount >= 0):
            raise QueueError("this is no amount", remedy="write it as digits, such as 99.50")
        return cls(tuple(body.get("tools", ())), tuple(body.get("tenants", ())), tiers, amount)


@dataclass(frozen=True, slots=True)
class Account:
    """A credential, whose it is, and what that person may do with it."""

    name: str
    person: str
    roles: frozenset[Role] = EARLIER
    scope: Scope = field(default_factory=Scope)
    disabled: bool = False

    def has(self, *wanted: Role) -> bool:
        """Say whether it has one of these roles."""
        return not self.roles.isdisjoint(wanted)

    def roles_for(self, question: Question, *, yes: bool = True) -> frozenset[Role]:
        """Return the roles that count for a question; none outside the scope, or when it was disabled."""
        return frozenset() if self.disabled or not self.scope.covers(question, yes=yes) else self.roles


def stored(roles: Iterable[Role], scope: Scope) -> str:
    """Return what a row and its event keep of roles and their scope."""
    names: list[JSON] = [*sorted(role.value for role in roles)]
    return canonical({"roles": names, "scope": scope.to_json()}).decode()


def account(row: sa.RowMapping) -> Account:
    """Return the account in a row, without looking at the log.

    Raises:
        StoreCorruptError: the row holds what this program never writes.
    """
    roles, scope = EARLIER, Scope()
    if row["roles"]:
        try:
            body = json.loads(row["roles"])
            roles, scope = frozenset(Role(word) for word in body["roles"]), Scope.from_json(body["scope"])
        except (ValueError, TypeError, KeyError, QueueError) as error:
            raise StoreCorruptError("the roles of a reviewer cannot be read", remedy="verify the audit log") from error
    return Account(row["name"], row["person"] or row["name"], roles, scope, row["disabled_at"] is not None)


class Roster:
    """Everybody's account as one transaction sees it, read once: good as long as the transaction changes none."""

    def __init__(self, connection: sa.Connection) -> None:
        """Read nothing yet."""
        self.connection = connection
        self._rows: dict[str, sa.RowMapping] | None = None
        self._known: dict[str, Account] = {}

    def rows(self) -> Mapping[str, sa.RowMapping]:
        """Return the stored accounts by their names, oldest first."""
        if self._rows is None:
            self._rows = {row["name"]: row for row in self.connection.execute(_EVERYONE).mappings().all()}
        return self._rows

    def account_of(self, name: str) -> Account:
        """Return an account whose roles are what the log says of them; raises as the function of this name."""
        if name not in self._known:
            self._known[name] = _checked(self.connection, self.rows().get(name), name)
        return self._known[name]


People: TypeAlias = sa.Connection | Roster
"""Where accounts are read from: a transaction, or what was read in it."""


def accounts(people: People, *, everyone: bool = False) -> list[Account]:
    """Return the accounts that are not disabled, or all, oldest first."""
    found = people if isinstance(people, Roster) else Roster(people)
    return [account(row) for row in found.rows().values() if everyone or row["disabled_at"] is None]


def account_of(people: People, name: str) -> Account:
    """Return an account whose roles are what the log says of them.

    Raises:
        CredentialError: there is none of this name.
        StoreCorruptError: somebody wrote the row, its credential or its roles by hand.
    """
    if isinstance(people, Roster):
        return people.account_of(name)
    return _checked(people, people.execute(_NAMED, {"wanted": name}).mappings().one_or_none(), name)


def _checked(connection: sa.Connection, row: sa.RowMapping | None, name: str) -> Account:
    if row is None:
        raise CredentialError("there is no such reviewer", remedy="list them: checkvalve approvals reviewer list")
    told, own = ("", ""), sound_events(connection, subject_of(name))
    for event in own:
        if event.kind == GIVEN:
            body = json.loads(event.body)
            told = (str(body.get("roles")), str(body.get("person")))
    if (row["roles"], row["person"]) != told:
        raise StoreCorruptError(
            f"the roles of reviewer {name!r} are not what the events say",
            remedy="nothing was done; verify the audit log: checkvalve audit verify",
        )
    require_account_recorded(connection, row, own)
    return account(row)


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
    """
    found = account_of(connection, reviewer.name)
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
    "EARLIER", "GIVEN", "Account", "People", "Role", "Roster", "Scope", "account", "account_of", "accounts", "either",
    "require_role", "roles_of", "stored", "subject_of", "who_could",
]  # fmt: skip
