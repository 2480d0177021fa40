"""The HTTP API of standing rules: what a reviewer's token drafts, tries, makes, confirms and takes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from checkvalve.approvals.records import State
from checkvalve.gateway import http_standing
from checkvalve.gateway.http_problems import Bounds, add_handlers
from checkvalve.gateway.http_tokens import ApiTokens
from tests.approvals.standing_world import IBAN, PARTNER, World, standing_world


class Api:
    """The API over a world, for people with a token."""

    def __init__(self, world: World, client: TestClient, key: str) -> None:
        self.world, self.client, self.key = world, client, key

    def send(self, method: str, path: str, who: str = "ann", body: Any = None) -> tuple[int, Any]:
        token = self.world.tokens.get(who, self.key if who == "client" else "")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        response = self.client.request(method, path, headers=headers, json=body)
        return response.status_code, response.json()


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with standing_world(tmp_path) as world:
        app = FastAPI()
        app.state.server = SimpleNamespace(gateway=world.gateway)
        app.state.tokens = ApiTokens(tmp_path / "tokens")
        key = app.state.tokens.add("me", {"run", "read"})
        app.include_router(http_standing.router)
        add_handlers(app)
        app.add_middleware(Bounds)
        with TestClient(app, raise_server_exceptions=False) as client:
            yield Api(world, client, key)


@pytest.mark.claim("C4")
def test_from_a_call_to_a_rule_and_back(api: Api) -> None:
    world, asked = api.world, api.world.succeeded()
    status, tried = api.send("POST", f"/approvals/{asked.id}/standing-rule/dry-run", body={"anything": ["body"]})
    assert (status, tried["dry_run"]["may_be_saved"], tried["persons_needed"]) == (200, True, 2)
    status, made = api.send("POST", f"/approvals/{asked.id}/standing-rule", body={"anything": ["body"]})
    assert (status, made["state"]) == (201, "waiting")
    where = f"/standing-rules/{made['id']}"
    status, refused = api.send("POST", f"{where}/confirm")
    assert (status, refused["code"]) == (403, "not_allowed")
    assert api.send("POST", f"{where}/confirm", "ben")[1]["state"] == "in force"
    assert world.ask(to=PARTNER, body="x").state is State.APPROVED
    assert api.send("GET", where)[1]["calls_used"] == 1
    assert [item["id"] for item in api.send("GET", "/standing-rules")[1]] == [made["id"]]
    assert api.send("DELETE", where, "cleo")[1]["state"] == "revoked"
    status, ended = api.send("DELETE", where, "cleo")
    assert (status, ended["cause"]) == (410, "ended")
    assert world.ask(to=PARTNER, body="y").state is State.PENDING


@pytest.mark.claim("C4")
def test_what_people_refused_is_listed_first_and_is_not_saved(api: Api) -> None:
    world, asked = api.world, api.world.succeeded()
    bad = world.ask(to="desk@other.example", body="z")
    world.gateway.queue.reject(bad.id, world.ann)
    body = {"anything": ["body"], "also": {"to": ["desk@other.example"]}}
    run = api.send("POST", f"/approvals/{asked.id}/standing-rule/dry-run", body=body)[1]["dry_run"]
    assert (run["calls"][0]["id"], run["calls"][0]["end"], run["may_be_saved"]) == (bad.id, "rejected", False)
    status, said = api.send("POST", f"/approvals/{asked.id}/standing-rule", body=body)
    assert (status, said["code"]) == (409, "conflict")
    assert api.send("GET", "/standing-rules")[1] == []


@pytest.mark.parametrize("who", ["client", "nobody"])
def test_only_a_reviewers_token_does_anything(api: Api, who: str) -> None:
    asked = api.world.succeeded()
    made = api.world.rule(asked)
    for method, path in (
        ("GET", "/standing-rules"),
        ("GET", f"/standing-rules/{made.id}"),
        ("POST", f"/approvals/{asked.id}/standing-rule/dry-run"),
        ("POST", f"/approvals/{asked.id}/standing-rule"),
        ("POST", f"/standing-rules/{made.id}/confirm"),
        ("DELETE", f"/standing-rules/{made.id}"),
    ):
        body: Any = {} if "standing-rule" in path and method == "POST" and "confirm" not in path else None
        assert api.send(method, path, who, body)[0] in {401, 403}, path
    assert api.world.gateway.queue.standing_rules.find(made.id).state == "in force"


@pytest.mark.parametrize(
    "body",
    [
        {"anything": ["to"]},
        {"any": ["body"]},
        {"days": 91},
        {"max_calls": 0},
        {"up_to": {"amount": "much"}},
        {"also": {"to": ["d\u0435sk@partner.example"]}},
        {"also": {"nothing": ["x"]}},
    ],
)
def test_what_cannot_be_said_is_refused_without_repeating_it(api: Api, body: Any) -> None:
    asked = api.world.succeeded("pay", to=IBAN, amount=60) if "up_to" in body else api.world.succeeded()
    status, said = api.send("POST", f"/approvals/{asked.id}/standing-rule", body=body)
    assert status == 422
    assert "partner" not in str(said)


def test_an_unknown_rule_and_call_are_not_there(api: Api) -> None:
    nobody = "00000000-0000-4000-8000-000000000000"
    assert api.send("GET", f"/standing-rules/{nobody}")[0] == 404
    assert api.send("POST", f"/approvals/{nobody}/standing-rule", body={})[0] == 404
    assert api.send("POST", f"/standing-rules/{nobody}/confirm")[0] == 404
