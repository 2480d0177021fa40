"""The Idempotency-Key on every route: a request that changes something is carried out once, at any process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient

from checkvalve.approvals import request_keys
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.records import State
from checkvalve.approvals.reviewers import Reviewers
from checkvalve.approvals.tables import request_keys as rows
from checkvalve.gateway import http_once, http_run_once, http_runs, worker
from checkvalve.gateway.http_api import create_app
from checkvalve.gateway.http_once import CHANGING, HEADER, WITHOUT, OnceRoute
from checkvalve.gateway.http_problems import Problem, add_handlers
from checkvalve.gateway.kept_answers import MAX_ANSWER, Answered, seal, unseal
from checkvalve.gateway.pipelines import open_pipeline
from tests.databases import Databases
from tests.gateway.runs_world import FAST, TASK, Api, problem, serving
from tests.waiting import LONG

OWN = {
    "/runs",
    "/approvals/{name}/decision",
    "/approvals/{name}/question",
    "/approvals/{name}/answer",
    "/approvals/{name}/revoke",
}
"""Routes that have a stronger way than the common one: a name that follows from the key, or the log of the call."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "EVERY", 0.02)
    monkeypatch.setattr(http_runs, "_POLL", 0.02)
    for module in (http_once, http_run_once):
        monkeypatch.setattr(module, "_EVERY", 0.02)


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with serving(tmp_path) as running:
        yield running


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the second of two wait for as long as a busy machine takes."""
    for module in (http_once, http_run_once):
        monkeypatch.setattr(module, "_WAIT", 3_000)


@contextmanager
def replica(api: Api) -> Iterator[TestClient]:
    """Serve the same database a second time."""
    tokens = api.client.app.state.tokens  # type: ignore[attr-defined]
    with open_pipeline(api.gateway) as pipeline:
        app = create_app(api.gateway, pipeline, tokens)
        with TestClient(app, raise_server_exceptions=False) as client:
            for one in (api.client, client):  # routes are built at their first use; two at once cannot mute warnings
                assert one.get("/openapi.json", headers=api.ann).status_code == 200
            yield client


def places(databases: Databases, folder: Path) -> dict[str, str]:
    return {"database_url": databases.make(ready=True), "checkpoint_url": f"sqlite:///{folder / 'runs.db'}"}


def boss(api: Api) -> dict[str, str]:
    queue = api.gateway.queue
    queue.reviewers = Reviewers(queue.store, queue.clock, FAST)
    return {"Authorization": f"Bearer {queue.reviewers.add('boss')}"}


def post(client: TestClient, path: str, key: str, who: dict[str, str], **body: Any) -> Any:
    return client.post(path, json=body or None, headers={**who, HEADER: key} if key else who)


def threads(api: Api) -> set[str]:
    return {record.thread for record in api.gateway.queue.list([State.PENDING])}


def test_each_route_that_changes_something_takes_the_key_or_says_why_not(api: Api) -> None:
    described = api.client.get("/openapi.json", headers=api.ann).json()["paths"]
    seen, taking = set(), set()
    for path, methods in described.items():
        for method, route in methods.items():
            name = f"{method.upper()} {path}"
            takes = [item for item in route.get("parameters", ()) if item["name"].lower() == HEADER.lower()]
            if method.upper() not in CHANGING:
                assert not takes, name
                continue
            seen.add(name)
            assert len(takes) <= 1, name
            if takes:
                assert takes[0]["in"] == "header"
                taking.add(name)
            assert bool(takes) != (name in WITHOUT), f"{name}: let its router be of OnceRoute, or name it in WITHOUT"
    assert len(taking) > len(OWN) * 3
    assert set(WITHOUT) < seen, "no route is named that there is not"
    assert all(WITHOUT.values())


def test_the_same_start_again_is_the_same_run_and_one_question(api: Api) -> None:
    first = post(api.client, "/runs", "k1", api.ann, task=TASK)
    thread = first.json()["thread"]
    assert (first.status_code, HEADER in first.headers) == (202, False)
    api.wait(thread, "waiting")
    again = post(api.client, "/runs", "k1", api.ann, task=TASK)
    assert (again.status_code, again.json()["thread"]) == (202, thread)
    assert (again.headers["Idempotency-Replayed"], again.headers["Location"]) == ("true", f"/runs/{thread}")
    assert again.json()["status"] == "waiting", "as it stands now"
    assert threads(api) == {thread}
    assert problem(post(api.client, "/runs", "k1", api.ann, task="Another")) == (422, "key_reused")
    other = post(api.client, "/runs", "k1", api.bob, task=TASK)
    assert other.json()["thread"] != thread, "a key is of whoever sent it"
    assert problem(post(api.client, "/runs", "k1", api.reading, task=TASK)) == (403, "not_allowed")
    assert problem(post(api.client, "/runs", "a b", api.ann, task=TASK)) == (400, "bad_key")


def test_the_id_of_a_message_alone_makes_a_start_harmless(api: Api) -> None:
    first = api.start(message_id="m1")
    thread = first.json()["thread"]
    api.wait(thread, "waiting")
    again = api.start(message_id="m1")
    assert (again.json()["thread"], again.headers["Idempotency-Replayed"]) == (thread, "true")
    assert threads(api) == {thread}
    assert problem(api.client.post("/runs", json={"task": "x", "message_id": "m1"}, headers=api.ann)) == (
        422,
        "key_reused",
    )
    assert api.start(message_id="m2").json()["thread"] != thread


def test_a_start_with_a_name_of_its_own_and_a_key_is_harmless_too(api: Api) -> None:
    assert post(api.client, "/runs", "k1", api.ann, task=TASK, thread="t1").status_code == 202
    api.wait("t1", "waiting")
    again = post(api.client, "/runs", "k1", api.ann, task=TASK, thread="t1")
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (202, "true")
    assert problem(post(api.client, "/runs", "k2", api.ann, task=TASK, thread="t1")) == (409, "run_exists")
    assert problem(post(api.client, "/runs", "k2", api.ann, task=TASK, thread="t1")) == (409, "run_exists")


def test_a_key_that_was_forgotten_begins_no_run_anew(api: Api) -> None:
    thread = post(api.client, "/runs", "k1", api.ann, task=TASK).json()["thread"]
    api.wait(thread, "waiting")
    with api.gateway.queue.store.write() as connection:
        connection.execute(sa.delete(rows))
    assert problem(post(api.client, "/runs", "k1", api.ann, task=TASK)) == (409, "run_exists")
    assert threads(api) == {thread}


def test_a_start_that_died_after_its_key_was_taken_is_carried_out_by_the_next(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: Any, **__: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr(http_runs.RunServer, "say", dies)
        assert post(api.client, "/runs", "k1", api.ann, task=TASK).status_code == 500
    done = post(api.client, "/runs", "k1", api.ann, task=TASK)
    thread = done.json()["thread"]
    api.wait(thread, "waiting")
    assert threads(api) == {thread}


@pytest.mark.usefixtures("patient")
def test_two_equal_starts_at_two_replicas_are_one_run(databases: Databases, tmp_path: Path) -> None:
    with serving(tmp_path, **places(databases, tmp_path)) as api, replica(api) as second:
        for key in ("k1", "k2"):
            barrier = threading.Barrier(2)

            def start(client: TestClient, key: str = key, barrier: threading.Barrier = barrier) -> Any:
                barrier.wait(LONG)
                return post(client, "/runs", key, api.ann, task=TASK)

            with ThreadPoolExecutor(2) as pool:
                answers = [*pool.map(start, [api.client, second])]
            assert [one.status_code for one in answers] == [202, 202]
            (thread,) = {one.json()["thread"] for one in answers}
            api.wait(thread, "waiting")
            assert len(api.gateway.queue.list([State.PENDING], thread=thread)) == 1


@pytest.mark.usefixtures("patient")
def test_two_equal_requests_at_two_replicas_are_carried_out_once(databases: Databases, tmp_path: Path) -> None:
    with serving(tmp_path, **places(databases, tmp_path)) as api, replica(api) as second:
        api.start(thread="t1")
        barrier = threading.Barrier(2)

        def say(client: TestClient) -> Any:
            barrier.wait(LONG)
            return post(client, "/runs/t1/messages", "k1", api.ann, text="And greet her")

        with ThreadPoolExecutor(2) as pool:
            answers = [*pool.map(say, [api.client, second])]
        assert [one.status_code for one in answers] == [202, 202]
        assert sorted(one.headers.get("Idempotency-Replayed", "") for one in answers) == ["", "true"]
        assert answers[0].content == answers[1].content
        texts = [item.value for item in api.gateway.content.items("t1")]
        assert texts.count({"text": "And greet her"}) == 1


def test_what_was_carried_out_is_told_again_and_no_store_can_read_it(api: Api) -> None:
    head = boss(api)
    colleague = api.gateway.queue.reviewers.add(
        "kim", by=api.gateway.queue.reviewers.authenticate(head["Authorization"][7:])
    )
    asked = {"taker": "kim", "note": "away at the sea", "expires_at": "2099-01-01T00:00:00Z"}
    assert problem(post(api.client, "/delegations", "k1", head, **asked))[0] in (409, 422), "too long, so not done"
    now = api.gateway.queue.clock()
    asked["expires_at"] = _after(now, days=3)
    made = post(api.client, "/delegations", "k1", head, **asked)
    assert made.status_code == 201, "a refused request gives its key back, also to another one"
    again = post(api.client, "/delegations", "k1", head, **asked)
    assert (again.status_code, again.content) == (201, made.content)
    assert (again.headers["Location"], again.headers["Idempotency-Replayed"]) == (made.headers["Location"], "true")
    assert len(api.client.get("/delegations", headers=head).json()) == 1
    other = post(api.client, "/delegations", "k1", head, **{**asked, "note": "away for long"})
    assert problem(other) == (422, "key_reused")
    ended = [api.client.delete(made.headers["Location"], headers={**head, HEADER: "k2"}) for _ in range(2)]
    assert [one.status_code for one in ended] == [200, 200]
    assert ended[0].content == ended[1].content
    assert problem(post(api.client, "/delegations", "k1", {"Authorization": "Bearer cvr_x"}, **asked))[0] == 401
    assert post(api.client, "/delegations", "k1", {"Authorization": f"Bearer {colleague}"}, **asked).status_code != 201
    with api.gateway.queue.store.read() as connection:
        stored = [bytes(one) for one in connection.execute(sa.select(rows.c.answer)).scalars() if one]
    assert len(stored) == 2
    assert not any(b"sea" in one or b"kim" in one for one in stored)
    with api.gateway.queue.store.write() as connection:
        request_keys.empty_answers(connection)
    gone = post(api.client, "/delegations", "k1", head, **asked)
    assert problem(gone) == (409, "request_done")
    assert gone.json()["cause"] == "done_already"


def _after(now: int, *, days: int) -> str:
    return rfc3339(now + days * 86_400_000_000)


class Broken:
    """A route that counts what it does, and fails as it is told."""

    def __init__(self, api: Api) -> None:
        self.done = 0
        router = APIRouter(route_class=OnceRoute)
        self.fails: BaseException | None = None

        @router.post("/things")
        def make() -> dict[str, int]:
            self.done += 1
            if self.fails is not None:
                raise self.fails
            return {"done": self.done}

        app = FastAPI()
        app.state.server, app.state.tokens = api.client.app.state.server, api.client.app.state.tokens  # type: ignore[attr-defined]
        app.include_router(router)
        add_handlers(app)
        self.client = TestClient(app, raise_server_exceptions=False)


@pytest.mark.parametrize(
    ("fails", "first", "again"),
    [
        (Problem(422, "no", "not so"), 422, 200),
        (Problem(503, "store_failed", "not now"), 503, 409),
        (ValueError("in the middle"), 500, 409),
    ],
    ids=["refused", "not-known", "died"],
)
def test_only_what_surely_did_nothing_is_done_again(api: Api, fails: Exception, first: int, again: int) -> None:
    thing = Broken(api)
    thing.fails = fails
    assert post(thing.client, "/things", "k1", api.ann).status_code == first
    thing.fails = None
    answer = post(thing.client, "/things", "k1", api.ann)
    assert (answer.status_code, thing.done) == (again, 2 if again == 200 else 1)
    if again == 409:
        assert problem(answer) == (409, "request_open")
    assert post(thing.client, "/things", "", api.ann).status_code == 200, "without a key nothing is different"


def test_a_new_route_takes_the_key_of_itself(api: Api) -> None:
    thing = Broken(api)
    answers = [post(thing.client, "/things", "k1", api.ann) for _ in range(3)]
    assert [one.json() for one in answers] == [{"done": 1}] * 3
    assert post(thing.client, "/things", "k1", api.bob).json() == {"done": 2}
    assert problem(post(thing.client, "/things", "x" * 201, api.ann)) == (400, "bad_key")
    assert thing.done == 2


def test_a_password_is_no_part_of_a_request_that_is_remembered(api: Api) -> None:
    thing = Broken(api)
    told = [post(thing.client, "/things", "k1", api.ann, note="x", password=one).json() for one in ("right", "typo")]
    assert told == [{"done": 1}] * 2, "a digest of it would tell whoever holds the database when a guess is right"
    assert problem(post(thing.client, "/things", "k1", api.ann, note="y", password="right")) == (422, "key_reused")


def test_an_answer_opens_for_its_credential_and_request_alone() -> None:
    answer = Answered(201, {"Location": "/x"}, '{"a": "\u00fc"}')
    kept = seal(answer, "token", "client:ann", ["POST", "/x"])
    assert unseal(kept, "token", "client:ann", ["POST", "/x"]) == answer
    assert unseal(kept, "other", "client:ann", ["POST", "/x"]) is None
    assert unseal(kept, "token", "client:bob", ["POST", "/x"]) is None
    assert unseal(kept, "token", "client:ann", ["POST", "/y"]) is None
    assert unseal(b"", "token", "client:ann", ["POST", "/x"]) is None
    assert seal(Answered(200, {}, "x" * MAX_ANSWER), "token", "client:ann", []) == b""
