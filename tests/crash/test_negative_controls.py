"""Builds that are broken on purpose, each in a process of its own: the suite must notice every one of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.broken import BUILDS
from tests.crash.nursery import Nursery

PROGRAM = Path(__file__).with_name("builds.py")
DEFENCES = "tests/conformance/test_defences.py"
CYCLES = "tests/crash/test_cycles.py"
KEYS = "tests/conformance/test_key_retries.py"
NOTICED = {  # build: what must notice it, and what it must say
    "no_compare": (f"{DEFENCES}::test_who_read_a_row_before_it_moved_on_cannot_move_it[sqlite]", "DID NOT RAISE"),
    "no_used_grant": (f"{DEFENCES}::test_a_permit_that_was_used_serves_no_second_claim[sqlite]", "DID NOT RAISE"),
    "no_unique_attempt": (f"{DEFENCES}::test_there_is_one_attempt_for_each_call[sqlite]", "DID NOT RAISE"),
    "no_fence": (f"{DEFENCES}::test_who_lost_its_fence_records_nothing[sqlite]", "mine"),
    "no_rehash": (f"{DEFENCES}::test_a_call_whose_bytes_were_changed_does_not_run[sqlite]", "it ran with"),
    "waking_is_a_yes": (f"{DEFENCES}::test_waking_a_call_that_waits_runs_nothing[sqlite]", "it ran"),
    "sign_before_store": (f"{DEFENCES}::test_what_was_rolled_back_was_not_signed[sqlite]", "LogTamperedError"),
    "no_previous": (
        f"{DEFENCES}::test_an_event_that_does_not_follow_the_one_before_is_not_signed[sqlite]",
        "DID NOT RAISE",
    ),
    "no_single_use": (f"{CYCLES}::test_eight_processes_race_for_forty_approvals[sqlite]", "twice"),
    "retry_unknown": (
        f"{CYCLES}::test_replicas_that_are_killed_at_any_moment_do_nothing_twice_and_lose_nothing[sqlite]",
        "two effects of one approval|two attempts of one approval|killed inside the window|a yes was lost",
    ),
    "other_key": (f"{KEYS}::test_a_late_end_of_the_first_owner_is_not_recorded_over_the_second[sqlite]", "first.key"),
    "no_bound": (f"{KEYS}::test_after_so_many_tries_it_stays_for_a_person[sqlite]", "assert 4 == 3"),
    "early_no": (
        "tests/gateway/test_probes.py::test_that_nothing_is_there_counts_once_no_request_can_be_on_its_way",
        "unknown",
    ),
    "no_fsync": ("tests/crash/test_power_cut.py::test_a_promise_outlives_the_power", "a promise was lost"),
}


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    made = Nursery(PROGRAM, tmp_path_factory.mktemp("builds") / "errors")
    yield made
    made.close()


def suite(nursery: Nursery, folder: Path, build: str, *tests: str) -> tuple[int, str]:
    """Run tests against a build in a process of its own; returns pytest's exit code and what it said."""
    out = folder / "out"
    end = nursery.wait(nursery.start({"build": build, "tests": tests, "out": str(out)}))
    return end, out.read_text()


@pytest.mark.parametrize(
    "build",
    [pytest.param(name, marks=pytest.mark.strace) if name == "no_fsync" else name for name in NOTICED],
)
def test_a_broken_build_is_noticed(build: str, nursery: Nursery, tmp_path: Path) -> None:
    test, words = NOTICED[build]
    end, said = suite(nursery, tmp_path, build, test)
    assert (end, "1 failed" in said) == (1, True), f"nobody noticed: {said[-1_500:]}"
    assert any(word in said for word in words.split("|")), said[-3_000:]


def test_a_sound_build_passes_in_the_same_way(nursery: Nursery, tmp_path: Path) -> None:
    end, said = suite(nursery, tmp_path, "", DEFENCES, "-k", "sqlite")
    assert end == 0, said[-3_000:]


def test_every_build_is_tried() -> None:
    assert {"", *NOTICED} == set(BUILDS)
