"""Passkeys in Chromium with a virtual authenticator: added, used to sign in and to approve, and refused elsewhere.

The pictures of the account's pages for the documentation are taken here, as in ``test_web_browser``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.passkey_wire import Site as PasskeySite
from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.records import State
from checkvalve.approvals.verify import verify
from tests.gateway.pictures import folder, shoot
from tests.gateway.review_world import Review, reviewing
from tests.gateway.test_web_browser import CONTRAST, PATIENCE, chromium, running  # noqa: F401  # a fixture

pytestmark = [pytest.mark.browser, pytest.mark.enable_socket, pytest.mark.claim("C4")]

HARMLESS = ("Password forms should", "status of 401", "Clear-Site-Data")
"""What Chromium says of a refused sign-in, and of signing out."""
SMALL = (
    "[...document.querySelectorAll('main button:not(.plain)')]"
    ".filter((n) => n.checkVisibility() && n.getBoundingClientRect().height < 44).length"
)


class Desk:
    """The pages at localhost, and tabs in front of them."""

    def __init__(self, review: Review, port: int, browser: Any) -> None:
        self.review, self.browser = review, browser
        self.origin = f"http://localhost:{port}"
        review.desk.origin = self.origin
        review.desk.door.site = PasskeySite("localhost", self.origin)
        self.said: list[str] = []

    def tab(self, *, device: bool = True, **options: Any) -> Any:
        """Open a tab, with an authenticator that verifies its person, unless told otherwise."""
        context = self.browser.new_context(**{"viewport": {"width": 1_200, "height": 900}, "locale": "en", **options})
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        if device:
            self.plug(page)
        return page

    def plug(self, page: Any, *, verified: bool = True) -> tuple[Any, str]:
        wire = page.context.new_cdp_session(page)
        wire.send("WebAuthn.enable")
        wanted = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
            "isUserVerified": verified,
            "automaticPresenceSimulation": True,
        }
        made = wire.send("WebAuthn.addVirtualAuthenticator", {"options": wanted})
        return wire, made["authenticatorId"]

    def enter(self, page: Any) -> Any:
        page.goto(f"{self.origin}/review")
        page.fill("input[name=token]", self.review.token)
        page.click("main button")
        page.wait_for_url("**/review")
        return page

    def add(self, page: Any, label: str = "work laptop") -> None:
        page.goto(f"{self.origin}/review/me")
        form = page.locator("form[data-passkey=create]")
        form.locator("input[name=label]").fill(label)
        form.locator("button").click()
        page.wait_for_url("**done=passkey.added")


@pytest.fixture
def desk(tmp_path: Path, chromium: Any) -> Iterator[Desk]:  # noqa: F811  # that fixture
    (tmp_path / "rules.yaml").write_text("everywhere: {step_up: true}")
    with reviewing(tmp_path, review_rules=tmp_path / "rules.yaml") as review, running(review) as port:
        found = Desk(review, port, chromium)
        yield found
        for context in chromium.contexts:
            context.close()
        assert not [text for text in found.said if not any(part in text for part in HARMLESS)]


def test_a_passkey_is_added_signs_in_and_approves(desk: Desk) -> None:
    page = desk.enter(desk.tab())
    desk.add(page)
    assert desk.review.desk.door.passkeys.of("boss")[0].label == "work laptop"
    page.locator("form.who button").click()
    page.wait_for_url("**/signin")
    page.locator("form[data-passkey=get] button").click()
    page.wait_for_url("**/review")
    proposal = desk.review.bill()
    page.goto(f"{desk.origin}/review/items/{proposal.id}")
    page.fill("#typed", proposal.digest[7:13])
    page.locator("button[data-first]").click()
    page.get_by_role("heading", name="One more proof").wait_for()
    assert desk.review.state(proposal) is State.PENDING
    page.get_by_role("button", name="Approve with my passkey").click()
    page.wait_for_url("**done=endorsed")
    assert desk.review.state(proposal) is State.APPROVED
    assert verify(desk.review.gateway.store).ok


def test_a_device_that_does_not_verify_its_person_gets_nobody_in(desk: Desk) -> None:
    page = desk.tab(device=False)
    wire, name = desk.plug(page)
    desk.enter(page)
    desk.add(page)
    page.locator("form.who button").click()
    page.wait_for_url("**/signin")
    wire.send("WebAuthn.setUserVerified", {"authenticatorId": name, "isUserVerified": False})
    page.locator("form[data-passkey=get] button").click()
    page.locator("[data-said]:not([hidden])").wait_for()
    assert "gave no passkey" in page.locator("[data-said]").inner_text()
    assert page.url.endswith("/signin")


def test_a_passkey_of_nobody_is_refused_in_the_same_words(desk: Desk) -> None:
    page = desk.enter(desk.tab())
    desk.add(page)
    (key,) = desk.review.desk.door.passkeys.of("boss")
    boss = desk.review.gateway.queue.reviewers.authenticate(desk.review.token)
    proof = Proof(boss, "link", desk.review.gateway.queue.clock())
    desk.review.desk.door.passkeys.remove(boss, key.credential, proof)
    page.locator("form.who button").click()
    page.wait_for_url("**/signin")
    page.locator("form[data-passkey=get] button").click()
    page.locator("p[role=alert].warn").first.wait_for()
    assert "were not accepted" in page.locator("main").inner_text()


def test_without_scripts_the_other_ways_work(desk: Desk) -> None:
    page = desk.enter(desk.tab(device=False, java_script_enabled=False))
    page.goto(f"{desk.origin}/review/me")
    assert page.locator("form[data-passkey]").is_hidden()
    proposal = desk.review.bill()
    page.goto(f"{desk.origin}/review/items/{proposal.id}")
    page.fill("#typed", proposal.digest[7:13])
    time.sleep(0.8)
    page.locator("button[data-first]").click()
    page.fill("input[name=secret]", desk.review.token)
    page.get_by_role("button", name="Approve", exact=True).click()
    page.wait_for_url("**done=endorsed")


def places(desk: Desk, page: Any) -> dict[str, str]:
    """Return the pages of accounts with something on them."""
    boss = desk.review.gateway.queue.reviewers.authenticate(desk.review.token)
    for name in ("ann@corp.example", "ben@corp.example"):
        desk.review.desk.door.invitations.invite(name, by=boss)
    desk.add(page)
    code = desk.review.desk.door.invitations.invite("cleo@corp.example", by=boss)
    return {
        "account": "/review/me",
        "people": "/review/people",
        "prove": "/review/prove",
        "join": f"/review/join/{code}",
        "signin": "/review/signin",
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1_200])
def test_the_pages_of_accounts_fit_and_can_be_read(scheme: str, width: int, desk: Desk, tmp_path: Path) -> None:
    page = desk.enter(desk.tab(viewport={"width": width, "height": 900}, color_scheme=scheme))
    wanted = (scheme, width) in {("light", 1_200), ("dark", 390)}
    place = folder(tmp_path) if wanted else tmp_path
    for name, path in places(desk, page).items():
        page.goto(desk.origin + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate(CONTRAST) == [], name
        assert page.evaluate(SMALL) == 0, name
        shoot(page, place, name if scheme == "light" else f"{name}-dark-small")


@pytest.mark.parametrize("language", ["de", "zh"])
def test_longer_languages_fit_on_the_pages_of_accounts_too(language: str, desk: Desk, tmp_path: Path) -> None:
    page = desk.enter(desk.tab(viewport={"width": 390, "height": 844}, locale=language))
    for name, path in places(desk, page).items():
        page.goto(desk.origin + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        assert page.evaluate("document.documentElement.lang") == language
        page.screenshot(path=tmp_path / f"{name}-{language}.png", full_page=True)
