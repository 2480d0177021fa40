"""Seeded items over HTTP and in the terminal: the same for one person, marked for auditors, gone for everybody else."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import seeds
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.records import State
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.roles import Role
from checkvalve.approvals.seed_cards import notices_of
from checkvalve.approvals.seed_tables import seed_consents
from checkvalve.gateway import cli
from checkvalve.gateway.http_approval_views import told
from checkvalve.gateway.seed_keeper import SeedKeeper
from tests.approvals.made import REVIEW, decided
from tests.gateway.runs_world import problem, serving
from tests.gateway.test_http_approvals import Desk

pytestmark = pytest.mark.claim("C4")


class Bench(Desk):
    """The API with a reviewer who has agreed, and an item that waits for them."""

    def __init__(self, api: Any) -> None:
        super().__init__(api)
        self.queue = api.gateway.queue
        self.real = self.waiting()
        assert api.client.post("/attention/agree", headers=self.boss).json()["agreed_at"]
        gateway = api.gateway
        maker = SeedKeeper(self.queue, gateway.manifest, gateway.policy, per_week=5, draw=random.Random(2))
        with self.queue.store.write() as connection:  # its moment has come
            connection.execute(sa.update(seed_consents).values(next_at=1))
        assert maker.tick() == 1
        (self.id,) = self.ids() - {self.real.id}

    def ids(self, headers: Any = None) -> set[str]:
        found = self.api.client.get("/approvals", headers=headers or self.boss).json()["approvals"]
        return {one["id"] for one in found}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with serving(tmp_path) as api:  # which makes none by itself
        yield Bench(api)


def test_it_looks_like_any_call_to_one_reviewer_and_is_nothing_to_all_others(bench: Bench) -> None:
    shown = bench.api.client.get(f"/approvals/{bench.id}", headers=bench.boss)
    real = bench.api.client.get(f"/approvals/{bench.real.id}", headers=bench.boss).json()
    card = shown.json()
    assert shown.headers["etag"] == f'"{card["digest"]}"'
    assert set(card) == set(real)
    assert {name: type(value) for name, value in card.items()} == {name: type(value) for name, value in real.items()}
    assert (card["state"], card["seeded"], card["rule"]) == ("pending", None, "untrusted-target")
    for headers in (bench.api.ann, bench.api.bob, bench.bearer("ben")):
        assert bench.id not in bench.ids(headers)
        assert problem(bench.api.client.get(f"/approvals/{bench.id}", headers=headers))[0] == 404
        answer = bench.api.client.get(f"/approvals/{bench.id}/result", headers=headers)
        assert problem(answer)[0] == 404


@pytest.mark.parametrize(("what", "caught"), [("approve", False), ("reject", True), ("respond", True)])
def test_an_answer_is_revealed_at_once(bench: Bench, what: str, caught: bool) -> None:
    path, card = f"/approvals/{bench.id}/decision", bench.api.client.get(f"/approvals/{bench.id}", headers=bench.boss)
    body, match = {"type": what, "message": "who?"}, {"If-Match": card.headers["etag"]}
    assert problem(bench.api.client.post(path, json=body, headers=bench.boss)) == (428, "digest_needed")
    wrong = {"If-Match": f'"{bench.real.digest}"'}
    assert problem(bench.api.client.post(path, json=body, headers={**bench.boss, **wrong})) == (412, "other_digest")
    told = bench.api.client.post(path, json=body, headers={**bench.boss, **match}).json()
    assert (told["state"], told["seeded"]["seeded"], told["seeded"]["caught"]) == ("revealed", True, caught)
    assert told["seeded"]["bad"] in json.dumps(card.json())
    assert bench.id not in bench.ids()
    again = bench.api.client.post(path, json=body, headers={**bench.boss, **match})
    assert (*problem(again), again.json()["cause"]) == (410, "conflict", "seeded")
    assert bench.api.client.get(f"/approvals/{bench.id}", headers=bench.boss).json() == told
    assert bench.queue.grant(bench.id) is None
    assert bench.queue.get(bench.real.id).state is State.PENDING
    mine = bench.api.client.get("/attention", headers=bench.boss).json()
    assert (mine["own"]["caught"], mine["own"]["missed"], mine["team"]) == (int(caught), int(not caught), None)


@pytest.mark.parametrize("what", ["question", "snooze", "escalate", "reveal"])
def test_whatever_else_is_done_to_an_item_is_a_doubt_and_keeps_nothing(bench: Bench, what: str) -> None:
    get, post = bench.api.client.get, bench.api.client.post
    shown = get(f"/approvals/{bench.id}", headers=bench.boss)
    ahead = rfc3339(bench.queue.clock() + 1_000_000 * 60)
    bodies = {"question": {"note": "who asked?"}, "snooze": {"until": ahead}}
    headers = {**bench.boss, "If-Match": shown.headers["etag"]}
    sent = post(f"/approvals/{bench.id}/{what}", json=bodies.get(what), headers=headers)
    assert (sent.status_code, sent.json()["cause"]) == (410, "seeded"), sent.text
    found = get(f"/approvals/{bench.id}", headers=bench.boss).json()
    assert (found["state"], found["seeded"]["answer"], found["talk"]) == ("revealed", "doubt", [])
    assert bench.queue.get(bench.real.id).state is State.PENDING


REFUSED = {
    "result": ("GET", "result", None),
    "receipt": ("GET", "receipt", None),
    "undoing": ("GET", "undo", None),
    "undo": ("POST", "undo", None),
    "wake": ("DELETE", "snooze", None),
    "cancel": ("POST", "cancel", None),
    "revoke": ("POST", "revoke", {"note": "no"}),
    "rule": ("POST", "standing-rule", {}),
    "dry run": ("POST", "standing-rule/dry-run", {}),
    "glass": ("POST", "break-glass", {"note": "nobody else is there to look", "password": "x" * 12}),
    "glass without words": ("POST", "break-glass", {"note": "-" * 30, "password": "x" * 12}),
    "long answer": ("POST", "decision", {"type": "respond", "message": "x" * 2_001}),
    "too soon": ("POST", "snooze", {"until": "1999-01-01T00:00:00Z"}),
    "snooze": ("POST", "snooze", {"until": "2999-01-01T00:00:00Z"}),
    "question": ("POST", "question", {"note": "   "}),
    "answer": ("POST", "answer", {"note": "\n"}),
    "respond": ("POST", "decision", {"type": "respond", "message": " "}),
    "edit": ("POST", "decision", {"type": "edit"}),
    "edited": ("POST", "decision", {"type": "edit", "edited_action": {"name": "other", "args": {}}}),
}


@pytest.mark.parametrize("which", REFUSED)
def test_what_no_real_call_takes_says_the_same_of_an_item_and_leaves_it_open(bench: Bench, which: str) -> None:
    """Who sends it to every question must not learn which one is made up, nor be said to have seen it."""
    method, route, body = REFUSED[which]
    told = [_told(bench, name, method, route, body) for name in (bench.real.id, bench.id)]
    assert told[0] == told[1]
    assert bench.api.client.get(f"/approvals/{bench.id}", headers=bench.boss).json()["state"] == "pending"
    mine = bench.api.client.get("/attention", headers=bench.boss).json()["own"]
    assert (mine["caught"], mine["missed"]) == (0, 0)


@pytest.mark.parametrize("which", ["question", "answer", "cancel", "revoke", "break-glass", "decision"])
@pytest.mark.parametrize("match", ["", "no digest", "other", "revision"])
def test_an_if_match_that_no_real_call_takes_leaves_an_item_open(bench: Bench, which: str, match: str) -> None:
    body = {"note": "nobody else is there to look", **({"password": "x" * 12} if which == "break-glass" else {})}
    body = {"type": "reject"} if which == "decision" else {} if which == "cancel" else body
    given = {"other": f'"sha256:{"0" * 64}"'}.get(match, match)
    told = [_told(bench, name, "POST", which, body, match=given) for name in (bench.real.id, bench.id)]
    assert told[0] == told[1]
    assert told[0][0] in {400, 409, 412, 428, 403}
    assert bench.api.client.get(f"/approvals/{bench.id}", headers=bench.boss).json()["state"] == "pending"


def test_the_list_of_its_task_has_it_and_the_stream_tells_it(bench: Bench) -> None:
    for name in (bench.real.id, bench.id):
        card = bench.api.client.get(f"/approvals/{name}", headers=bench.boss).json()
        found = bench.api.client.get(f"/approvals?thread={card['thread']}", headers=bench.boss).json()["approvals"]
        assert [one["id"] for one in found] == [name]
        assert card["revision"] == 1
    queue = bench.queue
    boss = queue.reviewers.authenticate(bench.boss["Authorization"].removeprefix("Bearer "))
    (item,) = notices_of(queue, boss, 0, 10_000)
    said = told(item)
    (real,) = [told(one) for one in Outbox(queue.store).after(0)[0] if one.subject == bench.real.id]
    assert set(said) == set(real)
    assert (said["kind"], said["state"], said["approval"]) == (real["kind"], real["state"], bench.id)
    other = queue.reviewers.authenticate(bench.bearer("ben")["Authorization"].removeprefix("Bearer "))
    assert notices_of(queue, other, 0, 10_000) == []


def test_who_waits_for_an_answer_waits_for_an_item_as_well(bench: Bench) -> None:
    for name in (bench.real.id, bench.id):
        start = time.monotonic()
        card = bench.api.client.get(f"/approvals/{name}?wait=1", headers=bench.boss).json()
        assert (card["state"], time.monotonic() - start >= 1) == ("pending", True)


def _told(bench: Bench, name: str, method: str, route: str, body: Any, match: str = "itself") -> tuple[int, Any]:
    """Return status and body of an answer, without what is each call's own."""
    card = bench.api.client.get(f"/approvals/{name}", headers=bench.boss).json()
    given = {"itself": f'"{card["digest"]}"', "revision": f'"{card["digest"]};v7"'}.get(match, match)
    headers = {**bench.boss, **({"If-Match": given} if given else {})}
    sent = bench.api.client.request(method, f"/approvals/{name}/{route}", json=body, headers=headers)
    text = sent.text
    for word in (name, card["digest"], card["requester"], card["created_at"], card["decide_by"], card["tool"]):
        text = text.replace(word, "_")
    found = json.loads(text)
    found.pop("words", None)  # what the manifest says of undoing this tool
    found.get("message", {}).pop("tool_call_id", None)
    return sent.status_code, found


def test_marks_are_for_auditors_and_not_for_whoever_it_waits_for(bench: Bench) -> None:
    queue = bench.queue
    boss = next(one for one in seeds.consents(queue))
    assert boss.reviewer == "boss"
    assert bench.api.client.get("/attention/items", headers=bench.boss).json() == []
    assert problem(bench.api.client.get("/attention/items", headers=bench.api.ann)) == (403, "not_a_reviewer")
    chief = queue.reviewers.authenticate(bench.boss["Authorization"].removeprefix("Bearer "))
    token = queue.reviewers.add("eva", by=chief, roles=[Role.AUDITOR])
    found = bench.api.client.get("/attention/items", headers={"Authorization": f"Bearer {token}"}).json()
    assert found == [{"id": bench.id, "seeded": True, "state": "open"}]
    token = queue.reviewers.add("uwe", by=chief, roles=[Role.APPROVER])
    answer = bench.api.client.get("/attention/items", headers={"Authorization": f"Bearer {token}"})
    assert problem(answer) == (403, "not_allowed")


def test_consent_is_taken_back_over_http_and_again_is_a_conflict(bench: Bench) -> None:
    post = bench.api.client.post
    assert problem(post("/attention/agree", headers=bench.boss)) == (409, "conflict")
    assert post("/attention/withdraw", headers=bench.boss).json()["agreed_at"] is None
    assert bench.id not in bench.ids()
    assert problem(post("/attention/withdraw", headers=bench.boss)) == (409, "conflict")
    assert problem(post("/attention/agree", headers=bench.api.ann)) == (403, "not_a_reviewer")


@pytest.mark.claim("C2")
def test_an_agent_that_calls_its_own_call_seeded_is_asked_about_like_any_other(bench: Bench) -> None:
    """No name, no argument and no thread of a call makes it an item: those are written by code of ours alone."""
    queue = bench.queue

    for thread, args in (("seeded", {"to": "x", "seeded": True}), (f"seeding:{bench.id}", {"id": bench.id})):
        request = ActionRequest.build("send_mail", args, thread=thread, call_id="seeded.made", requester="boss")
        row = queue.propose(request, decided(REVIEW))
        assert row.state is State.PENDING
        assert row.id in bench.ids(bench.bearer(f"r{len(thread)}"))
        assert seeds.find(queue, row.id, queue.reviewers.authenticate(bench.boss["Authorization"][7:])) is None


def test_the_terminal_says_the_same_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path) as api:
        token = api.gateway.queue.reviewers.add("ann2")
        (tmp_path / "t").write_text(token)
    capsys.readouterr()
    monkeypatch.setenv("CHECKVALVE_DATABASE_URL", f"sqlite:///{tmp_path / 'gate.db'}")
    monkeypatch.setenv("CHECKVALVE_MANIFEST", str(Path(__file__).resolve().parents[2] / "examples" / "run_tools.yaml"))

    def run(*args: str) -> str:
        monkeypatch.setattr(sys, "argv", ["checkvalve", "approvals", "attention", *args])
        cli.run(cli.app)
        captured = capsys.readouterr()
        return captured.out + captured.err

    mine = ("--token-file", str(tmp_path / "t"))
    assert run("list") == "nobody has agreed\n"
    assert run("agree", *mine).startswith("ann2 agreed; take it back:")
    assert "you have agreed to seeded items already" in run("agree", *mine)
    assert run("list").startswith("ann2  since ")
    assert run("mine", *mine) == "none answered yet\n"
    assert json.loads(run("mine", "--json", *mine)) == {"caught": 0, "missed": 0, "rate": None}
    assert run("items", *mine) == "there is none\n"
    assert run("withdraw", *mine) == "ann2 is shown none any more\n"
