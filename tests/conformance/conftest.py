"""Every database that the store supports passes the same suite; ``tests.databases.KINDS`` names them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from checkvalve.approvals.store import Store
from tests.approvals.made import Desk, HandClock
from tests.databases import Databases


@pytest.fixture
def url(databases: Databases) -> str:
    """Return the address of an empty database."""
    return databases.make(ready=True)


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
