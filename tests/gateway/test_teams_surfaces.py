"""Microsoft Teams at the gateway's edges: delivery and its retries, the door over HTTP, the code in a terminal."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.gateway import cli
from checkvalve.gateway.channel_file import Channels
from checkvalve.gateway.notifier import Notifier
from tests.gateway.channel_world import Hook
from tests.gateway.runs_world import serving
from tests.gateway.teams_world import KEY, ORIGIN, TENANT, Room, room, token_file


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Room]:
    with room(tmp_path) as found:
        yield found


@pytest.mark.enable_socket  # 127.0.0.1 only
def test_what_does_not_arrive_comes_again_like_any_other_message(here: Room, tmp_path: Path) -> None:
    hook = Hook(tmp_path)
    try:
        (tmp_path / "url").write_text(hook.url)
        (tmp_path / "url").chmod(0o600)
        channel = here.channel.model_copy(update={"ca_file": hook.ca_file})
        sender = Notifier(Channels(private_hosts=["localhost"], teams=[channel]), here.queue, ORIGIN)
        sender.tick(channel)
        row = here.ask("medium")
        hook.answers = [(429, {"Retry-After": "60"}), (202, {})]
        assert sender.tick(channel) == 1
        here.clock.advance(seconds=30)
        assert sender.tick(channel) == 0  # Teams asked for a minute
        here.clock.advance(seconds=31)
        assert sender.tick(channel) == 1
        here.clock.advance(days=1)
        assert sender.tick(channel) >= 0
        first, second = (body for _, _, body in hook.got[:2])
        assert first == second == here.told(row)
        assert hook.got[0][1]["content-type"] == "application/json"
    finally:
        hook.close()


@pytest.mark.parametrize("name", ["team", "other"])
def test_over_http_the_door_takes_what_is_signed_and_nothing_else(tmp_path: Path, name: str) -> None:
    (tmp_path / "url").write_text("https://corp.webhook.example/x")
    (tmp_path / "url").chmod(0o600)
    token_file(tmp_path)
    file = tmp_path / "channels.toml"
    lines = ["[[teams]]", 'name = "team"', 'url_file = "url"', 'token_file = "teams.token"', f'tenant = "{TENANT}"']
    file.write_text("\n".join(lines))
    with serving(tmp_path, channels=file) as api:
        body = json.dumps({"type": "message", "id": "1", "timestamp": "2020-01-01T00:00:00Z"}).encode()
        signed = "HMAC " + base64.b64encode(hmac.digest(KEY, body, hashlib.sha256)).decode()
        for headers, wanted in (({}, 401), ({"Authorization": signed}, 403), (api.ann, 401)):
            sent = {**headers, "Content-Type": "application/json"}
            answer = api.client.post(f"/channels/teams/{name}", content=body, headers=sent)
            assert answer.status_code == (wanted if name == "team" else 401)
            assert answer.headers["content-type"] == "application/problem+json"
        assert api.client.get(f"/channels/teams/{name}").status_code == 405
        large = json.dumps({"text": "x" * 70_000}).encode()
        sent = {"Authorization": signed, "Content-Type": "application/json"}
        assert api.client.post("/channels/teams/team", content=large, headers=sent).status_code == 413


def test_the_terminal_prints_a_code_for_who_proves_who_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with room(tmp_path) as found:
        (tmp_path / "t").write_text(found.queue.reviewers.add("cem", by=found.ann))
    (tmp_path / "url").write_text("https://corp.webhook.example/x")
    (tmp_path / "url").chmod(0o600)
    file = tmp_path / "channels.toml"
    lines = ["[[teams]]", 'name = "team"', 'url_file = "url"', 'token_file = "teams.token"', f'tenant = "{TENANT}"']
    file.write_text("\n".join(lines))
    monkeypatch.setenv("CHECKVALVE_CHANNELS", str(file))
    monkeypatch.setenv("CHECKVALVE_DATABASE_URL", f"sqlite:///{tmp_path / 'gate.db'}")

    def run(*args: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["checkvalve", "channels", *args])
        code = cli.run(cli.app)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    code, out, err = run("link", "team", "--token-file", str(tmp_path / "t"))
    assert code == 0
    assert re.fullmatch(r"link-[0-9a-f]{16}-[0-9]{10}-[a-z2-7]{16}\n", out)
    assert "it works once" in err
    (tmp_path / "t").write_text("cvr_0000000000000000_x")
    assert run("link", "team", "--token-file", str(tmp_path / "t"))[:2] == (1, "")
    assert "there is no such channel of Teams" in run("link", "ops", "--token-file", str(tmp_path / "t"))[2]
    assert run("list")[1].startswith("team  teams  0 waiting, 0 dead")
