"""Attack: what comes from outside the pages is no address, no number and no text; nothing of it is a traceback."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from checkvalve.gateway.errors import OidcError
from checkvalve.gateway.oidc import Provider
from checkvalve.gateway.web_pages import Site, create_pages
from checkvalve.gateway.web_security import HEADERS
from tests.gateway.oidc_provider import Issuer, issuing
from tests.gateway.review_world import ORIGIN, Review, reviewing
from tests.gateway.test_oidc import came_back, rules

pytestmark = [pytest.mark.enable_socket, pytest.mark.claim("C4")]

FORM = {b"content-type": b"application/x-www-form-urlencoded"}


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    with reviewing(tmp_path) as found:
        yield found


NAMES = ("origin", "host", "referer", "sec-fetch-site", "accept-language", "cookie")
VALUES = (b"http://[", b"http://[::1", b"[", b"a]b", b"http://h:99999999", b"\xff", b"", b"x" * 9_000, b"null@[")


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # the setting, not a socket
def test_a_header_that_no_browser_sends(host: str, review: Review) -> None:
    settings = review.gateway.settings.model_copy(update={"host": host})
    app = Site(create_pages(review.desk, settings))
    client = TestClient(app, base_url=ORIGIN, follow_redirects=False)  # an exception would come through
    for name, value in product(NAMES, VALUES):
        for method, path in (("GET", "/review/signin"), ("POST", "/review/signin")):
            answer = client.request(method, path, headers={**FORM, name.encode(): value})
            assert answer.status_code < 500, (name, value)
            assert answer.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]


@pytest.fixture(scope="module")
def one() -> Iterator[Issuer]:
    with issuing() as found:
        yield found


@pytest.fixture
def issuer(one: Issuer) -> Issuer:
    """Return the one issuer, which makes its keys once, without the lies of the test before."""
    one.bend, one.token, one.offer = lambda claims: claims, None, {}
    return one


CLAIMS: dict[str, dict[str, Any]] = {
    "an end without end": {"exp": float("inf")},
    "an end beyond numbers": {"exp": 10**400},
    "a moment beyond numbers": {"iat": 10**400},
    "no number": {"iat": float("nan")},
    "half a character in the nonce": {"nonce": "\ud800"},
    "half a character": {"sub": "u-\ud800"},
    "a zero": {"sub": "u-\x00"},
    "nothing to see": {"sub": "\u200b"},
    "lines": {"sub": "u-17\nroot"},
    "too long": {"sub": "u" * 256},
    "an empty one": {"sub": ""},
    "an audience of nothing": {"aud": [[]]},
    "claims of another kind": {"aud": {"checkvalve": 1}},
}


@pytest.mark.parametrize("what", CLAIMS)
def test_claims_that_are_none_end_in_a_refusal(what: str, issuer: Issuer) -> None:
    issuer.bend = lambda claims: {**claims, **CLAIMS[what]}
    with pytest.raises(OidcError):
        came_back(Provider(rules(issuer)))


MOMENTS: dict[str, Any] = {
    "huge": 10**400,
    "endless": float("inf"),
    "no number": float("nan"),
    "a word": "now",
    "nothing": None,
    "true": True,
    "before all": -1,
}


@pytest.mark.parametrize("which", [*MOMENTS, "tomorrow"])
def test_a_proof_of_a_moment_that_was_not_is_none(which: str, issuer: Issuer) -> None:
    """Who says when they gave their credential says it of the past."""
    at = MOMENTS.get(which) if which in MOMENTS else time.time() + 86_400
    issuer.bend = lambda claims: {**claims, "auth_time": at}
    with pytest.raises(OidcError):
        came_back(Provider(rules(issuer)), prove=True)
    assert came_back(Provider(rules(issuer))).identity.subject == "u-17"


KEYS: list[Any] = [
    [{"kty": "RSA", "n": 5, "e": None}],
    [{"kty": "RSA", "kid": ["r1"], "n": "AA", "e": "AQAB"}],
    [{"kty": "EC", "crv": "P-999", "x": "AA", "y": "AA"}],
    [{"kty": "EC", "crv": [], "x": {}, "y": "\ud800"}],
    [{"kty": "RSA", "n": "", "e": ""}],
    [{"kty": "RSA", "kid": "r1", "n": "AQAB", "e": "AQAB", "use": "sig", "key_ops": 7, "alg": []}],
    {"0": "x"},
    [],
    ["RSA"],
]


@pytest.mark.parametrize("keys", KEYS)
def test_keys_that_are_none_end_in_a_refusal(keys: Any, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Issuer, "keys", lambda _: {"keys": keys})
    with pytest.raises(OidcError):
        came_back(Provider(rules(issuer)))


@pytest.mark.parametrize(
    "token", ["", ".", "..", "a.b.c", "x" * 99_999, "{}", f"{base64.urlsafe_b64encode(b'[]').decode()}.W10.AA"]
)
def test_a_token_that_is_none_ends_in_a_refusal(token: str, issuer: Issuer) -> None:
    issuer.token = lambda _: token
    with pytest.raises(OidcError):
        came_back(Provider(rules(issuer)))


@pytest.mark.parametrize(
    "address", ["https://h:99999999999/t", "https://[/t", "https://h\x7f/t", "https://\u2100/t", "https:///t", 5, None]
)
def test_an_endpoint_that_is_no_address_ends_in_a_refusal(address: Any, issuer: Issuer) -> None:
    issuer.offer = {"token_endpoint": address}
    json.dumps(issuer.offer)
    with pytest.raises(OidcError):
        came_back(Provider(rules(issuer)))
