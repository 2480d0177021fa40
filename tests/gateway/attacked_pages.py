"""Review pages of one gateway, and another browser at the same pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from checkvalve.gateway.web_pages import Site, create_pages
from tests.gateway.review_world import ORIGIN, Review, reviewing


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    with reviewing(tmp_path) as found:
        yield found


def another(review: Review) -> TestClient:
    """Return another browser at the same pages."""
    app = Site(create_pages(review.desk, review.gateway.settings))
    return TestClient(app, base_url=ORIGIN, follow_redirects=False, raise_server_exceptions=False)
