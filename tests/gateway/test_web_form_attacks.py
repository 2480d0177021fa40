"""Attack: the review pages from another site, by a form of another session or address, and by what a browser runs."""

from __future__ import annotations

import re

import pytest

from checkvalve.approvals.records import State
from checkvalve.gateway.review_settings import ReviewSettings
from checkvalve.gateway.web_security import HEADERS, MAX_FORM, hosts_of
from tests.gateway.attacked_pages import another, review
from tests.gateway.review_world import Review, sign_in

__all__ = ["review"]  # the fixture
pytestmark = pytest.mark.claim("C4", "C9")

# -- what another site or a frame can do


@pytest.mark.parametrize(
    "path", ["/review", "/review/signin", "/review/static/review.js", "/review/nothing", "/review/changes"]
)
def test_every_response_carries_the_headers(path: str, review: Review) -> None:
    for client in (review.client, another(review)):
        response = client.get(path)
        for name, value in HEADERS.items():
            assert response.headers[name] == value
    policy = HEADERS["Content-Security-Policy"]
    for part in (
        "default-src 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ):
        assert part in policy
    assert "unsafe" not in policy


def test_no_page_has_inline_script_or_style_or_anything_from_elsewhere(review: Review) -> None:
    proposal = review.poisoned()
    paths = ["", "/history", "/endorsements", "/mandates", "/audit", "/run?thread=lunch", f"/items/{proposal.id}"]
    for path in paths:
        page = review.get(f"/review{path}")
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)
        assert {
            url for url in re.findall(r'(?:src|href|action)="([^"]*)"', page) if not url.startswith(("/review", "#"))
        } == set()
        assert "autofocus" not in page


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:9999"},
    ],
)
def test_a_form_from_another_site_does_nothing(headers: dict[str, str], review: Review) -> None:
    proposal = review.poisoned()
    fields = review.fields(review.card(proposal), f"/review/items/{proposal.id}/yes")
    review.wait()
    data = {**fields, "scope": "data", "digest": proposal.digest[7:13]}
    assert review.client.post(f"/review/items/{proposal.id}/yes", data=data, headers=headers).status_code == 403
    assert review.state(proposal) is State.PENDING


def test_a_form_needs_the_seal_of_this_session_for_this_address(review: Review) -> None:
    proposal, other = review.poisoned(), review.bill()
    fields = review.fields(review.card(proposal), f"/review/items/{proposal.id}/yes")
    review.wait()
    for seal in (
        "",
        "x",
        fields["seal"][:-1],
        review.fields(review.card(other), f"/review/items/{other.id}/yes")["seal"],
    ):
        data = {**fields, "seal": seal, "digest": proposal.digest[7:13]}
        assert review.client.post(f"/review/items/{proposal.id}/yes", data=data).status_code == 403
    eve = another(review)
    eve.cookies.set(review.desk.cookie, "guessed")
    assert eve.post(f"/review/items/{proposal.id}/yes", data=fields).headers["location"].startswith("/review/signin")
    assert review.state(proposal) is State.PENDING


def test_a_form_of_one_session_is_worth_nothing_in_another(review: Review) -> None:
    proposal = review.poisoned()
    fields = review.fields(review.card(proposal), f"/review/items/{proposal.id}/yes")
    carol = another(review)
    by = review.gateway.queue.reviewers.authenticate(review.token)
    assert sign_in(carol, review.gateway.queue.reviewers.add("carol", by=by)).status_code == 303
    review.wait()
    stolen = carol.post(f"/review/items/{proposal.id}/yes", data={**fields, "digest": proposal.digest[7:13]})
    assert (stolen.status_code, review.state(proposal)) == (403, State.PENDING)


def test_looking_changes_nothing(review: Review) -> None:
    proposal = review.poisoned()
    before = review.client.get("/review/changes").json()["mark"]
    for path in ("yes", "no", "mandate", "settle"):
        assert review.client.get(f"/review/items/{proposal.id}/{path}").status_code in {404, 405}
        assert review.client.head(f"/review/items/{proposal.id}/{path}").status_code in {404, 405}
    for path in ("", "/history", "/audit", f"/items/{proposal.id}", "/endorsements", "/mandates"):
        review.client.get(f"/review{path}")
    assert review.client.request("PUT", f"/review/items/{proposal.id}/yes").status_code == 405
    assert review.client.get("/review/changes").json()["mark"] == before


def test_a_name_that_is_not_ours_is_not_served(review: Review) -> None:
    assert review.client.get("/review", headers={"Host": "rebound.evil.example"}).status_code == 421
    assert hosts_of("https://gate.example", "0.0.0.0") == {"gate.example", "127.0.0.1", "::1", "localhost"}
    assert hosts_of("", "0.0.0.0") == frozenset()
    assert hosts_of("", "127.0.0.1") == {"127.0.0.1", "::1", "localhost"}
    with pytest.raises(ValueError, match="origin"):
        ReviewSettings(review_origin="gate.example/path")


def test_bodies_are_bounded_forms(review: Review) -> None:
    post = review.client.post
    assert post("/review/signout", content=b"{}", headers={"Content-Type": "application/json"}).status_code == 415
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert post("/review/signout", content=b"a=" + b"x" * MAX_FORM, headers=form).status_code == 413
    assert post("/review/signout", content=b"&".join([b"a=1"] * 500), headers=form).status_code == 400
    assert post("/review/signout", content="a=\u00e9".encode("latin-1"), headers=form).status_code == 400
