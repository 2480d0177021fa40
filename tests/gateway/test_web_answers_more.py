"""The other answers on the pages, without a browser: seals, what is typed stays typed, and what each language says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals import remarks
from checkvalve.approvals.edits import current
from checkvalve.approvals.records import Proposal, State
from checkvalve.gateway.redeciding import deciding_by
from checkvalve.gateway.web_words import LANGUAGES, words_in
from tests.gateway.review_world import Review, reviewing

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    with reviewing(tmp_path) as found:
        reviewers = found.gateway.queue.reviewers
        reviewers.add("ben", by=reviewers.authenticate(found.token))
        yield found


def edit(review: Review, row: Proposal, **values: str) -> Any:
    """Open the form, wait, and send it with some fields changed."""
    page = review.get(f"/review/items/{row.id}/edit")
    action = f"/review/items/{row.id}/edit"
    fields = review.fields(page, action)
    for key, text in re.findall(r'<textarea name="(arg-\d+)"[^>]*>\n?(.*?)</textarea>', page, re.DOTALL):
        fields[key] = unescape(text).replace("\n", "\r\n")  # as a browser sends line ends
    for key, text in re.findall(r'<input name="(arg-\d+)" value="([^"]*)"', page):
        fields[key] = unescape(text)
    review.wait()
    return review.client.post(action, data={**fields, **values})


def test_a_form_that_nobody_touched_changes_nothing_to_the_last_byte(review: Review) -> None:
    for number, body in enumerate(("two\nlines\n\nand more\n", '"quoted" \\ </textarea><b>x', "\n\nstarts empty")):
        row = review.poisoned(f"same-{number}", body=body)
        answer = edit(review, row)
        assert answer.status_code == 422
        assert "nothing was changed" in answer.text
        assert review.state(row) is State.PENDING


def test_a_number_stays_a_number_and_what_is_no_number_is_said_with_the_form(review: Review) -> None:
    row = review.bill()
    answer = edit(review, row, **{"arg-0": "a lot", "arg-1": "DE02120300000000202051"})
    assert answer.status_code == 422
    assert "this is not a number" in answer.text
    assert 'value="a lot"' in answer.text  # nothing that was typed is lost
    assert "DE02120300000000202051" in answer.text
    assert review.state(row) is State.PENDING
    assert edit(review, row, **{"arg-0": "59.5"}).status_code == 303
    assert current(review.gateway.queue, row.id).args()["amount"] == 59.5


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("[1]", "no object of others"),
        ('{"to": "x"}', "no object of others"),
        ('{"a": 1, "a": 2}', "not JSON [duplicate_key]"),
        ('{"sudo": true}', "refused by the rule unknown-argument"),
    ],
)
def test_what_cannot_be_an_edit_is_said_and_the_question_stays(more: str, said: str, review: Review) -> None:
    row = review.poisoned()
    answer = edit(review, row, more=more)
    assert (answer.status_code, said in unescape(answer.text)) == (422, True)
    assert unescape(more) in unescape(answer.text)
    assert review.state(row) is State.PENDING


def test_hidden_characters_that_somebody_typed_are_pointed_at(review: Review) -> None:
    row = review.poisoned()
    answer = edit(review, row, **{"arg-2": "me@corp\u200b.example"})
    assert answer.status_code == 422
    assert "hidden characters were typed" in answer.text
    assert "\u200b" not in answer.text
    assert review.state(row) is State.PENDING


def test_an_argument_can_be_left_out(review: Review) -> None:
    row = review.poisoned()
    assert edit(review, row, **{"drop-0": "1"}).status_code == 303
    assert sorted(current(review.gateway.queue, row.id).args()) == ["subject", "to"]


@pytest.mark.parametrize("what", ["edit", "ask", "answer", "respond", "snooze", "wake", "cancel", "escalate"])
def test_a_form_without_the_seal_of_this_page_does_nothing(what: str, review: Review) -> None:
    row, other = review.poisoned(), review.bill()
    seal = review.fields(review.card(other), f"/review/items/{other.id}/ask")["seal"]
    review.wait()
    for data in ({}, {"seal": seal}, {"seal": "x" * 64}):
        given = {"text": "x", "minutes": "15", "arg-2": "x@y.example", "shown": "1.1.x", **data}
        answer = review.client.post(f"/review/items/{row.id}/{what}", data=given)
        assert answer.status_code == 403
    assert review.state(row) is State.PENDING
    assert remarks.read_talk(review.gateway.queue, row) == []


def test_a_response_to_a_card_that_has_changed_since_is_none(review: Review) -> None:
    row = review.poisoned()
    page = review.card(row)
    assert edit(review, row, **{"arg-2": "me@corp.example"}).status_code == 303
    answer = review.answer(row, "respond", page=page, text="no")
    assert answer.status_code == 409
    assert current(review.gateway.queue, row.id).state is State.PENDING


def test_only_who_asked_is_offered_to_take_a_question_back(review: Review, tmp_path: Path) -> None:
    row = review.poisoned()
    assert f"/review/items/{row.id}/cancel" not in review.card(row)
    (tmp_path / "own").mkdir()
    with reviewing(tmp_path / "own", name="me@corp.example") as own:
        mine = own.poisoned()
        assert own.answer(mine, "cancel").status_code == 303
        assert (own.state(mine), own.gateway.queue.get(mine.id).decided_by) == (
            State.CANCELLED,
            "reviewer:me@corp.example",
        )


@pytest.mark.parametrize("minutes", ["", "-5", "1e3", "9999999", "1440", "\u0661"])
def test_a_moment_that_cannot_be_is_refused(minutes: str, review: Review) -> None:
    row = review.poisoned()
    fields = review.fields(review.card(row), f"/review/items/{row.id}/snooze")
    answer = review.client.post(f"/review/items/{row.id}/snooze", data={**fields, "minutes": minutes})
    assert answer.status_code == 422
    assert review.get("/review").count(f"/review/items/{row.id}") >= 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_word_of_these_pages_is_in_every_language(language: str) -> None:
    folder = Path(__file__).resolve().parents[2] / "gateway" / "web" / "templates"
    words = words_in(language)
    for name in ("talk.html", "more_answers.html", "put_off.html", "edit.html"):
        for key in re.findall(r"t\('([a-z_.]+)'[,)]", (folder / name).read_text()):
            assert words.has(key), (name, key)


@pytest.mark.parametrize("options", [{"manifest": None}, {"manifest": Path("/nowhere/manifest.yaml")}])
def test_pages_without_the_agents_rules_edit_nothing_and_say_so(options: dict[str, Any], review: Review) -> None:
    row = review.poisoned()
    settings = review.gateway.settings.model_copy(update=options)
    review.desk.decide = deciding_by(settings)
    answer = edit(review, row, **{"arg-2": "me@corp.example"})
    assert (answer.status_code, "use the settings file of that gateway" in answer.text) == (422, True)
    assert review.state(row) is State.PENDING


def test_a_page_that_is_open_learns_of_an_answer(review: Review) -> None:
    row = review.poisoned()
    assert 'data-said="0"' in review.card(row)
    before = review.client.get(f"/review/changes?item={row.id}").json()
    reviewers = review.gateway.queue.reviewers
    remarks.ask(review.gateway.queue, row.id, reviewers.authenticate(review.token), "why?")
    after = review.client.get(f"/review/changes?item={row.id}").json()
    assert (before["item"]["said"], after["item"]["said"]) == (0, 1)
    assert after["mark"] > before["mark"]
    assert after["item"]["version"] == before["item"]["version"]  # answers stay open
    assert edit(review, row, **{"arg-2": "me@corp.example"}).status_code == 303
    page = review.card(current(review.gateway.queue, row.id))
    assert ("before the edit" in page, 'data-said="1"' in page) == (True, True)


def test_others_are_called_from_the_card_and_it_goes_on_waiting(review: Review) -> None:
    row = review.bill()
    where = f"/review/items/{row.id}"
    answer = review.client.post(f"{where}/escalate", data=review.fields(review.card(row), f"{where}/escalate"))
    assert answer.headers["location"] == f"{where}?done=escalated"
    assert "Others were told." in review.get(f"{where}?done=escalated")
    assert review.state(row) is State.PENDING
