"""A page that says no tells programs the cause in a header, with the words of the HTTP API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.causes import Cause
from checkvalve.approvals.roles import Role
from checkvalve.gateway.web_pages import CAUSE
from tests.gateway.review_world import Review, reviewing

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    with reviewing(tmp_path) as found:
        yield found


def cause(answer: Any) -> str:
    return str(answer.headers.get(CAUSE, ""))


def test_an_answer_that_comes_at_once_is_inert_and_one_to_another_card_was_not_shown(review: Review) -> None:
    row = review.poisoned()
    review.wait(0)  # the clock stands still
    page = review.client.get(f"/review/items/{row.id}").text
    where = f"/review/items/{row.id}/no"
    fields = {**review.fields(page, where), "code": "other"}
    fast = review.client.post(where, data=fields)
    assert (fast.status_code, cause(fast)) == (425, Cause.INERT)
    at, version, mac = fields["shown"].split(".")
    forged = review.client.post(where, data={**fields, "shown": f"{at}.{int(version) + 1}.{mac}"})
    assert (forged.status_code, cause(forged)) == (409, Cause.NOT_SHOWN)
    assert cause(review.client.get(f"/review/items/{'0' * 36}")) == Cause.UNKNOWN
    assert cause(review.client.get("/review")) == ""


def test_what_the_queue_refuses_has_its_own_cause(review: Review) -> None:
    row = review.poisoned()
    page = review.client.get(f"/review/items/{row.id}").text
    review.wait()
    queue = review.gateway.queue
    queue.reject(row.id, queue.reviewers.authenticate(review.token))
    late = review.answer(row, "no", page=page, code="other")
    assert (late.status_code, cause(late)) == (409, Cause.ALREADY_REJECTED)
    asked = review.client.get(f"/review/items/{row.id}").text
    assert "rejected" in asked


def test_nobody_is_asked_for_a_proof_of_a_yes_that_would_not_be_taken(review: Review) -> None:
    row, reviewers = review.settings(), review.gateway.queue.reviewers
    page, asked = review.card(row), "One more proof"
    short = review.answer(row, page=page, note=" ")
    assert (short.status_code, cause(short), asked in short.text) == (422, Cause.NOTE_NEEDED, False)
    boss = reviewers.authenticate(review.token)
    reviewers.set_roles("boss", [Role.ADMINISTRATOR], by=boss)
    late = review.answer(row, page=page)
    assert (late.status_code, cause(late), asked in late.text) == (403, Cause.ROLE_MISSING, False)
