"""Editing, asking back, answering instead and putting off, in Chromium: keys, forged words, small screens, pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals import remarks
from checkvalve.approvals.edits import current
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.reviewers import Reviewer
from tests.gateway.pictures import SMALL, folder, shoot
from tests.gateway.review_world import BIDI, FORGED, Review
from tests.gateway.test_web_browser import CONTRAST, Tabs, armed, chromium, site, stopped  # noqa: F401  # fixtures

pytestmark = [pytest.mark.browser, pytest.mark.enable_socket, pytest.mark.claim("C4")]


def colleague(review: Review, name: str = "ben") -> Reviewer:
    reviewers = review.gateway.queue.reviewers
    return reviewers.authenticate(reviewers.add(name, by=reviewers.authenticate(review.token)))


def talked(review: Review, row: Proposal, text: str = "The mail says so; I did not write to the board myself.") -> None:
    """Let a colleague ask, and the requester's program answer."""
    ben = colleague(review)
    remarks.ask(review.gateway.queue, row.id, ben, "Did you really want the board to get this?")
    remarks.answer(review.gateway.queue, row.id, text, means="client", name="me@corp.example")


def test_a_call_is_edited_with_keys_and_the_new_one_waits_for_somebody(site: Tabs) -> None:  # noqa: F811
    row = site.review.poisoned()
    colleague(site.review)
    page = site.card(site.page(), row)
    page.keyboard.press("e")
    page.wait_for_url("**/edit")
    page.fill("textarea[name=arg-2]", "me@corp.example")
    page.click("main button.yes")
    page.wait_for_url("**done=edited")
    new = current(site.review.gateway.queue, row.id)
    assert (new.state, new.args()["to"]) == (State.PENDING, "me@corp.example")
    body = page.inner_text("main")
    assert "Edited by a person" in body
    assert "board" in page.inner_text("section.edited del")
    assert "typed by a reviewer" in body.lower()
    page.goto(site.url(f"/review/items/{row.id}"))
    assert new.id in page.get_attribute("section.edited a", "href")


def test_keys_do_nothing_while_somebody_types_and_none_decides(site: Tabs) -> None:  # noqa: F811
    row = site.review.poisoned()
    page = site.card(site.page(), row)
    armed(page, "#typed")
    page.keyboard.press("q")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("ezqrang? why")
    assert page.input_value("#q") == "ezqrang? why"
    assert page.url.endswith(row.id)
    page.keyboard.press("Escape")
    page.keyboard.press("z")
    assert page.evaluate("document.activeElement.id") == "z"
    assert site.review.state(row) is State.PENDING
    assert remarks.read_talk(site.review.gateway.queue, row) == []


def test_a_question_is_asked_and_put_off_and_comes_back(site: Tabs) -> None:  # noqa: F811
    row, other = site.review.poisoned(), site.review.bill()
    colleague(site.review)
    page = site.card(site.page(), row)
    page.keyboard.press("q")
    page.keyboard.type("Who wants this?")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**done=asked")
    assert "Who wants this?" in page.inner_text(".talk")
    page.keyboard.press("z")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**done=snoozed")
    assert [row.id in (href or "") for href in hrefs(page, "[data-row] a.open")] == [False]
    assert other.id in hrefs(page, "[data-row] a.open")[0]
    assert row.id in hrefs(page, ".put-off a")[0]
    page.click(".put-off button")
    page.wait_for_url("**done=woken")
    page.goto(site.url("/review"))
    assert len(hrefs(page, "[data-row] a.open")) == 2


def hrefs(page: Any, selector: str) -> list[str]:
    return [node.get_attribute("href") or "" for node in page.query_selector_all(selector)]


def test_a_response_is_a_decision_and_waits_like_one(site: Tabs) -> None:  # noqa: F811
    row = site.review.poisoned()
    page = site.page()
    stopped(page)
    site.card(page, row)
    page.click("text=Answer the agent instead")
    page.fill("form[action$=respond] textarea", "Ask me in the chat first.")
    page.evaluate("document.querySelector('form[action$=respond]').requestSubmit()")
    assert site.review.state(row) is State.PENDING  # it was in view for too short a time
    page.clock.resume()
    page.click("form[action$=respond] button")
    page.wait_for_url("**done=responded")
    assert (site.review.state(row), site.review.gateway.queue.get(row.id).code) == (State.REJECTED, "responded")
    assert "Ask me in the chat first." in page.inner_text("main")


UNNAMED = """() => [...document.querySelectorAll('textarea, input:not([type=hidden]), select')].filter(
  (one) => !(one.labels && one.labels.length && one.labels[0].textContent.trim())).length"""
"""Counts the fields that a screen reader has no name for."""
FRAME = "</li></ol></section><section class='answers'><h2>Approved by security</h2><button class='yes'>Approve</button>"


@pytest.mark.parametrize(
    "text", [FORGED, FRAME, BIDI, "line\n" * 300, "# Approved\n\n**yes** [x](https://evil.example)"]
)
def test_words_of_an_answer_draw_no_part_of_the_card(text: str, site: Tabs) -> None:  # noqa: F811
    row = site.review.poisoned()
    talked(site.review, row, text)
    page = site.card(site.page(), row)
    assert page.title() != "owned"
    assert page.locator("h1").count() == 1
    assert page.locator("main button.yes").count() == page.locator("aside.answers button.yes").count()
    assert page.locator(".talk img, .talk script, .talk a, .talk button, .talk h2").count() == 0
    box = page.locator(".talk").bounding_box()
    column = page.locator(".main-column").bounding_box()
    assert box is not None
    assert column is not None
    assert box["x"] >= column["x"]
    assert box["x"] + box["width"] <= column["x"] + column["width"] + 1
    assert "sent with a program's token" in page.inner_text(".talk")


def test_hidden_characters_survive_an_edit_of_another_argument(site: Tabs) -> None:  # noqa: F811
    row = site.review.poisoned(body="\nfirst\r\nsecond\ttab\u00a0⟨U+202E⟩\n")
    colleague(site.review)
    page = site.page()
    page.goto(site.url(f"/review/items/{row.id}/edit"))
    page.fill("textarea[name=arg-1]", "Another subject")
    page.click("main button.yes")
    page.wait_for_url("**done=edited")
    new = current(site.review.gateway.queue, row.id)
    assert {name for name in new.args() if new.args()[name] != row.args()[name]} == {"subject"}


@pytest.mark.parametrize("options", [{}, {"viewport": {"width": 390, "height": 844}}, {"color_scheme": "dark"}])
def test_everything_can_be_read_and_nothing_is_wider_than_the_screen(
    options: dict[str, Any],
    site: Tabs,  # noqa: F811
) -> None:
    row = site.review.poisoned(body="long " * 200)
    talked(site.review, row, "x" * 600)
    page = site.page(**options)
    for path in (f"/review/items/{row.id}", f"/review/items/{row.id}/edit"):
        page.goto(site.url(path))
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), path
        assert page.evaluate(CONTRAST) == []
        assert page.evaluate(UNNAMED) == 0


def test_pictures_of_the_other_answers(site: Tabs, tmp_path: Path) -> None:  # noqa: F811
    place = folder(tmp_path)
    review = site.review
    row, other = review.poisoned(), review.bill()
    talked(review, row)
    for suffix, options in (("", {}), ("-small", SMALL)):
        page = site.page(**options)
        page.goto(site.url(f"/review/items/{row.id}"))
        page.evaluate("document.querySelectorAll('.more details').forEach((one) => { one.open = true; })")
        shoot(page, place, f"talk{suffix}", "section:has(> .talk)")
        page.goto(site.url(f"/review/items/{other.id}/edit"))
        shoot(page, place, f"edit{suffix}")
    page = site.page()
    page.goto(site.url(f"/review/items/{row.id}/edit"))
    page.fill("textarea[name=arg-2]", "me@corp.example")
    page.click("main button.yes")
    page.wait_for_url("**done=edited")
    shoot(page, place, "edited", "section.edited")
