"""The pages of emergencies in Chromium: small screens, contrast, no errors, and the pictures of the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.delegations import Delegations
from checkvalve.approvals.records import State
from checkvalve.approvals.roles import Role
from tests.approvals.emergency import FINDING, REASON
from tests.gateway.pictures import folder, shoot
from tests.gateway.review_world import Review, reviewing
from tests.gateway.test_emergency_pages import SECRET, add, password, rules
from tests.gateway.test_web_browser import CONTRAST, Tabs, running
from tests.gateway.test_web_browser import chromium as chromium  # noqa: PLC0414  # the fixture

pytestmark = [pytest.mark.browser, pytest.mark.enable_socket, pytest.mark.claim("C4")]

PAGES = ("/review", "/review/delegations", "/review/afterlooks")


@pytest.fixture
def tabs(tmp_path: Path, chromium: Any) -> Iterator[Tabs]:
    with reviewing(tmp_path, break_glass=True, review_rules=rules(tmp_path)) as review, running(review) as port:
        yield Tabs(review, port, chromium)
        for context in chromium.contexts:
            context.close()


def person(review: Review, name: str, *roles: Role) -> str:
    token = add(review, name, *roles)
    password(review.gateway.queue, name)
    return token


def hurried(tabs: Tabs) -> tuple[Any, Any]:
    """Leave one of everything behind, and sign a breaker in; returns the tab and a question."""
    review = tabs.review
    first, second, last = review.bill(), review.poisoned(), review.settings()
    add(review, "ben@corp.example")
    queue = review.gateway.queue
    handing = Delegations(queue.store, queue.clock, queue.reviewers)
    boss = queue.reviewers.authenticate(review.token)
    until = queue.clock() + 5 * 86_400_000_000
    handing.give(boss, "ben@corp.example", reason="On holiday until Monday", expires_at=until)
    token = person(review, "eve@corp.example", Role.BREAKER, Role.APPROVER)
    tabs.review.token = token
    page = tabs.page()
    glass(tabs, page, first)
    assert second.state is last.state is State.PENDING
    return page, second


def glass(tabs: Tabs, page: Any, row: Any) -> None:
    """Break the glass with the mouse and the keyboard, as a person does."""
    tabs.card(page, row)
    page.click("details.glass summary")
    page.fill("details.glass input[name=digest]", row.digest[7:13])
    page.fill("details.glass input[name=note]", REASON)
    page.click("details.glass button")
    page.fill("input[name=secret]", SECRET)
    page.click("main button.yes")
    page.wait_for_url("**done=broken")


def test_a_person_breaks_the_glass_and_another_one_writes_what_they_found(tabs: Tabs) -> None:
    boss = tabs.review.token
    row = tabs.review.bill()
    tabs.review.token = person(tabs.review, "eve@corp.example", Role.BREAKER)
    tabs.review.token, mine = tabs.review.token, tabs.review.token
    page = tabs.page() if mine else None
    assert page is not None
    glass(tabs, page, row)
    assert tabs.review.gateway.queue.get(row.id).code == "break_glass"
    assert "THE GLASS WAS BROKEN" in page.inner_text("main")
    tabs.review.gateway.executor.run(row.id, lambda args, key: "paid")
    tabs.review.token = boss
    other = tabs.page()
    other.goto(tabs.url("/review/afterlooks"))
    other.fill("input[name=finding]", FINDING)
    other.click("main form button")
    other.wait_for_url("**done=looked")
    assert FINDING in other.inner_text("main")
    assert tabs.said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("locale", ["en", "de", "zh"])
def test_the_pages_fit_a_telephone_and_can_be_read(tabs: Tabs, scheme: str, locale: str, tmp_path: Path) -> None:
    _, row = hurried(tabs)
    page = tabs.page(viewport={"width": 390, "height": 844}, color_scheme=scheme, locale=locale)
    for path in (*PAGES, f"/review/items/{row.id}"):
        page.goto(tabs.url(path))
        page.evaluate("document.querySelectorAll('details').forEach((item) => { item.open = true; })")
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, (path, wide)
        assert page.evaluate(CONTRAST) == [], path
    assert tabs.said == []


def test_pictures_for_the_documentation(tabs: Tabs, tmp_path: Path) -> None:
    target = folder(tmp_path)
    boss = tabs.review.token
    page, row = hurried(tabs)
    for name, path in (("emergency-queue", PAGES[0]), ("standing-in", PAGES[1])):
        page.goto(tabs.url(path))
        shoot(page, target, name)
    tabs.card(page, row)
    page.click("details.glass summary")
    shoot(page, target, "break-glass", "details.glass")
    assert (target / "break-glass.png").stat().st_size > 10_000
    (broken,) = tabs.review.gateway.queue.list([State.APPROVED])
    tabs.review.gateway.executor.run(broken.id, lambda args, key: "paid")
    tabs.review.token = boss
    other = tabs.page()
    other.goto(tabs.url(PAGES[2]))
    shoot(other, target, "after-looks")
