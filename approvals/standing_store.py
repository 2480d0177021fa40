"""The rows of standing rules: read as they stand, moved on by compare-and-set, used up with the permit they give.

Guarantees: a rule is compared with its events before anything relies on it, so one that was edited or planted beside
the log counts for nothing; of two calls that race for the last of a rule one gets it; a call that never ran gives back
what it had taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.endorsements import Use
from checkvalve.approvals.errors import (
    ConflictError,
    MandateSpentError,
    NotFoundError,
    StandingRuleError,
    StoreCorruptError,
)
from checkvalve.approvals.people import same_person
from checkvalve.approvals.records import USED, Proposal
from checkvalve.approvals.refusals import StaleError
from checkvalve.approvals.review_tables import standing_rules
from checkvalve.approvals.roles import Account, accounts
from checkvalve.approvals.standing import parsed
from checkvalve.approvals.standing_entry import CLOCK, StandingEntry
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.tables import proposals, uses
from checkvalve.filters.strictjson import JSON

KIND = "standing"
"""The kind of a use of a standing rule."""
_row = standing_rules.c


@dataclass(frozen=True, slots=True)
class Look:
    """At which moment rules are read, and how many people have to agree; ``without`` leaves out one call's own use."""

    at: int
    needed: int = 2
    single_user: bool = False
    without: str = ""


def read_all(connection: sa.Connection, look: Look, tenant: str, *, open_only: bool = False) -> list[StandingEntry]:
    """Return the rules of a tenant, oldest first, without comparing them with their events.

    Raises:
        StoreCorruptError: one of them cannot be read.
    """
    query = sa.select(standing_rules).where(_row.tenant == tenant).order_by(_row.made_at, _row.id)
    if open_only:
        ahead = sa.or_(_row.ended_at.is_(None), _row.ended_at > look.at)
        query = query.where(_row.expires_at > look.at, _row.made_at <= look.at, _row.confirmed_by != "", ahead)
    rows = connection.execute(query).mappings().all()
    return _entries(connection, look, rows) if rows else []


def in_force(connection: sa.Connection, look: Look, tenant: str, tool: str) -> list[StandingEntry]:
    """Return the rules that may answer calls of a tool now, each compared with its events.

    Raises:
        StoreCorruptError: one of them is not what its events say: nobody made it so.
    """
    found = [item for item in read_all(connection, look, tenant, open_only=True) if item.rule.tool == tool]
    good = [item for item in found if item.holds]
    for item in good:
        require_recorded(connection, item.id)
    return good


def load(connection: sa.Connection, look: Look, name: str) -> StandingEntry:
    """Return one rule, compared with its events.

    Raises:
        NotFoundError, StoreCorruptError: there is none, or it is not what its events say.
    """
    rows = connection.execute(sa.select(standing_rules).where(_row.id == name)).mappings().all()
    if not rows:
        raise NotFoundError("there is no such standing rule", remedy="list them: checkvalve approvals standing list")
    require_recorded(connection, name)
    return _entries(connection, look, rows)[0]


def advance(connection: sa.Connection, item: StandingEntry, **values: Any) -> None:
    """Compare and set: move the rule on, if it still is what it was when it was read.

    Raises:
        ConflictError: it is not.
    """
    mine = sa.update(standing_rules).where(_row.id == item.id, _row.version == item.version, _row.ended_at.is_(None))
    if connection.execute(mine.values(version=item.version + 1, **values)).rowcount != 1:
        raise StaleError("this standing rule has moved on", remedy="nothing was changed")


def end(connection: sa.Connection, item: StandingEntry, *, by: str, at: int) -> None:
    """End a rule, with its event.

    Raises:
        ConflictError: somebody else was faster.
    """
    advance(connection, item, ended_at=at, ended_by=by)
    kind = "standing.expired" if by == CLOCK else "standing.revoked"
    body: dict[str, JSON] = {"by": by, "version": item.version + 1}
    audit.append(connection, at=at, kind=kind, subject=item.id, body=body)


def spend(connection: sa.Connection, proposal: Proposal, use: Use, at: int) -> None:
    """Use up one call of a rule while its permit is being issued, with its event.

    Raises:
        MandateSpentError: the rule has ended, or there is not enough left; the caller's transaction must not commit.
    """
    amount = Decimal(use.amount or "0")
    try:
        found = load(connection, Look(at, needed=1), use.id)
        if not found.holds or not found.has_left(amount) or found.rule.tool != proposal.tool:
            raise _gone()
        advance(connection, found)
    except (ConflictError, NotFoundError) as error:
        raise _gone() from error
    values = {"proposal_id": proposal.id, "kind": KIND, "item": use.id, "amount": use.amount, "used_at": at}
    connection.execute(sa.insert(uses).values(values))
    body: dict[str, JSON] = {"proposal": proposal.id, "amount": use.amount, "version": found.version + 1}
    audit.append(connection, at=at, kind="standing.used", subject=found.id, body=body)


def still_given(connection: sa.Connection, name: str, at: int) -> bool:
    """Say whether a rule that was relied on is still in force, right before the permit is taken."""
    try:
        return load(connection, Look(at, needed=1), name).holds
    except NotFoundError:
        return False


def _gone() -> MandateSpentError:
    return MandateSpentError(
        "the standing rule that this call relied on was used up or taken back",
        remedy="decide the call again; nothing was recorded",
    )


def _entries(connection: sa.Connection, look: Look, rows: Iterable[sa.RowMapping]) -> list[StandingEntry]:
    listed = list(rows)
    used = _uses(connection, [row["id"] for row in listed])
    people = persons_of(connection, {row[name] for row in listed for name in ("made_by", "confirmed_by")})
    return [_entry(row, look, used.get(row["id"], []), people) for row in listed]


def _uses(connection: sa.Connection, names: list[str]) -> dict[str, list[sa.RowMapping]]:
    """Return what counts as used up: a call that will never run gives back what it had taken."""
    query = sa.select(uses).join(proposals, proposals.c.id == uses.c.proposal_id)
    query = query.where(uses.c.kind == KIND, uses.c.item.in_(names), proposals.c.state.in_(sorted(USED)))
    found: dict[str, list[sa.RowMapping]] = {}
    for row in connection.execute(query.order_by(uses.c.used_at)).mappings():
        found.setdefault(row["item"], []).append(row)
    return found


def persons_of(connection: sa.Connection, names: set[str]) -> dict[str, frozenset[str]]:
    """Return, for each account, every name of the person behind it: of all accounts, at providers and in chats.

    The programs of a person are among them: what those ask for, their owner has asked for.
    """
    known = accounts(connection, everyone=True)
    person = {one.name: one.person for one in known}
    found = {}
    for name in names:
        mine = [one for one in known if one.person == person.get(name, name)]
        own = {name, person.get(name, name), *(word for one in mine for word in (one.name, *one.known_as))}
        found[name] = frozenset(own | _owned(known, own))
    return found


def _owned(known: Iterable[Account], own: Collection[str]) -> set[str]:
    """Return the names of the programs of a person, and of the programs that those own."""
    left, found, new = {one.name: one.owner for one in known if one.program}, set[str](), set(own)
    while new:
        new = {name for name, owner in left.items() if any(same_person(owner, word) for word in new)}
        found |= new
        left = {name: owner for name, owner in left.items() if name not in new}
    return found


def _entry(
    row: sa.RowMapping, look: Look, used: list[sa.RowMapping], people: Mapping[str, frozenset[str]]
) -> StandingEntry:
    counted = [item for item in used if item["proposal_id"] != look.without and item["used_at"] <= look.at]
    try:
        rule = parsed(row["body"])
    except (StandingRuleError, TypeError) as error:
        raise StoreCorruptError("a stored standing rule cannot be read", remedy="verify the audit log") from error
    who = [name for name in (row["made_by"], row["confirmed_by"]) if name]
    return StandingEntry(
        rule,
        at=look.at,
        used=tuple((str(item["amount"]), int(item["used_at"])) for item in counted),
        used_here=any(item["proposal_id"] == look.without for item in used),
        people=frozenset().union(*(people.get(name, frozenset({name})) for name in who)),
        needed=look.needed,
        single_user=look.single_user,
        **{name: row[name] for name in row if name != "body"},
    )


__all__ = ["KIND", "Look", "advance", "end", "in_force", "load", "persons_of", "read_all", "spend", "still_given"]
