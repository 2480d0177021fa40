"""Runs tests against builds that are broken on purpose, each in a process forked from one that has imported all."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # as a program it is in no package

import hypothesis
import pytest

from tests import databases
from tests.approvals import made
from tests.crash import broken, nursery

ROOT = Path(__file__).resolve().parents[2]
PRELOADED = (hypothesis, databases, made)
"""What every run would import again."""
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-p", "pytest_socket")


def run(job: dict[str, Any]) -> int:
    """Run the tests of a job against its build; what pytest prints goes to a file."""
    out = os.open(job["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.environ["CHECKVALVE_TEST_BUILD"] = job["build"]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # the plugins of other packages take longer than a test
    os.chdir(ROOT)
    end = int(pytest.main([*OPTIONS, *job["tests"]], plugins=[broken]))
    sys.stdout.flush()
    return end


if __name__ == "__main__":
    nursery.serve(run)
