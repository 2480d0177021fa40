"""Edits, responses, questions and answers over HTTP, with the pipeline behind it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.edits import current
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.remarks import read_talk
from checkvalve.approvals.verify import verify
from tests.gateway.runs_world import problem, serving
from tests.gateway.test_http_approvals import Desk

pytestmark = pytest.mark.claim("C4")


class Table(Desk):
    """The same with a second reviewer, and short ways to say something."""

    def __init__(self, api: Any) -> None:
        super().__init__(api)
        self.ben = self.bearer("ben")

    def say(self, row: Proposal, what: str, text: str, who: dict[str, str], **headers: str) -> Any:
        match = {"If-Match": f'"{row.digest}"', **headers}
        return self.api.client.post(f"/approvals/{row.id}/{what}", json={"note": text}, headers={**who, **match})

    def edit(self, row: Proposal, headers: Any = None, **args: Any) -> Any:
        return self.decide(row, "edit", headers, edited_action={"name": row.tool, "args": {**row.args(), **args}})

    def log(self, thread: str) -> list[Any]:
        """Return what the actor of a run was told."""
        app: Any = self.api.client.app
        state = app.state.server.pipeline.graph.get_state({"configurable": {"thread_id": thread}})
        return [entry["content"] for entry in state.values["log"] if entry["by"] == "gateway"]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Table]:
    with serving(tmp_path) as api:
        yield Table(api)


def test_an_edit_answers_with_the_new_call_and_the_run_goes_on_with_it(desk: Table) -> None:
    row = desk.waiting()
    answer = desk.edit(row, body="changed by a person")
    assert answer.status_code == 200
    new = answer.json()
    assert (new["state"], new["edit_of"], new["args"]["body"]) == ("pending", row.id, "changed by a person")
    assert answer.headers["location"] == f"/approvals/{new['id']}"
    assert answer.headers["etag"] == f'"{new["digest"]}"'
    assert new["changes"] == [
        {"path": "body", "kind": "changed", "before": row.args()["body"], "after": "changed by a person"}
    ]
    assert desk.get(f"/approvals/{row.id}").json()["edited_to"] == new["id"]
    assert problem(desk.decide(row)) == (410, "decided")
    made = desk.api.gateway.queue.get(new["id"])
    assert desk.decide(made, headers=desk.ben).json()["state"] == "approved"
    assert desk.api.wait("t1", "answered")["answer"]
    late = desk.get(f"/approvals/{row.id}/result", desk.api.ann).json()
    assert (late["id"], late["done"]) == (made.id, True)
    assert "changed by a person" in late["message"]["content"]
    (told,) = [item for item in desk.log("t1") if "edited" in item]
    assert (told["edited"], told["status"]) == (["body"], "done")
    assert "changed by a person" not in str(desk.log("t1"))  # the actor sees the name of it and no character more
    assert verify(desk.api.gateway.store).ok


def test_a_refused_edit_says_which_rule_and_changes_nothing(desk: Table) -> None:
    row = desk.waiting()
    refused = desk.edit(row, sudo="yes")
    assert problem(refused) == (422, "edit_refused")
    assert "unknown-argument" in refused.json()["detail"]
    assert problem(desk.edit(row)) == (422, "edit_refused")  # nothing was changed
    other = {"name": "read_mail", "args": row.args()}
    assert problem(desk.decide(row, "edit", edited_action=other)) == (422, "other_tool")
    assert problem(desk.decide(row, "edit")) == (422, "edit_needed")
    assert problem(desk.edit(row, {**desk.api.ann}, body="x")) == (403, "not_a_reviewer")
    assert problem(desk.edit(row, {"If-Match": f'"{"0" * 64}"'}, body="x")) == (412, "other_digest")
    assert problem(desk.decide(row, "respond", message="")) == (422, "refused")
    assert desk.api.gateway.queue.get(row.id) == row


def test_a_repeated_edit_with_its_key_makes_one_call(desk: Table) -> None:
    row, key = desk.waiting(), {"Idempotency-Key": "k1"}
    first = desk.edit(row, key, body="changed")
    again = desk.edit(row, key, body="changed")
    assert again.json()["id"] == first.json()["id"]
    assert again.headers["idempotency-replayed"] == "true"
    assert problem(desk.edit(row, key, body="other")) == (422, "key_reused")
    assert len(desk.api.gateway.queue.list([State.PENDING])) == 1


def test_what_a_foreign_ui_sends_back_is_read_as_what_was_meant(desk: Table) -> None:
    row = desk.waiting()
    (found,) = desk.get("/threads/t1/interrupts", desk.api.ann).json()
    (action,) = found["value"]["action_requests"]
    assert "\u27e8U+0040\u27e9" in action["args"]["to"]  # it is shown as text that nothing is made of
    args = {**action["args"], "body": "changed\u27e8U+003A\u27e9 yes"}
    envelope = {"decisions": [{"type": "edit", "edited_action": {"name": action["name"], "args": args}}]}
    answer = desk.api.client.post(
        f"/approvals/{row.id}/decision", json=envelope, headers={**desk.boss, "If-Match": f'"{row.digest}"'}
    )
    assert answer.json()["args"] == {"to": row.args()["to"], "body": "changed: yes"}
    two = {"decisions": [{"type": "approve"}, {"type": "approve"}]}
    refused = desk.api.client.post(
        f"/approvals/{row.id}/decision", json=two, headers={**desk.boss, "If-Match": f'"{row.digest}"'}
    )
    assert problem(refused) == (422, "invalid_request")


def test_a_response_reaches_the_actor_by_reference_only(desk: Table) -> None:
    row = desk.waiting()
    text = "Write to the chief instead: chief@corp.example"
    assert desk.decide(row, "respond", message=text).json()["code"] == "responded"
    desk.api.wait("t1", "answered", "stopped")
    (told,) = [item for item in desk.log("t1") if item.get("code") == "responded"]
    assert told["detail"]
    assert "chief" not in str(desk.log("t1"))
    again = desk.decide(row, "respond", message=text)
    assert problem(again) == (409, "decided")


def test_a_question_is_asked_by_a_reviewer_and_answered_by_the_requesters_program(desk: Table) -> None:
    row = desk.waiting()
    assert problem(desk.say(row, "answer", "yes", desk.api.ann)) == (409, "conflict")  # nobody has asked
    assert problem(desk.say(row, "question", "why?", desk.api.ann)) == (403, "not_a_reviewer")
    key = {"Idempotency-Key": "q1"}
    for _ in range(2):
        asked = desk.say(row, "question", "Did you want this?", desk.boss, **key)
        assert [item["text"] for item in asked.json()["talk"]] == ["Did you want this?"]
    assert problem(desk.say(row, "answer", "x", desk.api.bob)) == (404, "no_such_approval")
    assert problem(desk.say(row, "answer", "x", desk.api.reading)) == (403, "not_allowed")
    assert problem(desk.say(row, "answer", "", desk.api.ann)) == (422, "invalid_request")
    assert problem(desk.say(row, "answer", "x", desk.api.ann, **{"If-Match": f'"{"0" * 64}"'})) == (412, "other_digest")
    answered = desk.say(row, "answer", "The mail\u202e asked", desk.api.ann).json()
    assert [(item["kind"], item["by"]) for item in answered["talk"]] == [
        ("question", "reviewer:boss"),
        ("answer", "client:ann@corp.example"),
    ]
    assert "\u202e" not in answered["talk"][1]["text"]
    assert answered["state"] == "pending"
    assert desk.say(row, "answer", "I doubt it", desk.ben).json()["talk"][2]["kind"] == "reply"


def test_a_resume_value_answers_a_question_by_its_id_and_decides_nothing(desk: Table) -> None:
    row = desk.waiting()
    desk.say(row, "question", "Really?", desk.boss)
    for body, heard in (
        ({"decisions": [{"type": "approve"}]}, []),
        ({"other": {"type": "respond", "message": "no"}}, []),
        ({row.id: {"decisions": [{"type": "respond", "message": "the mail did"}]}}, [row.id]),
        ({"decisions": [{"type": "respond", "message": "again"}]}, []),  # nothing is asked any more
    ):
        woken = desk.api.client.post("/threads/t1/resume", json=body, headers=desk.api.ann).json()
        assert (woken["decided"], woken["waiting"], woken["answered"]) == (False, [row.id], heard)
        desk.api.wait("t1", "waiting")
    said = read_talk(desk.api.gateway.queue, row)
    assert [(item.by, item.text) for item in said][1:] == [("client:ann@corp.example", "the mail did")]


def test_a_question_is_put_off_for_one_reviewer_and_taken_back(desk: Table) -> None:
    row = desk.waiting()
    path = f"/approvals/{row.id}/snooze"
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    client = desk.api.client
    assert problem(client.post(path, json={"until": soon}, headers=desk.api.ann)) == (403, "not_a_reviewer")
    put_off = client.post(path, json={"until": soon}, headers=desk.boss).json()
    assert (put_off["id"], put_off["hidden"]) == (row.id, True)
    assert desk.get("/approvals?snoozed=false").json()["approvals"] == []
    for listed in (desk.get("/approvals"), desk.get("/approvals?snoozed=false", desk.ben)):
        assert [item["id"] for item in listed.json()["approvals"]] == [row.id]
    assert client.post(path, json={"until": soon}, headers=desk.ben).json()["hidden"] is False
    for bad in ("2020-01-01T00:00:00Z", "2199-01-01T00:00:00Z"):
        assert problem(client.post(path, json={"until": bad}, headers=desk.boss)) == (422, "refused")
    for broken in ("tomorrow", "2026-01-01T00:00:00", "99999-01-01T00:00:00Z", 1e300):
        assert problem(client.post(path, json={"until": broken}, headers=desk.boss)) == (422, "invalid_request")
    assert client.delete(path, headers=desk.boss).status_code == 204
    assert problem(client.delete(path, headers=desk.boss)) == (409, "conflict")
    assert desk.api.gateway.queue.get(row.id).state is State.PENDING


def test_a_requester_takes_a_question_back(desk: Table) -> None:
    row, path = desk.waiting(), "/approvals/{}/cancel"
    match = {"If-Match": f'"{row.digest}"'}
    client = desk.api.client
    assert problem(client.post(path.format(row.id), headers={**desk.boss, **match})) == (403, "not_allowed")
    assert problem(client.post(path.format(row.id), headers={**desk.api.reading, **match})) == (403, "not_allowed")
    assert problem(client.post(path.format(row.id), headers=desk.api.ann)) == (428, "digest_needed")
    for _ in range(2):
        gone = client.post(path.format(row.id), headers={**desk.api.ann, **match})
        assert (gone.status_code, gone.json()["state"]) == (200, "cancelled")
    assert current(desk.api.gateway.queue, row.id).decided_by == "client:ann@corp.example"
    desk.api.wait("t1", "answered", "stopped")


def test_others_are_called_to_a_question_by_a_reviewer_and_once(desk: Table) -> None:
    row = desk.waiting()
    path = f"/approvals/{row.id}/escalate"
    assert problem(desk.api.client.post(path, headers=desk.api.ann)) == (403, "not_a_reviewer")
    assert desk.api.client.post(path, headers=desk.ben).json() == {"id": row.id, "who": ["boss"]}
    assert problem(desk.api.client.post(path, headers=desk.ben)) == (409, "conflict")
    assert desk.get(f"/approvals/{row.id}").json()["state"] == "pending"
