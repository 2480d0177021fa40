from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.approvals.store import Store
from tests.approvals.made import Desk, HandClock


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/data/checkvalve.db"


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
