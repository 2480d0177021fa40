"""Every database that the store supports passes the same suite: a new one is a new entry of ``DATABASES``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.approvals.store import Store
from tests.approvals.made import Desk, HandClock

DATABASES = ("sqlite",)


@pytest.fixture(params=DATABASES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of an empty database of each kind."""
    assert request.param == "sqlite"
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url) as opened:
        yield opened


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def desk(store: Store, clock: HandClock) -> Desk:
    return Desk.at(store, clock)
