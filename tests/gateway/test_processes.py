"""Pause here, decide there, resume elsewhere: with real processes over real files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.records import State
from tests.gateway import world
from tests.gateway.world import World

WORKER = Path(__file__).resolve().parent / "world.py"


def environment(place: World, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CHECKVALVE_")}
    return {**kept, "HOME": str(place.folder), **more}


def worker(place: World, what: str, thread: str = "t") -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), str(place.folder), what, thread]
    return subprocess.Popen(command, env=environment(place), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def checkvalve(place: World, *args: str, **more: str) -> str:
    command = [sys.executable, "-m", "checkvalve.gateway", "--config", str(place.config), *args]
    ran = subprocess.run(
        command, env=environment(place, **more), capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def approve_here(place: World) -> None:
    with place.open() as gateway:
        reviewer = gateway.queue.reviewers.authenticate(gateway.queue.reviewers.add("ann"))
        (proposal,) = gateway.queue.list([State.PENDING])
        gateway.queue.approve(proposal.id, reviewer, proposal.digest)


def approve_there(place: World) -> str:
    token = checkvalve(place, "approvals", "reviewer", "add", "ann").strip()
    (row,) = json.loads(checkvalve(place, "approvals", "list", "--json"))
    digest = row["digest"].removeprefix("sha256:")[:8]
    args = ("approvals", "approve", row["id"], "--digest", digest)
    checkvalve(place, *args, CHECKVALVE_REVIEWER_TOKEN=token)
    return str(row["id"])


@pytest.mark.claim("C2", "C4")
def test_paused_in_one_process_decided_in_a_second_and_resumed_in_a_third(place: World) -> None:
    started = finish(worker(place, "start"))
    (paused,) = started["paused"]
    assert place.effects == ["read"]
    assert finish(worker(place, "resume"))["paused"] == [paused]
    assert place.effects == ["read"]
    assert approve_there(place) == paused["approval_id"]
    assert finish(worker(place, "resume")) == {"last": "sent to thief@evil.example", "type": "tool", "paused": []}
    assert place.effects == ["read", "send thief@evil.example: all"]
    head = place.folder / "head"
    head.write_text(checkvalve(place, "audit", "head"))
    assert "ok" in checkvalve(place, "audit", "verify", "--head", str(head))


@pytest.mark.claim("C4")
def test_processes_that_resume_one_approval_together_run_it_once(place: World) -> None:
    world.start(place, "t")
    approve_here(place)
    racers = [worker(place, "resume-barrier") for _ in range(3)]
    (place.folder / "go").touch()
    ends = [finish(racer) for racer in racers]
    assert place.effects == ["read", "send thief@evil.example: all"]
    assert {end["last"] for end in ends} == {"sent to thief@evil.example"}


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    ("step", "sent", "last"),
    [
        ("revalidated", 1, "sent to thief@evil.example"),
        ("claimed", 0, "[unknown]"),
        ("effect_done", 1, "[unknown]"),
        ("recorded", 1, "sent to thief@evil.example"),
    ],
)
def test_killed_at_a_step_the_effect_happens_at_most_once_and_the_state_says_what_is_known(
    step: str, sent: int, last: str, place: World
) -> None:
    world.start(place, "t")
    approve_here(place)
    dead = worker(place, f"die:{step}")
    dead.communicate(timeout=120)
    assert dead.returncode == -9
    assert last in world.resume(place, "t")["messages"][-2].content
    assert len([effect for effect in place.effects if effect.startswith("send")]) == sent
