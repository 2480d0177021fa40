"""An organisation's sign-in: OpenID Connect, authorization code with PKCE, and the checks of what comes back.

1. The issuer is asked once what it offers; it has to call itself what the settings call it. 2. A browser is sent there
with a state, a nonce and a PKCE challenge, all drawn for this one time. 3. The code is exchanged with the verifier.
4. The ID token has to be signed with a key of the issuer, by an algorithm of public keys; issuer, audience, authorised
party, times and nonce are checked. 5. Verified address, domain and groups decide who may come in, and as what.

Guarantees: who somebody is, is issuer and subject and nothing else; whatever is wrong ends in one coded refusal. The
signatures are checked by the package ``joserfc``.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from checkvalve.approvals.identities import Identity
from checkvalve.approvals.roles import Role
from checkvalve.gateway.errors import MissingExtraError, OidcError
from checkvalve.gateway.oidc_fetch import ask, check_address
from checkvalve.gateway.oidc_machines import is_machine

ALGORITHMS: Final = ("RS256", "PS256", "ES256", "RS384", "RS512", "PS384", "PS512", "ES384", "ES512")
"""Signatures that are taken: with public keys only. A key that both sides know, or none, proves nothing here."""
LEEWAY: Final = 60
"""Seconds by which the two clocks may differ."""
MAX_AGE: Final = 600
"""Seconds that an ID token may be old: it was made for this sign-in a moment ago."""
PROVED: Final = 300
"""Seconds since somebody gave their credential there, for a fresh proof."""
_KEPT: Final = 3_600.0  # seconds for which the issuer's own words are kept
_AGAIN: Final = 30.0  # seconds between looks for new keys
_MAX_SUBJECT: Final = 255
_LATEST: Final = 253_402_300_799  # seconds: the end of the year 9999
_MAX_GROUPS: Final = 1_000


@dataclass(frozen=True, slots=True)
class OidcRules:
    """What the settings say. ``roles`` is empty where groups give no roles."""

    issuer: str
    client_id: str
    redirect: str
    secret: str = field(default="", repr=False)
    label: str = ""
    groups_claim: str = "groups"
    roles: Mapping[str, frozenset[Role]] = field(default_factory=dict)
    domains: frozenset[str] = frozenset()
    auto_add: bool = False


@dataclass(frozen=True, slots=True)
class Started:
    """One sign-in that has begun: what only this browser knows."""

    state: str
    nonce: str
    verifier: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Told:
    """Who came back, and when they gave their credential there (seconds since 1970; 0 where it was not said)."""

    identity: Identity
    auth_time: int


class Provider:
    """One issuer. Safe to use from several threads."""

    def __init__(self, rules: OidcRules, clock: Callable[[], float] = time.time) -> None:
        """Ask nothing before somebody wants to sign in."""
        self.rules = rules
        self.label = rules.label or urlsplit(rules.issuer).hostname or rules.issuer
        self._clock = clock
        self._local = urlsplit(rules.issuer).scheme == "http"
        self._lock = threading.Lock()
        self._offer: tuple[float, dict[str, Any]] = (0.0, {})
        self._keys: tuple[float, Any] = (0.0, None)

    def begin(self, *, prove: bool = False) -> tuple[str, Started]:
        """Return the address to send a browser to, and what it has to come back with.

        Raises:
            OidcError: the issuer cannot be asked, or is not what it should be.
        """
        started = Started(secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(48))
        hashed = hashlib.sha256(started.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "scope": "openid email profile",
            "client_id": self.rules.client_id,
            "redirect_uri": self.rules.redirect,
            "state": started.state,
            "nonce": started.nonce,
            "code_challenge": base64.urlsafe_b64encode(hashed).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        if prove:
            query |= {"prompt": "login", "max_age": "0"}
        where = self._endpoint("authorization_endpoint")
        return f"{where}{'&' if '?' in where else '?'}{urlencode(query)}", started

    def finish(self, started: Started, *, code: str, issuer: str = "", prove: bool = False) -> Told:
        """Return who came back with ``code``; ``issuer`` is what the answer itself says (RFC 9207).

        Raises:
            OidcError: anything is not as it should be.
        """
        offer = self._asked()
        said = offer.get("authorization_response_iss_parameter_supported") is True
        if (said or issuer) and issuer != self.rules.issuer:
            raise OidcError("issuer", "the answer comes from another sign-in service")
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.rules.redirect}
        form |= {"code_verifier": started.verifier, "client_id": self.rules.client_id}
        methods = offer.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        login = None
        if self.rules.secret and "client_secret_basic" in methods:
            login = (self.rules.client_id, self.rules.secret)
        elif self.rules.secret:
            form["client_secret"] = self.rules.secret
        answer = ask(self._endpoint("token_endpoint"), form, login=login, local=self._local)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise OidcError("no_token", "the sign-in service gave no ID token")
        return self._told(self._claims(token, started.nonce, prove=prove))

    def _claims(self, token: str, nonce: str, *, prove: bool) -> dict[str, Any]:
        claims = self._signed(token)
        now = self._clock()
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        party = claims.get("azp", self.rules.client_id if len(audiences) == 1 else None)
        expires, made = _number(claims.get("exp")), _number(claims.get("iat"))  # 0 where it is not said: long ago
        checks = {
            "issuer": claims.get("iss") == self.rules.issuer,
            "audience": self.rules.client_id in audiences and party == self.rules.client_id,
            "expired": now < expires + LEEWAY,
            "age": made - LEEWAY <= now <= made + MAX_AGE,
            "nonce": secrets.compare_digest(str(claims.get("nonce", "")).encode("utf-8", "replace"), nonce.encode()),
            "subject": _is_subject(claims.get("sub")),
            "proof": not prove or -LEEWAY <= now - _number(claims.get("auth_time")) <= PROVED + LEEWAY,
        }
        if wrong := next((name for name, good in checks.items() if not good), ""):
            raise OidcError(wrong, "the ID token is not for this sign-in")
        return claims

    def _signed(self, token: str) -> dict[str, Any]:
        """Return the claims of a token that the issuer signed; keys are looked for once more where one is not known."""
        try:
            from joserfc import jwt  # noqa: PLC0415  # an extra
            from joserfc.errors import JoseError  # noqa: PLC0415  # the same
        except ImportError as error:
            raise MissingExtraError.for_extra("joserfc", "oidc") from error
        for again in (False, True):
            try:
                found = jwt.decode(token, self._key_set(again=again), algorithms=list(ALGORITHMS))
            except (JoseError, ValueError, TypeError, KeyError, RecursionError) as error:
                if again:
                    raise OidcError("signature", "the ID token is not signed by the sign-in service") from error
            else:
                return dict(found.claims)
        raise AssertionError  # the second time ends above

    def _told(self, claims: Mapping[str, Any]) -> Told:
        """Decide who may come in, as what: 0. a person, 1. a verified address of a domain, 2. a group with roles."""
        if is_machine(claims, self.rules.client_id):  # 0.
            raise OidcError("machine", "the sign-in service says of a program who it is, and of no person")
        address = claims.get("email")
        verified = isinstance(address, str) and claims.get("email_verified") is True
        domain = str(address).rpartition("@")[2].lower() if verified else ""
        if self.rules.domains and domain not in self.rules.domains:  # 1.
            raise OidcError("domain", "people of this address may not sign in here")
        roles: frozenset[Role] | None = None
        if self.rules.roles:  # 2.
            groups = claims.get(self.rules.groups_claim)
            names = [name for name in groups if isinstance(name, str)] if isinstance(groups, list) else []
            roles = frozenset[Role]().union(*(self.rules.roles.get(name, frozenset()) for name in names[:_MAX_GROUPS]))
            if not roles:
                raise OidcError("groups", "no group of this person may do anything here")
        named = str(address) if verified else ""  # what people call themselves there would let them pass for others
        identity = Identity(self.rules.issuer, claims["sub"], named, roles)
        return Told(identity, int(_number(claims.get("auth_time"))))

    def _endpoint(self, name: str) -> str:
        return check_address(self._asked().get(name), local=self._local)

    def _asked(self) -> dict[str, Any]:
        with self._lock:
            at, offer = self._offer
            if offer and time.monotonic() - at < _KEPT:
                return offer
        found = ask(f"{self.rules.issuer.rstrip('/')}/.well-known/openid-configuration", local=self._local)
        if found.get("issuer") != self.rules.issuer:
            raise OidcError("issuer", "the sign-in service calls itself something else")
        with self._lock:
            self._offer = (time.monotonic(), found)
        return found

    def _key_set(self, *, again: bool) -> Any:
        from joserfc.jwk import KeySet  # noqa: PLC0415  # an extra

        with self._lock:
            at, keys = self._keys
        if keys is None or time.monotonic() - at > (_AGAIN if again else _KEPT):
            body = ask(self._endpoint("jwks_uri"), local=self._local)
            listed = body.get("keys")
            public = [key for key in listed if _is_public(key)] if isinstance(listed, list) else []
            keys = KeySet.import_key_set({"keys": public})
            with self._lock:
                self._keys = (time.monotonic(), keys)
        return keys


def _is_public(key: object) -> bool:
    """Say whether a key is one that verifies: a secret that somebody published signs nothing."""
    return isinstance(key, dict) and key.get("kty") in {"RSA", "EC"} and key.get("use", "sig") == "sig"


def _is_subject(value: object) -> bool:
    """Say whether this can name somebody: visible characters, and no more than the specification allows."""
    return isinstance(value, str) and 0 < len(value) <= _MAX_SUBJECT and value.isprintable()


def _number(value: object) -> float:
    """Return a moment, 0 for what is none."""
    is_one = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LATEST
    return float(value) if is_one else 0.0  # type: ignore[arg-type]  # mypy forgets what was asked


__all__ = ["ALGORITHMS", "LEEWAY", "MAX_AGE", "OidcRules", "Provider", "Started", "Told"]
