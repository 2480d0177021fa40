"""Deciding does not depend on how much was read: counted in calls of functions, which no busy machine changes."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from checkvalve.corpora.mixed import mixed_results

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("speed_of_decide", ROOT / "benchmarks" / "decide.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def calls_of_functions(work: Any) -> int:
    count = 0

    def note(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("isolated", [False, True])
def test_a_decision_does_the_same_work_over_ten_times_the_context(bench: ModuleType, isolated: bool) -> None:
    small, large = (bench.indexed(list(mixed_results(size))) for size in (80_000, 800_000))
    proposed = list(bench.proposals(small, 2))
    for index in (small, large):  # what is remembered of the words of the user is no part of the question
        bench.decisions(index, proposed, isolated=isolated)
    work = {
        name: calls_of_functions(lambda index=index: bench.decisions(index, proposed, isolated=isolated))
        for name, index in (("small", small), ("large", large))
    }
    assert work["large"] < 1.5 * work["small"], work


def test_tables_and_chart_are_those_of_the_results() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/decide.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


def test_the_published_results_have_every_size_and_part() -> None:
    results = json.loads((ROOT / "benchmarks" / "decide" / "results.json").read_text(encoding="utf-8"))
    assert [row["bytes"] for row in results["sizes"]] == [10_000, 100_000, 1_000_000, 3_000_000, 10_000_000]
    assert set(results["sizes"][0]["by_kind"]) == set(results["sizes"][-1]["isolated_by_kind"])
    assert {"ours", "cedar"} <= set(results["policy"])
