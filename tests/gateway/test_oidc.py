"""An organisation's sign-in, against a provider that runs here: coming in, linking, proving; and every lie of its."""

from __future__ import annotations

import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError

from checkvalve.approvals.roles import Role, roles_of
from checkvalve.approvals.verify import verify
from checkvalve.gateway.errors import OidcError, SettingsError
from checkvalve.gateway.oidc import OidcRules, Provider
from checkvalve.gateway.oidc_fetch import MAX_ANSWER, ask, check_address
from checkvalve.gateway.oidc_rules import provider_of
from checkvalve.gateway.oidc_settings import parse_roles
from checkvalve.gateway.settings import Settings
from checkvalve.gateway.web_pages import Site, create_pages
from tests.gateway.oidc_provider import CLIENT, SECRET, Issuer, issuing
from tests.gateway.review_world import ORIGIN, Review, reviewing

pytestmark = [pytest.mark.enable_socket, pytest.mark.claim("C4")]


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


OPENER = urllib.request.build_opener(NoRedirect, urllib.request.ProxyHandler({}))


def visit(url: str) -> str:
    """Do what a browser does at the provider, and return where it is sent back to."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        OPENER.open(url, timeout=60)
    with caught.value as answer:
        return str(answer.headers["Location"])


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuing() as found:
        yield found


@pytest.fixture
def provider(issuer: Issuer) -> Provider:
    return Provider(rules(issuer))


def rules(issuer: Issuer, **more: Any) -> OidcRules:
    return OidcRules(issuer.url, CLIENT, f"{ORIGIN}/review/oidc/callback", SECRET, **more)


def came_back(provider: Provider, *, prove: bool = False, **changed: str) -> Any:
    """Go there and come back."""
    url, started = provider.begin(prove=prove)
    query = {name: values[0] for name, values in parse_qs(urlsplit(visit(url)).query).items()}
    assert query["state"] == started.state
    return provider.finish(started, prove=prove, **{"code": query["code"], **changed})


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "PS256"])
def test_who_comes_back_is_issuer_and_subject(algorithm: str, issuer: Issuer, provider: Provider) -> None:
    issuer.algorithm = algorithm
    told = came_back(provider)
    assert (told.identity.issuer, told.identity.subject, told.identity.name) == (issuer.url, "u-17", "ann@corp.example")
    assert told.identity.roles is None


def test_what_a_browser_is_sent_with(issuer: Issuer, provider: Provider) -> None:
    one, first = provider.begin()
    two, second = provider.begin(prove=True)
    query = parse_qs(urlsplit(one).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["scope"] == ["openid email profile"]
    assert first.verifier not in one
    assert len({first.state, first.nonce, first.verifier, second.state, second.nonce, second.verifier}) == 6
    assert parse_qs(urlsplit(two).query)["max_age"] == ["0"]
    assert issuer.asked.count("/.well-known/openid-configuration") == 1


LIES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "issuer": lambda c: {**c, "iss": "https://evil.example"},
    "no issuer": lambda c: {k: v for k, v in c.items() if k != "iss"},
    "audience": lambda c: {**c, "aud": "another client"},
    "audience among others": lambda c: {**c, "aud": [CLIENT, "another client"]},
    "authorised party": lambda c: {**c, "azp": "another client"},
    "nonce": lambda c: {**c, "nonce": "another"},
    "no nonce": lambda c: {k: v for k, v in c.items() if k != "nonce"},
    "expired": lambda c: {**c, "exp": time.time() - 120},
    "no end": lambda c: {k: v for k, v in c.items() if k != "exp"},
    "an end in words": lambda c: {**c, "exp": "never"},
    "old": lambda c: {**c, "iat": time.time() - 3_600, "exp": time.time() + 3_600},
    "not yet": lambda c: {**c, "iat": time.time() + 3_600, "exp": time.time() + 7_200},
    "no subject": lambda c: {**c, "sub": ""},
    "a subject that is none": lambda c: {**c, "sub": ["u-17"]},
    "a long subject": lambda c: {**c, "sub": "u" * 300},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_token_for_somebody_or_something_else_is_refused(lie: str, issuer: Issuer, provider: Provider) -> None:
    issuer.bend = LIES[lie]
    with pytest.raises(OidcError, match="not for this sign-in"):
        came_back(provider)


def test_a_token_that_nobody_signed_is_refused(issuer: Issuer, provider: Provider) -> None:
    stranger = Issuer(url=issuer.url)
    for token in (issuer.unsigned, issuer.confused, stranger.signed, lambda c: issuer.signed(c)[:-4] + "AAAA"):
        issuer.token = token
        with pytest.raises(OidcError) as caught:
            came_back(provider)
        assert caught.value.code == "signature"
    for token in (lambda _: "x", lambda _: "", lambda _: "a.b.c.d.e"):
        issuer.token = token
        with pytest.raises(OidcError):
            came_back(provider)


def test_a_published_secret_signs_nothing(issuer: Issuer, provider: Provider) -> None:
    from joserfc import jwt
    from joserfc.jwk import OctKey

    secret = OctKey.import_key({"kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ", "kid": "o1"})
    issuer.extra_keys = [secret.as_dict(private=True)]
    issuer.token = lambda c: jwt.encode({"alg": "HS256", "kid": "o1"}, c, secret, algorithms=["HS256"])
    with pytest.raises(OidcError):
        came_back(provider)


def test_new_keys_are_looked_for_once_in_a_while(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    from checkvalve.gateway import oidc

    provider = Provider(rules(issuer))
    came_back(provider)
    issuer.rsa = Issuer().rsa
    with pytest.raises(OidcError):
        came_back(provider)  # a moment ago it had other keys
    assert issuer.asked.count("/keys") == 1
    monkeypatch.setattr(oidc, "_AGAIN", -1.0)
    assert came_back(provider).identity.subject == "u-17"


def test_a_code_is_taken_with_its_verifier_and_from_this_issuer(issuer: Issuer, provider: Provider) -> None:
    url, started = provider.begin()
    code = parse_qs(urlsplit(visit(url)).query)["code"][0]
    _, other = provider.begin()
    with pytest.raises(OidcError):
        provider.finish(other, code=code)
    with pytest.raises(OidcError):  # a code is good once
        provider.finish(started, code=code)
    with pytest.raises(OidcError, match="another"):
        came_back(provider, issuer="https://evil.example")
    issuer.offer = {"authorization_response_iss_parameter_supported": True}
    with pytest.raises(OidcError, match="another"):
        came_back(Provider(rules(issuer)))


def test_a_proof_has_to_be_of_now(issuer: Issuer, provider: Provider) -> None:
    assert came_back(provider, prove=True).auth_time
    for old in ({"auth_time": time.time() - 3_600}, {"auth_time": "now"}, {"auth_time": True}):
        issuer.bend = lambda c, old=old: {**c, **old}  # type: ignore[misc]
        with pytest.raises(OidcError):
            came_back(provider, prove=True)


def test_domains_and_groups_say_who_may_come_in(issuer: Issuer) -> None:
    strict = Provider(rules(issuer, domains=frozenset({"corp.example"}), roles=parse_roles("team=approver,viewer")))
    with pytest.raises(OidcError, match="no group"):
        came_back(strict)
    issuer.person["groups"] = ["others", "team", 3]
    assert came_back(strict).identity.roles == {Role.APPROVER, Role.VIEWER}
    for address in (
        {"email": "ann@evil.example"},
        {"email_verified": False},
        {"email_verified": "true"},
        {"email": "ann@corp.example@evil.example"},
        {"email": "ann@sub.corp.example"},
    ):
        issuer.bend = lambda c, address=address: {**c, **address}  # type: ignore[misc]
        with pytest.raises(OidcError, match="address"):
            came_back(strict)
    issuer.bend = lambda c: {**c, "groups": "team"}
    with pytest.raises(OidcError, match="no group"):
        came_back(strict)


def test_a_program_with_an_identity_of_its_own_does_not_come_in(issuer: Issuer, provider: Provider) -> None:
    issuer.bend = lambda c: {**c, "idtyp": "app"}
    with pytest.raises(OidcError) as caught:
        came_back(provider)
    assert caught.value.code == "machine"


def test_the_issuers_words_are_bounded(issuer: Issuer) -> None:
    for answer in (b"x" * (MAX_ANSWER + 1), b"[]", b"not json", b'{"issuer": "https://evil.example"}'):
        issuer.answer = answer
        with pytest.raises(OidcError):
            Provider(rules(issuer)).begin()
    issuer.answer = None
    for offer in ("http://evil.example/authorize", "javascript:alert(1)", "https://a.example/ x", None, 7, "https://["):
        issuer.offer = {"authorization_endpoint": offer}
        with pytest.raises(OidcError):
            Provider(rules(issuer)).begin()
    with pytest.raises(OidcError):
        check_address("http://id.example", local=False)
    with pytest.raises(OidcError, match="reached"):
        ask("http://127.0.0.1:1/", local=True)


# -- the pages


@pytest.fixture
def review(tmp_path: Path, issuer: Issuer) -> Iterator[Review]:
    (tmp_path / "secret").write_text(SECRET)
    options: dict[str, Any] = {
        "oidc_issuer": issuer.url,
        "oidc_client_id": CLIENT,
        "oidc_client_secret": tmp_path / "secret",
    }
    with reviewing(tmp_path, oidc_name="Example ID", **options) as found:
        yield found


def stranger(review: Review) -> TestClient:
    app = Site(create_pages(review.desk, review.gateway.settings))
    return TestClient(app, base_url=ORIGIN, follow_redirects=False, raise_server_exceptions=False)


def away(client: TestClient, page: str, action: str, **more: str) -> str:
    """Press the button that leads away; return where the browser is sent back to, as a path of ours."""
    form = re.search(rf'<form[^>]*action="{action}".*?</form>', page, re.DOTALL)
    assert form
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form[0]))
    sent = client.post(action, data={**{k: unescape(v) for k, v in fields.items()}, **more})
    assert sent.status_code == 200, sent.text
    found = re.search(r'content="0;url=([^"]+)"', sent.text)
    assert found
    back = urlsplit(visit(unescape(found[1])))
    return f"{back.path}?{back.query}"


def entering(client: TestClient) -> str:
    return away(client, client.get("/review/signin").text, "/review/oidc/start")


def linked(review: Review) -> None:
    where = away(review.client, review.get("/review/me"), "/review/oidc/link")
    assert review.client.get(where).headers["location"] == "/review/me?done=identity.linked"


def test_an_account_is_linked_and_then_opens(review: Review) -> None:
    unknown = stranger(review)
    refused = unknown.get(entering(unknown))
    assert refused.status_code == 403
    assert "no account here is linked" in refused.text
    linked(review)
    browser = stranger(review)
    where = entering(browser)
    crossing = browser.get(where, headers={"Sec-Fetch-Site": "cross-site", "Cookie": ""})
    assert crossing.status_code in {200, 303}
    done = browser.get(where) if crossing.status_code == 200 else crossing
    assert done.headers["location"] == "/review"
    assert browser.get("/review").status_code == 200
    assert "Example ID" in browser.get("/review/me").text
    assert stranger(review).get(where).status_code == 403  # another browser, and once
    assert browser.get(where).status_code == 403
    assert verify(review.gateway.store).ok


def test_an_answer_counts_for_what_was_asked(review: Review) -> None:
    browser = stranger(review)
    where = entering(browser)
    for wrong in (
        where.replace("state=", "state=x"),
        "/review/oidc/callback?code=x",
        "/review/oidc/callback?state=x&error=access_denied",
    ):
        assert browser.get(wrong).status_code == 403
    assert browser.get(where.replace("code=", "code=x")).status_code == 403  # and the state is spent
    assert browser.get(where).status_code == 403
    linking = away(review.client, review.get("/review/me"), "/review/oidc/link")
    review.client.cookies.delete(review.desk.cookie)  # signed out meanwhile
    assert review.client.get(linking).status_code == 403
    assert not review.desk.door.identities.of("boss")


def test_one_proves_who_one_is_there(review: Review, issuer: Issuer) -> None:
    linked(review)
    session = review.desk.sessions.find(review.client.cookies[review.desk.cookie])
    assert session
    page = review.get("/review/prove?next=/review/me")
    where = away(review.client, page, "/review/oidc/prove")
    assert review.client.get(where).headers["location"] == "/review/me"
    again = review.desk.sessions.find(review.client.cookies[review.desk.cookie])
    assert again
    assert again.proved > session.proved
    issuer.person["sub"] = "u-18"  # somebody else signs in there
    where = away(review.client, review.get("/review/prove"), "/review/oidc/prove")
    assert review.client.get(where).status_code == 403


def test_who_may_is_added_where_the_settings_say_so(tmp_path: Path, issuer: Issuer) -> None:
    options: dict[str, Any] = {"oidc_issuer": issuer.url, "oidc_client_id": CLIENT, "oidc_auto_add": True}
    (tmp_path / "secret").write_text(SECRET)
    issuer.person["groups"] = ["team"]
    with reviewing(
        tmp_path, oidc_client_secret=tmp_path / "secret", oidc_roles="team=viewer,approver", **options
    ) as review:
        browser = stranger(review)
        assert browser.get(entering(browser)).headers["location"] == "/review"
        with review.gateway.store.read() as connection:
            assert roles_of(connection, "ann@corp.example") == {Role.VIEWER, Role.APPROVER}
        issuer.person |= {"sub": "u-99"}  # another person with the same address
        other = stranger(review)
        refused = other.get(entering(other))
        assert refused.status_code == 403
        assert "account of this name" in refused.text
        assert verify(review.gateway.store).ok


def test_settings_say_what_is_missing(tmp_path: Path) -> None:
    for wrong in (
        {"oidc_issuer": "http://id.example"},
        {"oidc_issuer": "https://u@id.example"},
        {"oidc_roles": "team=king"},
        {"oidc_roles": "team"},
        {"oidc_domains": "corp example"},
    ):
        with pytest.raises(ValidationError):
            Settings(**wrong)  # type: ignore[arg-type]
    issuer = "https://id.example"
    with pytest.raises(SettingsError, match="oidc_client_id"):
        provider_of(Settings(oidc_issuer=issuer), ORIGIN)
    with pytest.raises(SettingsError, match="everybody"):
        provider_of(Settings(oidc_issuer=issuer, oidc_client_id="c", oidc_auto_add=True), ORIGIN)
    (tmp_path / "empty").write_text("\n")
    for file in ("none", "empty"):
        with pytest.raises(SettingsError, match="oidc_client_secret"):
            provider_of(Settings(oidc_issuer=issuer, oidc_client_id="c", oidc_client_secret=tmp_path / file), ORIGIN)
    assert provider_of(Settings(), ORIGIN) is None
