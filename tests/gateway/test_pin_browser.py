"""What is pinned, in Chromium: digests fit on a small screen, and what moved can be read in light and dark."""

from __future__ import annotations

from typing import Any

import pytest

from checkvalve.approvals.records import State
from tests.gateway import review_world
from tests.gateway.review_world import Review
from tests.gateway.test_pin_surfaces import MANIFEST, moved, pinned
from tests.gateway.test_web_browser import CONTRAST, Tabs, chromium, site  # noqa: F401  # fixtures

pytestmark = [pytest.mark.browser, pytest.mark.enable_socket, pytest.mark.claim("C4")]


@pytest.fixture(autouse=True)
def _pinning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review_world, "MANIFEST", MANIFEST)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1_280])
def test_versions_fit_and_can_be_read(scheme: str, width: int, site: Tabs) -> None:  # noqa: F811
    review: Review = site.review
    page: Any = site.page(color_scheme=scheme, viewport={"width": width, "height": 900})
    for made in (pinned, moved):
        row = made(review)
        page.goto(site.url(f"/review/items/{row.id}"))
        assert "Pinned" in page.inner_text("main")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), row.state
        assert page.evaluate(CONTRAST) == []
        assert row.state is (State.PENDING if made is pinned else State.INVALIDATED)
