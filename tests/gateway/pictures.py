"""The pictures of the documentation: which there are, which page each one is of, and how one is taken.

A picture is a page as a browser draws it, one window of it. With ``SCREENSHOTS`` set they go to ``docs/screenshots``,
else to a folder of the test.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from tests.gateway.review_world import Review
from tests.gateway.test_web_browser import CONTRAST, Tabs, running

ROOT: Final = Path(__file__).resolve().parents[2]
SHOWN: Final = ROOT / "docs" / "screenshots"
CARD: Final = "/items/{name}"
PICTURES: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            *("card", "critical", "diff", "edited", "forged", "hidden", "long", "made-up", "mandate", "stop", "talk"),
            *("break-glass", "asked-by", "pins", "pins-moved", "preview", "quorum", "receipt", "redacted", "revoke"),
            *("settle", "undo", "undo-asked"),
        ),
        CARD,
    ),
    "account": "/me",
    "after-looks": "/afterlooks",
    "attention": "/attention",
    "audit": "/audit",
    "bytes": "/items/{name}/bytes",
    "damaged": "",
    "edit": "/items/{name}/edit",
    "emergency-queue": "",
    "endorsements": "/endorsements",
    "equal": "/equal/{name}",
    "history": "/history",
    "join": "/join/{code}",
    "mandates": "/mandates",
    "oncall": "/oncall",
    "people": "/people",
    "programs": "/people",
    "prove": "/prove",
    "queue": "",
    "report": "/report",
    "revealed": "/items/{name}/reveal",
    "rule-change": "/rules/{name}",
    "rules": "/rules",
    "rules-text": "/rules/{name}/text/{part}",
    "run": "/run",
    "seed-revealed": "/attention/{name}",
    "setup": "/setup/{code}",
    "setup-token": "/setup/{code}",
    "signin": "/signin",
    "standing": "/standing",
    "standing-draft": "/items/{name}/standing",
    "standing-in": "/delegations",
    "standing-rule": "/standing/{name}",
    "standing-trial": "/items/{name}/standing",
    "stepup": "/items/{name}/yes",
    "token": "/me/token",
}
"""The name of each picture, and the route of the page that it shows, without ``/review``."""
SMALL: Final[dict[str, Any]] = {"viewport": {"width": 390, "height": 844}}
"""A telephone."""
VARIANT: Final = re.compile(r"(-de|-zh)?(-dark)?(-small)?$")
"""The same picture in another language, in the dark, or on a telephone."""
NO_PICTURE: Final[dict[str, str]] = {
    "/changes": "what the script asks for: no page",
    "/events": "what the script listens to: no page",
    "/oidc/callback": "leads on to another page at once",
    "/items/{name}/receipt": "a file to keep: no page",
}
"""Routes that are looked at and have no picture, and why."""


def of(name: str) -> str:
    """Return the name of a picture without what says that it is a variant."""
    return VARIANT.sub("", name)


def folder(beside: Path) -> Path:
    """Return where pictures go: to the documentation when that is asked for, else ``beside`` the test."""
    return SHOWN if os.environ.get("SCREENSHOTS") else beside


def shoot(page: Any, place: Path, name: str, at: str = "") -> None:
    """Take a picture of one window of a page that fits and can be read; ``at`` is what stands at its top."""
    where = re.sub(r"\{\w+\}", "[^/]+", PICTURES[of(name)])
    assert re.fullmatch(f"/review{where}", urlsplit(page.url).path), (name, page.url)
    page.evaluate(f"document.querySelector({at!r})?.scrollIntoView()" if at else "window.scrollTo(0, 0)")
    if at:
        assert page.locator(at).first.is_visible(), (name, at)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), f"{name} is too wide"
    assert page.evaluate(CONTRAST) == [], name
    if place == SHOWN:
        page.wait_for_timeout(900)  # until the answers are open; nothing depends on it
    page.screenshot(path=place / f"{name}.png", animations="disabled")


@contextmanager
def tabs_over(review: Review, browser: Any) -> Iterator[Tabs]:
    """Serve the pages of a world, and close every tab at the end."""
    with running(review) as port:
        try:
            yield Tabs(review, port, browser)
        finally:
            for context in list(browser.contexts):
                context.close()


__all__ = ["CARD", "NO_PICTURE", "PICTURES", "SHOWN", "SMALL", "folder", "of", "shoot", "tabs_over"]
