"""The pages of standing rules: drafted, tried, made, confirmed, taken back, by people who were shown what they do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from checkvalve.approvals.records import Proposal, State
from checkvalve.gateway.result_text import result_text
from checkvalve.gateway.web_desk import Desk
from checkvalve.gateway.web_pages import Site, create_pages, open_desk
from tests.approvals.standing_world import IBAN, PARTNER, World, standing_world
from tests.gateway.review_world import ORIGIN, sign_in


class Page:
    """One signed-in person over a world."""

    def __init__(self, world: World, client: TestClient, desk: Desk) -> None:
        self.world, self.client, self.desk = world, client, desk

    def get(self, path: str) -> str:
        response = self.client.get(path)
        assert response.status_code == 200, (path, response.status_code, response.text[:500])
        return response.text

    def hidden(self, page: str, action: str) -> dict[str, str]:
        (form,) = re.findall(rf'<form[^>]*action="{re.escape(action)}"[^>]*>(.*?)</form>', page, re.DOTALL)
        found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form)
        return {name: unescape(value) for name, value in found}

    def post(self, page: str, action: str, **values: str) -> Any:
        late = self.desk.sessions.clock() + 2
        self.desk.sessions.clock = lambda: late
        return self.client.post(action, data={**self.hidden(page, action), **values})

    def tried(self, proposal: Proposal, **values: str) -> str:
        where = f"/review/items/{proposal.id}/standing"
        response = self.post(self.get(where), where, max_calls="10", per_day="3", days="30", **values)
        assert response.status_code == 200, response.text[:800]
        return str(response.text)

    def make(self, proposal: Proposal, page: str, **values: str) -> Any:
        return self.post(
            page, f"/review/items/{proposal.id}/standing/make", **{"digest": proposal.digest[7:13], **values}
        )


@contextmanager
def signed_in(world: World, name: str) -> Iterator[Page]:
    desk = open_desk(world.gateway.queue, world.gateway.settings, unpack=result_text)
    app = Site(create_pages(desk, world.gateway.settings))
    with TestClient(app, base_url=ORIGIN, follow_redirects=False, raise_server_exceptions=False) as client:
        assert sign_in(client, world.tokens[name]).status_code == 303
        yield Page(world, client, desk)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with standing_world(tmp_path) as opened:
        yield opened


@pytest.fixture
def page(world: World) -> Iterator[Page]:
    with signed_in(world, "ann") as opened:
        yield opened


# the values of a draft are in the order of their paths: 0 is `body`, 1 is `to`


@pytest.mark.claim("C4")
def test_from_a_card_to_a_rule_that_a_second_person_confirms(world: World, page: Page) -> None:
    asked = world.succeeded()
    assert f"/review/items/{asked.id}/standing" in page.get(f"/review/items/{asked.id}")
    made = page.make(asked, page.tried(asked, **{"how-0": "any", "how-1": "is"}))
    assert made.status_code == 303, made.text[:500]
    where = made.headers["location"].partition("?")[0]
    assert "Standing rules that wait for a second person: 1" in page.get("/review")
    shown = page.get(where)
    assert f'action="{where}/confirm"' not in shown
    assert world.ask(to=PARTNER, body="x").state is State.PENDING
    with signed_in(world, "ben") as other:
        assert other.post(other.get(where), f"{where}/confirm").status_code == 303
    answered = world.ask(to=PARTNER, body="y")
    assert answered.state is State.APPROVED
    card = page.get(f"/review/items/{answered.id}")
    assert where in card
    assert "may have chosen where this goes" in card
    run = page.get(f"/review/run?thread={answered.thread}")
    for shown in (card, run):  # nobody approved it, and its name is for programs
        assert f'<a href="{where}">let through by a standing rule</a>' in shown
        assert "by rule:standing:" not in " ".join(re.sub(r"<[^>]+>", "", shown).split())
    with signed_in(world, "cleo") as third:
        assert third.post(third.get(where), f"{where}/revoke").status_code == 303
    assert world.ask(to=PARTNER, body="z").state is State.PENDING


@pytest.mark.claim("C4")
def test_what_people_refused_comes_first_and_leaves_nothing_to_save(world: World, page: Page) -> None:
    asked = world.succeeded()
    refused = world.ask(to="desk@other.example", body="z")
    world.gateway.queue.reject(refused.id, world.ann, "looks_like_attack", "no")
    tried = page.tried(asked, **{"how-0": "any", "how-1": "is", "also-1": "desk@other.example"})
    table = tried[tried.index("<tbody>") :]
    assert table.index(refused.id) < table.index(asked.id)
    assert "People refused 1 of these calls" in tried
    assert "/standing/make" not in tried
    clean = page.tried(asked, **{"how-0": "any", "how-1": "is"})
    fields = page.hidden(clean, f"/review/items/{asked.id}/standing/make")
    wider = fields["wider"].replace('"also": {}', '"also": {"to": ["desk@other.example"]}')
    assert wider != fields["wider"]
    assert page.make(asked, clean, wider=wider).status_code == 409
    assert world.gateway.queue.standing_rules.list() == []


@pytest.mark.parametrize(
    ("values", "status"),
    [({"digest": "000000"}, 422), ({"seal": "x"}, 403), ({"shown": "1.x"}, 409), ({"rule": "sha256:0"}, 409)],
)
def test_a_rule_that_was_not_shown_is_not_saved(world: World, page: Page, values: dict[str, str], status: int) -> None:
    asked = world.succeeded()
    response = page.make(asked, page.tried(asked, **{"how-0": "any"}), **values)
    assert response.status_code == status
    assert world.gateway.queue.standing_rules.list() == []


def test_a_call_that_makes_no_rule_says_why(world: World, page: Page) -> None:
    pending = world.ask(to=PARTNER, body="x")
    assert f"/items/{pending.id}/standing" not in page.get(f"/review/items/{pending.id}")
    response = page.client.get(f"/review/items/{pending.id}/standing")
    assert (response.status_code, "no reviewer approved this call" in response.text) == (422, True)


def test_nothing_wider_than_may_be_said_is_tried(world: World, page: Page) -> None:
    asked, where = world.succeeded(), ""
    where = f"/review/items/{asked.id}/standing"
    for values in (
        {"how-1": "any"},
        {"also-1": "=nonsense"},
        {"also-1": "d\u0435sk@partner.example"},
        {"days": "91"},
        {"max_calls": "many"},
    ):
        response = page.post(page.get(where), where, **{"max_calls": "10", "per_day": "3", "days": "30", **values})
        assert response.status_code == 422, values


def test_an_amount_takes_a_cap_and_a_total(world: World, page: Page) -> None:
    paid = world.succeeded("pay", to=IBAN, amount=60)
    tried = page.tried(paid, **{"how-0": "up_to", "cap-0": "100", "how-1": "same", "max_total": "150"})
    assert page.make(paid, tried).status_code == 303
    (made,) = world.gateway.queue.standing_rules.list()
    assert [item.how for item in made.rule.constraints] == ["up_to", "same"]
    assert (str(made.rule.max_amount), str(made.rule.max_total)) == ("100", "150")


def test_the_week_leads_to_a_rule_and_to_a_denial(world: World, page: Page) -> None:
    for number in range(5):
        world.run(world.approve(world.ask(to=PARTNER, body=f"report {number}")))
    for _ in range(3):
        refused = world.ask("pay", to=IBAN, amount=60)
        world.gateway.queue.reject(refused.id, world.ann)
    shown = page.get("/review/standing")
    assert "All 5 were approved" in shown
    assert "All 3 were refused" in shown
    (where,) = re.findall(r'href="(/review/items/[0-9a-f-]+/standing)"', shown)
    assert "would have let through 1 of them" in page.get(where)


@pytest.mark.claim("C8")
def test_content_in_a_rule_is_text(world: World, page: Page) -> None:
    forged = "<script>alert(1)</script><img src=x onerror=y>"
    asked = world.succeeded("send_mail", to=PARTNER, body=forged)
    for text in (page.tried(asked), page.get(f"/review/items/{asked.id}/standing")):
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "&lt;script&gt;" in text
    page.make(asked, page.tried(asked))
    (made,) = world.gateway.queue.standing_rules.list()
    for where in ("/review/standing", f"/review/standing/{made.id}"):
        assert "<script>alert" not in page.get(where)


@pytest.mark.parametrize("language", ["de", "zh"])
def test_the_pages_speak_other_languages(world: World, page: Page, language: str) -> None:
    asked = world.succeeded()
    page.client.cookies.set("checkvalve_language", language)
    for path in ("/review/standing", f"/review/items/{asked.id}/standing"):
        text = page.get(path)
        assert f'lang="{language}"' in text
        assert "Standing rule" not in text
