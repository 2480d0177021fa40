"""A message beside a call that waits, over HTTP and in a terminal: it is a run of its own, of the same person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.approvals.records import State
from checkvalve.gateway import http_runs, worker
from tests.gateway.runs_world import EXAMPLES, TASK, Api, problem, serving
from tests.gateway.terminal import Terminal

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    monkeypatch.setattr(worker, "EVERY", 0.02)
    monkeypatch.setattr(http_runs, "_POLL", 0.02)
    with serving(tmp_path, on_new_message="allow-parallel") as running:
        yield running


def test_a_message_is_answered_beside_the_question_and_a_late_yes_goes_to_its_run(api: Api) -> None:
    api.start(thread="t1")
    asked = api.wait("t1", "waiting")["waiting"]
    said = api.client.post("/runs/t1/messages", json={"text": TASK, "message_id": "m2"}, headers=api.ann)
    assert (said.status_code, said.json()["thread"]) == (202, "t1~2")
    beside = api.wait("t1~2", "waiting")["waiting"]
    assert beside != asked
    again = api.client.post("/runs/t1/messages", json={"text": TASK, "message_id": "m2"}, headers=api.ann)
    assert again.json()["thread"] == "t1~2"
    queue = api.gateway.queue
    boss = queue.reviewers.authenticate(queue.reviewers.add("boss"))
    row = queue.get(asked[0]["approval"])
    queue.approve(row.id, boss, row.digest)
    assert api.wait("t1", "answered")["answer"]
    assert api.wait("t1~2", "waiting")["waiting"] == beside, "that yes is none here"
    assert queue.get(beside[0]["approval"]).state is State.PENDING


def test_it_belongs_to_whoever_the_run_belongs_to(api: Api) -> None:
    api.start(thread="t1")
    api.wait("t1", "waiting")
    api.client.post("/runs/t1/messages", json={"text": TASK}, headers=api.ann)
    api.wait("t1~2", "waiting")
    for path in ("/runs/t1~2", "/runs/t1~2/events", "/threads/t1~2/interrupts"):
        assert problem(api.client.get(path, headers=api.bob)) == (404, "no_such_run")
    taken = api.client.post("/runs", json={"task": TASK, "thread": "t2~2"}, headers=api.bob)
    assert taken.status_code == 422, "nobody takes such a name beforehand"


def test_too_many_are_refused_and_nothing_is_kept(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkvalve.approvals.task_contexts.MAX_CONTEXTS", 1)
    api.start(thread="t1")
    api.wait("t1", "waiting")
    said = api.client.post("/runs/t1/messages", json={"text": TASK}, headers=api.ann)
    assert problem(said) == (409, "too_many_tasks")


def test_the_terminal_says_where_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHECKVALVE_DATABASE_URL", f"sqlite:///{tmp_path}/gate.db")
    monkeypatch.setenv("CHECKVALVE_ON_NEW_MESSAGE", "allow-parallel")
    monkeypatch.chdir(EXAMPLES)
    run = ("run", TASK, "--thread", "t1", "--tools", "./run_tools.py", "--tools", "run_tools.yaml")
    models = ("--reader", "scripted:run_reader.jsonl", "--actor", "scripted:run_actor.jsonl", "--requester", "me")
    terminal = Terminal(capsys, monkeypatch)
    assert terminal(*run, *models)[0] == 3
    code, out, err = terminal(*run, *models)
    assert code == 3
    assert "--thread 't1~2'" in " ".join((out + err).split())
