"""A gateway over real files, tools that write what they did into a file, and a scripted model."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def _register(name: str, file: Path) -> None:
    """Make a helper importable by its bare name here and in the processes that the tests start."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)


_register("fakes", HERE.parent / "fakes.py")
_register("world", HERE / "world.py")

import world  # noqa: E402

from checkvalve.gateway.app import Gateway  # noqa: E402


@pytest.fixture
def place(tmp_path: Path) -> world.World:
    """Return a folder with settings, manifest and an empty world."""
    return world.World.create(tmp_path)


@pytest.fixture
def gateway(place: world.World) -> Iterator[Gateway]:
    """Return an enforcing gateway over files of this test."""
    with place.open() as opened:
        yield opened
