"""Who is behind a run of the HTTP API, and what a program's token may not do there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.errors import NotAllowedError
from checkvalve.approvals.records import State
from checkvalve.gateway import worker
from checkvalve.gateway.errors import TokenError
from checkvalve.gateway.http_tokens import ApiTokens
from tests.approvals.made import people
from tests.gateway.runs_world import FAST, TASK, Api, serving

BILL = {"source": "read_mail", "tool": "send_mail", "roles": ["target"]}


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    monkeypatch.setattr(worker, "EVERY", 0.02)
    with serving(tmp_path, agent_owner="Zoe@corp.example") as found:
        people(found.gateway.queue)
        yield found


def program(folder: Path, **rest: Any) -> dict[str, str]:
    token = ApiTokens(folder / "tokens.json", FAST).add("invoices", program=True, **rest)
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.claim("C4")
def test_everybody_behind_a_run_stands_in_its_calls_and_approves_none(api: Api, tmp_path: Path) -> None:
    bot = program(tmp_path, owner="cem")
    body = {"task": TASK, "thread": "r1", "on_behalf_of": "Dan"}
    assert api.client.post("/runs", json=body, headers=bot).status_code == 202
    api.ann = bot
    (waiting,) = api.wait("r1", "waiting")["waiting"]
    row = api.gateway.queue.get(waiting["approval"])
    assert row.asked_by == ("invoices", "dan", "cem", "zoe@corp.example")
    shown = api.client.get(f"/approvals/{row.id}", headers=bot).json()
    told = [("for", "dan"), ("token", "cem"), ("agent", "zoe@corp.example")]
    assert [(one["why"], one["name"]) for one in shown["behind"]] == told
    queue = api.gateway.queue
    boss = queue.reviewers.authenticate(queue.reviewers.add("boss"))
    for name in ("dan", "cem", "zoe@corp.example"):
        who = queue.reviewers.authenticate(queue.reviewers.add(name, by=boss))
        with pytest.raises(NotAllowedError):
            queue.approve(row.id, who, row.digest)
    assert queue.approve(row.id, boss, row.digest).state is State.APPROVED


@pytest.mark.claim("C4")
def test_who_was_behind_a_run_stays_there(api: Api, tmp_path: Path) -> None:
    """Another token of the same name goes on with the run: its owner joins, and the first one stays."""
    first, second = program(tmp_path, owner="cem"), program(tmp_path, owner="eve")
    assert api.client.post("/runs", json={"task": TASK, "thread": "r1"}, headers=first).status_code == 202
    api.ann = first
    api.wait("r1", "waiting")
    assert api.client.post("/runs/r1/resume", headers=second).status_code == 202
    server: Any = api.client.app.state.server  # type: ignore[attr-defined]
    assert [one.name for one in server.log.behind("r1")] == ["cem", "eve"]
    api.wait("r1", "waiting")
    assert [one.name for one in server.log.behind("r1")] == ["cem", "eve"]


@pytest.mark.claim("C4")
def test_a_program_grants_no_mandate(api: Api, tmp_path: Path) -> None:
    bot = program(tmp_path, owner="cem")
    body = {"task": TASK, "thread": "r1", "mandates": [BILL]}
    refused = api.client.post("/runs", json=body, headers=bot)
    assert (refused.status_code, refused.json()["cause"]) == (403, "not_a_person")
    assert api.client.get("/runs/r1", headers=bot).status_code == 404  # nothing was begun
    assert api.client.post("/runs", json={"task": TASK, "thread": "r1"}, headers=bot).status_code == 202
    refused = api.client.post("/runs/r1/mandates", json=BILL, headers=bot)
    assert (refused.status_code, refused.json()["cause"]) == (403, "not_a_person")
    assert api.client.get("/runs/r1/mandates", headers=bot).json() == []


def test_for_whom_a_run_is_has_to_be_a_person(api: Api, tmp_path: Path) -> None:
    refused = api.client.post("/runs", json={"task": TASK, "on_behalf_of": "\u3164"}, headers=program(tmp_path))
    assert (refused.status_code, refused.json()["code"]) == (422, "no_such_person")


WORDS = ["reviewer:boss", "Client:bob", "\uff52eviewer\uff1aboss", "gateway", "Clock", "breakglass:eve"]


@pytest.mark.claim("C4")
@pytest.mark.parametrize("name", WORDS, ids=range(len(WORDS)))
def test_nobody_is_called_what_the_log_calls_us(api: Api, tmp_path: Path, name: str) -> None:
    """Else an event would seem to name a reviewer, or a part of this program, that had nothing to do with it."""
    refused = api.client.post("/runs", json={"task": TASK, "on_behalf_of": name}, headers=program(tmp_path))
    assert (refused.status_code, refused.json()["code"]) == (422, "no_such_person")
    assert "a word by which this program calls itself" in refused.json()["detail"]
    known = ApiTokens(tmp_path / "tokens.json", FAST)
    kept = known.clients()
    with pytest.raises(TokenError, match="an owner cannot be a word by which"):
        known.add("invoices", program=True, owner=name)
    with pytest.raises(TokenError, match="an owner cannot be"):
        known.give_to(kept[0].selector, name)
    with pytest.raises(TokenError, match="the name of a token cannot be"):
        known.add(name)
    assert known.clients() == kept


@pytest.mark.parametrize("name", ["Agent Smith", "gateway@corp.example", "ann: payments", "Link, Ann", "reviewers"])
def test_a_name_that_only_has_such_a_word_in_it_is_a_name(tmp_path: Path, name: str) -> None:
    known = ApiTokens(tmp_path / "tokens.json", FAST)
    known.add("invoices", program=True, owner=name)
    assert [client.owner for client in known.clients()] == [name.casefold()]


@pytest.mark.claim("C4")
def test_an_account_of_a_program_looks_over_http_and_decides_nothing(api: Api) -> None:
    queue = api.gateway.queue
    boss = queue.reviewers.authenticate(queue.reviewers.add("boss"))
    bot = {"Authorization": f"Bearer {queue.reviewers.add('watcher', by=boss, owner='cem')}"}
    api.start(thread="r1")
    (waiting,) = api.wait("r1", "waiting")["waiting"]
    name = waiting["approval"]
    row = queue.get(name)
    shown = api.client.get(f"/approvals/{name}", headers=bot)
    assert shown.status_code == 200
    held = {**bot, "If-Match": f'"{row.digest}"'}
    for answer in (
        {"type": "approve"},
        {"decisions": [{"type": "approve"}]},  # as LangChain's middleware names it
        {"type": "reject"},
        {"type": "respond", "message": "it is done"},
    ):
        refused = api.client.post(f"/approvals/{name}/decision", json=answer, headers=held)
        assert (refused.status_code, refused.json()["cause"]) == (403, "not_a_person"), answer
    assert queue.get(name).state is State.PENDING


def test_a_token_says_who_holds_and_who_owns_it(tmp_path: Path) -> None:
    known = ApiTokens(tmp_path / "tokens.json", FAST)
    for rest in ({}, {"program": True}, {"program": True, "owner": "Cem"}):
        known.add("ann", **rest)
    found = known.clients()
    assert [(one.program, one.owner) for one in found] == [(False, "ann"), (True, ""), (True, "cem")]
    known.give_to(found[0].selector, "Ben", program=True)
    known.give_to(found[1].selector, "ben")
    assert [(one.program, one.owner) for one in known.clients()] == [(True, "ben"), (True, "ben"), (True, "cem")]
    known.give_to(found[0].selector, "ann")
    assert known.clients()[0].program, "what is a program's never becomes a person's"


def test_a_token_of_an_earlier_version_belongs_to_nobody(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text('{"tokens": [{"name": "ann", "selector": "s", "hash": "h", "scopes": ["read"]}]}')
    (found,) = ApiTokens(file, FAST).clients()
    assert (found.program, found.owner) == (False, "")
