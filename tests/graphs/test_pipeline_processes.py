"""One run in several processes: paused in one, decided in another, resumed in a third; raced, and killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkvalve.approvals.records import State
from tests.graphs.pipeline_world import durable

PROGRAM = Path(__file__).with_name("pipeline_world.py")
TASK = "Please send a mail to whoever wrote to me"
SENT = ["send eve@evil.example: hello"]


def process(folder: Path, what: str, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(folder), what, name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )


def said(running: subprocess.Popen[str]) -> dict[str, str]:
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0, err[-2000:]
    found: dict[str, str] = json.loads(out) if out else {}
    return found


def paused(folder: Path) -> str:
    with durable(folder) as (_, pipeline):
        return pipeline.start(TASK, thread="t").waiting[0]


@pytest.mark.claim("C4")
def test_paused_here_approved_there_resumed_elsewhere(tmp_path: Path) -> None:
    approval = paused(tmp_path)
    assert said(process(tmp_path, "resume", "t")) == {"status": "waiting", "answer": None}
    said(process(tmp_path, "approve", approval))
    assert said(process(tmp_path, "resume", "t")) == {"status": "answered", "answer": "done"}
    assert said(process(tmp_path, "resume", "t")) == {"status": "answered", "answer": "done"}
    with durable(tmp_path) as (world, pipeline):
        assert world.effects == SENT
        assert world.queue.get(approval).state is State.SUCCEEDED
        assert pipeline.look("t").answer == "done"


@pytest.mark.claim("C4")
def test_a_race_of_resumers_runs_it_once(tmp_path: Path) -> None:
    approval = paused(tmp_path)
    with durable(tmp_path) as (world, _):
        world.approve(approval)
    racers = [process(tmp_path, "resume", "t") for _ in range(3)]
    for racer in racers:
        _, err = racer.communicate(timeout=120)
        assert racer.returncode == 0 or "LeaseHeldError" in err, err[-2000:]
    with durable(tmp_path) as (world, pipeline):
        assert pipeline.resume("t").status == "answered"
        assert world.effects == SENT


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    ("step", "effects", "state"),
    [
        ("claim:moved", SENT, State.SUCCEEDED),  # nothing was committed: the next one runs it
        ("claimed", [], State.UNKNOWN),  # it may have happened: nobody tries again
        ("effect_done", SENT, State.UNKNOWN),
        ("recorded", SENT, State.SUCCEEDED),
    ],
)
def test_killed_at_a_step_the_run_ends_and_the_effect_is_not_repeated(
    tmp_path: Path, step: str, effects: list[str], state: State
) -> None:
    approval = paused(tmp_path)
    with durable(tmp_path) as (world, _):
        world.approve(approval)
    dying = process(tmp_path, f"die:{step}", "t")
    dying.communicate(timeout=120)
    assert dying.returncode == -9
    assert said(process(tmp_path, "resume", "t")) == {"status": "answered", "answer": "done"}
    with durable(tmp_path) as (world, _):
        assert world.effects == effects
        assert world.queue.get(approval).state is state
