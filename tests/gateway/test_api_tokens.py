"""The tokens of the API, in their file and by their commands, and the server that takes none without them."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from checkvalve.gateway.errors import TokenError
from checkvalve.gateway.http_tokens import ApiTokens
from tests.gateway.runs_world import EXAMPLES, FAST


def test_two_who_change_the_file_of_tokens_at_once_both_get_their_way(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    everybody = [ApiTokens(file, FAST) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(lambda place: [place.add("a") for _ in range(5)], everybody))
    assert len(ApiTokens(file, FAST).clients()) == sum(len(some) for some in given) == 40


def test_tokens_are_hashed_and_taken_back_at_once(tmp_path: Path) -> None:
    file = tmp_path / "sub" / "tokens.json"
    tokens, server = ApiTokens(file, FAST), ApiTokens(file, FAST)
    token = tokens.add("  Ann ", ["read"])
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    assert token.split("_", 2)[2] not in file.read_text()
    for _ in range(2):
        assert server.authenticate(token).name == "ann"
    (listed,) = server.clients()
    assert listed.scopes == {"read"}
    tokens.remove(listed.selector)
    with pytest.raises(TokenError, match="not accepted"):
        server.authenticate(token)
    with pytest.raises(TokenError, match="no such token"):
        tokens.remove(listed.selector)


@pytest.mark.parametrize(
    ("name", "scopes"), [("", ["run"]), ("x" * 101, ["run"]), ("a\nb", ["run"]), ("a", ["all"]), ("a", [])]
)
def test_unusable_names_and_scopes_make_no_token(name: str, scopes: list[str], tmp_path: Path) -> None:
    with pytest.raises(TokenError):
        ApiTokens(tmp_path / "t.json", FAST).add(name, scopes)


def test_a_damaged_file_of_tokens_lets_nobody_in(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    token = ApiTokens(file, FAST).add("a")
    for text in ("", "[]", '{"tokens": [{}]}', '{"tokens": [1]}', file.read_text().replace("argon2", "argon9")):
        file.write_text(text)
        with pytest.raises(TokenError):
            ApiTokens(file, FAST).authenticate(token)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Any]:
    import sys

    from checkvalve.gateway import cli

    named = {
        "manifest": str(EXAMPLES / "run_tools.yaml"),
        "tools": str(EXAMPLES / "run_tools.py"),
        "reader": f"scripted:{EXAMPLES / 'run_reader.jsonl'}",
        "actor": f"scripted:{EXAMPLES / 'run_actor.jsonl'}",
        "database_url": "sqlite:///gate.db",
    }
    (tmp_path / "c.toml").write_text("\n".join(f"{name} = {json.dumps(value)}" for name, value in named.items()))
    monkeypatch.setenv("HOME", str(tmp_path))

    def call(*args: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["checkvalve", "--config", str(tmp_path / "c.toml"), *args])
        code = cli.run(cli.app)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_tokens_are_added_listed_and_taken_back_by_commands(command: Callable[..., Any]) -> None:
    code, out, err = command("token", "add", "ann", "--scope", "read")
    assert code == 0
    assert out.startswith("cvt_")
    assert "once" in err
    selector = out.split("_")[1]
    assert command("token", "list")[1] == f"{selector}  ann  read\n"
    assert json.loads(command("token", "list", "--json")[1]) == [
        {"selector": selector, "name": "ann", "scopes": ["read"], "kind": "person", "owner": "ann", "until": ""}
    ]
    assert command("token", "remove", selector)[0] == 0
    assert command("token", "remove", selector)[0] == 1  # a clear no: there is none of this name any more


@pytest.mark.enable_socket  # the command takes its port before it builds anything
def test_the_server_starts_on_this_machine_only_and_with_tokens(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import uvicorn

    served: list[tuple[str, bool]] = []

    def run(self: uvicorn.Server, sockets: list[socket.socket]) -> None:
        served.append((sockets[0].getsockname()[0], self.config.access_log))

    monkeypatch.setattr(uvicorn.Server, "run", run)
    assert "nobody may use the API yet" in command("serve")[2]
    command("token", "add", "ann")
    assert "is reachable from elsewhere" in command("serve", "--host", "0.0.0.0")[2]
    assert served == []
    assert command("serve", "--port", "0")[0] == 0
    assert command("serve", "--port", "0", "--host", "0.0.0.0", "--exposed")[0] == 0
    assert served == [("127.0.0.1", False), ("0.0.0.0", False)]
