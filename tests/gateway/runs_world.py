"""A running API of runs with two people's tokens, and what its answers look like."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import argon2
from fastapi.testclient import TestClient

from checkvalve.approvals.records import State
from checkvalve.gateway.app import Gateway, build
from checkvalve.gateway.http_api import create_app
from checkvalve.gateway.http_tokens import ApiTokens
from checkvalve.gateway.pipelines import open_pipeline
from checkvalve.gateway.settings import Settings
from tests.waiting import until

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TASK = "Mail Ann whether anything in my inbox is urgent, and reply to that sender"
FAST = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@dataclass
class Api:
    """A running API with two people's tokens."""

    client: TestClient
    gateway: Gateway
    ann: dict[str, str]
    bob: dict[str, str]
    reading: dict[str, str]

    def start(self, **body: Any) -> Any:
        return self.client.post("/runs", json={"task": TASK, **body}, headers=self.ann)

    def wait(self, thread: str, *statuses: str) -> Any:
        """Look until the run is in one of ``statuses``."""
        found: dict[str, Any] = {}

        def is_there() -> bool:
            found.update(self.client.get(f"/runs/{thread}", headers=self.ann).json())
            return found["status"] in statuses

        until(is_there, f"the run is never {statuses}")
        return found

    def when_somebody_waits(self, work: Callable[[], object]) -> threading.Thread:
        """Do it as soon as a stream or a long poll is open; join what is returned."""
        server: Any = self.client.app.state.server  # type: ignore[attr-defined]

        def work_then() -> None:
            until(lambda: server.streams > 0, "nobody waits")
            work()

        thread = threading.Thread(target=work_then)
        thread.start()
        return thread

    def events(self, thread: str, **headers: str) -> list[tuple[int, dict[str, Any]]]:
        response = self.client.get(f"/runs/{thread}/events", headers={**self.ann, **headers})
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        found = []
        for block in response.text.strip().split("\n\n"):
            if block.startswith("id: "):
                number, kind, data = block.split("\n")
                event = json.loads(data.removeprefix("data: "))
                assert kind == f"event: {event['kind']}"
                found.append((int(number.removeprefix("id: ")), event))
        return found

    def decide(self, *, yes: bool = True) -> None:
        queue = self.gateway.queue
        boss = queue.reviewers.authenticate(queue.reviewers.add("boss"))
        (waiting,) = queue.list([State.PENDING])
        queue.approve(waiting.id, boss, waiting.digest[7:19]) if yes else queue.reject(waiting.id, boss)


@contextmanager
def serving(folder: Path, **options: Any) -> Iterator[Api]:
    values: dict[str, Any] = {
        "manifest": EXAMPLES / "run_tools.yaml",
        "database_url": f"sqlite:///{folder / 'gate.db'}",
        "tools": str(EXAMPLES / "run_tools.py"),
        "reader": f"scripted:{EXAMPLES / 'run_reader.jsonl'}",
        "actor": f"scripted:{EXAMPLES / 'run_actor.jsonl'}",
        "log_format": "json",
        "log_level": "debug",
    }
    tokens = ApiTokens(folder / "tokens.json", FAST)
    given = [tokens.add("Ann@corp.example"), tokens.add("bob"), tokens.add("ann@corp.example", ["read"])]
    ann, bob, reading = ({"Authorization": f"Bearer {token}"} for token in given)
    with (
        build(Settings(**{**values, **options})) as gateway,
        open_pipeline(gateway) as pipeline,
        TestClient(create_app(gateway, pipeline, tokens), raise_server_exceptions=False) as client,
    ):
        yield Api(client, gateway, ann, bob, reading)


def problem(response: Any) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == response.status_code
    assert body["type"] == f"urn:checkvalve:problem:{body['code']}"
    return response.status_code, body["code"]


__all__ = ["EXAMPLES", "FAST", "TASK", "Api", "problem", "serving"]
