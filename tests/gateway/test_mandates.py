"""Mandates and endorsements in the terminal and over HTTP: granted, listed, shown and taken back by whoever may."""

from __future__ import annotations

import dataclasses
import json
import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import argon2
import pytest
from fastapi.testclient import TestClient

from checkvalve.approvals.mandate_source import NamedSource
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.records import State
from checkvalve.gateway import cli
from checkvalve.gateway.app import Gateway, build
from checkvalve.gateway.http_api import create_app
from checkvalve.gateway.http_runs import NewMandate
from checkvalve.gateway.http_tokens import ApiTokens
from checkvalve.gateway.pipelines import open_pipeline
from checkvalve.gateway.settings import Settings
from checkvalve.graphs.past import decide_again
from checkvalve.graphs.session import Call
from tests.approvals.made import people
from tests.gateway.world import World

Run = Callable[..., tuple[int, str, str]]
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
IBAN = "DE89370400440532013000"
BILL = Mandate("read_mail", "pay", ("target", "amount"), 100)


@pytest.fixture
def run(place: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run_(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["checkvalve", "--config", str(place.config), *words])
        monkeypatch.setattr(cli._Chosen, "file", None)
        capsys.readouterr()
        code = cli.run(cli.app)
        told = capsys.readouterr()
        return code, told.out, told.err

    return run_


@pytest.fixture
def token(place: World) -> str:
    """Return the options that prove who decides."""
    with place.open() as gateway:
        people(gateway.queue)
        (place.folder / "token").write_text(gateway.queue.reviewers.add("boss"))
    return str(place.folder / "token")


def asked(gateway: Gateway, text: str = f"Pay 60 EUR to {IBAN}") -> str:
    """Leave a question behind and return its id."""
    session = gateway.session("t", "nora")
    session.user_words("Pay the bill from Joe in my mail", key="u")
    call = Call("lookup", {"name": "Joe"}, "c1")
    session.propose(call)
    session.result(call, {"note": text}, key="r")
    return session.propose(Call("pay", {"to": IBAN, "amount": 60}, "c2")).id


GRANT = ("mandates", "grant", "--source", "read_mail", "--tool", "pay", "--role", "target", "--role", "amount",
         "--max-amount", "100", "--lasts", "12h")  # fmt: skip


def test_granting_takes_a_credential_and_says_what_was_granted(run: Run, place: World, token: str) -> None:
    code, out, err = run(*GRANT, "--thread", "t", "--requester", "nora")
    assert (code, out) == (2, "")
    assert "give --token-file FILE" in err
    code, out, _ = run(*GRANT, "--thread", "t", "--requester", "nora", "--token-file", token)
    assert code == 0
    assert "in force until" in out
    assert "for nora in thread t" in out
    assert "read_mail may fill amount, target of `pay` (1 call; up to 100)" in out
    assert "used: 0 of 1 calls, 0 of 100; granted by reviewer:boss" in out
    with place.open() as gateway:
        assert gateway.queue.mandates.in_force("t", "nora")[0].mandate.per_call == 100


def test_listing_showing_and_revoking(run: Run, place: World, token: str) -> None:
    code, out, _ = run("mandates", "list")
    assert (code, out.startswith("no mandate is in force")) == (0, True)
    with place.open() as gateway:
        (granted,) = gateway.queue.mandates.grant([BILL], thread="t", requester="nora", by="host:nora")
    assert granted.id[:8] in run("mandates", "list")[1]
    (listed,) = json.loads(run("mandates", "list", "--json")[1])
    assert (listed["state"], listed["mandate"], listed["amount_left"]) == ("in force", BILL.to_json(), "100")
    shown = run("mandates", "show", granted.id[:8])[1]
    assert "granted by" in shown
    assert "mandate.granted" in shown
    assert run("mandates", "revoke", granted.id[:8])[0] == 2
    code, out, _ = run("mandates", "revoke", granted.id[:8], "--token-file", token)
    assert (code, "revoked" in out) == (0, True)
    assert run("mandates", "list")[1].startswith("no mandate is in force")
    assert "revoked since" in run("mandates", "list", "--all")[1]
    code, _, err = run("mandates", "revoke", granted.id[:8], "--token-file", token)
    assert (code, "this mandate is revoked (nothing was changed)" in err) == (1, True)


def test_the_mandate_that_a_question_offers_is_shown_and_granted(run: Run, place: World, token: str) -> None:
    with place.open() as gateway:
        waiting = asked(gateway)
    shown = " ".join(run("approvals", "show", waiting)[1].replace("\u2502", " ").split())
    assert "A mandate for the source would have made the question unnecessary" in shown
    assert "lookup(name=Joe) may fill amount, target of `pay` (1 call; up to 60)" in shown
    assert f"checkvalve mandates grant --offered {waiting[:8]}" in shown
    code, out, _ = run("mandates", "grant", "--offered", waiting[:8], "--token-file", token)
    assert (code, "for nora in thread t" in out) == (0, True)
    with place.open() as gateway:
        again = gateway.session("t", "nora").propose(Call("pay", {"to": IBAN, "amount": 60}, "c3"))
        assert again.state is State.APPROVED


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "source: a mandate names a source, and a tool or an effect (say which)"),
        (("--source", "x", "--tool", "pay"), "roles: these are no roles of arguments"),
        (("--source", "x", "--tool", "pay", "--role", "amount"), "max_amount: the role `amount` needs a limit"),
        (
            ("--source", "x", "--tool", "pay", "--role", "amount", "--max-amount", "1e3"),
            "max_amount: this is no amount above zero (write it as digits, such as 99.50)",
        ),
        (("--source", "x(", "--tool", "pay", "--role", "target", "--only", "currency"), "--only: this is no pair"),
        (("--source", "x(y)", "--tool", "pay", "--role", "target"), "source: its arguments cannot be read"),
        (
            ("--source", "x", "--tool", "pay", "--role", "target", "--lasts", "1 day"),
            "--lasts: this is no length of time (write 90m, 12h or 7d)",
        ),
        (("--source", "x", "--tool", "pay", "--role", "target", "--lasts", "40d"), "more than 30 days away"),
        (("--file", "/nowhere.json"), "/nowhere.json cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_granted_is_said_with_a_remedy(run: Run, token: str, words: tuple[str, ...], said: str) -> None:
    asking = ("--thread", "t", "--requester", "nora", "--token-file", token)
    code, out, err = run("mandates", "grant", *words, *asking)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_whose_task_it_is_has_to_be_known(run: Run, place: World, token: str) -> None:
    code, _, err = run(*GRANT, "--thread", "t", "--token-file", token)
    assert (code, "name the person: --requester" in err) == (2, True)
    with place.open() as gateway:
        asked(gateway)
    assert "for nora in thread t" in run(*GRANT, "--thread", "t", "--token-file", token)[1]


def test_a_file_of_a_mandate(run: Run, place: World, token: str) -> None:
    file = place.folder / "mandate.json"
    file.write_text(json.dumps(BILL.to_json()))
    code, out, _ = run(
        "mandates", "grant", "--file", str(file), "--thread", "t", "--requester", "n", "--token-file", token
    )
    assert (code, "read_mail may fill" in out) == (0, True)
    file.write_text('{"source": "read_mail", "tool": "pay", "roles": ["target"], "until": "tomorrow"}')
    code, _, err = run(
        "mandates", "grant", "--file", str(file), "--thread", "t", "--requester", "n", "--token-file", token
    )
    assert code == 2
    assert "mandate.json: until: there is no such field" in err


def test_endorsements_are_listed_and_taken_back(run: Run, place: World, token: str) -> None:
    assert run("endorsements", "list")[1].startswith("no accepted data is in force")
    with place.open() as gateway:
        waiting = asked(gateway)
        people(gateway.queue)
        boss = gateway.queue.reviewers.authenticate(Path(token).read_text())
        gateway.queue.approve(waiting, boss, gateway.queue.get(waiting).digest)
    out = run("endorsements", "list")[1]
    assert IBAN in out
    assert "as target of pay, from what lookup returned" in out
    assert "used 0 times; accepted by reviewer:boss" in out
    listed = json.loads(run("endorsements", "list", "--json")[1])
    assert {item["role"] for item in listed} == {"target", "amount"}
    code, out, _ = run("endorsements", "revoke", listed[0]["id"][:8], "--token-file", token)
    assert (code, "revoked" in out) == (0, True)
    assert len(json.loads(run("endorsements", "list", "--json")[1])) == 1
    assert len(json.loads(run("endorsements", "list", "--json", "--all")[1])) == 2
    assert run("endorsements", "revoke", "ffff", "--token-file", token)[0] == 1


def test_a_paused_task_is_shown_and_let_go_on(run: Run, place: World, token: str) -> None:
    place.settings(max_questions=1)
    with place.open() as gateway:
        asked(gateway)
        gateway.session("t", "nora").propose(Call("pay", {"to": IBAN, "amount": 61}, "c3"))
    out = run("approvals", "list")[1]
    assert "task t is paused since" in out
    assert "checkvalve approvals resume t" in out
    code, out, err = run("approvals", "list", "--json")
    assert json.loads(out)
    assert "task t is paused" in err
    assert run("approvals", "resume", "t")[0] == 2
    code, out, _ = run("approvals", "resume", "t", "--more", "3", "--token-file", token)
    assert (code, "may ask 3 more questions" in out) == (0, True)
    assert "paused" not in run("approvals", "list")[1]
    assert run("approvals", "resume", "t", "--token-file", token)[0] == 1


def test_a_mandate_file_where_the_agent_can_write_is_refused(run: Run, place: World) -> None:
    work = place.folder / "work"
    work.mkdir()
    place.settings(agent_workdir=str(work))
    (work / "m.json").write_text(json.dumps(BILL.to_json()))
    code, _, err = run("run", "Pay", "--mandate", str(work / "m.json"))
    assert (code, "lies where the agent can write" in err) == (2, True)


@pytest.fixture
def api(tmp_path: Path) -> Iterator[tuple[TestClient, Gateway, dict[str, dict[str, str]]]]:
    """Return a running API with the tokens of two people, and one that only reads."""
    settings = Settings(
        manifest=EXAMPLES / "run_tools.yaml",
        database_url=f"sqlite:///{tmp_path}/gate.db",
        tools=str(EXAMPLES / "run_tools.py"),
        reader=f"scripted:{EXAMPLES / 'run_reader.jsonl'}",
        actor=f"scripted:{EXAMPLES / 'run_actor.jsonl'}",
    )
    fast = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    tokens = ApiTokens(tmp_path / "tokens", fast)
    given = {"ann": tokens.add("ann"), "bob": tokens.add("bob"), "reading": tokens.add("ann", ["read"])}
    with (
        build(settings) as gateway,
        open_pipeline(gateway) as pipeline,
        TestClient(create_app(gateway, pipeline, tokens)) as client,
    ):
        yield client, gateway, {name: {"Authorization": f"Bearer {value}"} for name, value in given.items()}


BODY: dict[str, Any] = {
    "source": "read_mail", "tool": "send_mail", "roles": ["target"], "hosts": ["corp.example"], "max_calls": 2,
}  # fmt: skip


def test_a_run_is_started_with_mandates_and_they_are_taken_back(
    api: tuple[TestClient, Gateway, dict[str, dict[str, str]]],
) -> None:
    client, gateway, who = api
    started = client.post("/runs", json={"task": "Read", "thread": "r", "mandates": [BODY]}, headers=who["ann"])
    assert started.status_code == 202
    (granted,) = gateway.queue.mandates.in_force("r", "ann")
    assert (granted.granted_by, granted.mandate.hosts) == ("client:ann", ("corp.example",))
    listed = client.get("/runs/r/mandates", headers=who["reading"]).json()
    assert [item["id"] for item in listed] == [granted.id]
    assert client.get("/runs/r/mandates", headers=who["bob"]).status_code == 404
    assert client.delete(f"/runs/r/mandates/{granted.id}", headers=who["bob"]).status_code == 404
    assert client.delete(f"/runs/r/mandates/{granted.id}", headers=who["reading"]).status_code == 403
    assert client.delete(f"/runs/r/mandates/{granted.id}").status_code == 401
    ended = client.delete(f"/runs/r/mandates/{granted.id}", headers=who["ann"])
    assert (ended.status_code, ended.json()["state"]) == (200, "revoked")
    again = client.delete(f"/runs/r/mandates/{granted.id}", headers=who["ann"])
    assert (again.status_code, again.json()["code"]) == (410, "mandate_ended")
    assert again.headers["content-type"] == "application/problem+json"
    missing = client.delete(f"/runs/r/mandates/{'0' * 8}", headers=who["ann"])
    assert (missing.status_code, missing.json()["code"]) == (404, "no_such_mandate")


def test_a_mandate_is_granted_for_a_run_that_is_under_way(
    api: tuple[TestClient, Gateway, dict[str, dict[str, str]]],
) -> None:
    client, gateway, who = api
    assert client.post("/runs/r/mandates", json=BODY, headers=who["ann"]).status_code == 404
    client.post("/runs", json={"task": "Read", "thread": "r"}, headers=who["ann"])
    assert client.post("/runs/r/mandates", json=BODY, headers=who["reading"]).status_code == 403
    assert client.post("/runs/r/mandates", json=BODY, headers=who["bob"]).status_code == 404
    made = client.post("/runs/r/mandates", json=BODY, headers=who["ann"])
    assert made.status_code == 201
    assert made.headers["Location"] == f"/runs/r/mandates/{made.json()['id']}"
    same = client.post("/runs/r/mandates", json=BODY, headers=who["ann"])
    assert same.json()["id"] == made.json()["id"]
    assert gateway.queue.mandates.in_force("r", "bob") == []
    assert client.get("/runs/r/endorsements", headers=who["ann"]).json() == []
    missing = client.delete("/runs/r/endorsements/abcdef12", headers=who["ann"])
    assert (missing.status_code, missing.json()["code"]) == (404, "no_such_endorsement")


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"roles": []}, "invalid_request"),
        ({"roles": ["king"]}, "invalid_request"),
        ({"granted_by": "boss"}, "invalid_request"),
        ({"requester": "bob"}, "invalid_request"),
        ({"thread": "other"}, "invalid_request"),
        ({"roles": ["amount"]}, "invalid_mandate"),
        ({"roles": ["amount"], "max_amount": "-5"}, "invalid_mandate"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "invalid_mandate"),
        ({"expires_at": "tomorrow"}, "invalid_mandate"),
        ({"hosts": ["https://x/"]}, "invalid_mandate"),
    ],
)
def test_a_body_that_is_no_mandate_is_a_problem_that_repeats_nothing(
    api: tuple[TestClient, Gateway, dict[str, dict[str, str]]], changed: dict[str, Any], code: str
) -> None:
    client, gateway, who = api
    body = {"task": "Read", "thread": "r", "mandates": [{**BODY, **changed}]}
    found = client.post("/runs", json=body, headers=who["ann"])
    assert (found.status_code, found.json()["code"]) == (422, code)
    assert found.headers["content-type"] == "application/problem+json"
    assert not [value for value in map(str, changed.values()) if value in found.text and value != "[]"]
    assert gateway.queue.mandates.list() == []


def test_a_replay_sees_a_mandate_as_it_stood_then(place: World) -> None:
    with place.open() as gateway:
        session = gateway.session("t", "nora")
        session.grant([Mandate("lookup(name=Joe)", "pay", ("target", "amount"), 100)])
        row = gateway.queue.get(asked(gateway))
        assert row.verdict_name == "allow"
        gateway.queue.mandates.take_back(gateway.queue.mandates.list()[0].id, by="reviewer:boss")
        assert decide_again(gateway.services, row, gateway.queue.list()).verdict.name == "allow"
        assert session.propose(Call("pay", {"to": IBAN, "amount": 60}, "c3")).verdict_name == "review"


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "mandates.md").read_text(encoding="utf-8")


def test_the_mandate_on_the_page_is_one_and_every_field_is_explained() -> None:
    (shown,) = re.findall(r"^```json\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    found = Mandate.from_json(json.loads(shown))
    assert (found.source, str(found.per_call), found.max_calls) == ("read_file(path=bill.txt)", "100", 1)
    fields = [field.name for field in dataclasses.fields(Mandate)]
    assert set(fields) == set(NewMandate.model_fields)
    assert not [name for name in fields if f"| `{name}` |" not in PAGE]
    forms = re.findall(r"^\| `([^`]+)` \| (?:every|results|only|one)", PAGE, re.MULTILINE)
    assert len(forms) == 4
    assert [str(NamedSource.parse(form)) for form in forms] == forms


def test_commands_on_the_page_exist() -> None:
    cli_page = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    commands = set(re.findall(r"(checkvalve (?:mandates|endorsements|approvals) [a-z]+)", PAGE))
    assert len(commands) > 6
    assert not [command for command in commands if f" `{command}`" not in cli_page]


def test_the_example_pays_the_bill_and_nothing_else(tmp_path: Path) -> None:
    example = runpy.run_path(str(EXAMPLES / "mandated_agent.py"))
    told = example["main"](tmp_path)
    assert [text.partition(" ")[0] for text in told] == ["Not", "paid", "Not"]
    assert example["PAID"] == [f"98.7 to {IBAN}"]
