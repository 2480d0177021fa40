"""The step-up over HTTP: a token is no proof that a person is there; a password is, for one call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.review_rules import parse_review_rules
from checkvalve.approvals.stepup import Checks
from checkvalve.approvals.tries import MAX_TRIES, Tries
from tests.approvals.account import BETTER, GOOD
from tests.approvals.made import REVIEW, decided
from tests.gateway.causes_world import SECRET, World, world
from tests.gateway.runs_world import problem, serving
from tests.gateway.test_http_approvals import Desk

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with serving(tmp_path) as api:
        queue = api.gateway.queue
        object.__setattr__(queue._intake, "rules", parse_review_rules("everywhere: {step_up: true}", "rules"))
        found = Desk(api)
        boss = queue.reviewers.authenticate(found.token)
        Checks.of(queue.reviewers).passwords.change(boss, GOOD, Proof(boss, "token", queue.clock()))
        yield found


def test_a_yes_takes_the_password_of_the_person(desk: Desk) -> None:
    row = desk.waiting()
    for given in ({}, {"password": ""}, {"password": desk.token}):
        refused = desk.decide(row, **given)
        assert problem(refused) == (403, "step_up_required")
        assert "review page" in refused.json()["remedy"]
    assert problem(desk.decide(row, password=BETTER)) == (403, "credential")
    assert desk.api.gateway.queue.get(row.id).state is State.PENDING
    done = desk.decide(row, password=GOOD, headers={"Idempotency-Key": "k1"})
    assert done.status_code == 200, done.text
    assert GOOD not in done.text
    again = desk.decide(row, password=GOOD, headers={"Idempotency-Key": "k1"})
    assert again.headers["idempotency-replayed"] == "true"


def test_passwords_are_counted_here_too(desk: Desk) -> None:
    row = desk.waiting()
    for _ in range(MAX_TRIES):
        assert problem(desk.decide(row, password=BETTER)) == (403, "credential")
    assert problem(desk.decide(row, password=GOOD)) == (429, "too_many_tries")
    assert desk.decide(row, "reject").status_code == 200  # a no takes no proof


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("steps")) as found:
        yield found


@pytest.mark.parametrize("given", ["", SECRET, BETTER], ids=["none", "good", "wrong"])
def test_nobody_gives_a_password_in_vain(place: World, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be refused with any proof says why, and no password is looked at."""

    def looked_at(*_: object) -> bool:
        raise AssertionError("a password was looked at")

    def said(row: Proposal, who: str = "boss", **more: str) -> tuple[int, str]:
        answer = place.say(row, who=who, password=given, **more)
        return answer.status_code, answer.json()["cause"]

    row, mine, both = place.ask("proof"), place.ask("proof", requester="boss"), place.ask("both")
    assert place.say(both, password=SECRET).json()["state"] == "pending", "one more is needed"
    monkeypatch.setattr(Tries, "may_try", looked_at)
    assert said(row, "far") == (403, "out_of_scope")
    assert said(row, "viewer") == (403, "role_missing")
    assert said(row, "program") == (403, "not_a_person")
    assert said(mine) == (403, "own_call")
    assert said(both) == (409, "vote_given")
    assert said(replace(row, digest=mine.digest))[1] == "wrong_digest"
    assert place.say(row, "reject", "ben").status_code == 200
    assert said(row) == (409, "already_rejected")


def test_a_critical_call_takes_its_reason_before_the_proof_and_the_proof_then(place: World) -> None:
    request = ActionRequest.build("send", {"n": 1}, thread="grave", call_id="grave", requester="bob")
    row = place.queue.propose(request, replace(decided(REVIEW), action="configure"))
    causes = [place.say(row, password=SECRET).json()["cause"], place.say(row, message="seen").json()["cause"]]
    assert causes == ["note_needed", "step_up_needed"]
    assert place.say(row, message="seen", password=SECRET).json()["state"] == "approved"
