"""The ways into the review pages: what checks a token, a password, a passkey, a link, or an organisation's sign-in.

Guarantees: a try is counted before it costs anything; what is wrong with a name, a password or a token is said in the
same words; whoever gets in has a new session, and the browser is known from then on.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

from checkvalve.approvals import challenges
from checkvalve.approvals.errors import CredentialError
from checkvalve.approvals.identities import Identities
from checkvalve.approvals.invitations import Invitations
from checkvalve.approvals.passkeys import Passkeys, Site, has_extra
from checkvalve.approvals.password_rules import TOKEN
from checkvalve.approvals.passwords import Passwords
from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.reviewers import Reviewers
from checkvalve.approvals.stepup import Checks
from checkvalve.approvals.tries import Tries, page_key
from checkvalve.gateway.web_sessions import PageKey, Throttle

if TYPE_CHECKING:
    from checkvalve.gateway.oidc import Provider

T = TypeVar("T")


class TooManyTriesError(Exception):
    """This try is not looked at. ``code`` is a word of the catalogues."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass
class Door:
    """Everything that signs people in, over one store. ``site`` is None where passkeys cannot work."""

    board: Reviewers
    site: Site | None = None
    provider: Provider | None = None
    throttle: Throttle = field(default_factory=Throttle)

    def __post_init__(self) -> None:
        """Open the parts."""
        store, clock = self.board.store, self.board.clock
        checks = Checks.of(self.board)
        self.passwords: Passwords = checks.passwords
        self.passkeys: Passkeys = checks.passkeys
        self.checks = checks
        self.invitations = Invitations(self.board, self.passwords)
        self.identities = Identities(self.board)
        self.tries = Tries(store, clock)
        self.before = PageKey(page_key(store, clock))

    def with_secret(self, name: str, secret: str, *, address: str, device: str) -> Proof:
        """Return the proof of a token, or of a name with its password.

        Raises:
            TooManyTriesError: it was not looked at.
            CredentialError: it was not accepted.
        """
        return self.counted(name, secret, lambda: self.proof_of(name, secret), address=address, device=device)

    def proof_of(self, name: str, secret: str) -> Proof:
        """Return the proof of a token, or of a name with its password, uncounted.

        Raises:
            CredentialError: it was not accepted.
        """
        if secret.startswith(TOKEN):
            return Proof(self.board.authenticate(secret), "token", self.board.clock())
        return self.passwords.authenticate(name, secret)

    def counted(self, name: str, secret: str, check: Callable[[], T], *, address: str, device: str) -> T:
        """Return what ``check`` makes of a secret, once the try was counted.

        1. A browser that nobody knows is counted by its address, and all of them together. 2. A password is counted for
        the account too. 3. The secret is looked at; a good one is not held against anybody.

        Raises:
            TooManyTriesError: it was not looked at.
            CredentialError: it was not accepted.
        """
        is_token = secret.startswith(TOKEN)
        if not self.tries.is_known(device) and not self.throttle.may_try(address):  # 1.
            raise TooManyTriesError("tries")
        if not is_token and not self.tries.may_try(name, device):  # 2.
            raise TooManyTriesError("tries.account")
        try:  # 3.
            found = check()
        except CredentialError:
            self.throttle.failed(address)
            raise
        if not is_token:
            self.tries.was_good(name, device)
        return found

    def with_passkey(self, response: str, nonce: str, *, address: str) -> Proof:
        """Return the proof of a passkey that answered the challenge of the sign-in page, once.

        Raises:
            TooManyTriesError: it was not looked at.
            CredentialError, StepUpError: it was not accepted.
        """
        if not self.throttle.may_try(address):
            raise TooManyTriesError("tries")
        now = self.board.clock()
        value = challenges.challenge("sign-in", nonce=nonce)
        try:
            if self.site is None or not challenges.is_fresh(nonce, now):
                raise CredentialError("the passkey was asked too long ago", remedy="load the page again")
            proof = self.passkeys.verify(self.site, response, value)
        except CredentialError:
            self.throttle.failed(address)
            raise
        with self.board.store.write() as connection:
            challenges.spend(connection, value, "sign-in", proof.reviewer.name, now)
        return proof


def site_of(origin: str) -> Site | None:
    """Return the pages as WebAuthn knows them, None where browsers make no passkeys: an address of numbers, no TLS."""
    parts = urlsplit(origin)
    host = parts.hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        secure = parts.scheme == "https" or host == "localhost"
        return Site(host, origin) if host and secure and has_extra() else None
    return None


def typed(secret: str) -> str:
    """Return what somebody typed: a token without the blanks around it, a password exactly as it is."""
    return secret.strip() if secret.strip().startswith(TOKEN) else secret


_BROWSERS: Final = (("Edg", "Edge"), ("Firefox", "Firefox"), ("Chrom", "Chrome"), ("Safari", "Safari"))
_SYSTEMS: Final = (
    ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"), ("Mac OS", "macOS"),
    ("Linux", "Linux"),
)  # fmt: skip


def browser_of(agent: str) -> str:
    """Return a short word for a browser, of our own words alone: what it says of itself is anybody's text."""
    name = next((word for mark, word in _BROWSERS if mark in agent), "")
    system = next((word for mark, word in _SYSTEMS if mark in agent), "")
    return ", ".join(part for part in (name, system) if part)


__all__ = ["TOKEN", "Door", "TooManyTriesError", "browser_of", "site_of", "typed"]
