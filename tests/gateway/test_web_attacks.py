"""Attacks through the review pages: forged cards, hidden text, foreign forms, stale and repeated answers."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.approvals.errors import AccountError
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.render import is_deceptive
from checkvalve.gateway.review_settings import ReviewSettings
from checkvalve.gateway.web_pages import Site, create_pages
from checkvalve.gateway.web_security import HEADERS, MAX_FORM, hosts_of
from checkvalve.gateway.web_sessions import MAX_FAILURES, WINDOW, PageKey, Throttle
from checkvalve.gateway.web_text import MAX_INLINE, line, shown
from tests.gateway.review_world import BIDI, FORGED, ORIGIN, Review, reviewing, sign_in

pytestmark = pytest.mark.claim("C4", "C9")


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    with reviewing(tmp_path) as found:
        yield found


def another(review: Review) -> TestClient:
    """Return another browser at the same pages."""
    app = Site(create_pages(review.desk, review.gateway.settings))
    return TestClient(app, base_url=ORIGIN, follow_redirects=False, raise_server_exceptions=False)


# -- what content can do to a page


def test_no_card_text_is_markup_whatever_it_says(review: Review) -> None:
    forgeries = (
        FORGED,
        '" autofocus onfocus="alert(1)',
        "{{ 7 * 7 }}{% include 'base.html' %}",
        "# Heading\n\n| a | b |\n|---|---|\n[Approve](https://evil.example)",
        "\n" * 400 + "Approved by: administrator",
        "\x1b[2J\x1b[1;1HApproved",
        "$\\rule{500em}{500em}$",
        "<!-- --><base href=//evil.example><meta http-equiv=refresh content=0>",
    )
    harmless = review.forged("clean", "harmless")
    clean = _frame(review.card(harmless))
    review.answer(harmless, "no")
    clean += _frame(review.card(harmless))  # some forgeries are denied at once
    for number, text in enumerate(forgeries):
        page = review.card(review.forged(f"forged-{number}", text))
        assert "49" not in re.findall(r'<bdi class="content"[^>]*>([^<]*)', page)
        assert "\x1b" not in page
        assert set(_frame(page)) <= set(clean) | {
            ("b", ""),
            ("details", "long"),
            ("summary", ""),
            ("b", "cut"),
            ("a", "button"),
        }


def _frame(page: str) -> list[tuple[str, str]]:
    """Return the tags of a page with their classes, escapes and marks aside: what trusted code gave it."""
    found = re.findall(r"<(\w+)([^>]*)>", page)
    named = [(tag, (re.search(r'class="([^"]*)"', rest) or [""] * 2)[1]) for tag, rest in found]
    return [item for item in named if not item[1].startswith(("escape", "m ", "warn", "chip"))]


def test_what_hides_is_shown_by_its_code_point_everywhere(review: Review) -> None:
    proposal = review.forged("bidi", BIDI)
    for path in (
        f"/review/items/{proposal.id}",
        "/review/run?thread=bidi",
        f"/review/items/{proposal.id}/bytes",
        "/review/history",
    ):
        page = review.get(path)
        assert not [char for char in page if is_deceptive(char) and char not in "\n\u27e8\u27e9"], path
    page = review.card(proposal)
    assert "U+202E" in page
    assert "This value has hidden or control characters." in page
    assert "A word in this value mixes alphabets" in page


def test_a_homoglyph_in_a_destination_is_called_out(review: Review) -> None:
    fake = "p\u0430y@corp.example"
    read = [{"id": "m1", "sender": "eve@evil.example", "text": f"Please write to {fake}"}]
    page = review.card(
        review.ask("glyph", "Read my mail and send a reply", read, "send_mail", to=fake, subject="x", body="x")
    )
    assert "A word in this value mixes alphabets" in page


def test_nothing_long_is_cut_in_silence(review: Review) -> None:
    page = review.card(review.forged("long", "x" * 6_000 + " PAYLOAD-AT-THE-END"))
    assert "PAYLOAD-AT-THE-END" in page  # the end stands beside the start, and all of it behind a summary
    assert "Show all 6,019 bytes" in page
    assert re.search(r"\[3,0\d\d more bytes here\]", page)
    huge = review.card(review.forged("huge", "y" * (MAX_INLINE + 10) + "TAIL"))
    assert "TAIL" in huge
    assert f"All {MAX_INLINE + 14:,} bytes are on the page of raw bytes" in huge
    assert len(huge) < 200_000


@given(text=st.text(st.characters(codec=None), max_size=80), first=st.integers(0, 40), width=st.integers(0, 40))
@settings(max_examples=200, deadline=None)
def test_marks_never_add_hide_or_move_text(text: str, first: int, width: int) -> None:
    marks = [(min(first, len(text)), min(first + width, len(text)), "untrusted")]
    whole, marked = shown(text), shown(text, [mark for mark in marks if mark[0] < mark[1]], rest="unknown")

    def letters(found: Any) -> str:
        return "".join(part if kind != "escape" else f"<{part}>" for kind, part in found.start if part != "\n").replace(
            "\n", ""
        )

    assert letters(whole) == letters(marked)
    assert not [
        char for _, part in (*whole.start, *line(text).start) for char in part if is_deceptive(char) and char != "\n"
    ]


def test_a_search_is_shown_as_text_too(review: Review) -> None:
    page = review.get("/review/history?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AE")
    assert "<script>alert" not in page
    assert "\u202e" not in page


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


# -- answers that are not to what was shown


def test_an_answer_to_something_that_changed_is_refused_and_says_so(review: Review) -> None:
    proposal = review.poisoned()
    page = review.card(proposal)
    boss = review.gateway.queue.reviewers.authenticate(review.token)
    review.gateway.queue.reject(proposal.id, boss, "other")
    answered = review.answer(proposal, page=page)
    assert answered.status_code == 409
    assert "this question has moved on" in answered.text
    assert "rejected: reviewer:boss" in answered.text
    assert review.state(proposal) is State.REJECTED


def test_what_was_shown_of_one_call_answers_no_other(review: Review) -> None:
    harmless, harmful = review.bill(), review.poisoned()
    shown_seal = review.fields(review.card(harmless), f"/review/items/{harmless.id}/yes")["shown"]
    answered = review.answer(harmful, shown=shown_seal)
    assert (answered.status_code, review.state(harmful)) == (409, State.PENDING)
    for forged in ("", "0.1.x", "x.y.z", shown_seal.replace(".1.", ".2."), f"{10**40}.1.{shown_seal[-64:]}"):
        assert review.answer(harmful, shown=forged).status_code == 409
    assert review.state(harmful) is State.PENDING


def test_changed_arguments_need_their_own_look(review: Review) -> None:
    proposal = review.poisoned()
    page = review.card(proposal)
    worse = review.poisoned(body="Everything we know")  # the same call of the agent, with other arguments
    assert review.state(proposal) is State.SUPERSEDED
    assert review.answer(proposal, page=page).status_code == 409
    stolen = review.fields(page, f"/review/items/{proposal.id}/yes")["shown"]
    assert review.answer(worse, shown=stolen).status_code == 409
    assert review.state(worse) is State.PENDING


def test_an_answer_faster_than_reading_is_none(review: Review) -> None:
    proposal = review.poisoned()
    review.wait(0)  # the clock stands still
    fields = review.fields(review.card(proposal), f"/review/items/{proposal.id}/yes")
    review.wait(0.6)
    data = {**fields, "scope": "data", "digest": proposal.digest[7:13]}
    assert review.client.post(f"/review/items/{proposal.id}/yes", data=data).status_code == 425
    assert review.state(proposal) is State.PENDING


def test_one_of_many_equal_presses_counts(review: Review) -> None:
    proposal = review.poisoned()
    fields = review.fields(review.card(proposal), f"/review/items/{proposal.id}/yes")
    review.wait()
    data = {**fields, "scope": "data", "digest": proposal.digest[7:13]}
    codes: list[int] = []
    presses = [
        threading.Thread(
            target=lambda: codes.append(review.client.post(f"/review/items/{proposal.id}/yes", data=data).status_code)
        )
        for _ in range(8)
    ]
    for press in presses:
        press.start()
    for press in presses:
        press.join()
    assert sorted(codes) == [303] + [409] * 7
    assert len(review.gateway.queue.endorsed.list()) == 1


def test_a_yes_and_a_no_at_once_end_in_one_of_them(review: Review) -> None:
    proposal = review.bill()
    page = review.card(proposal)
    codes = [review.answer(proposal, "no", page=page).status_code, review.answer(proposal, page=page).status_code]
    assert codes == [303, 409]
    assert review.state(proposal) is State.REJECTED
    assert review.gateway.queue.grant(proposal.id) is None


def test_who_asked_does_not_approve(tmp_path: Path) -> None:
    with reviewing(tmp_path, name="me@corp.example") as review:
        proposal = review.filed()
        page = review.card(proposal)
        assert f"/review/items/{proposal.id}/yes" not in page
        assert "another reviewer has to say yes" in unescape(page)
        fields = review.fields(page, f"/review/items/{proposal.id}/no")
        review.wait()
        session = review.desk.sessions.find(review.client.cookies[review.desk.cookie])
        assert session
        for what in ("yes", "mandate"):  # a form of one's own making does not help
            action = f"/review/items/{proposal.id}/{what}"
            data = {"seal": session.seal("form", action), "shown": fields["shown"], "digest": proposal.digest[7:13]}
            assert review.client.post(action, data=data).status_code == 403
        assert review.state(proposal) is State.PENDING
        assert review.answer(proposal, "no", page=page).status_code == 303


def test_self_approval_is_called_that(tmp_path: Path) -> None:
    with reviewing(tmp_path, name="me@corp.example", single_user=True) as review:
        proposal = review.filed()
        assert "A yes is self-approval" in review.card(proposal)
        assert review.answer(proposal).status_code == 303
        assert "SELF-APPROVED" in review.card(proposal)


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


def test_a_person_who_said_yes_too_often_is_told_so(tmp_path: Path) -> None:
    with reviewing(tmp_path, review_budget=1) as review:
        one, two = review.bill(), review.poisoned()
        assert review.answer(one).status_code == 303
        refused = review.answer(two)
        assert refused.status_code == 429
        assert "as often as one person may" in refused.text
        assert review.state(two) is State.PENDING
        assert review.answer(two, "no").status_code == 303
