"""A gateway over real files, tools that write what they did into a file, and a scripted model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.gateway.app import Gateway
from tests.gateway.world import World


@pytest.fixture
def place(tmp_path: Path) -> World:
    """Return a folder with settings, manifest and an empty world."""
    return World.create(tmp_path)


@pytest.fixture
def gateway(place: World) -> Iterator[Gateway]:
    """Return an enforcing gateway over files of this test."""
    with place.open() as opened:
        yield opened
