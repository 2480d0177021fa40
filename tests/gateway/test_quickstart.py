"""The quickstart, followed literally: its manifest, its settings and its agent, in files where the page says."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkvalve.gateway.app import open_gateway

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
THIEF = [("collector@evil.example", "all notes")]

Agent = Callable[..., tuple[dict[str, Any], list[tuple[str, str]]]]


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

    def run(what: str = "ask") -> tuple[dict[str, Any], list[tuple[str, str]]]:
        program = runpy.run_path(str(ROOT / "examples" / "quickstart_agent.py"))
        return program["main"](what), program["sent"]

    return run


def test_in_observe_mode_everything_runs_and_shows_in_the_list(agent: Agent) -> None:
    state, sent = agent()
    assert sent == THIEF
    assert "__interrupt__" not in state
    with open_gateway() as gateway:
        assert "review" in {row.verdict_name for row in gateway.queue.list()}


def test_enforcing_it_pauses_and_goes_on_after_the_decision(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHECKVALVE_MODE", "enforce")
    state, sent = agent()
    assert (sent, len(state["__interrupt__"])) == ([], 1)
    assert agent("resume")[1] == [], "nobody has decided"
    with open_gateway() as gateway:
        queue = gateway.queue
        (waiting,) = queue.list()[-1:]
        alice = queue.reviewers.authenticate(queue.reviewers.add("alice"))
        queue.approve(waiting.id, alice, waiting.digest[7:19])
    state, sent = agent("resume")
    assert sent == THIEF, "once, and with the arguments that were approved"
    assert state["messages"][-1].text == "Done."
    assert agent("resume")[1] == []
