"""The rest of the tables when a log is closed in doubt: uses, adopted rules, seeded items, what channels tell.

1. A use that no good event has is put aside; one that was removed is written again, so that nothing counts twice.
2. Rules of a tenant that were adopted in the part that is in doubt, or whose rows are not what the good events say, are
   put aside: they have to be adopted anew.
3. What channels have yet to be told of events that are not good is not told.
4. Seeded items and consents to them are put aside, in doubt or not: they measure, and decide nothing.

Guarantees: what is put aside is so before the new log's first event, which says how much it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.doubts import doubt
from checkvalve.approvals.putaside import aside
from checkvalve.approvals.restart_state import CODE, Taking
from checkvalve.approvals.review_tables import rule_changes, rule_texts
from checkvalve.approvals.ruleset_said import SUBJECT, check_rules
from checkvalve.approvals.ruleset_store import subject_of
from checkvalve.approvals.said import Seen
from checkvalve.approvals.seed_said import SUBJECT as SEEDING
from checkvalve.approvals.seed_said import SeedTold
from checkvalve.approvals.seed_tables import seed_consents, seeds
from checkvalve.approvals.tables import deliveries, events, outbox, proposals, uses

_NOBODY: Final = Seen()
_ENDORSEMENT: Final = "endorsement"
_SEEDING: Final = ((seeds, "reviewer"), (seed_consents, "reviewer"))


def keep_aside(connection: sa.Connection, taking: Taking, found: Collection[str], log: int) -> None:
    """Put aside what steps 1 and 2 take away, and take the uses away."""
    for row in list(_strange_uses(connection, taking.seen, found)):
        aside(connection, log, uses.name, str(row["proposal_id"]), row)
        same = (uses.c[name] == row[name] for name in ("proposal_id", "kind", "item"))
        connection.execute(sa.delete(uses).where(*same))
    for table, column in _SEEDING:
        for row in connection.execute(sa.select(table)).mappings().all():
            aside(connection, log, table.name, f"{SEEDING}{row[column]}", row)
    for tenant in _strange_tenants(connection, taking):
        for row in connection.execute(sa.select(rule_changes).where(rule_changes.c.tenant == tenant)).mappings().all():
            aside(connection, log, rule_changes.name, subject_of(tenant), row)
    for row in list(_unused_texts(connection, taking)):
        aside(connection, log, rule_texts.name, SUBJECT, row)


def mend(connection: sa.Connection, taking: Taking, found: Collection[str]) -> None:
    """Do what is left of steps 1 to 3."""
    known = {(row.item, row.proposal_id) for row in connection.execute(sa.select(uses))}
    there = set(connection.execute(sa.select(proposals.c.id)).scalars())
    for key, (amount, at) in sorted(_told_uses(taking.seen, found).items()):
        if key not in known and key[1] in there:
            values = {"proposal_id": key[1], "kind": _ENDORSEMENT, "item": key[0], "amount": amount, "used_at": at}
            connection.execute(sa.insert(uses).values(values))
    _end_seeding(connection, taking)
    gone = _strange_tenants(connection, taking)
    texts = list(_unused_texts(connection, taking))
    for row in texts:
        connection.execute(sa.delete(rule_texts).where(rule_texts.c.digest == row["digest"]))
    for tenant in gone:
        connection.execute(sa.delete(rule_changes).where(rule_changes.c.tenant == tenant))
        doubt(connection, subject_of(tenant), at=taking.at, body={"code": CODE, "by": taking.by}, rows=False)


def _end_seeding(connection: sa.Connection, taking: Taking) -> None:
    """Do step 4."""
    subjects = {name for name, said in taking.seen.items() if said.seed != SeedTold()}
    for table, _ in _SEEDING:
        connection.execute(sa.delete(table))
    for subject in sorted(subjects):
        doubt(connection, subject, at=taking.at, body={"code": CODE, "by": taking.by}, rows=False)


def quiet(connection: sa.Connection, last: int) -> None:
    """Do step 3; ``last`` is the number of the last event before the new log."""
    connection.execute(sa.delete(deliveries).where(deliveries.c.seq.not_in(sa.select(events.c.seq))))
    connection.execute(sa.update(outbox).where(outbox.c.seq > last).values(seq=last))


def _strange_uses(
    connection: sa.Connection, seen: Mapping[str, Seen], found: Collection[str]
) -> Iterator[sa.RowMapping]:
    told = _told_uses(seen, found)
    for row in connection.execute(sa.select(uses)).mappings().all():
        rule = seen.get(row["item"], _NOBODY)
        known = row["item"] in found or rule.mandate or rule.standing.row or rule.erased
        if row["kind"] in {"mandate", "standing"} and known:
            continue  # compared with what it uses up
        if row["kind"] != _ENDORSEMENT or told.get((row["item"], row["proposal_id"])) != (
            row["amount"],
            row["used_at"],
        ):
            yield row


def _told_uses(seen: Mapping[str, Seen], found: Collection[str]) -> dict[tuple[str, str], tuple[str, int]]:
    listed = (said for name, said in seen.items() if name not in found and said.mandate is None)
    return {key: value for said in listed for key, value in said.used.items()}


def _strange_tenants(connection: sa.Connection, taking: Taking) -> list[str]:
    told = {name: said.rules for name, said in taking.seen.items()}
    tenants = {str(name) for name in connection.execute(sa.select(rule_changes.c.tenant).distinct()).scalars()}
    tenants |= {name.removeprefix(SUBJECT) for name, said in told.items() if name.startswith(SUBJECT) and said.changes}
    return [
        tenant
        for tenant in sorted(tenants)
        if subject_of(tenant) in taking.moved
        or any(True for _ in check_rules(connection, told, only=subject_of(tenant)))
    ]


def _unused_texts(connection: sa.Connection, taking: Taking) -> Iterator[sa.RowMapping]:
    """Yield the texts that no rules which stay are made of, where some do not stay."""
    gone = {subject_of(tenant) for tenant in _strange_tenants(connection, taking)}
    wanted = {one for name, said in taking.seen.items() if name not in gone for one in said.rules.texts}
    query = sa.select(rule_texts).where(rule_texts.c.digest.not_in(sorted(wanted)))
    yield from connection.execute(query).mappings().all() if gone else ()


__all__ = ["keep_aside", "mend", "quiet"]
