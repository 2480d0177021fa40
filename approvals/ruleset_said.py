"""What the log says of a gateway's rules, and whether rows and texts say the same: the part of ``tablecheck`` for them.

All events about the rules of a tenant have one subject, so that a change whose row was removed is missed, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import sqlalchemy as sa

from checkvalve.approvals.canonical import canonical, digest_bytes
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.review_tables import rule_changes, rule_texts
from checkvalve.approvals.rulesets import set_digest, text_digest
from checkvalve.filters.errors import HostileInputError

SUBJECT: Final = "rules:"
"""How the subject of the events begins; the tenant follows."""
KINDS: Final = "rules."
"""How the kinds of the events begin."""
ENDS: Final = {"rules.adopted": "adopted", "rules.refused": "refused", "rules.withdrawn": "withdrawn"}
"""The state that each kind of decision leads to."""
_PLAIN: Final = ("digest", "base", "impact_digest", "note", "overlap", "expires_at")


@dataclass(slots=True)
class RulesTold:
    """What the events of one tenant say; ``torn`` where a move does not follow the one before."""

    changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    torn: bool = False

    def note(self, kind: str, body: Mapping[str, Any], at: int) -> None:
        """Take in one event."""
        name = str(body.get("id"))
        if kind == "rules.proposed":
            self._proposed(name, body, at)
            return
        row = self.changes.get(name)
        if row is None or kind not in ENDS or row["state"] != "waiting" or body.get("version") != row["version"] + 1:
            self.torn = True
            return
        row |= {"state": ENDS[kind], "decided_by": body.get("by"), "decided_at": at, "version": row["version"] + 1}
        row |= {"answer": body.get("answer", ""), "alone": body.get("alone", "")}
        if kind == "rules.adopted":
            self._replaced(row["base"], body)

    def _proposed(self, name: str, body: Mapping[str, Any], at: int) -> None:
        parts = body.get("parts")
        self.torn = self.torn or name in self.changes or not isinstance(parts, dict) or body.get("version") != 1
        told = parts if isinstance(parts, dict) else {}
        self.texts |= {str(one) for one in told.values()}
        self.changes[name] = {
            **{key: body.get(key) for key in _PLAIN},
            "parts": told,
            "proposed_by": body.get("by"),
            "proposed_at": at,
            "state": "waiting",
            "decided_by": "",
            "decided_at": None,
            "answer": "",
            "alone": "",
            "until": None,
            "version": 1,
        }

    def _replaced(self, base: str, body: Mapping[str, Any]) -> None:
        """Take in that what was in force before ends."""
        if not base:
            return
        before = self.changes.get(base)
        if before is None or before["state"] != "adopted" or before["until"] is not None:
            self.torn = True
            return
        before |= {"until": body.get("until"), "version": before["version"] + 1}


class HasRules(Protocol):
    """What the events say of one subject, as far as it is about rules."""

    rules: RulesTold


def check_rules(
    connection: sa.Connection, told: Mapping[str, RulesTold], *, only: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield a code and a sentence for each change or text that is not what its events say, or that is gone."""
    if only and not only.startswith(SUBJECT):
        return
    yield from _changes(connection, told, only)
    yield from _texts(connection, told, only)


def check_rules_of(
    connection: sa.Connection,
    seen: Mapping[str, HasRules],
    only: str = "",
    rows: object = None,  # noqa: ARG001  # what is read ahead of one call holds none of these
) -> Iterator[tuple[str, str]]:
    """Do the same for what the events say of all subjects."""
    if not only or only.startswith(SUBJECT):
        yield from check_rules(connection, {name: said.rules for name, said in seen.items()}, only=only)


def _changes(connection: sa.Connection, told: Mapping[str, RulesTold], only: str) -> Iterator[tuple[str, str]]:
    known, query = set(), sa.select(rule_changes)
    mine = query.where(rule_changes.c.tenant == only.removeprefix(SUBJECT)) if only else query
    for row in connection.execute(mine).mappings():
        subject = f"{SUBJECT}{row['tenant']}"
        known.add((subject, row["id"]))
        said = told.get(subject)
        if said is None or said.torn or not _same(row, said.changes.get(row["id"])):
            yield "row_differs", f"the change of rules {row['id']} is not what its events say"
    listed = {(subject, name) for subject, said in told.items() for name in said.changes}
    for _, gone in sorted(listed - known):
        yield "row_missing", f"the change of rules {gone} has events and no row"


def _same(row: sa.RowMapping, said: Mapping[str, Any] | None) -> bool:
    if said is None:
        return False
    try:
        found = {**row, "impact_digest": digest_bytes(row["impact"].encode()), "expires_at": rfc3339(row["expires_at"])}
        found["until"] = None if row["until"] is None else rfc3339(row["until"])
        told = {**said, "parts": canonical(said["parts"]).decode()}
        if said["digest"] != set_digest(said["parts"]):
            return False
    except (TypeError, AttributeError, ValueError, OverflowError, HostileInputError):
        return False
    return all(found[name] == value for name, value in told.items())


def _texts(connection: sa.Connection, told: Mapping[str, RulesTold], only: str) -> Iterator[tuple[str, str]]:
    wanted = {one for said in told.values() for one in said.texts}
    query = sa.select(rule_texts)
    known = set()
    for row in connection.execute(query.where(rule_texts.c.digest.in_(sorted(wanted))) if only else query):
        known.add(row.digest)
        if row.digest not in wanted or not isinstance(row.text, str) or text_digest(row.text) != row.digest:
            yield "row_differs", f"the text {row.digest} of the rules is not what its digest and the events say"
    for gone in sorted(wanted - known):
        yield "row_missing", f"the text {gone} of the rules has an event and no row"


__all__ = ["KINDS", "SUBJECT", "HasRules", "RulesTold", "check_rules", "check_rules_of"]
