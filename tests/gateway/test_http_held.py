"""What a waiting request is told when its credential was taken back, and whose Idempotency-Key a token can use up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.records import State
from tests.gateway.runs_world import problem, serving
from tests.gateway.test_http_answers import Table

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Table]:
    with serving(tmp_path) as api:
        yield Table(api)


@pytest.mark.parametrize("path", ["/approvals/{0}", "/approvals/{0}/result"])
def test_a_wait_tells_nothing_to_a_token_that_was_taken_back_meanwhile(desk: Table, path: str) -> None:
    row = desk.waiting()
    app: Any = desk.api.client.app
    tokens = app.state.tokens
    mine = tokens.authenticate(desk.api.reading["Authorization"].removeprefix("Bearer "))

    def take_back_and_decide() -> None:
        tokens.remove(mine.selector)
        desk.decide(row, "reject")

    changing = desk.api.when_somebody_waits(take_back_and_decide)
    answer = desk.get(f"{path.format(row.id)}?wait=55", desk.api.reading)
    changing.join()
    assert problem(answer) == (401, "not_authenticated")
    assert row.id not in answer.text
    assert desk.api.gateway.queue.get(row.id).state is State.REJECTED


def test_a_wait_tells_nothing_to_a_reviewer_who_was_disabled_meanwhile(desk: Table) -> None:
    row, queue = desk.waiting(), desk.api.gateway.queue
    boss = queue.reviewers.authenticate(desk.boss["Authorization"].removeprefix("Bearer "))

    def disable_and_decide() -> None:
        queue.reviewers.disable("ben", by=boss)
        desk.decide(row, "reject")

    changing = desk.api.when_somebody_waits(disable_and_decide)
    answer = desk.get(f"/approvals/{row.id}?wait=55", desk.ben)
    changing.join()
    assert problem(answer) == (401, "not_authenticated")


def test_a_token_that_only_reads_uses_up_no_key_of_one_that_answers(desk: Table) -> None:
    row = desk.waiting()
    assert desk.say(row, "question", "which order is this?", desk.boss).status_code == 200
    key = {"Idempotency-Key": "k-1"}
    assert problem(desk.say(row, "answer", "not mine", desk.api.reading, **key)) == (403, "not_allowed")
    told = desk.say(row, "answer", "order 7", desk.api.ann, **key)
    assert (told.status_code, "idempotency-replayed" in told.headers) == (200, False)
    again = desk.say(row, "answer", "order 7", desk.api.ann, **key)
    assert (again.status_code, again.headers["idempotency-replayed"]) == (200, "true")
