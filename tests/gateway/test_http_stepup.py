"""The step-up over HTTP: a token is no proof that a person is there; a password is, for one call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.records import State
from checkvalve.approvals.review_rules import parse_review_rules
from checkvalve.approvals.stepup import Checks
from checkvalve.approvals.tries import MAX_TRIES
from tests.approvals.account import BETTER, GOOD
from tests.gateway.test_http_api import problem, serving
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
