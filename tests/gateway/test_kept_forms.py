"""A form that is refused: its page comes back with the reason, and with everything that somebody wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.records import State
from tests.gateway.review_world import Review, reviewing
from tests.gateway.test_emergency_pages import breaker, rules

WORDS = "I know them from Monday's call & from no mail"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Review]:
    with reviewing(tmp_path, break_glass=True, review_rules=rules(tmp_path)) as found:
        yield found


def value(page: str, action: str, name: str) -> str:
    """Return what stands in a field of the form that is sent to ``action``."""
    form = re.search(rf'<form[^>]*action="{re.escape(action)}"[^>]*>(.*?)</form>', page, re.DOTALL)
    assert form
    field = re.search(rf'<input name="{name}" value="([^"]*)"', form[1])
    area = re.search(rf'<textarea name="{name}"[^>]*>\n?(.*?)</textarea>', form[1], re.DOTALL)
    found = field or area
    assert found
    return unescape(found[1])


def sent(world: Review, path: str, action: str, **values: Any) -> Any:
    fields = world.fields(world.get(path), action)
    world.wait()
    return world.client.post(action, data={**fields, **values})


@pytest.mark.parametrize(
    ("what", "values", "field", "said"),
    [
        ("yes", {"digest": "000000", "note": WORDS, "scope": "call"}, "note", "not the start"),
        ("no", {"code": "none of these", "note": WORDS}, "note", "Choose an answer"),
        ("ask", {"text": WORDS + "x" * 3_000}, "text", "not more than 2,000 characters"),
    ],
)
def test_a_card_comes_back_with_the_words(
    world: Review, what: str, values: dict[str, str], field: str, said: str
) -> None:
    row = world.poisoned()
    where = f"/review/items/{row.id}"
    answered = sent(world, where, f"{where}/{what}", **values)
    assert answered.status_code == 422
    assert said in answered.text
    assert value(answered.text, f"{where}/{what}", field) == values[field]
    assert "000000" not in answered.text, "what is typed to prove something is typed again"
    assert world.state(row) is State.PENDING
    again = world.fields(answered.text, f"{where}/{what}")
    assert again["seal"]
    assert "shown" in again or what == "ask"


def test_an_answer_that_came_too_fast_can_be_sent_again_from_the_page_that_says_so(world: Review) -> None:
    row = world.poisoned()
    where = f"/review/items/{row.id}"
    action, moment = f"{where}/no", world.desk.sessions.clock()
    world.desk.sessions.clock = lambda: moment  # the machine may be slow; the person is not
    fast = world.client.post(action, data={**world.fields(world.card(row), action), "code": "other", "note": WORDS})
    assert fast.status_code == 425
    assert value(fast.text, action, "note") == WORDS
    world.wait()
    done = world.client.post(action, data={**world.fields(fast.text, action), "code": "other", "note": WORDS})
    assert done.status_code == 303


def test_words_for_a_question_that_is_over_stand_on_the_page_that_says_so(world: Review) -> None:
    row = world.poisoned()
    where = f"/review/items/{row.id}"
    fields = world.fields(world.card(row), f"{where}/no")
    world.wait()
    form = {**fields, "code": "other", "note": WORDS}
    world.client.post(f"{where}/no", data=form)
    last = world.client.post(f"{where}/no", data=form)
    assert last.status_code == 409
    assert WORDS in unescape(last.text)
    assert "What you typed" in last.text


@pytest.mark.parametrize("field", ["taker", "first", "last", "reason"])
def test_a_hand_over_comes_back_as_it_was_typed(world: Review, field: str) -> None:
    boss = world.gateway.queue.reviewers.authenticate(world.token)
    world.gateway.queue.reviewers.add("dora", by=boss)
    typed = {"taker": "dora", "first": "2031-01-01", "last": "2030-01-01", "reason": WORDS}
    answered = sent(world, "/review/delegations", "/review/delegations", **typed)
    assert answered.status_code == 422
    page = unescape(answered.text)
    found = {
        "taker": '<option value="dora" selected',
        "first": 'name="first" value="2031-01-01"',
        "last": 'name="last" value="2030-01-01"',
        "reason": f'name="reason" value="{WORDS}"',
    }
    assert found[field] in page


def test_a_short_reason_for_breaking_the_glass_keeps_the_form_open(world: Review) -> None:
    row = world.poisoned()
    breaker(world)
    where = f"/review/items/{row.id}"
    answered = sent(world, where, f"{where}/glass", digest=row.digest[7:13], note="urgent")
    assert answered.status_code == 422
    assert '<details class="glass" open>' in answered.text
    assert value(answered.text, f"{where}/glass", "note") == "urgent"
    assert world.state(row) is State.PENDING


def test_a_failed_sign_in_keeps_the_name_and_no_secret(world: Review) -> None:
    world.client.cookies.clear()
    page = world.client.get("/review/signin").text
    seal = re.search(r'name="seal" value="([^"]+)"', page)
    assert seal
    form = {"seal": seal[1], "name": 'dora "d"', "token": "not the password"}
    failed = world.client.post("/review/signin", data=form)
    assert failed.status_code == 401
    assert 'name="name" value="dora &#34;d&#34;"' in failed.text
    assert "not the password" not in failed.text
