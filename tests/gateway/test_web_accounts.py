"""The pages of accounts: links, one's own account, people, proofs, and the step-up of a grave call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from checkvalve.approvals.proofs import FRESH
from checkvalve.approvals.records import State
from checkvalve.approvals.roles import Role, roles_of
from checkvalve.approvals.tries import MAX_TRIES
from checkvalve.approvals.verify import verify
from checkvalve.gateway.web_door import browser_of, site_of
from checkvalve.gateway.web_pages import Site, create_pages
from tests.approvals.account import BETTER, GOOD
from tests.approvals.authenticator import Device
from tests.gateway.review_world import Review, reviewing

pytestmark = pytest.mark.claim("C4")

HERE = "http://localhost:8765"


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    (tmp_path / "rules.yaml").write_text("everywhere: {step_up: true}")
    with reviewing(tmp_path, review_rules=tmp_path / "rules.yaml") as found:
        at_numbers, found.client = found.client, browser(found)  # passkeys are for a name
        take(found.client, at_numbers)
        yield found


def browser(review: Review) -> TestClient:
    app = Site(create_pages(review.desk, review.gateway.settings))
    return TestClient(app, base_url=HERE, follow_redirects=False, raise_server_exceptions=False)


def take(client: TestClient, other: TestClient) -> None:
    """Give a browser the cookies of another one."""
    host = client.base_url.host
    for cookie in other.cookies.jar:
        client.cookies.set(cookie.name, cookie.value or "", domain=host if "." in host else f"{host}.local")


def hidden(page: str, action: str, number: int = 0) -> dict[str, str]:
    form = re.findall(rf'<form[^>]*action="{re.escape(action)}"[^>]*>(.*?)</form>', page, re.DOTALL)[number]
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form)
    return {name: unescape(value) for name, value in found}


def options(page: str) -> str:
    found = re.search(r'data-options="([^"]+)"', page)
    assert found
    return unescape(found[1])


def send(client: TestClient, page: str, action: str, **values: Any) -> Any:
    return client.post(action, data={**hidden(page, action), **values})


def enter(client: TestClient, name: str, secret: str) -> Any:
    return send(client, client.get("/review/signin").text, "/review/signin", name=name, token=secret)


def stale(review: Review) -> None:
    """Let the proof of every session grow old."""
    late = review.gateway.queue.clock() + FRESH + 1_000_000
    review.gateway.queue.clock = review.desk.sessions.micros = review.desk.door.board.clock = lambda: late


def with_passkey(review: Review) -> Device:
    device, page = Device(origin=HERE), review.get("/review/me")
    done = send(review.client, page, "/review/me/passkeys", response=device.make(options(page)), label="key")
    assert done.headers["location"] == "/review/me?done=passkey.added", done.text
    return device


# -- passwords and passkeys


def test_a_password_is_set_and_signs_in(review: Review) -> None:
    page = review.get("/review/me")
    assert "You have no password" in page
    for one, two, said in (
        (GOOD, BETTER, "differ"),
        ("short", "short", "at least 12"),
        ("passwordpassword",) * 2 + ("c",),
    ):
        refused = send(review.client, page, "/review/me/password", password=one, again=two)
        assert refused.status_code == 422
        assert said in refused.text
    before = review.client.cookies[review.desk.cookie]
    done = send(review.client, page, "/review/me/password", password=GOOD, again=GOOD)
    assert done.headers["location"] == "/review/me?done=password"
    assert review.client.cookies[review.desk.cookie] != before
    assert review.desk.sessions.find(before) is None
    assert "You have a password" in review.get("/review/me")
    other = browser(review)
    assert enter(other, "boss", BETTER).status_code == 401
    assert enter(other, "nobody", GOOD).status_code == 401
    assert enter(other, "Boss ", f"{GOOD} ").status_code == 401  # blanks are characters of a password
    assert enter(other, "Boss ", GOOD).status_code == 303
    assert verify(review.gateway.store).ok


def test_a_stranger_cannot_shut_anybody_out(review: Review) -> None:
    page = review.get("/review/me")
    send(review.client, page, "/review/me/password", password=GOOD, again=GOOD)
    review.desk.door.throttle.may_try = lambda address: address != "-"  # type: ignore[method-assign]  # as from many addresses
    for _ in range(MAX_TRIES):
        assert enter(browser(review), "boss", BETTER).status_code == 401
    refused = enter(browser(review), "boss", GOOD)
    assert refused.status_code == 429
    assert "browser that you used before" in refused.text
    assert enter(browser(review), "", review.token).status_code == 303  # a token is no password
    mine = browser(review)
    take(mine, review.client)
    mine.cookies.delete(review.desk.cookie)
    assert enter(mine, "boss", GOOD).status_code == 303


def test_a_passkey_signs_in_once_for_each_question(review: Review) -> None:
    device = with_passkey(review)
    other = browser(review)
    page = other.get("/review/signin").text
    answer = device.answer(options(page))
    foreign = browser(review)
    foreign.get("/review/signin")
    assert send(foreign, page, "/review/signin/passkey", response=answer).status_code == 403
    assert send(other, page, "/review/signin/passkey", response=answer).status_code == 303
    assert "passkey" in other.get("/review/me").text
    again = browser(review)
    take(again, other)
    assert send(again, page, "/review/signin/passkey", response=answer).status_code in {401, 403}
    fresh = again.get("/review/signin").text
    wrong = Device(origin=HERE)
    assert send(again, fresh, "/review/signin/passkey", response=wrong.answer(options(fresh))).status_code == 401


def test_where_passkeys_cannot_work_it_is_said_where_they_do(review: Review) -> None:
    with_passkey(review)
    proposal = review.bill()
    numbers = browser(review)
    numbers.base_url = "http://127.0.0.1:8765"
    take(numbers, review.client)
    for path in ("/review/signin", "/review/me"):
        page = numbers.get(path).text
        assert "data-options" not in page
        assert "http://localhost:8765" in page
    here, review.client = review.client, numbers
    assert "http://localhost:8765" in asked(review, proposal)
    review.client = here


def test_passkeys_are_named_and_removed_on_the_page(review: Review) -> None:
    device = with_passkey(review)
    page = review.get("/review/me")
    assert 'value="key"' in page
    send(review.client, page, "/review/me/passkeys/name", label="phone")
    page = review.get("/review/me")
    assert 'value="phone"' in page
    lost = browser(review)
    page_ = lost.get("/review/signin").text
    assert send(lost, page_, "/review/signin/passkey", response=device.answer(options(page_))).status_code == 303
    typed = send(review.client, page, "/review/me/passkeys/remove")
    assert typed.status_code == 403
    assert "What can be typed" in typed.text
    door = review.get("/review/prove")
    answer = device.answer(options(door))
    assert send(review.client, door, "/review/prove", response=answer).headers["location"] == "/review/me"
    assert send(review.client, page, "/review/me/passkeys/remove").headers["location"].endswith("passkey.removed")
    assert lost.get("/review").status_code == 303  # a session that began with it ends too
    assert not review.desk.door.passkeys.of("boss")
    nonsense = send(review.client, review.get("/review/me"), "/review/me/passkeys", response="{}", label="")
    assert nonsense.status_code == 422


def test_an_old_session_changes_nothing_until_who_it_is_was_proved(review: Review) -> None:
    page = review.get("/review/me")
    stale(review)
    for action, values in (
        ("/review/me/password", {"password": GOOD, "again": GOOD}),
        ("/review/me/passkeys", {"response": Device(origin=HERE).make(options(page))}),
        ("/review/me/token", {}),
    ):
        refused = send(review.client, page, action, **values)
        assert refused.status_code == 403
        assert "five minutes old" in refused.text
    later = review.get("/review/me")
    assert "prove first who you are" in later
    assert "/review/me/password" not in later
    people = review.get("/review/people")
    seal = {"seal": _seal(review, "/review/people/invite")}
    assert review.client.post("/review/people/invite", data={**seal, "name": "x"}).status_code == 403
    assert "prove first" in people
    door = review.get("/review/prove?next=/review/me")
    assert send(review.client, door, "/review/prove", secret="wrong").status_code == 401
    assert send(review.client, door, "/review/prove", secret=review.token).headers["location"] == "/review/me"
    assert "/review/me/password" in review.get("/review/me")


def test_one_proves_with_a_passkey(review: Review) -> None:
    device = with_passkey(review)
    stale(review)
    review.desk.door.passkeys._clock = review.gateway.queue.clock
    review.desk.door.board.clock = review.gateway.queue.clock
    page = review.get("/review/prove?next=/review/people")
    answer = device.answer(options(page))
    assert send(review.client, page, "/review/prove", response=answer).headers["location"] == "/review/people"
    assert send(review.client, page, "/review/prove", response=answer).status_code == 401  # once


def _seal(review: Review, path: str) -> str:
    session = review.desk.sessions.find(review.client.cookies[review.desk.cookie])
    assert session
    return session.seal("form", path)


# -- people, links, sessions


def test_somebody_is_invited_and_comes_in(review: Review) -> None:
    page = review.get("/review/people")
    shown = send(review.client, page, "/review/people/invite", name="cleo", role=["viewer", "approver", "king"])
    link = re.search(r"http://localhost:8765(/review/join/[\w-]+)", shown.text)
    assert link
    cleo = browser(review)
    first = cleo.get(link[1])
    assert "cleo" in first.text
    for values in ({"password": ""}, {"password": GOOD, "again": BETTER}, {"password": "cleo-cleo-cleo", "again": "x"}):
        assert send(cleo, first.text, link[1], **values).status_code == 422
    assert send(cleo, first.text, link[1], password=GOOD, again=GOOD).headers["location"] == "/review/me?done=joined"
    assert cleo.get("/review/people").status_code == 403
    with review.gateway.store.read() as connection:
        assert roles_of(connection, "cleo") == {Role.VIEWER, Role.APPROVER}
    assert browser(review).get(link[1]).status_code == 410
    again = send(review.client, review.get("/review/people"), "/review/people/invite", name="cleo")
    other = re.search(r"(/review/join/[\w-]+)", again.text)
    assert other
    lost = browser(review)
    assert send(lost, lost.get(other[1]).text, other[1], without="1").status_code == 303
    assert cleo.get("/review").status_code == 303  # whoever lost the way in has it back alone
    assert (
        send(review.client, review.get("/review/people"), "/review/people/invite", name="b\u043ess").status_code == 422
    )
    assert verify(review.gateway.store).ok


def test_somebody_is_disabled(review: Review) -> None:
    code = review.desk.door.invitations.invite("cleo", by=review.desk.sessions.find(_name(review)).reviewer)  # type: ignore[union-attr]
    cleo = browser(review)
    send(cleo, cleo.get(f"/review/join/{code}").text, f"/review/join/{code}", password=GOOD, again=GOOD)
    page = review.get("/review/people")
    fields = hidden(page, "/review/people/disable", 1)
    assert fields["name"] == "cleo"
    assert review.client.post("/review/people/disable", data=fields).status_code == 303
    assert cleo.get("/review").status_code == 303
    assert enter(browser(review), "cleo", GOOD).status_code == 401
    refused = review.client.post("/review/people/disable", data={**fields, "name": "boss"})
    assert refused.status_code in {303, 422}


def _name(review: Review) -> str:
    return review.client.cookies[review.desk.cookie]


def test_sessions_are_listed_and_ended(review: Review) -> None:
    second, third = browser(review), browser(review)
    agent = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0 <b>"}
    second.headers.update(agent)
    assert enter(second, "", review.token).status_code == 303
    assert enter(third, "", review.token).status_code == 303
    page = review.get("/review/me")
    assert "Firefox, Linux" in page
    assert "&lt;b&gt;" not in page
    keys = re.findall(r'name="which" value="([0-9a-f]{64})"', page)
    assert len(keys) == 2
    review.client.post("/review/me/sessions/end", data={**hidden(page, "/review/me/sessions/end"), "which": keys[0]})
    assert [c.get("/review").status_code for c in (second, third)].count(303) == 1
    review.client.post("/review/me/sessions/end", data={**hidden(page, "/review/me/sessions/end"), "which": "others"})
    assert {c.get("/review").status_code for c in (second, third)} == {303}
    fields = hidden(page, "/review/me/sessions/end")
    assert review.client.post("/review/me/sessions/end", data={**fields, "which": "0" * 64}).status_code == 404
    assert review.client.post("/review/me/sessions/end", data={**fields, "which": "all"}).status_code == 303
    assert review.client.get("/review").status_code == 303


def test_a_new_token_is_shown_once(review: Review) -> None:
    shown = send(review.client, review.get("/review/me"), "/review/me/token")
    token = re.search(r"cvr_[0-9a-f]{16}_[\w-]+", shown.text)
    assert token
    assert token[0] not in review.get("/review/me")
    assert enter(browser(review), "", review.token).status_code == 401
    assert enter(browser(review), "", token[0]).status_code == 303


def test_two_servers_on_one_store_are_one_site(review: Review) -> None:
    from checkvalve.gateway.web_pages import open_desk

    other = open_desk(review.gateway.queue, review.gateway.settings)
    app = Site(create_pages(other, review.gateway.settings))
    elsewhere = TestClient(app, base_url=HERE, follow_redirects=False, raise_server_exceptions=False)
    take(elsewhere, review.client)
    assert elsewhere.get("/review").status_code == 200
    proposal = review.bill()
    page = elsewhere.get(f"/review/items/{proposal.id}").text
    review.wait()
    fields = review.fields(page, f"/review/items/{proposal.id}/no")
    done = review.client.post(f"/review/items/{proposal.id}/no", data={**fields, "code": "not_wanted"})
    assert done.status_code == 303
    form = review.client.get("/review/signin").text
    take(elsewhere, review.client)
    assert send(elsewhere, form, "/review/signin", name="", token=review.token).status_code == 303


# -- the step-up


def asked(review: Review, proposal: Any) -> str:
    """Say yes, and return the page that asks for a proof."""
    page = review.answer(proposal)
    assert page.status_code == 200
    assert "One more proof for this call" in page.text
    assert review.state(proposal) is State.PENDING
    return str(page.text)


def test_a_grave_call_asks_for_a_password_or_token(review: Review) -> None:
    proposal, other = review.bill(), review.bill("second")
    page, action = asked(review, proposal), f"/review/items/{proposal.id}/yes"
    assert proposal.digest[7:] in re.sub(r"<[^>]+>", "", page)
    assert send(review.client, page, action, secret="wrong").status_code == 401
    fields = hidden(page, action)
    elsewhere = review.client.post(f"/review/items/{other.id}/yes", data={**fields, "secret": review.token})
    assert elsewhere.status_code == 403
    assert send(review.client, page, action, secret=review.token).headers["location"].endswith("done=endorsed")
    assert (review.state(proposal), review.state(other)) == (State.APPROVED, State.PENDING)
    assert verify(review.gateway.store).ok


def test_a_grave_call_takes_the_passkey_of_who_has_one(review: Review) -> None:
    device = with_passkey(review)
    proposal, other = review.bill(), review.bill("second")
    page, action = asked(review, proposal), f"/review/items/{proposal.id}/yes"
    assert 'name="secret"' not in page
    assert send(review.client, page, action, secret=review.token).status_code == 401  # typed all the same
    wrong = json.loads(options(asked(review, other)))["challenge"]
    assert send(review.client, page, action, response=device.answer(options(page), challenge=wrong)).status_code == 401
    nonce = {"nonce": hidden(page, action)["nonce"] + "x"}
    answer = device.answer(options(page))
    assert review.client.post(action, data={**hidden(page, action), **nonce, "response": answer}).status_code == 403
    assert review.state(proposal) is State.PENDING
    assert send(review.client, page, action, response=device.answer(options(page))).status_code == 303
    assert review.state(proposal) is State.APPROVED


def test_what_a_browser_and_a_site_are_called() -> None:
    assert browser_of("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Edg/140.0") == "Edge, Windows"
    assert browser_of("<script>") == ""
    assert site_of("http://127.0.0.1:8765") is None
    assert site_of("http://gate.example") is None
    assert site_of("https://[::1]:8443") is None
    for origin, name in (("https://gate.example", "gate.example"), ("http://localhost:9", "localhost")):
        found = site_of(origin)
        assert found is not None
        assert (found.id, found.origin) == (name, origin)
