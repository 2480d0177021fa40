"""The HTTP API of runs, without sockets: bounds, problems, events that go on, and the worker behind it."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.errors import LeaseHeldError, StoreUnreachableError
from checkvalve.approvals.records import State
from checkvalve.filters.labels import CLEAN
from checkvalve.gateway import http_runs, worker
from checkvalve.gateway.http_problems import MAX_BODY
from checkvalve.gateway.http_tokens import ApiTokens
from checkvalve.gateway.run_log import RunLog, RunRecord
from tests.gateway.runs_world import TASK, Api, problem, serving


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "EVERY", 0.02)
    monkeypatch.setattr(http_runs, "_POLL", 0.02)


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with serving(tmp_path) as running:
        yield running


def test_a_run_waits_is_decided_elsewhere_and_is_answered(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    accepted = api.start(thread="t1")
    assert accepted.status_code == 202
    assert accepted.headers["location"] == "/runs/t1"
    waiting = api.wait("t1", "waiting")
    (question,) = waiting["waiting"]
    assert (question["tool"], question["rule"]) == ("send_mail", "untrusted-target")
    assert waiting["answer"] is None
    api.decide()  # in the queue, as any process may: the worker finds out
    answered = api.wait("t1", "answered")
    assert answered["answer"].startswith("Ann knows")
    assert answered["bits"]["read_mail"] > 0
    kinds = [event["kind"] for _, event in api.events("t1")]
    assert (kinds[0], kinds[-1]) == ("task_started", "answered")
    assert "waiting" in kinds
    logged = capsys.readouterr().err
    for content in ("Server down", "evil.example", "urgent", "Ann knows"):
        assert content not in logged


def test_events_go_on_where_a_connection_broke(api: Api) -> None:
    api.start(thread="t1")
    api.wait("t1", "waiting")
    api.decide(yes=False)
    api.wait("t1", "answered")
    every = api.events("t1")
    middle = every[4][0]
    assert api.events("t1", **{"Last-Event-ID": str(middle)}) == every[5:]
    over = api.client.get("/runs/t1/events", headers={**api.ann, "Last-Event-ID": str(every[-1][0])})
    assert over.status_code == 204  # a browser does not come back after that
    assert not any("evil.example" in json.dumps(event) for _, event in every)
    for number in ("x", "-1", "1.5", "9223372036854775808", "9" * 23):
        refused = api.client.get("/runs/t1/events", headers={**api.ann, "Last-Event-ID": number})
        assert problem(refused) == (400, "no_such_event")


def test_a_stream_that_is_open_gets_what_happens_later(api: Api) -> None:
    api.start(thread="t1")
    api.wait("t1", "waiting")
    deciding = api.when_somebody_waits(api.decide)
    seen = api.events("t1")
    deciding.join()
    assert seen[-1][1]["kind"] == "answered"


@pytest.mark.parametrize("method", ["start", "look", "resume", "say", "watch"])
def test_everything_but_health_needs_a_token_and_its_scope(method: str, api: Api) -> None:
    api.start(thread="t1")
    calls: dict[str, Callable[[Any], Any]] = {
        "start": lambda h: api.client.post("/runs", json={"task": "x"}, headers=h),
        "look": lambda h: api.client.get("/runs/t1", headers=h),
        "resume": lambda h: api.client.post("/runs/t1/resume", headers=h),
        "say": lambda h: api.client.post("/runs/t1/messages", json={"text": "x"}, headers=h),
        "watch": lambda h: api.client.get("/runs/t1/events", headers=h),
    }
    call = calls[method]
    assert problem(call({})) == (401, "not_authenticated")
    assert call({}).headers["www-authenticate"] == "Bearer"
    for bad in ("Bearer x", "Bearer cvt_00_xx", "Basic eDp4", api.ann["Authorization"][:-1], "Bearer cvt_\u00e9_x"):
        assert problem(call({"Authorization": bad.encode("latin-1")})) == (401, "not_authenticated")
    if method in {"start", "resume", "say"}:
        assert problem(call(api.reading)) == (403, "not_allowed")
    if method != "start":
        assert problem(call(api.bob)) == (404, "no_such_run")  # not even that there is one
    api.wait("t1", "waiting", "answered")
    assert api.client.get("/healthz").json() == {"status": "ok"}


def test_a_name_belongs_to_who_took_it_first(api: Api) -> None:
    api.start(thread="t1")
    other = api.client.post("/runs", json={"task": "x", "thread": "t1"}, headers=api.bob)
    assert problem(other) == (409, "thread_taken")
    assert problem(api.start(thread="t1")) == (409, "run_exists")
    api.gateway.content.append_item("used-elsewhere", "k", "words", {}, CLEAN)
    assert problem(api.start(thread="used-elsewhere")) == (409, "thread_taken")
    drawn = api.start().json()["thread"]
    assert drawn not in {"t1", ""}
    api.wait("t1", "waiting")
    api.wait(drawn, "waiting")


def test_a_repeated_request_is_harmless(api: Api) -> None:
    for _ in range(2):
        assert api.start(thread="t1", message_id="m1").status_code == 202
    api.wait("t1", "waiting")
    api.decide()
    api.wait("t1", "answered")
    kinds = [event["kind"] for _, event in api.events("t1")]
    assert kinds.count("task_started") == 1


def test_a_new_message_supersedes_what_waits_when_the_settings_say_so(tmp_path: Path) -> None:
    with serving(tmp_path, on_new_message="supersede") as api:
        api.start(thread="t1")
        api.wait("t1", "waiting")
        said = api.client.post("/runs/t1/messages", json={"text": "Never mind"}, headers=api.ann)
        assert said.status_code == 202
        api.wait("t1", "answered")
        assert not api.gateway.queue.list([State.PENDING])


def test_a_message_that_is_sent_again_supersedes_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, on_new_message="supersede") as api:
        api.start(thread="t1", message_id="m1")
        api.wait("t1", "waiting")
        (row,) = api.gateway.queue.list([State.PENDING])
        assert api.start(thread="t1", message_id="m1").status_code == 202
        again = {"text": "Read my inbox", "message_id": "m1"}
        said = api.client.post("/runs/t1/messages", json=again, headers=api.ann)
        assert problem(said) == (422, "message_id_reused")
        api.wait("t1", "waiting")
        assert api.gateway.queue.get(row.id).state is State.PENDING
        assert api.client.post("/runs/t1/messages", json={"text": "Never mind"}, headers=api.ann).status_code == 202
        api.wait("t1", "answered")
        assert api.gateway.queue.get(row.id).state is State.SUPERSEDED


@pytest.mark.parametrize(
    ("body", "media", "expected"),
    [
        ("{", "application/json", (400, "not_json")),
        ('{"task": "a", "task": "b"}', "application/json", (400, "not_json")),
        ('{"task": NaN}', "application/json", (400, "not_json")),
        ("[" * 5_000, "application/json", (400, "not_json")),
        ('{"task": "x"}', "text/plain", (415, "not_json")),
        ("task=x", "application/x-www-form-urlencoded", (415, "not_json")),
        ('{"task": ""}', "application/json", (422, "invalid_request")),
        ('{"task": "x", "SECRET-key": 1}', "application/json", (422, "invalid_request")),
        ('{"task": "x", "thread": "../up"}', "application/json", (422, "invalid_request")),
        ('{"task": "x", "thread": "checkvalve:runs"}', "application/json", (422, "invalid_request")),
        ("[]", "application/json", (422, "invalid_request")),
        ('{"task": "' + "x" * MAX_BODY + '"}', "application/json", (413, "too_large")),
    ],
)
def test_what_is_not_as_described_is_refused_and_not_repeated(
    body: str, media: str, expected: tuple[int, str], api: Api
) -> None:
    response = api.client.post("/runs", content=body, headers={**api.ann, "Content-Type": media})
    assert problem(response) == expected
    assert len(response.text) < 1_000
    assert "SECRET" not in response.text


def test_a_body_in_pieces_is_bounded_too(api: Api) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * 10_000

    response = api.client.post("/runs", content=pieces(), headers={**api.ann, "Content-Type": "application/json"})
    assert problem(response) == (413, "too_large")


def test_unknown_paths_and_methods_are_problems_too(api: Api) -> None:
    assert problem(api.client.get("/nothing", headers=api.ann)) == (404, "not_found")
    assert problem(api.client.delete("/runs/t1", headers=api.ann)) == (405, "method_not_allowed")
    assert api.client.get("/docs").status_code == 404


def test_a_failing_store_and_a_failing_gateway_say_nothing_of_why(
    api: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    def down(*_: Any) -> Any:
        raise StoreUnreachableError("secret host", remedy="secret remedy")

    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("secret words")

    monkeypatch.setattr(RunLog, "find", down)
    assert problem(api.client.get("/runs/t1", headers=api.ann)) == (503, "store_failed")
    monkeypatch.setattr(RunLog, "find", broken)
    with caplog.at_level(logging.DEBUG):
        response = api.client.get("/runs/t1", headers=api.ann)
    assert problem(response) == (500, "internal")
    assert "secret" not in response.text + capsys.readouterr().err + caplog.text


def test_the_api_describes_itself(api: Api) -> None:
    assert problem(api.client.get("/openapi.json"))[0] == 401
    described = api.client.get("/openapi.json", headers=api.ann).json()
    assert set(described["paths"]) == {
        "/afterlooks", "/afterlooks/{name}/finding", "/approvals", "/approvals/events", "/approvals/{name}",
        "/approvals/{name}/answer", "/approvals/{name}/break-glass", "/approvals/{name}/cancel",
        "/approvals/{name}/decision", "/approvals/{name}/escalate", "/approvals/{name}/question",
        "/approvals/{name}/receipt", "/approvals/{name}/result", "/approvals/{name}/reveal",
        "/approvals/{name}/revoke", "/approvals/{name}/snooze",
        "/approvals/{name}/standing-rule", "/approvals/{name}/standing-rule/dry-run", "/approvals/{name}/undo",
        "/attention", "/attention/agree", "/attention/items", "/attention/withdraw", "/channels/teams/{name}",
        "/delegations", "/delegations/{name}", "/healthz", "/oncall", "/report", "/rule-changes",
        "/rule-changes/{name}",
        "/rule-changes/{name}/confirm", "/rule-changes/{name}/refuse", "/rule-changes/{name}/texts/{part}", "/rules",
        "/runs", "/runs/{thread}", "/runs/{thread}/endorsements", "/runs/{thread}/endorsements/{given}",
        "/runs/{thread}/events", "/runs/{thread}/mandates", "/runs/{thread}/mandates/{given}",
        "/runs/{thread}/messages", "/runs/{thread}/resume", "/standing-rules", "/standing-rules/{name}",
        "/standing-rules/{name}/confirm", "/threads/{thread}/interrupts", "/threads/{thread}/resume", "/unreachable",
    }  # fmt: skip
    assert described["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    assert "application/problem+json" in described["paths"]["/runs"]["post"]["responses"]["409"]["content"]


def test_a_model_that_fails_leaves_a_run_that_can_be_resumed(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    from checkvalve.graphs.scripted import ScriptedModel

    with monkeypatch.context() as patched:
        patched.setattr(ScriptedModel, "_generate", lambda *_, **__: 1 / 0)
        api.start(thread="t1")
        assert api.wait("t1", "failed")["code"] == "error:ZeroDivisionError"
    time.sleep(0.1)
    assert api.wait("t1", "failed")  # nobody tries by itself what has failed
    assert api.client.post("/runs/t1/resume", headers=api.ann).status_code == 202
    assert api.wait("t1", "waiting")


def test_a_run_that_a_dead_process_left_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker.Worker.__init__, "__kwdefaults__", {"retry": 0.05})
    with serving(tmp_path) as api:
        pipeline: Any = api.client.app.state.server.pipeline  # type: ignore[attr-defined]
        log = RunLog(api.gateway.content)
        pipeline.tell(TASK, thread="left")
        log.note(RunRecord("left", "ann@corp.example", "running"))
        assert api.wait("left", "waiting")


def test_a_thread_that_another_process_works_on_is_left_alone(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    server: Any = api.client.app.state.server  # type: ignore[attr-defined]

    def held(**_: Any) -> Any:
        raise LeaseHeldError("another run is at work on this thread")

    with monkeypatch.context() as patched:
        patched.setattr(server.pipeline, "stream", held)
        api.start(thread="t1")
        time.sleep(0.2)
        assert api.wait("t1", "running")
    api.client.post("/runs/t1/resume", headers=api.ann)
    assert api.wait("t1", "waiting")


def test_the_number_of_streams_is_bounded(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    from checkvalve.gateway import http_api

    api.start(thread="t1")
    api.wait("t1", "waiting")
    monkeypatch.setattr(http_api, "MAX_STREAMS", 0)
    assert problem(api.client.get("/runs/t1/events", headers=api.ann)) == (503, "too_many_streams")


def test_a_stream_ends_when_its_token_is_taken_back(api: Api) -> None:
    api.start(thread="t1")
    api.wait("t1", "waiting")
    tokens: ApiTokens = api.client.app.state.tokens  # type: ignore[attr-defined]
    selector = api.ann["Authorization"].split("_")[1]
    taking = api.when_somebody_waits(lambda: tokens.remove(selector))
    assert api.events("t1")  # returns: the run waits for ever, the stream does not
    taking.join()


def test_an_approval_that_cannot_be_read_holds_up_its_own_run_only(api: Api) -> None:
    log = RunLog(api.gateway.content)
    log.note(RunRecord("a-first", "ann@corp.example", "waiting", "", ("no-such-approval",)))
    api.start(thread="t1")
    api.wait("t1", "waiting")
    api.decide()
    assert api.wait("t1", "answered")
    assert log.find("a-first") == RunRecord("a-first", "ann@corp.example", "waiting", "", ("no-such-approval",))


def test_an_answer_of_a_model_is_the_runs_last_word(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    from checkvalve.graphs.scripted import ScriptedModel

    monkeypatch.setattr(ScriptedModel, "_line", lambda *_: {"say": "nothing to do"})
    api.start(thread="t1")
    assert api.wait("t1", "answered")["answer"] == "nothing to do"


def test_a_name_that_was_taken_and_has_no_message_yet_is_shown_as_running(api: Api) -> None:
    RunLog(api.gateway.content).note(RunRecord("taken", "ann@corp.example", "accepted"))
    found = api.client.get("/runs/taken", headers=api.ann)
    assert (found.status_code, found.json()["status"]) == (200, "running")
    assert api.start(thread="taken").status_code == 202
    assert api.wait("taken", "waiting")["waiting"]
