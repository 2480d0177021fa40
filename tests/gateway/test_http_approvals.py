"""The HTTP API of approvals, without sockets: who sees what, decisions bound to a digest, keys, waits and streams."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals import audit
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.for_programs import notice_is_for_programs
from checkvalve.approvals.handed import DUE
from checkvalve.approvals.notices import ESCALATED, KINDS, REMINDER
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.reviewers import Reviewers
from checkvalve.approvals.talked import CALLED
from checkvalve.gateway import http_runs, http_waiting, notifier, worker
from checkvalve.gateway.errors import ChannelError
from checkvalve.gateway.safe_post import Answered
from tests.gateway.hook_secrets import SECRET
from tests.gateway.runs_world import FAST, Api, problem, serving
from tests.waiting import LONG, until


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "EVERY", 0.02)
    monkeypatch.setattr(http_runs, "_POLL", 0.02)
    monkeypatch.setattr(http_waiting, "_POLL", 0.02)


class Desk:
    """An API with a reviewer, and a call that waits."""

    def __init__(self, api: Api) -> None:
        self.api = api
        queue = api.gateway.queue
        queue.reviewers = Reviewers(queue.store, queue.clock, FAST)
        self.token = ""
        self.boss = self.bearer("boss")

    def bearer(self, name: str) -> dict[str, str]:
        reviewers = self.api.gateway.queue.reviewers
        by = reviewers.authenticate(self.token) if reviewers.list() else None
        self.token = reviewers.add(name, by=by)
        return {"Authorization": f"Bearer {self.token}"}

    def waiting(self, thread: str = "t1") -> Proposal:
        self.api.start(thread=thread)
        self.api.wait(thread, "waiting")
        (row,) = self.api.gateway.queue.list([State.PENDING], thread=thread)
        return row

    def decide(self, row: Proposal, answer: str = "approve", headers: Any = None, **body: Any) -> Any:
        return self.api.client.post(
            f"/approvals/{row.id}/decision",
            json={"type": answer, **body},
            headers={**self.boss, "If-Match": f'"{row.digest}"', **(headers or {})},
        )

    def get(self, path: str, headers: dict[str, str] | None = None) -> Any:
        return self.api.client.get(path, headers=self.boss if headers is None else headers)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with serving(tmp_path) as api:
        yield Desk(api)


@pytest.mark.claim("C4")
def test_a_reviewer_lists_shows_and_decides_and_the_run_goes_on(desk: Desk) -> None:
    row = desk.waiting()
    listed = desk.get("/approvals").json()
    assert [item["id"] for item in listed["approvals"]] == [row.id]
    assert "args" not in listed["approvals"][0]
    shown = desk.get(f"/approvals/{row.id}")
    assert shown.headers["etag"] == f'"{row.digest}"'
    card = shown.json()
    assert card["args"] == row.args()
    assert {item["path"] for item in card["shown"]} >= {"to", "body"} or card["shown"]
    approved = desk.decide(row, message="looked at it")
    assert approved.status_code == 200
    assert (approved.json()["state"], approved.json()["decided_by"]) == ("approved", "reviewer:boss")
    assert desk.api.wait("t1", "answered")["answer"]
    grant = desk.api.gateway.queue.grant(row.id)
    assert grant is not None
    assert (grant.issued_by, grant.used_at is not None) == ("reviewer:boss", True)


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"If-Match": ""}, (428, "digest_needed")),
        ({"If-Match": "*"}, (400, "bad_digest")),
        ({"If-Match": '"abcdef"'}, (400, "bad_digest")),
        ({"If-Match": f'W/"{"0" * 64}"'}, (400, "bad_digest")),
        ({"If-Match": f'"{"0" * 64}"'}, (412, "other_digest")),
    ],
)
@pytest.mark.parametrize("answer", ["approve", "reject"])
def test_a_decision_without_the_digest_of_the_call_is_none(
    headers: dict[str, str], expected: tuple[int, str], answer: str, desk: Desk
) -> None:
    row = desk.waiting()
    assert problem(desk.decide(row, answer, headers)) == expected
    assert desk.api.gateway.queue.get(row.id).state is State.PENDING


@pytest.mark.claim("C4")
def test_a_clients_token_decides_nothing_and_a_requester_does_not_approve(desk: Desk) -> None:
    row = desk.waiting()
    for headers in (desk.api.ann, desk.api.bob, desk.api.reading):
        assert problem(desk.decide(row, headers=headers)) == (403, "not_a_reviewer")
    ann = desk.bearer("ANN@corp.example")
    assert problem(desk.decide(row, headers=ann)) == (403, "not_allowed")
    for bad in ("Bearer cvr_00_xx", "Bearer cvr_", desk.boss["Authorization"][:-1]):
        assert problem(desk.decide(row, headers={"Authorization": bad})) == (401, "not_authenticated")
    assert desk.api.gateway.queue.get(row.id).state is State.PENDING


def test_a_client_sees_its_own_calls_and_of_others_nothing(desk: Desk) -> None:
    row = desk.waiting()
    assert [item["id"] for item in desk.get("/approvals", desk.api.ann).json()["approvals"]] == [row.id]
    assert desk.get("/approvals", desk.api.bob).json()["approvals"] == []
    for path in (f"/approvals/{row.id}", f"/approvals/{row.id}/result"):
        assert desk.get(path, desk.api.ann).status_code in {200, 202}
        assert problem(desk.get(path, desk.api.bob)) == (404, "no_such_approval")
        assert problem(desk.get(path, {})) == (401, "not_authenticated")
    assert problem(desk.get(f"/approvals/{'0' * 36}")) == (404, "no_such_approval")
    assert problem(desk.get("/approvals/x")) == (422, "invalid_request")


@pytest.mark.claim("C4")
def test_the_second_decision_is_told_of_the_first(desk: Desk) -> None:
    row = desk.waiting()
    assert desk.decide(row, "reject", code="not-wanted").status_code == 200
    again = desk.decide(row)
    assert problem(again) == (409, "decided")
    told = again.json()
    assert "rejected by boss" in told["detail"]
    assert (told["cause"], told["state"], told["decided_by"]) == ("already_rejected", "rejected", "reviewer:boss")
    assert (told["version"], told["digest"], again.headers["etag"]) == (2, row.digest, f'"{row.digest}"')
    assert told["decided_at"] == rfc3339(desk.api.gateway.queue.get(row.id).updated_at)


@pytest.mark.claim("C4")
def test_approve_and_reject_at_once_have_one_winner(desk: Desk) -> None:
    row, answers = desk.waiting(), []
    barrier = threading.Barrier(6)

    def one(answer: str) -> None:
        barrier.wait()
        answers.append((answer, desk.decide(row, answer).status_code))

    threads = [threading.Thread(target=one, args=(answer,)) for answer in ("approve", "reject") * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [answer for answer, code in answers if code == 200]
    assert sorted(code for _, code in answers) == [200, 409, 409, 409, 409, 409]
    state = desk.api.gateway.queue.get(row.id).state
    assert (state is State.REJECTED) == (winner == "reject")


def test_a_repeated_request_with_its_key_is_told_how_it_ended(desk: Desk) -> None:
    row = desk.waiting()
    key = {"Idempotency-Key": "k-1"}
    first = desk.decide(row, "reject", key)
    second = desk.decide(row, "reject", key)
    assert (first.status_code, second.status_code) == (200, 200)
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert second.json()["state"] == "rejected"
    assert problem(desk.decide(row, "approve", key)) == (422, "key_reused")
    assert problem(desk.decide(row, "reject", {"Idempotency-Key": "\u00e4".encode()})) == (400, "bad_key")
    other = {**desk.bearer("other"), **key}
    assert problem(desk.decide(row, "reject", other)) == (409, "decided")  # a key is its sender's


def test_an_expired_question_is_gone(tmp_path: Path) -> None:
    with serving(tmp_path) as api:
        desk = Desk(api)
        row, clock = desk.waiting(), api.gateway.queue.clock
        api.gateway.queue.clock = lambda: clock() + 2 * 86_400_000_000  # two days later
        assert problem(desk.decide(row)) == (410, "expired")


def test_a_budget_that_is_used_up_is_said_and_the_question_waits(tmp_path: Path) -> None:
    with serving(tmp_path) as api:
        desk = Desk(api)
        api.gateway.queue.budget = 1
        first, second = desk.waiting("t1"), desk.waiting("t2")
        assert desk.decide(first).status_code == 200
        assert problem(desk.decide(second)) == (429, "budget_used_up")
        assert api.gateway.queue.get(second.id).state is State.PENDING


def test_a_late_result_is_fetched_by_its_id(desk: Desk) -> None:
    row = desk.waiting()
    pending = desk.get(f"/approvals/{row.id}/result", desk.api.ann)
    assert pending.status_code == 202
    message = pending.json()["message"]
    assert row.id in message["content"]
    assert (message["type"], message["status"]) == ("tool", "error")
    assert message["tool_call_id"] == (row.call_id.rpartition("@")[0] or row.call_id)
    desk.decide(row)
    done = desk.get(f"/approvals/{row.id}/result?wait=55", desk.api.ann)
    assert done.status_code == 200
    assert (done.json()["state"], done.json()["message"]["status"]) == ("succeeded", "success")
    assert done.json()["message"]["artifact"]["checkvalve"] == {"code": "succeeded", "approval_id": row.id}
    before = desk.api.gateway.executor.look(row.id).proposal.version
    desk.get(f"/approvals/{row.id}/result", desk.api.ann)
    assert desk.api.gateway.executor.look(row.id).proposal.version == before


def test_a_refusal_is_told_firmly(desk: Desk) -> None:
    row = desk.waiting()
    desk.decide(row, "reject", message="<b>never</b>")
    told = desk.get(f"/approvals/{row.id}/result", desk.api.ann).json()
    assert "a person looked at this call and refused it" in told["message"]["content"]
    assert "never</b>" not in told["message"]["content"]  # a reviewer's own words are no instructions to a model
    assert "unless the user asks" in told["message"]["content"]


def test_a_long_poll_answers_when_something_changes_and_else_in_time(desk: Desk) -> None:
    row = desk.waiting()
    start = time.monotonic()
    assert desk.get(f"/approvals/{row.id}?wait=0.3").json()["state"] == "pending"
    assert time.monotonic() - start > 0.25  # and it came back
    mark = desk.get("/approvals").json()["mark"]
    deciding = desk.api.when_somebody_waits(lambda: desk.decide(row, "reject"))
    assert desk.get(f"/approvals?since={mark}&wait=55").json()["mark"] > mark
    assert desk.get(f"/approvals/{row.id}?wait=55").json()["state"] == "rejected"
    deciding.join()
    assert problem(desk.get("/approvals?wait=56")) == (422, "invalid_request")
    assert problem(desk.get("/approvals?wait=nan")) == (422, "invalid_request")


def test_a_long_list_has_pages(desk: Desk) -> None:
    names = {desk.waiting(f"t{number}").id for number in range(5)}
    found, after = list[str](), ""
    while True:
        answer = desk.get(f"/approvals?limit=2&after={after}").json()
        found += [item["id"] for item in answer["approvals"]]
        if (after := answer["next"]) is None:
            break
    assert len(found) == 5
    assert set(found) == names
    assert [item["id"] for item in desk.get("/approvals?thread=t3").json()["approvals"]] == [found[3]]
    for bad in ("x", "%00", "MSB4" * 40):
        assert problem(desk.get(f"/approvals?after={bad}"))[0] in {400, 422}


def test_events_say_what_happens_without_a_value_and_go_on(desk: Desk) -> None:
    start = desk.get("/approvals").json()["mark"]
    row = desk.waiting()
    desk.decide(row, "reject", message="secret words")
    seen = stream(desk, desk.boss, start, until="rejected")
    assert [event["kind"] for _, event in seen if event.get("approval") == row.id] == ["asked", "rejected"]
    assert not any(word in json.dumps(seen) for word in ("evil.example", "secret words", "Server down"))
    first = next(number for number, event in seen if event["kind"] == "asked")
    later = stream(desk, desk.boss, first, until="rejected")
    assert [event["kind"] for _, event in later if event.get("approval") == row.id] == ["rejected"]
    own = stream(desk, desk.api.ann, start, until="rejected")
    assert {event["approval"] for _, event in own} >= {row.id}
    assert problem(desk.get("/approvals/events", {**desk.boss, "Last-Event-ID": "x"})) == (400, "no_such_event")


def test_a_program_is_told_how_its_call_moves_and_not_whom_people_call_to_it(desk: Desk) -> None:
    start = desk.get("/approvals").json()["mark"]
    row, queue = desk.waiting(), desk.api.gateway.queue
    body: dict[str, Any] = {"digest": row.digest, "who": ["zoe"], "to": ["channel:night"]}
    with queue.store.write() as connection:
        for kind in ("proposal.reminded", "proposal.escalated", CALLED, DUE):
            audit.append(connection, at=queue.clock(), kind=kind, subject=row.id, body=body)
    desk.decide(row, "reject")
    of_people = {REMINDER, ESCALATED, "afterlook"}
    told = [event["kind"] for _, event in stream(desk, desk.boss, start, until="rejected")]
    assert of_people <= set(told)
    own = [event["kind"] for _, event in stream(desk, desk.api.ann, start, until="rejected")]
    assert own == [kind for kind in told if kind not in of_people]
    assert {kind for kind in KINDS if not notice_is_for_programs(kind)} == of_people | {"paused", "resumed", "budget"}


def stream(desk: Desk, headers: dict[str, str], after: int, *, until: str) -> list[tuple[int, dict[str, Any]]]:
    """Read a stream with the machinery below HTTP, since the test client reads a response only when it ends."""
    import asyncio

    from checkvalve.gateway.http_callers import Caller

    api: Any = desk.api.client.app
    token = headers["Authorization"].removeprefix("Bearer ")
    reviewer = token.startswith("cvr_")
    caller = (
        Caller(reviewer=desk.api.gateway.queue.reviewers.authenticate(token))
        if reviewer
        else Caller(client=api.state.tokens.authenticate(token), tokens=api.state.tokens)
    )
    found: list[tuple[int, dict[str, Any]]] = []

    async def read() -> None:
        source = http_waiting.notices(api.state.server, caller, after)
        async for block in source:
            if not block.startswith("id: "):
                continue
            number, _, data = block.strip().split("\n")
            found.append((int(number.removeprefix("id: ")), json.loads(data.removeprefix("data: "))))
            if found[-1][1]["kind"] == until:
                await source.aclose()  # type: ignore[attr-defined]  # it is a generator
                return

    asyncio.run(asyncio.wait_for(read(), LONG))
    return found


def test_a_stream_ends_when_the_credential_is_taken_back(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_waiting, "_CHECKED", 0.05)
    reviewers = desk.api.gateway.queue.reviewers
    boss = reviewers.authenticate(desk.token)
    other = desk.bearer("other")
    disabling = desk.api.when_somebody_waits(lambda: reviewers.disable("other", by=boss))
    response = desk.get("/approvals/events", other)
    disabling.join()
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.text.endswith("event: ended\ndata: {}\n\n")


def test_the_description_is_complete_for_approvals(desk: Desk) -> None:
    described = desk.get("/openapi.json", desk.api.ann).json()
    paths = described["paths"]
    mine = {path: sorted(found) for path, found in paths.items() if path.startswith(("/approvals", "/threads"))}
    known = {
        "/approvals": ["get"],
        "/approvals/events": ["get"],
        "/approvals/{name}": ["get"],
        "/approvals/{name}/result": ["get"],
        "/approvals/{name}/decision": ["post"],
        "/approvals/{name}/question": ["post"],
        "/approvals/{name}/answer": ["post"],
        "/approvals/{name}/snooze": ["delete", "post"],
        "/approvals/{name}/cancel": ["post"],
        "/threads/{thread}/interrupts": ["get"],
        "/threads/{thread}/resume": ["post"],
    }
    assert known.items() <= mine.items()
    decision = paths["/approvals/{name}/decision"]["post"]
    named = {item["name"].lower() for item in decision["parameters"]}
    assert {"if-match", "idempotency-key", "name"} <= named
    assert {"200", "401", "403", "404", "409", "410", "412", "422", "428", "429"} <= set(decision["responses"])
    assert "application/problem+json" in decision["responses"]["412"]["content"]
    for path in mine:
        for operation in paths[path].values():
            assert operation["summary"]
            assert operation["security"]


@pytest.mark.claim("C4")
def test_langchains_names_show_the_call_and_a_resume_value_decides_nothing(desk: Desk) -> None:
    from langchain.agents.middleware.human_in_the_loop import HITLRequest
    from pydantic import TypeAdapter

    row = desk.waiting()
    (found,) = desk.get("/threads/t1/interrupts", desk.api.ann).json()
    TypeAdapter(HITLRequest).validate_python(found["value"])  # what an existing UI reads
    assert found["id"] == row.id
    (action,) = found["value"]["action_requests"]
    assert set(action["args"]) == set(row.args())
    (config,) = found["value"]["review_configs"]
    assert config == {"action_name": action["name"], "allowed_decisions": ["approve", "edit", "reject", "respond"]}
    for value in (
        {"decisions": [{"type": "approve"}]},
        {"decisions": [{"type": "edit", "edited_action": {"name": "send_mail", "args": {}}}]},
        {row.id: {"decisions": [{"type": "approve"}]}},
        {"approval_id": row.id, "digest": row.digest, "approved": True},
    ):
        woken = desk.api.client.post("/threads/t1/resume", json=value, headers=desk.api.ann)
        assert woken.status_code == 202
        assert (woken.json()["decided"], woken.json()["waiting"]) == (False, [row.id])
        desk.api.wait("t1", "waiting")
        assert desk.api.gateway.queue.get(row.id).state is State.PENDING
    assert problem(desk.api.client.post("/threads/t1/resume", json={}, headers=desk.api.bob)) == (404, "no_such_run")
    assert problem(desk.get("/threads/t1/interrupts", desk.api.bob)) == (404, "no_such_run")
    desk.decide(row)
    desk.api.wait("t1", "answered")
    assert desk.get("/threads/t1/interrupts", desk.api.ann).json() == []


def test_a_server_tells_its_channels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    def post(url: str, body: bytes, headers: Any, **_: Any) -> Answered:
        sent.append(json.loads(body))
        return Answered(204)

    monkeypatch.setattr(notifier, "post", post)
    monkeypatch.setattr(notifier, "EVERY", 0.02)
    (tmp_path / "hook.secret").write_text(SECRET)
    (tmp_path / "hook.secret").chmod(0o600)
    file = tmp_path / "channels.toml"
    file.write_text('[[webhook]]\nname = "ops"\nurl = "https://h.example/"\nsecret_file = "hook.secret"\n')
    with serving(tmp_path, channels=file) as api:
        desk = Desk(api)
        row = desk.waiting()
        desk.decide(row, "reject")
        until(lambda: any(item["type"] == "approval.rejected" for item in sent))
    assert [item["data"]["approval"] for item in sent if item["type"] == "approval.asked"] == [row.id]
    file.write_text('[[webhook]]\nname = "ops"\n')
    with pytest.raises(ChannelError, match="webhook"), serving(tmp_path, channels=file):
        pass
