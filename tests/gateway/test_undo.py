"""Undoing on every surface: kept by agents and pipelines, asked for over HTTP, on the card and in the terminal."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any, cast

import pytest
from fastapi.testclient import TestClient
from langchain.agents import create_agent
from langchain_core.tools import BaseTool

from checkvalve.approvals import undos
from checkvalve.approvals.clock import system_clock
from checkvalve.approvals.records import State
from checkvalve.approvals.reviewers import Reviewers
from checkvalve.gateway import undo_point
from checkvalve.gateway.app import Gateway, build
from checkvalve.gateway.cli import app, run
from checkvalve.gateway.http_api import create_app
from checkvalve.gateway.http_tokens import ApiTokens
from checkvalve.gateway.langchain import CheckvalveMiddleware, user_message
from checkvalve.gateway.pipelines import open_pipeline
from checkvalve.gateway.result_text import result_text
from checkvalve.gateway.settings import Settings
from checkvalve.gateway.undo_point import UndoPoint, review_point
from checkvalve.gateway.web_pages import Site, create_pages, open_desk
from checkvalve.graphs.undoing import Undoing
from tests.fakes import ScriptedModel, calls
from tests.gateway.review_world import FAST, ORIGIN, sign_in
from tests.undo_world import MANIFEST, Notebook, Office
from tests.waiting import until

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def settings(folder: Path, **more: Any) -> Settings:
    (folder / "manifest.yaml").write_text(MANIFEST)
    place = f"sqlite:///{folder / 'gate.db'}"
    return Settings(
        manifest=folder / "manifest.yaml", database_url=place, log_format="json", log_level="warning", **more
    )


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with build(settings(tmp_path)) as opened:
        opened.queue.reviewers = Reviewers(opened.store, opened.queue.clock, FAST)
        yield opened


@pytest.fixture
def office(gateway: Gateway, tmp_path: Path) -> Office:
    return Office(gateway.store, tmp_path, clock=cast(Any, system_clock))


def agent(gateway: Gateway, tools: list[BaseTool], *turns: Any) -> Any:
    middleware = CheckvalveMiddleware(gateway, requester="bob", on_review="return")
    return create_agent(ScriptedModel(script=list(turns)), tools, middleware=[middleware])


def kept(gateway: Gateway, tool: str) -> undos.Undo:
    (row,) = [row for row in gateway.queue.list([State.SUCCEEDED]) if row.tool == tool]
    with gateway.store.read() as connection:
        found = undos.read(connection, row.id)
    assert found is not None
    return found


ASK = user_message("please create the note a with the text b, and update note n1 to eggs", id="u1")


@pytest.mark.claim("C2")
@pytest.mark.parametrize("awaited", [False, True])
def test_an_agents_effects_keep_what_undoes_them(gateway: Gateway, tmp_path: Path, awaited: bool) -> None:
    turns = calls(("create_note", {"title": "a", "text": "b"}), ("update_note", {"id": "n1", "text": "eggs"}))
    made = agent(gateway, Notebook(tmp_path).tools(), turns)
    config = {"configurable": {"thread_id": "t1"}}
    if awaited:
        asyncio.run(made.ainvoke({"messages": [ASK]}, config))
    else:
        made.invoke({"messages": [ASK]}, config)
    assert kept(gateway, "create_note").call().args["id"] in Notebook(tmp_path).read()
    update = kept(gateway, "update_note")
    assert update.call().args == {"id": "n1", "text": "milk"}
    undoing = Undoing(gateway.services)
    assert undoing.standing(update.proposal_id).left == {"title": "List", "text": "eggs"}
    boss = gateway.queue.reviewers.authenticate(gateway.queue.reviewers.add("boss"))
    undo = undoing.ask(update.proposal_id, "carl", Notebook(tmp_path).tools())
    gateway.queue.approve(undo.id, boss, undo.digest)
    assert undoing.run(undo.id, Notebook(tmp_path).tools()).state is State.SUCCEEDED
    assert Notebook(tmp_path).read()["n1"]["text"] == "milk"


def test_an_agent_is_told_that_a_call_was_not_begun(gateway: Gateway, tmp_path: Path) -> None:
    tools = [tool for tool in Notebook(tmp_path).tools() if tool.name != "get_note"]
    made = agent(gateway, tools, calls(("delete_note", {"id": "n1"})))
    said = user_message("please delete note n1 with the title List", id="u1")
    boss = gateway.queue.reviewers.authenticate(gateway.queue.reviewers.add("boss"))
    config = {"configurable": {"thread_id": "t1"}}
    state = made.invoke({"messages": [said]}, config)
    for row in gateway.queue.list([State.PENDING]):
        gateway.queue.approve(row.id, boss, row.digest)
        again = agent(gateway, tools, calls(("delete_note", {"id": "n1"})))
        state = again.invoke({"messages": [said]}, config)
    assert "failed" in str(state["messages"][-2].content)
    assert Notebook(tmp_path).effects == []


@pytest.mark.claim("C4")
def test_the_pages_show_what_would_undo_a_call_and_ask_for_it_once(
    gateway: Gateway, office: Office, tmp_path: Path
) -> None:
    done = office.act("update_note", id="n1", text="<b>eggs</b>").proposal
    office.notebook.write({"n1": {"title": "List", "text": "by <i>hand</i>"}}, "hand")
    desk = open_desk(gateway.queue, settings(tmp_path), unpack=result_text)
    desk.undo = UndoPoint(Undoing(gateway.services), office.tools())
    token = gateway.queue.reviewers.add("zoe", by=office.person())
    site = Site(create_pages(desk, settings(tmp_path)))
    with TestClient(site, base_url=ORIGIN, follow_redirects=False, raise_server_exceptions=False) as client:
        assert sign_in(client, token).status_code == 303
        page = client.get(f"/review/items/{done.id}").text
        assert "This effect can be undone until" in page
        assert "Undone by calling" in page
        fields = hidden(page, f"/review/items/{done.id}/undo")
        late = desk.sessions.clock() + 2_000_000 if desk.sessions.clock() > 1e12 else desk.sessions.clock() + 2
        desk.sessions.clock = lambda: late
        sent = client.post(f"/review/items/{done.id}/undo", data=fields)
        assert sent.status_code == 303, sent.text[:500]
        undo = client.get(sent.headers["location"]).text
        assert "This call undoes another one" in undo
        assert "not what the effect left any more" in undo
        assert "by &lt;i&gt;hand&lt;/i&gt;" in undo
        assert "<i>hand" not in undo
        again = client.get(f"/review/items/{done.id}").text
        assert "Somebody has asked to undo it" in again
        assert "/undo" not in re.findall(r'action="([^"]+)"', again)
        second = client.post(f"/review/items/{done.id}/undo", data=fields)
        assert second.status_code == 409
    (asked,) = gateway.queue.list([State.PENDING])
    assert (asked.rule, asked.requester) == ("undo", "zoe")


def hidden(page: str, action: str) -> dict[str, str]:
    (form,) = re.findall(rf'<form[^>]*action="{re.escape(action)}"[^>]*>(.*?)</form>', page, re.DOTALL)
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form)
    return {name: unescape(value) for name, value in found}


def test_pages_served_alone_know_the_manifest_of_the_settings(gateway: Gateway, office: Office, tmp_path: Path) -> None:
    done = office.act("create_note", title="a", text="b").proposal.id
    point = review_point(settings(tmp_path), gateway.queue)
    assert point is not None
    assert point.standing(done).why_not == ""
    assert review_point(Settings(database_url="sqlite://"), gateway.queue) is None


@pytest.mark.claim("C2")
@pytest.mark.parametrize("ours", ["manifest.yaml", "checkvalve.toml", "gate.db-wal"])
def test_pages_served_alone_undo_nothing_in_the_gateways_own_files(
    gateway: Gateway, office: Office, tmp_path: Path, ours: str
) -> None:
    """They decide an undoing by the same rules as a gateway does, its own files and its sandbox included."""
    place = str(tmp_path / ours)
    office.notebook.write({place: {"title": "List", "text": "milk"}}, "begin")
    done = office.act("update_note", id=place, text="eggs").proposal
    assert done.state is State.SUCCEEDED
    point = review_point(settings(tmp_path, sandbox="bubblewrap"), gateway.queue, tmp_path / "checkvalve.toml")
    assert point is not None
    undo = point.ask(done.id, office.person())
    assert (undo.state, undo.rule) == (State.DENIED, "protected")


@pytest.mark.claim("C4")
def test_the_api_shows_asks_and_runs_what_was_approved(
    gateway: Gateway, office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo_point.UndoWorker.__init__, "__kwdefaults__", {"every": 0.05})
    done = office.act("create_note", title="a", text="b").proposal
    models = {
        "reader": f"scripted:{EXAMPLES / 'run_reader.jsonl'}",
        "actor": f"scripted:{EXAMPLES / 'run_actor.jsonl'}",
    }
    tokens = ApiTokens(tmp_path / "tokens.json", FAST)
    client_of = {name: {"Authorization": f"Bearer {tokens.add(name)}"} for name in ("bob", "eve")}
    asker = {"Authorization": f"Bearer {gateway.queue.reviewers.add('zoe', by=office.person())}"}
    with build(settings(tmp_path, **models)) as other, open_pipeline(other, tools=office.tools()) as pipeline:
        other.queue.reviewers = gateway.queue.reviewers
        with TestClient(create_app(other, pipeline, tokens), raise_server_exceptions=False) as client:
            shown = client.get(f"/approvals/{done.id}/undo", headers=client_of["bob"]).json()
            assert (shown["state"], shown["call"]["tool"]) == ("open", "delete_note")
            assert shown["from"] == {"id": "from $.id of its result"}
            assert client.get(f"/approvals/{done.id}/undo", headers=client_of["eve"]).status_code == 404
            assert client.post(f"/approvals/{done.id}/undo", headers=client_of["bob"]).status_code == 403
            made = client.post(f"/approvals/{done.id}/undo", headers=asker)
            assert made.status_code == 201
            assert made.headers["location"] == f"/approvals/{made.json()['id']}"
            assert client.post(f"/approvals/{done.id}/undo", headers=asker).status_code == 409
            undo = gateway.queue.get(made.json()["id"])
            office.approve(undo)
            until(lambda: gateway.queue.get(undo.id).state is State.SUCCEEDED)
            assert client.get(f"/approvals/{done.id}/undo", headers=client_of["bob"]).json()["state"] == "undone"
    assert office.notebook.effects == ["create n2", "delete n2"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, office: Office) -> Path:
    """Return a folder in which the terminal's commands find everything."""
    root = Path(__file__).resolve().parents[2]
    lines = ['manifest = "manifest.yaml"', 'database_url = "sqlite:///gate.db"', 'log_level = "error"']
    (tmp_path / "checkvalve.toml").write_text("\n".join(lines))
    (tmp_path / "tools.py").write_text(
        f"import pathlib, sys\nsys.path.insert(0, {str(root)!r})\nfrom tests.undo_world import Notebook\n"
        f"TOOLS = Notebook(pathlib.Path({str(tmp_path)!r})).tools()\n"
    )
    office.person()
    for name in ("zoe", "max"):
        (tmp_path / name).write_text(office.queue.reviewers.add(name, by=office.person()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def terminal(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run(lambda: app(["--config", "checkvalve.toml", "undo", *words]))
    told = capsys.readouterr()
    return code, told.out, told.err


def test_the_terminal_lists_shows_asks_and_runs(
    place: Path, office: Office, gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    done = office.act("update_note", id="n1", text="eggs").proposal.id
    sent = office.act("send_note", id="n1", to="x@corp.example").proposal.id
    gateway.queue.reviewers = office.queue.reviewers
    assert terminal(capsys, "list")[1].count("\n") == 2
    assert "what was sent stays sent" in terminal(capsys, "show", sent)[1]
    code, out, err = terminal(capsys, "do", sent, "--token-file", "zoe")
    assert (code, out) == (1, "")
    assert "nothing was kept to undo it" in err
    code, out, _ = terminal(capsys, "do", done, "--token-file", "zoe", "--tools", "./tools.py")
    assert code == 0
    assert "The state was what the effect left" in out
    assert "now another person decides it" in out
    (undo,) = gateway.queue.list([State.PENDING])
    assert terminal(capsys, "do", done, "--token-file", "max")[0] == 1
    assert terminal(capsys, "run")[1] == "no undoing was approved and waits to be run\n"
    office.approve(undo, "ann")
    assert terminal(capsys, "run")[0] == 2, "the tools are not named"
    code, out, _ = terminal(capsys, "run", "--tools", "./tools.py")
    assert (code, out) == (0, f"{undo.id[:8]}  succeeded (returned)\n")
    shown = json.loads(terminal(capsys, "show", done, "--json")[1])
    assert (shown["state"], shown["undo"]["id"]) == ("undone", undo.id)
    assert office.notebook.effects[-1] == "update n1 milk"
