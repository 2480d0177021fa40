"""Quorum and roles over HTTP: what is missing is said, a voice counts once, and clients' tokens are no people."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.approvals.records import State
from checkvalve.approvals.roles import Role
from tests.gateway.runs_world import problem, serving
from tests.gateway.test_http_approvals import Desk

RULES = """
everywhere: {approve: [{approver: 1, auditor: 1}]}
rules: [{name: answers, when: {tool: answer}, channels: [web]}]
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / "rules.yaml").write_text(RULES)
    with serving(tmp_path, review_rules=tmp_path / "rules.yaml") as api:
        yield Desk(api)


def bearer(desk: Desk, name: str, *roles: Role) -> dict[str, str]:
    people = desk.api.gateway.queue.reviewers
    token = people.add(name, by=people.authenticate(desk.boss["Authorization"].removeprefix("Bearer ")), roles=roles)
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.claim("C4")
def test_a_quorum_grows_over_http_and_each_voice_counts_once(desk: Desk) -> None:
    auditor, viewer = bearer(desk, "aud", Role.AUDITOR), bearer(desk, "vi", Role.VIEWER)
    row = desk.waiting()
    before = desk.get(f"/approvals/{row.id}").json()
    assert before["plan"]["approve"] == [{"approver": 1, "auditor": 1}]
    assert (before["votes"], before["missing"], before["reachable"]) == ([], [{"approver": 1, "auditor": 1}], True)
    assert desk.get("/approvals", viewer).json()["approvals"][0]["id"] == row.id
    refused = desk.decide(row, headers=viewer)
    assert problem(refused) == (403, "not_allowed")
    assert "who could: aud, boss" in refused.json()["remedy"]
    first = desk.decide(row, message="looked", headers={"Idempotency-Key": "k1"})
    assert (first.status_code, first.json()["state"]) == (200, "pending")
    assert len(first.json()["missing"][0]) == 1
    again = desk.decide(row, message="looked", headers={"Idempotency-Key": "k1"})
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (200, "true")
    assert problem(desk.decide(row)) == (409, "conflict")
    last = desk.decide(row, headers=auditor).json()
    assert (last["state"], last["missing"]) == ("approved", [])
    assert [vote["reviewer"] for vote in last["votes"]] == ["boss", "aud"]


@pytest.mark.claim("C4")
def test_a_token_of_a_client_is_no_voice(desk: Desk) -> None:
    row = desk.waiting()
    assert problem(desk.decide(row, headers=desk.api.ann)) == (403, "not_a_reviewer")
    assert desk.api.gateway.queue.standing(row.id).votes == []
    assert desk.api.gateway.queue.get(row.id).state is State.PENDING
