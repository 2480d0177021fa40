"""Passkeys of reviewers (WebAuthn): added with a fresh proof, listed, named, removed; and the proof that one gives.

Guarantees: the person was verified by their device (user verification), at the origin of these pages, over a challenge
that is answered once; a counter that does not go up shows a copied key and is refused; a passkey that was planted in
the table, or whose counter was edited, lets nobody in. The checks of WebAuthn are those of the package ``webauthn``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import audit, challenges
from checkvalve.approvals.account_tables import passkeys
from checkvalve.approvals.accountcheck import account_subject, key_digest, require_account
from checkvalve.approvals.clock import Clock, system_clock
from checkvalve.approvals.errors import AccountError
from checkvalve.approvals.passkey_wire import (
    Site,
    as_text,
    credential_of,
    from_text,
    handle_of,
    has_extra,
    named_handle,
    refused,
    verified,
    webauthn_package,
)
from checkvalve.approvals.proof_holds import of_passkey, require_holding
from checkvalve.approvals.proofs import Proof, require_fresh, require_strong
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.sessions import begun_with, end_sessions, require_reviewer
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import reviewers
from checkvalve.filters.strictjson import JSON

MAX_PASSKEYS: Final = 20
"""Passkeys that one person may have."""
MAX_LABEL: Final = 60
"""Characters of what a person calls a passkey."""


@dataclass(frozen=True, slots=True)
class Passkey:
    """One passkey. Times are microseconds."""

    credential: str
    name: str
    label: str
    added_at: int
    used_at: int | None
    sign_count: int
    public_key: bytes = field(repr=False)


class Passkeys:
    """The passkeys in one store."""

    def __init__(self, store: Store, clock: Clock = system_clock) -> None:
        """Look into ``store``."""
        self._store = store
        self._clock = clock

    def of(self, name: str) -> list[Passkey]:
        """Return the passkeys of a person that are not removed, oldest first."""
        with self._store.read() as connection:
            return _of(connection, name)

    def adding(self, reviewer: Reviewer, site: Site, nonce: str) -> str:
        """Return, as JSON, what a browser is asked in order to make a passkey (``PublicKeyCredentialCreationOptions``).

        Raises:
            AccountError: the extra ``passkeys`` is not installed.
        """
        webauthn = webauthn_package()
        from webauthn.helpers import structs  # noqa: PLC0415  # the extra

        known = [structs.PublicKeyCredentialDescriptor(id=from_text(one.credential)) for one in self.of(reviewer.name)]
        options = webauthn.generate_registration_options(
            rp_id=site.id,
            rp_name="Checkvalve",
            user_id=handle_of(reviewer.name),
            user_name=reviewer.name,
            challenge=challenges.challenge("passkey", reviewer.name, nonce=nonce),
            authenticator_selection=structs.AuthenticatorSelectionCriteria(
                resident_key=structs.ResidentKeyRequirement.REQUIRED,
                user_verification=structs.UserVerificationRequirement.REQUIRED,
            ),
            exclude_credentials=known,
        )
        return str(webauthn.options_to_json(options))

    def add(self, reviewer: Reviewer, site: Site, response: str, *, nonce: str, label: str, proof: Proof) -> None:
        """Add the passkey that a browser made.

        1. The proof of who asks is fresh; where they have a passkey already, that or a link gave it. 2. The answer is
        to our challenge, from our origin, with the person verified. 3. The passkey is nobody's yet; row, event and the
        note that the challenge was answered commit together.

        Raises:
            CredentialError: the proof is not fresh or too weak, or the answer is not good.
            AccountError: there are too many, or it is known already.
        """
        now = self._clock()
        require_fresh(proof, reviewer, now)  # 1.
        wanted = challenges.challenge("passkey", reviewer.name, nonce=nonce)
        found = verified(  # 2.
            "verify_registration_response", response, site, wanted if challenges.is_fresh(nonce, now) else b""
        )
        credential, key = as_text(found.credential_id), bytes(found.credential_public_key)
        shown = _label(label)
        with self._store.write() as connection:  # 3.
            challenges.spend(connection, wanted, "passkey", reviewer.name, now)
            require_reviewer(connection, reviewer)
            require_holding(connection, proof)
            if known := _of(connection, reviewer.name):
                require_strong(proof)
            if len(known) >= MAX_PASSKEYS:
                raise AccountError("this account has too many passkeys", remedy="remove one that is not used")
            if connection.execute(sa.select(passkeys.c.name).where(passkeys.c.credential == credential)).scalar():
                raise AccountError("this passkey is known already", remedy="use it to sign in")
            told = {"name": reviewer.name, "label": shown, "sign_count": int(found.sign_count)}
            row = {**told, "credential": credential, "public_key": key, "added_at": now}
            connection.execute(sa.insert(passkeys).values(**row, used_at=None, removed_at=None))
            body = {**told, "credential": credential, "key_digest": key_digest(key), "proof": proof.method}
            _append(connection, reviewer.name, "added", body, now)

    def proving(self, site: Site, value: bytes, *, name: str = "") -> str:
        """Return, as JSON, what a browser is asked in order to answer a challenge; anybody's answer without ``name``.

        Raises:
            AccountError: the extra ``passkeys`` is not installed.
        """
        webauthn = webauthn_package()
        from webauthn.helpers import structs  # noqa: PLC0415  # the extra

        known = (
            [structs.PublicKeyCredentialDescriptor(id=from_text(one.credential)) for one in self.of(name)]
            if name
            else []
        )
        options = webauthn.generate_authentication_options(
            rp_id=site.id,
            challenge=value,
            allow_credentials=known,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        )
        return str(webauthn.options_to_json(options))

    def verify(self, site: Site, response: str, value: bytes) -> Proof:
        """Return the proof of whoever answered the challenge ``value`` with a passkey; its counter goes up.

        Who calls this makes sure that the challenge is answered once.

        Raises:
            CredentialError: no passkey of anybody who may decide gave this answer.
            StoreCorruptError: what is stored of it is not what was added.
        """
        credential = credential_of(response)
        with self._store.read() as connection:
            row = _active(connection, credential)
            if row is not None:
                require_account(connection, row["name"])
        if row is None or named_handle(response) not in {None, handle_of(row["name"])}:
            raise refused()
        stored = {"credential_public_key": row["public_key"], "credential_current_sign_count": row["sign_count"]}
        found = verified("verify_authentication_response", response, site, value, **stored)
        now = self._clock()
        with self._store.write() as connection:
            again = _active(connection, credential)
            if again is None or again["sign_count"] != row["sign_count"]:
                raise refused()  # removed, or used by another request, meanwhile
            count = int(found.new_sign_count)
            mine = sa.update(passkeys).where(passkeys.c.credential == credential)
            connection.execute(mine.values(sign_count=count, used_at=now))
            _append(connection, row["name"], "used", {"credential": credential, "sign_count": count}, now)
        return Proof(Reviewer(row["name"], row["selector"], "passkey"), "passkey", now, of_passkey(credential))

    def rename(self, reviewer: Reviewer, credential: str, label: str) -> None:
        """Call a passkey something else."""
        with self._store.write() as connection:
            self._mine(connection, reviewer, credential)
            shown = _label(label)
            connection.execute(sa.update(passkeys).where(passkeys.c.credential == credential).values(label=shown))
            _append(connection, reviewer.name, "named", {"credential": credential, "label": shown}, self._clock())

    def remove(self, reviewer: Reviewer, credential: str, proof: Proof, *, keep: str = "") -> None:
        """Let a passkey prove nothing any more; sessions that began with one end, but for the one of ``keep``.

        Raises:
            CredentialError: the proof is not fresh, or neither a passkey nor a link: what can be typed removes none.
            AccountError: it is none of this person's.
        """
        now = self._clock()
        require_fresh(proof, reviewer, now)
        with self._store.write() as connection:
            self._mine(connection, reviewer, credential)
            require_holding(connection, proof)
            require_strong(proof)
            connection.execute(sa.update(passkeys).where(passkeys.c.credential == credential).values(removed_at=now))
            _append(connection, reviewer.name, "removed", {"credential": credential, "proof": proof.method}, now)
            end_sessions(connection, begun_with("passkey", reviewer.name, keep), at=now, code="credential")

    @staticmethod
    def _mine(connection: sa.Connection, reviewer: Reviewer, credential: str) -> None:
        require_reviewer(connection, reviewer)
        if credential not in {one.credential for one in _of(connection, reviewer.name)}:
            raise AccountError("there is no such passkey of yours", remedy="look at your account's page again")


def _append(connection: sa.Connection, name: str, what: str, body: dict[str, Any], at: int) -> None:
    found: dict[str, JSON] = {"name": name, **body}
    audit.append(connection, at=at, kind=f"passkey.{what}", subject=account_subject(name), body=found)


def _of(connection: sa.Connection, name: str) -> list[Passkey]:
    row = passkeys.c
    columns = (row.credential, row.name, row.label, row.added_at, row.used_at, row.sign_count, row.public_key)
    query = sa.select(*columns).where(row.name == name, row.removed_at.is_(None)).order_by(row.added_at)
    return [Passkey(*found) for found in connection.execute(query)]


def _active(connection: sa.Connection, credential: str) -> sa.RowMapping | None:
    query = sa.select(passkeys, reviewers.c.selector).join(reviewers, reviewers.c.name == passkeys.c.name)
    good = (passkeys.c.credential == credential, passkeys.c.removed_at.is_(None), reviewers.c.disabled_at.is_(None))
    return connection.execute(query.where(*good)).mappings().one_or_none()


def _label(text: str) -> str:
    found = " ".join(neutralise(text).split())[:MAX_LABEL]
    return found or "passkey"


__all__ = ["MAX_LABEL", "MAX_PASSKEYS", "Passkey", "Passkeys", "Site", "has_extra"]
