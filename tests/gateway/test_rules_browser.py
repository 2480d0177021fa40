"""The pages of rule changes in Chromium: two people change the rules, small screens, contrast, no errors; pictures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.roles import Role
from tests.gateway.pictures import folder, shoot
from tests.gateway.review_world import Review, reviewing
from tests.gateway.test_web_browser import CONTRAST, Tabs, running
from tests.gateway.test_web_browser import chromium as chromium  # noqa: PLC0414  # the fixture

pytestmark = [pytest.mark.browser, pytest.mark.enable_socket, pytest.mark.claim("C4")]


@pytest.fixture
def tabs(tmp_path: Path, chromium: Any) -> Iterator[Tabs]:
    with reviewing(tmp_path) as review, running(review) as port:
        yield Tabs(review, port, chromium)
        for context in chromium.contexts:
            context.close()
        for context in chromium.contexts:
            context.close()


def second(review: Review) -> str:
    """Add another administrator and return the token."""
    queue = review.gateway.queue
    boss = queue.reviewers.authenticate(review.token)
    return queue.reviewers.add("ben@corp.example", by=boss, roles=[Role.ADMINISTRATOR, Role.APPROVER])


def edited(review: Review) -> None:
    """Change the manifest as somebody would who may write the file."""
    path = review.gateway.settings.manifest
    assert path is not None
    text = path.read_text()
    path.write_text(text.replace("asks: [pay]", "asks: [pay, transfer]\n    limits: {calls_per_task: 3}"))


def test_two_people_change_the_rules_on_the_pages(tabs: Tabs, tmp_path: Path) -> None:
    review, ben = tabs.review, second(tabs.review)
    review.bill()
    review.poisoned()
    page = tabs.page()
    page.goto(tabs.url("/review/rules"))
    page.click("section[aria-labelledby=propose] button")
    page.wait_for_url("**done=rules.adopted")
    assert "adopted alone by boss, since nothing was in force before" in page.inner_text("main")
    edited(review)
    page.goto(tabs.url("/review/rules"))
    assert "are not what was adopted" in page.inner_text("main")
    page.fill("textarea[name=note]", "Transfers are asked for as well, and three are enough")
    page.click("section[aria-labelledby=propose] button")
    page.wait_for_url("**done=rules.proposed")
    where = page.url.partition("?")[0]
    place = folder(tmp_path)
    _picture(page, place, "rule-change")
    review.token = ben
    other = tabs.page()
    assert "wait for a second person: 1" in other.inner_text("main")
    other.goto(where)
    shown = other.inner_text("main")
    assert "asks: [pay, transfer]" in shown
    assert "limits: {calls_per_task: 3}" in shown
    other.locator("button.yes").scroll_into_view_if_needed()
    other.wait_for_selector("form[data-armed]", timeout=60_000)  # as long as a person has to look
    other.click("button.yes")
    other.wait_for_url("**done=rules.adopted")
    assert review.gateway.queue.rule_changes.find(where.rsplit("/", 1)[1]).state == "in force"
    _picture(other, place, "rules", tabs.url("/review/rules"))
    _picture(other, place, "rules-text", f"{where}/text/manifest")
    for narrow in (where, tabs.url("/review/rules"), f"{where}/text/manifest"):
        other.set_viewport_size({"width": 390, "height": 800})
        other.goto(narrow)
        assert other.evaluate("document.documentElement.scrollWidth") <= 390
        assert other.evaluate(CONTRAST) == []
    assert not [text for text in tabs.said if "Password forms should" not in text]


def _picture(page: Any, place: Path, name: str, where: str = "") -> None:
    if where:
        page.goto(where)
    shoot(page, place, name)
