"""What the events say of one account or one session: pure, and the other side of ``accountcheck``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

KINDS: Final = ("password.", "passkey.", "identity.", "invitation.", "session.", "stepup.")
"""How the kinds of events begin that are taken in here."""


@dataclass(slots=True)
class AccountSaid:
    """What the events of one subject say."""

    password: tuple[str, int] | None = None  # the digest of the hash, and when
    passkeys: dict[str, dict[str, Any]] = field(default_factory=dict)
    identities: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    invitations: dict[str, dict[str, Any]] = field(default_factory=dict)
    session: dict[str, Any] | None = None
    proved_by: str = ""  # how the person of this session last proved who they are
    ended: bool = False
    steps: dict[str, tuple[str, int]] = field(default_factory=dict)  # by challenge: who, and when

    def note(self, kind: str, body: Mapping[str, Any], at: int) -> None:
        """Take in one event."""
        what, _, how = kind.partition(".")
        if what == "password":
            self.password = (str(body.get("credential")), at)
        elif what == "passkey":
            self._note_passkey(how, body, at)
        elif what == "identity":
            key = (str(body.get("issuer")), str(body.get("subject")))
            if how == "linked":
                told = {"name": body.get("name"), "address": body.get("address")}
                self.identities[key] = {**told, "linked_at": at, "removed_at": None}
            elif key in self.identities:
                self.identities[key]["removed_at"] = at
        elif what == "invitation":
            self._note_invitation(how, body, at)
        elif what == "session":
            self._note_session(how, body, at)
        elif what == "stepup" and "challenge" in body:  # an erased event says nothing any more
            self.steps[str(body.get("challenge"))] = (str(body.get("by")), at)

    def _note_passkey(self, how: str, body: Mapping[str, Any], at: int) -> None:
        key = str(body.get("credential"))
        if how == "added":
            told = {name: body.get(name) for name in ("name", "label", "key_digest", "sign_count")}
            self.passkeys[key] = {**told, "added_at": at, "used_at": None, "removed_at": None}
        elif key in self.passkeys:
            changed: dict[str, dict[str, Any]] = {
                "used": {"used_at": at, "sign_count": body.get("sign_count")},
                "named": {"label": body.get("label")},
                "removed": {"removed_at": at},
            }
            self.passkeys[key] |= changed.get(how, {})

    def _note_invitation(self, how: str, body: Mapping[str, Any], at: int) -> None:
        key = str(body.get("key"))
        if how == "made":
            told = {name: body.get(name) for name in ("name", "expires_at")}
            self.invitations[key] = {**told, "made_by": body.get("by"), "made_at": at, "used_at": None}
        elif key in self.invitations:
            self.invitations[key]["used_at"] = at

    def _note_session(self, how: str, body: Mapping[str, Any], at: int) -> None:
        if how == "started" and self.session is None and not self.ended:
            told = {name: body.get(name) for name in ("name", "selector", "method")}
            times = {"started_at": at, "proved_at": body.get("proved_at", at)}
            self.session, self.proved_by = {**told, **times}, str(body.get("method"))
        elif how == "proved" and self.session is not None:
            self.session["proved_at"], self.proved_by = body.get("proved_at", at), str(body.get("method"))
        elif how == "ended":
            self.session, self.ended = None, True


__all__ = ["KINDS", "AccountSaid"]
