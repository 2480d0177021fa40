"""Do the tables say what the events say? A row that was edited, planted or removed by hand is found here.

Guarantees: every column of proposals, permits, attempts, endorsements, mandates, their uses and reviewers is compared
with the events, and the same comparison is made for one proposal before it is approved, run, or its result handed out,
and for one mandate before a call may rely on it. A proposal recorded
by an older version has fewer columns in its events; those it has are compared. An erased one is compared with the
digest of its rows that the erasure has. What it does not cover: the tables
``content``, ``history`` and ``leases``, which have no events.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.accountcheck import check_accounts
from checkvalve.approvals.canonical import digest, digest_bytes
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.erased_rows import is_as_erased
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.handcheck import check_afterlooks, check_delegations, check_rungs
from checkvalve.approvals.quorumcheck import check_plans, check_roles, check_votes
from checkvalve.approvals.recorded_account import credential_digest
from checkvalve.approvals.records import record_digest, stored_digest
from checkvalve.approvals.reliedcheck import check_relied
from checkvalve.approvals.review_tables import delegations, standing_rules
from checkvalve.approvals.ruleset_said import check_rules_of
from checkvalve.approvals.said import ENDORSEMENT, People, Seen
from checkvalve.approvals.seed_said import check_seeds
from checkvalve.approvals.sound_events import complete_events
from checkvalve.approvals.standing_check import check_standing
from checkvalve.approvals.subjectrows import Held, Row, Rows, read, stored
from checkvalve.approvals.tables import attempts, endorsements, grants, mandates, proposals, reviewers, uses
from checkvalve.approvals.talkcheck import check_talk
from checkvalve.approvals.undo_check import check_undos
from checkvalve.filters.errors import HostileInputError

Found = Iterator[tuple[str, str]]

_NOBODY: Final = Seen()


def check_tables(connection: sa.Connection, seen: Mapping[str, Seen]) -> Found:
    """Yield a code and a sentence for each row that differs from its events, and for each row that is gone."""
    yield from _check_calls(connection, seen)
    yield from _check_endorsements(connection, seen)
    yield from _check_mandates(connection, seen)
    yield from _check_standing(connection, seen)
    yield from _check_uses(connection, seen)
    yield from check_relied(connection, seen)
    yield from _check_reviewers(connection, People.of(seen))
    yield from check_roles(connection, {name: said.quorum for name, said in seen.items()})
    yield from check_accounts(connection, seen)
    yield from _check_quorum(connection, seen)
    yield from _check_handed(connection, seen)
    yield from _check_undos(connection, seen)
    yield from _check_talk(connection, seen)
    yield from check_rules_of(connection, seen)
    yield from check_seeds(connection, {name: said.seed for name, said in seen.items()})


def require_recorded(connection: sa.Connection, subject: str, held: Held | None = None) -> None:
    """Make sure that what the tables hold of one proposal, or one mandate, is what its events say.

    ``held`` are its rows where they were read in this transaction and nothing has changed them since.

    Raises:
        StoreCorruptError: something was edited, planted or removed beside the log, or an event was.
    """
    said = Seen()
    for event in complete_events(connection, subject):
        said.note(event.kind, body_of(event.body), event.at)
    if said.doubted and said.erased:
        raise StoreCorruptError(
            f"{subject} is in doubt since the log that it stands in was closed", remedy="nothing was done; ask anew"
        )
    seen, rows = {subject: said}, held or read(connection, subject)
    for check in _CHECKS:
        for _code, text in check(connection, seen, only=subject, rows=rows):
            raise StoreCorruptError(text, remedy="nothing was done; verify the audit log: checkvalve audit verify")


def body_of(text: object) -> dict[str, Any]:
    """Return the body of an event; an edited one may be anything."""
    try:
        body = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _check_calls(connection: sa.Connection, seen: Mapping[str, Seen], only: str = "", rows: Rows = stored) -> Found:
    checks = (
        ("proposal", proposals.c.id, _same_proposal),
        ("permit", grants.c.proposal_id, _same_permit),
        ("attempt", attempts.c.proposal_id, _same_attempt),
    )
    for what, column, same in checks:
        known = set()
        for row in rows(connection, column, only):
            subject = row[column.name]
            known.add(subject)
            said = seen.get(subject, _NOBODY)
            if not (is_as_erased(connection, subject, said.erased) if said.erased else same(row, said)):
                yield "row_differs", f"the {what} {subject} is not what its events say"
        for gone in sorted(name for name, said in seen.items() if name and said.has(what) and name not in known):
            yield "row_missing", f"the {what} {gone} has events and no row"


def _same_proposal(row: Row, said: Seen) -> bool:
    try:
        stored = digest_bytes(row["canonical"])
        decision = digest_bytes(row["decision"].encode())  # it is stored in its canonical form
        execute_by = None if row["execute_by"] is None else rfc3339(row["execute_by"])
        if said.torn or said.record != (record_digest(row) if said.record else row["behind"]):
            return False
        same = all(str(row[name]) == value for name, value in said.columns.items() if name != "decide_by")
        if not same or rfc3339(row["decide_by"]) != said.columns.get("decide_by"):
            return False
    except (TypeError, AttributeError, ValueError, OverflowError, HostileInputError):
        return False
    if said.by is not None and row["decided_by"] != said.by:
        return False
    moved = (row["state"], row["version"], row["updated_at"], row["code"], row["note"], row["self_approved"])
    found = (*moved, execute_by, row["digest"], stored, decision)
    told = (said.state, said.version, said.at, said.code, said.note_, said.self_approved)
    return found == (*told, said.execute_by, said.digest, said.digest, said.decision)


def _same_permit(row: Row, said: Seen) -> bool:
    try:
        until = rfc3339(row["execute_by"])
    except (TypeError, ValueError, OverflowError):
        return False
    used = None if said.attempt is None else said.attempt["started_at"]
    found = (row["issued_by"], row["issued_at"], row["digest"], until, row["used_at"])
    return found == (said.granted_by, said.granted_at, said.digest, said.execute_by, used)


def _same_attempt(row: Row, said: Seen) -> bool:
    if said.attempt is None:
        return False
    try:
        found = {**row, "lease_until": rfc3339(row["lease_until"])}
        found |= {name: stored_digest(row[name]) for name in ("result", "error")}
    except (TypeError, AttributeError, ValueError, OverflowError):
        return False
    return all(found[name] == value for name, value in said.attempt.items())


def _check_endorsements(
    connection: sa.Connection, seen: Mapping[str, Seen], only: str = "", rows: Rows = stored
) -> Found:
    found = 0
    for row in rows(connection, endorsements.c.proposal_id, only):
        found += 1
        said = seen.get(row["proposal_id"], _NOBODY)
        if not said.erased and not same_endorsement(row, said):  # an erased call is compared as a whole
            yield "row_differs", f"an endorsement of proposal {row['proposal_id']} is not what its events say"
    if found < sum(len(said.endorsed) for said in seen.values()):
        yield "row_missing", "an endorsement is gone"


def same_endorsement(row: Row, said: Seen) -> bool:
    """Say whether an endorsement is one that the events of its proposal have."""
    try:
        if digest(row["value"]) != row["value_digest"]:
            return False
    except HostileInputError:
        return False
    told = said.endorsed.get(tuple(str(row[name]) for name in ENDORSEMENT))
    try:
        found = {**row, "expires_at": None if row["expires_at"] is None else rfc3339(row["expires_at"])}
    except (TypeError, ValueError, OverflowError):
        return False
    deadline = told is not None and ("expires_at" in told or found["expires_at"] is None)  # an older version had none
    return told is not None and deadline and all(found[name] == value for name, value in told.items())


def _check_mandates(connection: sa.Connection, seen: Mapping[str, Seen], only: str = "", rows: Rows = stored) -> Found:
    known = set()
    for row in rows(connection, mandates.c.id, only):
        known.add(row["id"])
        said = seen.get(row["id"], _NOBODY)
        same = is_as_erased(connection, row["id"], said.erased) if said.erased else _same_mandate(connection, row, said)
        if not same:
            yield "row_differs", f"the mandate {row['id']} is not what its events say"
    for gone in sorted(name for name, said in seen.items() if name and said.mandate and name not in known):
        yield "row_missing", f"the mandate {gone} has events and no row"


def _same_mandate(connection: sa.Connection, row: Row, said: Seen) -> bool:
    """Compare a mandate and everything that used it up."""
    if said.mandate is None or said.torn:
        return False
    try:
        found = {**row, "expires_at": rfc3339(row["expires_at"]), "mandate_digest": digest_bytes(row["body"].encode())}
    except (TypeError, AttributeError, ValueError, OverflowError):
        return False
    query = sa.select(uses).where(uses.c.kind == "mandate", uses.c.item == row["id"])
    used = {("", use["proposal_id"]): (use["amount"], use["used_at"]) for use in connection.execute(query).mappings()}
    return used == said.used and all(found[name] == value for name, value in said.mandate.items())


def _check_standing(connection: sa.Connection, seen: Mapping[str, Seen], only: str = "", rows: Rows = stored) -> Found:
    erased = _erased(seen)
    told = {name: said.standing for name, said in seen.items()}
    yield from check_standing(connection, told, only=only, erased=erased.keys(), rows=rows)
    yield from _as_erased(connection, standing_rules.c.id, erased, "standing rule")


def _check_uses(connection: sa.Connection, seen: Mapping[str, Seen]) -> Found:
    """Compare the uses of endorsements, and find uses of what nobody gave."""
    told = {key: value for said in seen.values() if said.mandate is None for key, value in said.used.items()}
    found = {}
    for row in stored(connection, uses.c.proposal_id, ""):
        rule = seen.get(row["item"], _NOBODY)
        if row["kind"] == "mandate" and (rule.mandate is not None or rule.erased):
            continue  # compared with its mandate
        if row["kind"] == "standing" and (rule.standing.row is not None or rule.erased):
            continue  # compared with its standing rule
        key = (row["item"], row["proposal_id"])
        found[key] = (row["amount"], row["used_at"])
        if row["kind"] != "endorsement" or told.get(key) != found[key]:
            yield "row_differs", f"a use by proposal {row['proposal_id']} is not what the events say"
    if told.keys() - found.keys():
        yield "row_missing", "a use of an endorsement is gone"


def _check_quorum(connection: sa.Connection, seen: Mapping[str, Seen], only: str = "", rows: Rows = stored) -> Found:
    told = {name: said.quorum for name, said in seen.items()}
    erased = frozenset(name for name, said in seen.items() if said.erased)
    yield from check_plans(connection, told, only=only, erased=erased, rows=rows)
    yield from check_votes(connection, told, only=only, erased=erased, rows=rows)


def _check_handed(connection: sa.Connection, seen: Mapping[str, Seen], only: str = "", rows: Rows = stored) -> Found:
    told = {name: said.handed for name, said in seen.items()}
    erased = frozenset(name for name, said in seen.items() if said.erased)
    yield from check_delegations(connection, told, only=only, erased=erased, rows=rows)
    yield from _as_erased(connection, delegations.c.id, _erased(seen), "hand-over")
    yield from check_afterlooks(connection, told, only=only, erased=erased, rows=rows)
    yield from check_rungs(connection, told, only=only, erased=erased, rows=rows)


def _erased(seen: Mapping[str, Seen]) -> dict[str, str]:
    return {name: said.erased for name, said in seen.items() if said.erased}


def _as_erased(connection: sa.Connection, column: sa.Column[Any], erased: Mapping[str, str], what: str) -> Found:
    """Compare what was emptied on its own with the digest of its rows that the erasure has."""
    if not erased:
        return
    for name in connection.execute(sa.select(column).where(column.in_(erased))).scalars().all():
        if not is_as_erased(connection, name, erased[name]):
            yield "row_differs", f"the {what} {name} is not what its events say"


def _check_undos(connection: sa.Connection, seen: Mapping[str, Seen], only: str = "", rows: Rows = stored) -> Found:
    told = {name: said.undo for name, said in seen.items()}
    erased = frozenset(name for name, said in seen.items() if said.erased)
    yield from check_undos(connection, told, only=only, erased=erased, rows=rows)


def _check_talk(connection: sa.Connection, seen: Mapping[str, Seen], only: str = "", rows: Rows = stored) -> Found:
    erased = frozenset(name for name, said in seen.items() if said.erased)
    told = {name: said.talk for name, said in seen.items()}
    yield from check_talk(connection, told, only=only, erased=erased, rows=rows)


def _check_reviewers(connection: sa.Connection, said: People) -> Found:
    found = set()
    for row in connection.execute(sa.select(reviewers)):
        found.add(row.name)
        stored = (credential_digest(str(row.selector), str(row.token_hash)), row.added_by, row.added_at)
        if stored != said.reviewers.get(row.name) or row.disabled_at != said.disabled.get(row.name):
            yield "row_differs", f"reviewer {row.name!r} is not what the events say"
    for gone in sorted(said.reviewers.keys() - found):
        yield "row_missing", f"reviewer {gone!r} has an event and no row"


_CHECKS: Final = (
    _check_calls,
    check_relied,
    _check_endorsements,
    _check_mandates,
    _check_standing,
    _check_quorum,
    _check_handed,
    _check_undos,
    _check_talk,
    check_rules_of,
)
"""What is compared for one subject, before anything relies on it."""
