"""Seeded items on the pages: like any other question for one person, revealed at once, and unknown to all others."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from checkvalve.approvals import seed_figures, seeds
from checkvalve.approvals.pages_data import tier
from checkvalve.approvals.risk import TIERS
from checkvalve.approvals.seed_cards import as_question
from checkvalve.approvals.seed_tables import seed_consents
from checkvalve.gateway.seed_keeper import SeedKeeper
from checkvalve.gateway.web_words import LANGUAGES, words_in
from tests.gateway.review_world import ORIGIN, Review, reviewing, sign_in

pytestmark = pytest.mark.claim("C4", "C9")


class Bench:
    """The pages, a reviewer who has agreed, and an item that waits for them."""

    def __init__(self, review: Review) -> None:
        self.review, self.queue = review, review.gateway.queue
        review.bill()  # somebody asks here
        self.boss = self.queue.reviewers.authenticate(review.token)
        seeds.agree(self.queue, self.boss)
        self.seed = self.planted()

    def planted(self, number: int = 1) -> seeds.Seed:
        gateway = self.review.gateway
        maker = SeedKeeper(self.queue, gateway.manifest, gateway.policy, per_week=5, draw=random.Random(number))
        with self.queue.store.write() as connection:  # its moment has come
            connection.execute(sa.update(seed_consents).values(next_at=1))
        assert maker.tick() == 1
        return seeds.open_for(self.queue, self.boss)[0]

    @property
    def where(self) -> str:
        return f"/review/items/{self.seed.id}"

    def send(self, what: str, **values: str) -> Any:
        return self.review.answer(as_question(self.seed), what, **values)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with reviewing(tmp_path, seeded_items=5, review_session=604_800, review_idle=86_400) as found:
        yield Bench(found)


def test_it_looks_like_any_other_question(bench: Bench) -> None:
    page = bench.review.get(bench.where)
    for word in ("seed", "made up", "attention test"):
        assert word not in page.replace("/review/attention", "").lower()
    assert bench.seed.body["bad"].split("@")[0] in unescape(page)
    assert "untrusted-target" in page
    real = bench.review.get(f"/review/items/{bench.queue.list()[0].id}")
    shape = re.compile(r'action="/review/items/[0-9a-f-]{36}/(\w+)"')
    assert set(shape.findall(page)) == set(shape.findall(real)) - {"mandate"}
    listed = bench.review.get("/review")
    assert bench.seed.id in listed
    assert bench.review.get(f"{bench.where}/bytes")
    assert bench.seed.body["words"].split(",")[0] in bench.review.get(f"/review/run?thread={bench.seed.body['thread']}")


@pytest.mark.parametrize(("what", "said"), [("no", "You saw it."), ("yes", "You said yes.")])
def test_an_answer_is_revealed_at_once_and_nothing_runs(bench: Bench, what: str, said: str) -> None:
    answer = bench.send(what)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/review/attention/{bench.seed.id}")
    page = bench.review.get(answer.headers["location"])
    assert said in page
    assert "nothing ran" in page
    for value in (bench.seed.body["good"], bench.seed.body["bad"]):
        assert value in unescape(page)
    assert bench.seed.id not in bench.review.get("/review")
    assert bench.review.client.get(bench.where).status_code == 404
    assert bench.queue.grant(bench.seed.id) is None
    assert seed_figures.own(bench.queue.store, bench.boss).caught == (what == "no")
    assert ("1 of 1 seen" if what == "no" else "0 of 1 seen") in bench.review.get("/review/attention")


@pytest.mark.parametrize("what", ["ask", "respond", "escalate", "snooze"])
def test_any_other_answer_is_a_doubt_and_is_revealed(bench: Bench, what: str) -> None:
    fields = bench.review.fields(bench.review.get(bench.where), f"{bench.where}/{what}")
    answer = bench.review.client.post(f"{bench.where}/{what}", data={**fields, "text": "Who?", "minutes": "15"})
    assert answer.headers["location"] == f"/review/attention/{bench.seed.id}"
    assert "You saw it." in bench.review.get(answer.headers["location"])


def test_editing_it_looks_like_editing_any_other_and_is_a_doubt(bench: Bench) -> None:
    page = bench.review.get(f"{bench.where}/edit")
    assert f'action="{bench.where}/edit"' in page
    fields = bench.review.fields(page, f"{bench.where}/edit")
    answer = bench.review.client.post(f"{bench.where}/edit", data={**fields, "arg-0": "someone@corp.example"})
    assert answer.headers["location"] == f"/review/attention/{bench.seed.id}"
    assert len(bench.queue.list()) == 1, "no other call was made"


def test_an_answer_takes_the_same_checks_as_any(bench: Bench) -> None:
    at = bench.review.desk.sessions.clock()
    bench.review.desk.sessions.clock = lambda: at  # however slow this machine is
    fields = bench.review.fields(bench.review.get(bench.where), f"{bench.where}/yes")
    given = {**fields, "scope": "data", "digest": bench.seed.body["digest"][7:13], "note": "x"}
    assert bench.review.client.post(f"{bench.where}/yes", data=given).status_code == 425  # too fast
    bench.review.wait()
    assert bench.review.client.post(f"{bench.where}/yes", data={**given, "digest": "000000"}).status_code == 422
    assert bench.review.client.post(f"{bench.where}/yes", data={**given, "shown": "1.1.x"}).status_code == 409
    assert bench.review.client.post(f"{bench.where}/no", data={**given, "code": "odd"}).status_code in {403, 422}
    assert seeds.open_for(bench.queue, bench.boss)
    assert bench.review.client.post(f"{bench.where}/yes", data=given).status_code == 303


def test_nobody_else_is_ever_shown_it(bench: Bench) -> None:
    token = bench.queue.reviewers.add("ben", by=bench.boss)
    ben = bench.queue.reviewers.authenticate(token)
    client = TestClient(bench.review.client.app, base_url=ORIGIN, follow_redirects=False)
    assert sign_in(client, token).status_code == 303
    for _ in range(2):
        assert bench.seed.id not in client.get("/review").text
        for path in (bench.where, f"{bench.where}/bytes", f"/review/attention/{bench.seed.id}"):
            assert client.get(path).status_code == 404
        seeds.agree(bench.queue, ben) if not any(one.reviewer == "ben" for one in seeds.consents(bench.queue)) else None


def test_no_real_question_that_is_as_grave_stands_below_it_and_none_moves_away(bench: Bench) -> None:
    for number in range(4):
        bench.review.poisoned(f"lunch{number}", f"c{number}")
    bench.review.settings()
    listed = bench.review.get("/review")
    order = list(dict.fromkeys(re.findall(r"/review/items/([0-9a-f-]{36})", listed)))
    real = [row.id for row in bench.queue.list()]
    assert set(real) <= set(order)
    mine = TIERS.index(tier(as_question(bench.seed)))
    below = order[order.index(bench.seed.id) + 1 :]
    assert all(TIERS.index(tier(bench.queue.get(name))) > mine for name in below)


def test_consent_is_given_and_taken_back_on_its_page(bench: Bench) -> None:
    page = bench.review.get("/review/attention")
    assert "You agreed" in page
    path = "/review/attention/withdraw"
    answer = bench.review.client.post(path, data=bench.review.fields(page, path))
    assert answer.headers["location"] == "/review/attention?done=attention.withdrawn"
    assert bench.seed.id not in bench.review.get("/review")
    assert bench.review.client.get(bench.where).status_code == 404
    page, path = bench.review.get("/review/attention"), "/review/attention/agree"
    assert "You have not agreed" in page
    assert bench.review.client.post(path, data={"x": "1"}).status_code == 403  # without the seal
    assert bench.review.client.post(path, data=bench.review.fields(page, path)).status_code == 303
    assert [item.holds for item in seeds.consents(bench.queue)] == [True]


def test_the_card_of_a_real_call_is_what_it_always_was(bench: Bench) -> None:
    """Somebody who writes into the database gives an item the id of a real call: the real one is shown and decided."""
    row = bench.review.poisoned("real", "c9")
    answer = bench.review.answer(row)
    assert answer.headers["location"].startswith(f"/review/items/{row.id}")
    assert bench.queue.grant(row.id) is not None


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_word_is_in_every_language(language: str) -> None:
    words = words_in(language)
    for key in ("attention.what", "revealed.other_target", "revealed.missed", "done.attention.agreed"):
        assert words.has(key)
