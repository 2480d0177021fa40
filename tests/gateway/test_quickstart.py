"""The quickstart, followed literally: its manifest, its settings and its agent, in files where the page says."""

from __future__ import annotations

import json
import re
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkvalve.gateway.app import open_gateway

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
GUEST, THIEF = "cleo@partner.example", "collector@evil.example"

Agent = Callable[..., tuple[dict[str, Any], list[str]]]


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CHECKVALVE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / ".config" / "checkvalve"
    folder.mkdir(parents=True)
    (folder / "tools.yaml").write_text(block("yaml"), encoding="utf-8")
    (folder / "config.toml").write_text(block("toml"), encoding="utf-8")
    program = tmp_path / "clone" / "examples" / "langchain_agent.py"
    program.parent.mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "langchain_agent.py", program)

    def run(what: str = "ask") -> tuple[dict[str, Any], list[str]]:
        state = runpy.run_path(str(program))["main"](what)
        kept = program.parents[1] / "demo-data" / "example" / "calendar.json"
        events = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
        return state, [event["guest"] for event in events.values()]

    return run


def test_in_observe_mode_everything_runs_and_shows_in_the_list(agent: Agent) -> None:
    state, invited = agent()
    assert invited == [GUEST, THIEF]
    assert "__interrupt__" not in state
    with open_gateway() as gateway:
        assert [row.verdict_name for row in gateway.queue.list()].count("review") == 2


def test_enforcing_it_pauses_and_goes_on_after_the_decision(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHECKVALVE_MODE", "enforce")
    state, invited = agent()
    assert (invited, len(state["__interrupt__"])) == ([], 1)
    assert agent("resume")[1] == [], "nobody has decided"
    with open_gateway() as gateway:
        queue = gateway.queue
        (waiting,) = queue.list()[-1:]
        alice = queue.reviewers.authenticate(queue.reviewers.add("alice"))
        queue.approve(waiting.id, alice, waiting.digest[7:19])
    state, invited = agent("resume")
    assert invited == [GUEST], "once, and with the arguments that were approved"
    with open_gateway() as gateway:
        (waiting,) = gateway.queue.list()[-1:]
        gateway.queue.reject(waiting.id, alice, "looks_like_attack")
    state, invited = agent("resume")
    assert state["messages"][-1].text == "Done."
    assert agent("resume")[1] == [GUEST]
