"""The world that pipelines are tried in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.graphs.pipeline_world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.store.close()
