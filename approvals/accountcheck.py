"""Do the tables of signing in say what the events say? A planted password, passkey, session or link is found here.

Guarantees: every column of passwords, passkeys, identities, links, sessions and answered challenges that says who may
come in is compared with the events; the same comparison is made for one account or one session before it lets anybody
in. What it does not cover: when a session was last seen, the counts of tries, the known browsers and the key of the
pages, which let nobody in by themselves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

import sqlalchemy as sa

from checkvalve.approvals.account_tables import identities, invitations, passkeys, passwords, sessions, spent_proofs
from checkvalve.approvals.accounts_said import KINDS, AccountSaid
from checkvalve.approvals.audit import Event
from checkvalve.approvals.canonical import digest
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.doubts import DOUBTED
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.sound_events import sound_events
from checkvalve.filters.errors import HostileInputError

Found = Iterator[tuple[str, str]]
_NOTHING: Final = AccountSaid()
_REMEDY: Final = "nobody was let in; verify the audit log: checkvalve audit verify"
FIRST: Final = "account:"
"""The subject of what happens before anybody has an account."""


class HasAccount(Protocol):
    """The events of one subject, of which this module reads those of an account."""

    @property
    def account(self) -> AccountSaid | None:
        """What they say of an account or a session."""
        ...


def account_subject(name: str) -> str:
    """Return the subject of the events of an account."""
    return f"account:{name}"


def session_subject(key: str) -> str:
    """Return the subject of the events of a session."""
    return f"session:{key}"


def password_digest(name: str, password_hash: str) -> str:
    """Return what the log keeps of a password: enough to notice a planted one, nothing to try words against."""
    return digest([name, password_hash])


def key_digest(public_key: bytes) -> str:
    """Return what the log keeps of a passkey's public key."""
    return "sha256:" + hashlib.sha256(public_key).hexdigest()


def check_accounts(connection: sa.Connection, seen: Mapping[str, HasAccount]) -> Found:
    """Yield a code and a sentence for each row of signing in that differs from its events, or is gone."""
    found = {subject: one.account for subject, one in seen.items() if one.account is not None}
    for table, column in _ACCOUNT_TABLES:
        for row in connection.execute(sa.select(table)).mappings():
            if not _same(table, row, found.get(account_subject(str(row[column])), _NOTHING)):
                yield "row_differs", f"the {_WHAT[table.name]} of {row[column]!r} is not what the events say"
    for row in connection.execute(sa.select(sessions)).mappings():
        if not _same_session(row, found.get(session_subject(str(row["key"])), _NOTHING)):
            yield "row_differs", f"a session of {row['name']!r} is not what the events say"
    yield from _gone(connection, found)


def require_account(connection: sa.Connection, name: str) -> AccountSaid:
    """Make sure that every way into one account is what its events say, and return those.

    Raises:
        StoreCorruptError: something was edited or planted beside the log.
    """
    said = _said(connection, account_subject(name))
    for table, column in _ACCOUNT_TABLES:
        for row in connection.execute(sa.select(table).where(table.c[column] == name)).mappings():
            if not _same(table, row, said):
                raise StoreCorruptError(f"the {_WHAT[table.name]} is not what the events say", remedy=_REMEDY)
    return said


def require_names(
    connection: sa.Connection, known_as: Mapping[str, Collection[str]], events: Mapping[str, Iterable[Event]]
) -> None:
    """Make sure that what accounts are called elsewhere is what their events say.

    ``known_as`` has, for each account, the subjects and addresses that the table gives it; ``events`` are the sound
    ones of those accounts, by subject.

    Raises:
        StoreCorruptError: a link was edited, planted or taken out beside the log.
    """
    told = {name: _said_in(events[account_subject(name)]) for name in known_as}
    if all(_called(said) == frozenset(known_as[name]) for name, said in told.items()):
        return
    rows = connection.execute(sa.select(identities).where(identities.c.name.in_(told))).mappings().all()
    missing = {key for said in told.values() for key in said.identities}
    missing -= {(str(row["issuer"]), str(row["subject"])) for row in rows}
    if missing:  # linked to somebody else since then, or gone
        known = connection.execute(sa.select(identities.c.issuer, identities.c.subject)).all()
        missing -= {tuple(row) for row in known}
    if missing or not all(_same(identities, row, told[row["name"]]) for row in rows):
        raise StoreCorruptError(
            "what a reviewer is called elsewhere is not what the events say",
            remedy="nothing was done; verify the audit log: checkvalve audit verify",
        )


def _called(said: AccountSaid) -> frozenset[str]:
    """Return every subject and address that the events of an account name."""
    words = [word for key, one in said.identities.items() for word in (key[1], one.get("address"))]
    return frozenset(str(word) for word in words if word)


def proved_by(connection: sa.Connection, row: sa.RowMapping) -> str:
    """Return how the person of a session last proved who they are; empty for one that was never started, or ended."""
    said = _said(connection, session_subject(str(row["key"])))
    return said.proved_by if _same_session(row, said) else ""


def ever_called(events: Iterable[Event]) -> frozenset[str]:
    """Return every name that the events of an account ever gave it, also one that another took the place of."""
    bodies = [_body(event.body) for event in events if event.kind == "identity.linked"]
    words = [body.get(key) for body in bodies for key in ("subject", "address")]
    return frozenset(str(word) for word in words if word)


def _said(connection: sa.Connection, subject: str) -> AccountSaid:
    return _said_in(sound_events(connection, subject))


def _said_in(events: Iterable[Event]) -> AccountSaid:
    said = AccountSaid()
    for event in events:
        if event.kind == DOUBTED:  # its log was closed: no way in from before counts any more
            said = AccountSaid()
        if event.kind.startswith(KINDS):
            said.note(event.kind, _body(event.body), event.at)
    return said


def _body(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


_ACCOUNT_TABLES: Final = ((passwords, "name"), (passkeys, "name"), (identities, "name"), (invitations, "name"))
_WHAT: Final = {"passwords": "password", "passkeys": "passkey", "identities": "identity", "invitations": "link"}


def _same(table: sa.Table, row: sa.RowMapping, said: AccountSaid) -> bool:
    try:
        if table is passwords:
            return said.password == (password_digest(str(row["name"]), str(row["password_hash"])), row["set_at"])
        if table is passkeys:
            told = said.passkeys.get(str(row["credential"]))
            found = {**row, "key_digest": key_digest(bytes(row["public_key"]))}
        elif table is identities:
            told, found = said.identities.get((str(row["issuer"]), str(row["subject"]))), dict(row)
        else:
            told, found = said.invitations.get(str(row["key"])), {**row, "expires_at": rfc3339(row["expires_at"])}
    except (TypeError, ValueError, OverflowError, HostileInputError):
        return False
    return told is not None and all(found[name] == value for name, value in told.items())


def _same_session(row: sa.RowMapping, said: AccountSaid) -> bool:
    return said.session is not None and all(row[name] == value for name, value in said.session.items())


def _gone(connection: sa.Connection, found: Mapping[str, AccountSaid]) -> Found:
    """Find what was removed: whoever removes the note that a challenge was answered could answer with it again."""
    spent = set(connection.execute(sa.select(spent_proofs.c.key)).scalars())
    linked = {tuple(row) for row in connection.execute(sa.select(identities.c.issuer, identities.c.subject))}
    kept = set(connection.execute(sa.select(passkeys.c.credential)).scalars())
    with_password = set(connection.execute(sa.select(passwords.c.name)).scalars())
    for subject, said in found.items():
        if said.steps.keys() - spent:
            yield "row_missing", f"the note that a proof for {subject} was used is gone"
        missing = bool(said.identities.keys() - linked) or bool(said.passkeys.keys() - kept)
        if missing or (said.password is not None and subject.removeprefix("account:") not in with_password):
            yield "row_missing", f"a way into {subject} has events and no row"


__all__ = [
    "FIRST", "account_subject", "check_accounts", "ever_called", "key_digest", "password_digest", "proved_by",
    "require_account", "require_names", "session_subject",
]  # fmt: skip
