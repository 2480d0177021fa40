"""Attack: the review pages without signing in, by guessing, and with a session or a link that is over."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.approvals.errors import AccountError
from checkvalve.approvals.records import Proposal
from checkvalve.gateway.web_sessions import MAX_FAILURES, WINDOW, PageKey, Throttle
from tests.gateway.attacked_pages import another, review
from tests.gateway.review_world import Review, sign_in

__all__ = ["review"]  # the fixture
pytestmark = pytest.mark.claim("C4", "C9")

# -- signing in


def test_nothing_is_seen_without_signing_in(review: Review) -> None:
    proposal: Proposal = review.poisoned()
    stranger = another(review)
    paths = (
        "",
        "/history",
        "/audit",
        "/mandates",
        "/endorsements",
        "/run?thread=lunch",
        f"/items/{proposal.id}",
        f"/items/{proposal.id}/bytes",
    )
    for path in paths:
        response = stranger.get(f"/review{path}")
        assert response.status_code == 303
        assert "corp-reports" not in response.text
    assert stranger.get("/review/changes").status_code == 401
    assert stranger.get("/review/events").status_code == 401
    elsewhere = stranger.get(f"/review/items/{proposal.id}", headers={"Sec-Fetch-Site": "cross-site"})
    assert f'content="0;url=/review/items/{proposal.id}"' in elsewhere.text  # so that the cookie comes along


def test_the_cookie_is_for_this_site_and_for_no_script(review: Review) -> None:
    browser = another(review)
    cookie = sign_in(browser, review.token).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    review.desk.secure = True
    over_tls = another(review)
    over_tls.base_url = "https://127.0.0.1:8765"
    cookie = sign_in(over_tls, review.token).headers["set-cookie"].lower()
    assert cookie.startswith("__host-checkvalve=")
    assert "; secure" in cookie


def test_a_session_is_never_one_that_was_known_before(review: Review) -> None:
    browser = another(review)
    browser.cookies.set(review.desk.cookie, "chosen-by-an-attacker")
    sign_in(browser, review.token)
    values = [cookie.value for cookie in browser.cookies.jar if cookie.name == review.desk.cookie]
    assert "chosen-by-an-attacker" not in values[-1:]
    assert review.desk.sessions.find("chosen-by-an-attacker") is None


def test_sign_in_leads_nowhere_else(review: Review) -> None:
    for path in (
        "//evil.example",
        "https://evil.example",
        "/review/../evil",
        "/review//evil.example",
        "/\\evil.example",
        "/runs",
        "/reviewer",
    ):
        where = sign_in(another(review), review.token, path=path).headers["location"]
        assert where in {"/review", "/review/../evil"}
    assert sign_in(another(review), review.token, path="/review/audit").headers["location"] == "/review/audit"


def test_guessing_is_slowed_down_and_says_nothing(review: Review) -> None:
    guesser = another(review)
    for token in ("x", "cvr_00_00", review.token[:-1], "", "cvr_" + "a" * 300)[:MAX_FAILURES]:
        failed = sign_in(guesser, token)
        assert failed.status_code == 401
        assert "were not accepted." in failed.text
    locked = sign_in(guesser, review.token)
    assert (locked.status_code, locked.headers["retry-after"]) == (429, "60")
    foreign = another(review).post("/review/signin", data={"token": review.token, "seal": "x"})
    assert foreign.status_code == 403  # a form that was not made for this browser signs nobody in


def test_a_disabled_reviewer_is_out_at_once(review: Review) -> None:
    boss = review.gateway.queue.reviewers.authenticate(review.token)
    carol, token = another(review), review.gateway.queue.reviewers.add("carol", by=boss)
    sign_in(carol, token)
    assert carol.get("/review").status_code == 200
    review.gateway.queue.reviewers.disable("carol", by=boss)
    assert carol.get("/review").status_code == 303
    assert carol.get("/review/changes").status_code == 401


def test_signing_out_ends_the_session_on_the_server(review: Review) -> None:
    name = review.client.cookies[review.desk.cookie]
    fields = review.fields(review.get("/review"), "/review/signout")
    assert review.client.post("/review/signout", data=fields).status_code == 303
    assert review.desk.sessions.find(name) is None


def test_the_first_start_has_a_link_that_works_once(review: Review) -> None:
    with pytest.raises(AccountError, match="already"):  # there is a reviewer
        review.desk.door.invitations.first()
    assert another(review).get("/review/setup/guess").status_code == 410


def test_counters_forget() -> None:
    now = [0.0]
    throttle = Throttle(lambda: now[0])
    for _ in range(MAX_FAILURES):
        assert throttle.may_try("a")
        throttle.failed("a")
    assert not throttle.may_try("a")
    assert throttle.may_try("b")
    now[0] = WINDOW
    assert throttle.may_try("a")


@given(parts=st.lists(st.text(max_size=6), max_size=4), others=st.lists(st.text(max_size=6), max_size=4))
@settings(max_examples=100, deadline=None)
def test_a_seal_is_of_exactly_these_parts(parts: list[str], others: list[str]) -> None:
    key, stranger = PageKey(b"k" * 32), PageKey(b"s" * 32)
    named = ["browser", *parts]
    assert key.is_sealed(key.seal(*named), *named)
    assert key.is_sealed(key.seal(*named), "browser", *others) == (parts == others)
    assert not stranger.is_sealed(key.seal(*named), *named)
    assert not key.is_sealed(key.seal("", *parts), "", *parts)  # a browser without a name
