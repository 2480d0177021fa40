"""The real server on the loopback address: killed while a run waits, started again, and the run goes on."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.records import State
from checkvalve.gateway.app import open_gateway
from tests.waiting import until

pytestmark = pytest.mark.enable_socket  # 127.0.0.1 only

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TASK = "Mail Ann whether anything in my inbox is urgent, and reply to that sender"


class Server:
    """The command ``checkvalve serve`` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.config, self.log = folder / "checkvalve.toml", folder / "serve.log"
        self.origin = ""
        lines = {
            "manifest": str(EXAMPLES / "run_tools.yaml"),
            "tools": str(EXAMPLES / "run_tools.py"),
            "reader": f"scripted:{EXAMPLES / 'run_reader.jsonl'}",
            "actor": f"scripted:{EXAMPLES / 'run_actor.jsonl'}",
            "database_url": "sqlite:///gate.db",
        }
        self.config.write_text("\n".join(f"{name} = {json.dumps(value)}" for name, value in lines.items()))
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        self.token = self.run("token", "add", "ann").stdout.strip()

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "checkvalve.gateway", "--config", str(self.config), *args]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=self.env, timeout=300)

    @contextmanager
    def up(self, end: signal.Signals) -> Iterator[subprocess.Popen[bytes]]:
        """Let it draw a port, which nobody else can take in between, and read from its log which one."""
        command = [sys.executable, "-P", "-m", "checkvalve.gateway", "--config", str(self.config), "serve"]
        with self.log.open("wb") as log:
            process = subprocess.Popen([*command, "--port", "0"], env=self.env, stderr=log)
        try:
            until(lambda: self._answers(process), "it does not answer")
            yield process
        finally:
            process.send_signal(end)
            process.wait()
            logged = self.log.read_text()
            assert "Server down" not in logged
            assert "Traceback" not in logged

    def _answers(self, process: subprocess.Popen[bytes]) -> bool:
        logged = self.log.read_text()
        assert process.poll() is None, logged
        found = re.search(r"serving runs +origin=(http://127\.0\.0\.1:[0-9]+)", logged)
        if found is None:
            return False
        self.origin = found[1]
        try:
            return bool(self.ask("GET", "/healthz"))
        except (urllib.error.URLError, ConnectionError):
            return False

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        return json.loads(self.read(method, path, body, **headers))

    def read(self, method: str, path: str, body: Any = None, **headers: str) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
        request = urllib.request.Request(self.origin + path, data, sent, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            found: bytes = response.read()
            return found

    def wait(self, status: str) -> Any:
        until(lambda: self.ask("GET", "/runs/t1")["status"] == status, f"the run is never {status}")
        return self.ask("GET", "/runs/t1")


def test_a_killed_server_loses_nothing(tmp_path: Path) -> None:
    server = Server(tmp_path)
    with server.up(signal.SIGKILL):
        assert server.ask("POST", "/runs", {"task": TASK, "thread": "t1"})["thread"] == "t1"
        (question,) = server.wait("waiting")["waiting"]
    with open_gateway(server.config) as gateway:  # the server is down; a person decides all the same
        boss = gateway.queue.reviewers.authenticate(gateway.queue.reviewers.add("boss"))
        (waiting,) = gateway.queue.list([State.PENDING])
        assert waiting.id == question["approval"]
        gateway.queue.approve(waiting.id, boss, waiting.digest[7:19])
    with server.up(signal.SIGTERM):
        assert server.wait("answered")["answer"].startswith("Ann knows")
        stream = server.read("GET", "/runs/t1/events").decode()
        last = [line.removeprefix("id: ") for line in stream.splitlines() if line.startswith("id: ")][-1]
        assert "event: answered" in stream
        assert server.read("GET", "/runs/t1/events", **{"Last-Event-ID": last}) == b""


def test_the_server_refuses_what_would_be_open_to_everybody(tmp_path: Path) -> None:
    server = Server(tmp_path)
    wide = server.run("serve", "--host", "0.0.0.0")
    assert (wide.returncode, wide.stderr.splitlines()[0]) == (2, "error: 0.0.0.0 is reachable from elsewhere")
    listed = server.run("token", "list").stdout.split()
    assert listed[1:] == ["ann", "read,", "run"]
    assert json.loads(server.run("token", "list", "--json").stdout)[0]["selector"] == listed[0]
    second = server.run("token", "add", "Ann")
    assert "ann now has 2 tokens" in second.stderr
    assert server.run("token", "remove", second.stdout.split("_")[1]).returncode == 0
    assert server.run("token", "remove", listed[0]).returncode == 0
    assert server.run("token", "remove", listed[0]).returncode == 1
    assert "there is no token in" in server.run("token", "list").stdout
    nobody = server.run("serve")
    assert (nobody.returncode, nobody.stderr.splitlines()[0]) == (2, "error: nobody may use the API yet")


def test_a_busy_port_is_said_and_changes_nothing(tmp_path: Path) -> None:
    server = Server(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        busy = server.run("serve", "--port", str(port))
    assert (busy.returncode, busy.stderr.splitlines()[0]) == (2, f"error: port {port} of 127.0.0.1 is in use")
    assert len(busy.stderr.splitlines()) == 2


def test_without_the_extra_the_error_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from checkvalve.gateway.serve_command import serve\n"
        "try:\n    serve(None, None)\n"
        "except Exception as error:\n    print(type(error).__name__, '|', error, '|', error.remedy)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (
        ran.stdout
        == "MissingExtraError | FastAPI, Jinja2 or uvicorn is not installed | pip install 'checkvalve[server]'\n"
    )
