"""``checkvalve channels`` and ``approvals report`` in the terminal."""

from __future__ import annotations

import io
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.store import Store
from checkvalve.gateway import cli, ladder_keeper, notifier
from checkvalve.gateway.safe_post import Answered
from tests.approvals.made import Desk, HandClock
from tests.gateway.hook_secrets import SECRET

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "hook.secret").write_text(SECRET)
    (tmp_path / "hook.secret").chmod(0o600)
    (tmp_path / "channels.toml").write_text(
        '[[webhook]]\nname = "ops"\nurl = "https://h.example/"\nsecret_file = "hook.secret"\ntiers = ["high"]\n'
    )
    config = tmp_path / "checkvalve.toml"
    config.write_text('database_url = "sqlite:///gate.db"\nchannels = "channels.toml"\n')

    def call(*args: str, config: Path = config) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["checkvalve", "--config", str(config), *args])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        code = cli.run(cli.app)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        desk = Desk.at(store, HandClock())
        box = Outbox(store, desk.clock)
        box.collect("ops", lambda _: True)
        desk.propose()
        box.collect("ops", lambda _: True)
        delivery = box.claim("ops", hold=1)
        assert delivery is not None
        box.failed(delivery, "status_500", wait=None)
        return desk


def test_channels_are_listed_with_what_waits_and_dead_ones_are_tried_again(run: Run, desk: Desk) -> None:
    code, out, _ = run("channels", "list")
    assert code == 0
    assert "ops  webhook  0 waiting, 1 dead" in out
    assert "risks high\n" in out
    assert "values of risks: none" in out
    (row,) = json.loads(run("channels", "list", "--json")[1])
    assert (row["name"], row["dead"], row["values"]) == ("ops", 1, [])
    assert run("channels", "dead")[1].endswith("status_500\n")
    assert json.loads(run("channels", "dead", "--json")[1])[0]["channel"] == "ops"
    assert run("channels", "retry", "ops") == (0, "1 will be tried again\n", "")
    assert run("channels", "retry", "ops")[0] == 1
    assert run("channels", "dead")[1] == "nothing is dead\n"
    assert json.loads(run("channels", "dead", "--json")[1]) == []


def test_a_message_is_sent_to_try_a_channel(run: Run, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []

    def post(url: str, body: bytes, headers: object, **_: object) -> Answered:
        sent.append(body)
        return Answered(204) if len(sent) == 1 else Answered(code="private_address")

    monkeypatch.setattr(notifier, "post", post)
    assert run("channels", "test", "ops") == (0, "it arrived\n", "")
    assert json.loads(sent[0])["type"] == "approval.resumed"
    code, _, err = run("channels", "test", "ops")
    assert (code, err) == (1, "it did not arrive: private_address\n")
    code, _, err = run("channels", "test", "nobody")
    assert code == 2
    assert "there is no such channel" in err


def test_a_secret_is_drawn(run: Run) -> None:
    first, second = run("channels", "secret")[1], run("channels", "secret")[1]
    assert first.startswith("whsec_")
    assert first != second


def test_running_tells_until_it_is_stopped(run: Run, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr(notifier.Notifier, "start", lambda _: started.append("start"))
    monkeypatch.setattr(notifier.Notifier, "stop", lambda _: started.append("stop"))
    monkeypatch.setattr(ladder_keeper.LadderKeeper, "start", lambda _: started.append("look"))
    monkeypatch.setattr(ladder_keeper.LadderKeeper, "stop", lambda _: started.append("look away"))

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Event, "wait", interrupted)
    assert run("channels", "run")[0] in {1, 130}
    assert started == ["look", "start", "stop", "look away"]


def test_without_a_file_it_says_what_to_set(run: Run, desk: Desk, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text('database_url = "sqlite:///gate.db"\n')
    code, _, err = run("channels", "list", config=other)
    assert code == 2
    assert "channels = ..." in err


def test_the_report_reads_like_one(run: Run, tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        desk = Desk.at(store, HandClock())
        assert run("approvals", "report")[1].startswith("nobody was asked anything")
        from checkvalve.approvals.clock import system_clock

        desk.clock.now = system_clock() - 3_600_000_000
        for number in range(5):
            row = desk.propose(request=desk.request(thread=f"t{number}"))
            desk.clock.advance(seconds=90)
            desk.approve(row)
    code, out, _ = run("approvals", "report", "--week")
    assert code == 0
    assert "5 asked, 5 approved, 0 rejected, half within 2 min" in out
    assert "always approved: make a rule" in out
    assert "from what read_mail returned, field body" in out
    found = json.loads(run("approvals", "report", "--week", "--json")[1])
    assert found["groups"][0]["asked"] == 5
    assert found["people"][0]["name"] == "ann"


def test_the_list_says_whose_budget_is_used_up(run: Run, tmp_path: Path) -> None:
    (tmp_path / "checkvalve.toml").write_text('database_url = "sqlite:///gate.db"\nreview_budget = 2\n')
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        from checkvalve.approvals.clock import system_clock

        desk = Desk.at(store, HandClock())
        desk.clock.now = system_clock()
        for _ in range(2):
            desk.approve(desk.propose())
    _, out, _ = run("approvals", "list")
    assert "ann has said yes 2 times within the hour" in out
