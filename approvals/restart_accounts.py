"""Who may come in when a log is closed in doubt: the administrator who closes it, and nobody else before he says so.

1. He must be one by the events that are good: his account, its token and his role are what they say, and nothing in the
   part that is in doubt is about them.
2. Every other account gets a token that nobody knows. He lets each person in again with a new link, after looking at
   what they may do; an account that no good event knows, or that differs from them, is disabled.
3. Every password, passkey, identity and link is put aside, every session ends: the new log begins without any.
4. Roles are those of the good events. What was changed later, a role that was taken away too, is not known any more.

Guarantees: rows and events commit together, and agree afterwards.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.account_tables import (
    devices,
    identities,
    invitations,
    passkeys,
    passwords,
    sessions,
    spent_proofs,
)
from checkvalve.approvals.accountcheck import FIRST, account_subject
from checkvalve.approvals.doubts import doubt
from checkvalve.approvals.errors import CredentialError
from checkvalve.approvals.putaside import aside
from checkvalve.approvals.quorumcheck import ACCOUNT
from checkvalve.approvals.recorded_account import ADDED, DISABLED, REISSUED, credential_digest
from checkvalve.approvals.restart_state import CODE, Taking
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role, account, subject_of
from checkvalve.approvals.said import People, Seen
from checkvalve.approvals.sessions import end_sessions
from checkvalve.approvals.tables import reviewers
from checkvalve.filters.strictjson import JSON

_NOBODY: Final = Seen()
_WAYS: Final = (passwords, passkeys, identities, invitations)
_NO_HASH: Final = "!"  # argon2 never makes it, so no secret fits
_ALL: Final = sessions.c.key != ""


def require_known(connection: sa.Connection, reviewer: Reviewer, taking: Taking) -> None:
    """Do step 1.

    Raises:
        CredentialError: the part of the log that can be relied on does not know this administrator.
    """
    row = connection.execute(sa.select(reviewers).where(reviewers.c.name == reviewer.name)).mappings().one_or_none()
    good = row is not None and row["disabled_at"] is None and _is_as_told(row, taking.seen)
    if row is None or not good or reviewer.name in taking.about or not account(row).has(Role.ADMINISTRATOR):
        raise CredentialError(
            f"by the part of the log that can be relied on, {reviewer.name} is no administrator with this token",
            remedy="take one whose account, token and role are older than the first event in doubt",
        )


def _is_as_told(row: sa.RowMapping, seen: Mapping[str, Seen]) -> bool:
    """Say whether an account is what the good events say."""
    people, name = People.of(seen), str(row["name"])
    stored = (credential_digest(str(row["selector"]), str(row["token_hash"])), row["added_by"], row["added_at"])
    roles = seen.get(f"{ACCOUNT}{name}", _NOBODY).quorum.roles or ("", "")
    same = stored == people.reviewers.get(name) and row["disabled_at"] == people.disabled.get(name)
    return same and (row["roles"], row["person"]) == roles


def keep_aside(connection: sa.Connection, taking: Taking, log: int) -> None:
    """Put aside what steps 2 and 3 take away, before the new log's first event says how much that was."""
    for table in _WAYS:
        for row in connection.execute(sa.select(table)).mappings().all():
            aside(connection, log, table.name, account_subject(str(row["name"])), row)
    for row in connection.execute(sa.select(reviewers)).mappings().all():
        if not _is_as_told(row, taking.seen):
            aside(connection, log, reviewers.name, account_subject(str(row["name"])), row)


def shut_out(connection: sa.Connection, taking: Taking, keep: Reviewer) -> int:
    """Do steps 2 to 4, and return how many people have to be let in again."""
    _end_ways(connection, taking)
    stored = connection.execute(sa.select(reviewers)).mappings().all()
    others = [row for row in stored if row["name"] != keep.name]
    for row in others:
        _shut(connection, taking, row)
    for name in sorted(People.of(taking.seen).reviewers.keys() - {str(row["name"]) for row in stored}):
        _restore(connection, taking, name)
    return len(others)


def _end_ways(connection: sa.Connection, taking: Taking) -> None:
    """Do step 3."""
    end_sessions(connection, _ALL, at=taking.at, code=CODE)
    subjects = {name for name in taking.seen if name.startswith(FIRST)}
    for table in _WAYS:
        names = connection.execute(sa.select(table.c.name).distinct()).scalars().all()
        subjects |= {account_subject(str(name)) for name in names}
        connection.execute(sa.delete(table))
    connection.execute(sa.delete(devices))
    for subject in sorted(subjects):
        doubt(connection, subject, at=taking.at, body={"code": CODE, "by": taking.by}, rows=False)
    _keep_spent(connection, taking)


def _keep_spent(connection: sa.Connection, taking: Taking) -> None:
    """Let no proof that was used once be used again, also where the note of it was removed."""
    known = set(connection.execute(sa.select(spent_proofs.c.key)).scalars())
    told = {key: who for said in taking.seen.values() if said.account for key, who in said.account.steps.items()}
    for key in sorted(told.keys() - known):
        name, at = told[key]
        connection.execute(sa.insert(spent_proofs).values(key=key, purpose="step-up", name=name, at=at))


def _shut(connection: sa.Connection, taking: Taking, row: sa.RowMapping) -> None:
    """Do steps 2 and 4 for one account."""
    name, people = str(row["name"]), People.of(taking.seen)
    told = people.reviewers.get(name)
    as_told = _is_as_told(row, taking.seen)
    values: dict[str, Any] = {"selector": secrets.token_hex(8), "token_hash": _NO_HASH}
    body: dict[str, JSON] = {"reviewer": name, "by": taking.by, "code": CODE}
    told_of: dict[str, JSON] = {**body, "credential": credential_digest(values["selector"], values["token_hash"])}
    if told is None:
        values |= {"added_by": taking.by, "added_at": taking.at}
        audit.append(connection, at=taking.at, kind=ADDED, subject=subject_of(name), body=told_of)
    else:
        values |= {"added_by": told[1], "added_at": told[2]}
        audit.append(connection, at=taking.at, kind=REISSUED, subject=subject_of(name), body=told_of)
    roles, person = taking.seen.get(f"{ACCOUNT}{name}", _NOBODY).quorum.roles or ("", "")
    values |= {"roles": roles, "person": person, "disabled_at": people.disabled.get(name)}
    if not as_told and values["disabled_at"] is None:
        values["disabled_at"] = taking.at
        audit.append(connection, at=taking.at, kind=DISABLED, subject=subject_of(name), body=body)
    connection.execute(sa.update(reviewers).where(reviewers.c.name == row["name"]).values(values))


def _restore(connection: sa.Connection, taking: Taking, name: str) -> None:
    """Put back an account whose row was removed, disabled: its events stay, and nobody else may take its name."""
    people = People.of(taking.seen)
    _, by, added = people.reviewers[name]
    roles, person = taking.seen.get(f"{ACCOUNT}{name}", _NOBODY).quorum.roles or ("", "")
    selector, disabled = secrets.token_hex(8), people.disabled.get(name)
    body: dict[str, JSON] = {"reviewer": name, "by": taking.by, "code": CODE}
    told_of: dict[str, JSON] = {**body, "credential": credential_digest(selector, _NO_HASH)}
    audit.append(connection, at=taking.at, kind=REISSUED, subject=subject_of(name), body=told_of)
    if disabled is None:
        disabled = taking.at
        audit.append(connection, at=taking.at, kind=DISABLED, subject=subject_of(name), body=body)
    values = {"name": name, "selector": selector, "token_hash": _NO_HASH, "added_by": by, "added_at": added}
    row = {**values, "disabled_at": disabled, "roles": roles, "person": person}
    connection.execute(sa.insert(reviewers).values(row))


__all__ = ["keep_aside", "require_known", "shut_out"]
