"""The review pages in Chromium: keys, arming, forged cards, frames, focus, small screens, dark mode, contrast.

Everything is started here: a server on the loopback address and a headless browser.
"""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from checkvalve.approvals.records import State
from checkvalve.gateway import web_live
from checkvalve.gateway.web_pages import Site, create_pages
from tests.gateway.review_world import BIDI, Review, reviewing

pytestmark = [pytest.mark.browser, pytest.mark.enable_socket, pytest.mark.claim("C4")]

CONTRAST = """() => {
  const parse = (text) => {
    const found = text.match(/[\\d.]+/g).map(Number);
    return { rgb: found.slice(0, 3), a: found[3] ?? 1 };
  };
  const linear = (v) => (v <= 0.03928 * 255 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const found = parse(getComputedStyle(at).backgroundColor);
      if (found.a === 1) return found.rgb;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const node of document.querySelectorAll('body *')) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || !node.checkVisibility() || node.closest('.sr, .skip')) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color).rgb), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(`${node.tagName}.${node.className}: ${ratio.toFixed(2)}`);
  }
  return bad;
}"""
"""Names everything on a page whose text has less than 4.5 to 1 of contrast (WCAG 2.2, AA)."""


PATIENCE = 60_000  # milliseconds that a page may take on a loaded machine


def armed(page: Any, field: str) -> None:
    """Wait until the form with this field takes an answer; for a key only: a click waits by itself."""
    page.locator(f"form[data-armed]:has({field})").wait_for(state="attached")


def stopped(page: Any) -> None:
    """Stop the clock of the page: however long the test takes, nothing was in view for a moment."""
    page.clock.install()
    page.clock.pause_at(time.time() + 3_600)


class Tabs:
    """A running server, and a browser that signs in."""

    def __init__(self, review: Review, port: int, browser: Any) -> None:
        self.review, self.browser, self.port = review, browser, port
        self.said: list[str] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def page(self, **options: Any) -> Any:
        """Open a tab in a new browser profile and sign in."""
        context = self.browser.new_context(**{"viewport": {"width": 1_200, "height": 900}, "locale": "en", **options})
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: self.hear(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: self.said.append(f"dialog {dialog.message}"))
        page.goto(self.url("/review"))
        page.fill("input[name=token]", self.review.token)
        page.click("main button")
        page.wait_for_url("**/review")
        return page

    def hear(self, text: str) -> None:
        """Keep what the browser complains of; its advice about password forms comes when it has time for it."""
        if "Password forms should" not in text:
            self.said.append(text)

    def card(self, page: Any, proposal: Any) -> Any:
        page.goto(self.url(f"/review/items/{proposal.id}"))
        return page


@contextmanager
def running(review: Review) -> Iterator[int]:
    """Serve the pages from a thread, with the real clock."""
    review.desk.sessions.clock = time.time
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(Site(create_pages(review.desk, review.gateway.settings)), log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
        listener.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Start the system's Chromium; Playwright's own browsers are never asked for."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra test)")
    with playwright.sync_playwright() as started:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # it refuses to start as root otherwise
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=arguments, timeout=2 * PATIENCE
        )
        yield browser
        browser.close()


@pytest.fixture
def site(tmp_path: Path, chromium: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tabs]:
    monkeypatch.setattr(web_live, "EVERY", 0.2)
    with reviewing(tmp_path) as review, running(review) as port:
        found = Tabs(review, port, chromium)
        yield found
        for context in chromium.contexts:
            context.close()
        assert found.said == []  # no error, no blocked script


def test_three_questions_are_answered_with_keys_alone(site: Tabs) -> None:
    one, two, three = site.review.settings(), site.review.bill(), site.review.made_up()
    page = site.page()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert one.id in page.evaluate("document.activeElement.href")
    page.keyboard.press("o")
    page.wait_for_url(f"**/{one.id}")
    armed(page, "#reject")
    page.keyboard.press("r")
    assert page.evaluate("document.activeElement.id") == "reject"
    page.keyboard.press("Tab")
    page.keyboard.type("a mail may not do that")
    page.keyboard.press("Enter")
    page.wait_for_url("**done=rejected")
    assert site.review.state(one) is State.REJECTED
    page.keyboard.press("n")
    page.wait_for_url(f"**/{two.id}")
    armed(page, "#typed")
    page.keyboard.press("a")
    page.keyboard.type(two.digest[7:13])
    page.keyboard.press("Enter")
    page.wait_for_url("**done=endorsed")
    assert site.review.state(two) is State.APPROVED
    page.keyboard.press("n")
    page.wait_for_url(f"**/{three.id}")
    page.keyboard.press("b")
    page.wait_for_url("**/bytes")
    page.keyboard.press("u")
    page.wait_for_url(f"**/{three.id}")
    armed(page, "#typed")
    page.keyboard.press("a")
    page.keyboard.type(three.digest[7:13])
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert "Only this call" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    page.wait_for_url("**done=approved")
    assert site.review.state(three) is State.APPROVED


def test_no_single_key_and_no_held_key_decides(site: Tabs) -> None:
    proposal = site.review.poisoned()
    page = site.card(site.page(), proposal)
    assert page.evaluate("document.activeElement === document.body")  # nothing has the focus
    armed(page, "#typed")
    for key in "abcdefghijklmnopqrstuvwxyz0123456789":
        if key in "beguzo":
            continue  # these lead to other pages
        page.keyboard.press(key)
        page.evaluate("document.activeElement.blur()")
    for key in ("Enter", "Space", "Control+Enter", "Shift+A", "Alt+a", "Control+a"):
        page.keyboard.press(key)
        page.evaluate("document.activeElement.blur()")
    assert site.review.state(proposal) is State.PENDING


def test_an_answer_waits_until_the_card_was_visible(site: Tabs) -> None:
    proposal = site.review.bill()
    page = site.page()
    stopped(page)
    site.card(page, proposal)
    page.fill("#typed", proposal.digest[7:13])
    button = page.locator("button[data-first]")
    assert button.get_attribute("aria-disabled") == "true"
    assert "after a moment" in page.locator("[data-arm-state]").inner_text()
    button.click(force=True)
    assert site.review.state(proposal) is State.PENDING
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    page.clock.run_for(750)
    assert button.get_attribute("aria-disabled") == "false"
    page.evaluate("window.dispatchEvent(new Event('resize'))")  # what moved is shut again
    assert button.get_attribute("aria-disabled") == "true"
    page.clock.run_for(750)
    time.sleep(0.8)  # the server has its own clock
    button.click()
    page.wait_for_url("**done=endorsed")


def test_a_long_value_is_opened_before_a_yes(site: Tabs) -> None:
    proposal = site.review.forged("long", "x" * 6_000 + " PAYLOAD")
    page = site.card(site.page(), proposal)
    page.fill("#typed", proposal.digest[7:13])
    page.locator("button[data-first]").click()
    page.locator("[data-arm-state]", has_text="Open every long value").wait_for()
    assert site.review.state(proposal) is State.PENDING
    for long in page.locator("details[data-long] > summary").all():
        long.click()
    page.locator("button[data-first]").click()
    page.wait_for_url("**done=endorsed")


def test_a_forged_card_stays_inside_its_place(site: Tabs) -> None:
    page = site.card(site.page(), site.review.forged())
    assert page.title() != "owned"
    assert page.locator("h1").count() == 1
    assert page.locator("img, script:not([src])").count() == 0
    holder = page.locator("bdi.content", has_text="Approved by the administrator").first
    card = page.locator("article.card").bounding_box()
    inside = holder.bounding_box()
    assert inside["x"] >= card["x"]
    assert inside["x"] + inside["width"] <= card["x"] + card["width"] + 1
    with pytest.raises(Exception, match="TrustedHTML"):
        page.evaluate("document.body.innerHTML = '<b>x</b>'")
    site.said.clear()  # the browser has told of that


def test_hidden_text_has_a_place_to_be_seen(site: Tabs) -> None:
    page = site.card(site.page(), site.review.forged("bidi", BIDI))
    seen = page.locator("b.escape", has_text="U+202E").first
    assert seen.is_visible()
    assert seen.bounding_box()["width"] > 20


def test_no_other_page_frames_these(site: Tabs) -> None:
    page = site.page()
    page.goto("about:blank")
    page.set_content(f'<iframe src="{site.url("/review")}" width=800 height=600></iframe>')
    page.wait_for_timeout(500)
    frame = page.frames[-1]
    assert "review" not in frame.url or "Waiting" not in (frame.content() or "")
    site.said.clear()  # the browser says that it refused


def test_a_card_that_is_decided_elsewhere_says_so_and_shuts(site: Tabs) -> None:
    proposal = site.review.bill()
    page = site.card(site.page(), proposal)
    armed(page, "#typed")
    boss = site.review.gateway.queue.reviewers.authenticate(site.review.token)
    site.review.gateway.queue.reject(proposal.id, boss, "other")
    page.locator("#live:not([hidden])").wait_for()
    assert "moved on" in page.locator("#live").inner_text()
    assert page.locator("button[data-first]").get_attribute("aria-disabled") == "true"


def test_the_queue_says_that_more_came(site: Tabs) -> None:
    page = site.page()
    page.wait_for_timeout(500)
    assert page.locator("#live").is_hidden()
    site.review.poisoned()
    page.locator("#live:not([hidden])").wait_for()
    page.locator("#live a").click()
    assert page.locator("[data-row]").count() == 1


def test_everything_works_without_scripts(site: Tabs) -> None:
    proposal = site.review.bill()
    page = site.card(site.page(java_script_enabled=False), proposal)
    page.fill("#typed", proposal.digest[7:13])
    time.sleep(0.8)
    page.locator("button[data-first]").click()
    page.wait_for_url("**done=endorsed")
    assert site.review.state(proposal) is State.APPROVED


def test_focus_goes_through_everything_in_order_and_is_seen(site: Tabs) -> None:
    page = site.card(site.page(), site.review.bill())
    names = []
    for _ in range(40):
        page.keyboard.press("Tab")
        names.append(
            page.evaluate("(document.activeElement.textContent || document.activeElement.name).trim().slice(0, 24)")
        )
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        if page.evaluate("document.activeElement !== document.body"):
            assert style != "none", names[-1]
    assert names[0] == "Skip to the content"
    order = [
        names.index(name) for name in ("Show the whole context o", "Raw bytes", "Accept the data for this", "Reject")
    ]
    assert order == sorted(order)
    unnamed = page.evaluate(
        "[...document.querySelectorAll('input:not([type=hidden]), select, button, a')]"
        ".filter((n) => !(n.labels?.length || n.textContent.trim() || n.getAttribute('aria-label'))).length"
    )
    assert unnamed == 0


def paths(review: Review) -> dict[str, str]:
    """Return every page, with something on it."""
    one = review.poisoned()
    second = review.poisoned(number="c2", body="A reply about the report")
    review.answer(review.bill(), note="asked Power Co on the phone")
    filed = review.filed()
    review.answer(filed, "mandate")
    made_up, critical = review.made_up(), review.settings()
    forged, bidi = review.forged(), review.forged("hidden", BIDI)
    review.bill("second")
    long = review.forged("long", "Dear all, " * 700 + "and pay eve@evil.example")
    items = {"card": one, "mandate": filed, "made-up": made_up, "critical": critical, "forged": forged}
    items |= {"hidden": bidi, "diff": second, "long": long}
    found = {name: f"/review/items/{item.id}" for name, item in items.items()}
    found |= {"queue": "/review", "equal": f"/review/equal/{one.id}", "bytes": f"/review/items/{bidi.id}/bytes"}
    found |= {name: f"/review/{name}" for name in ("history", "endorsements", "mandates", "standing", "audit")}
    return {**found, "run": "/review/run?thread=lunch", "stop": "/review/items/none"}


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 390),
        ("dark", 1_200),
        pytest.param("light", 1_200, marks=pytest.mark.nightly),
        pytest.param("dark", 390, marks=pytest.mark.nightly),
    ],
)
def test_pages_fit_and_can_be_read(scheme: str, width: int, site: Tabs) -> None:
    where = paths(site.review)
    site.review.desk.sessions.clock = time.time
    page = site.page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    backgrounds = set()
    for name, path in where.items():
        page.goto(site.url(path))
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate(CONTRAST) == [], name
        backgrounds.add(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
    assert len(backgrounds) == 1
    (found,) = backgrounds
    assert (int(found[4:].split(",")[0]) < 64) is (scheme == "dark")
    small = page.evaluate(
        "[...document.querySelectorAll('main button:not(.plain)')]"
        ".filter((n) => n.getBoundingClientRect().height < 44).length"
    )
    assert small == 0
    page.evaluate(
        "document.querySelector('h1').style.color = getComputedStyle(document.documentElement).backgroundColor"
    )
    assert page.evaluate(CONTRAST)  # what cannot be read is found
    site.said.clear()  # the page that is not there


@pytest.mark.parametrize("language", ["de", "zh"])
def test_longer_languages_fit_too(language: str, site: Tabs) -> None:
    where = paths(site.review)
    site.review.desk.sessions.clock = time.time
    page = site.page(viewport={"width": 390, "height": 844}, locale=language)
    for name in ("queue", "card", "equal", "mandates", "audit"):
        page.goto(site.url(where[name]))
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        assert page.evaluate("document.documentElement.lang") == language
