"""The pages and programs: none signs in, and the card and the list of people say who asked and what a program is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from checkvalve.approvals.asked_by import FOR, TOKEN, Behind
from checkvalve.approvals.kinds import make_program
from checkvalve.approvals.records import State
from tests.gateway.review_world import ORIGIN, Review, reviewing, sign_in

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    with reviewing(tmp_path, agent_owner="zoe@corp.example") as found:
        yield found


def boss(review: Review) -> object:
    return review.gateway.queue.reviewers.authenticate(review.token)


def test_a_program_does_not_sign_in(review: Review) -> None:
    board = review.gateway.queue.reviewers
    token = board.add("ci-bot", by=boss(review), owner="ann")  # type: ignore[arg-type]
    app = review.client.app
    with TestClient(app, base_url=ORIGIN, follow_redirects=False, raise_server_exceptions=False) as other:
        assert sign_in(other, token).status_code == 403
        assert other.get("/review").status_code == 303  # to the door


def test_who_is_signed_in_is_out_when_a_program_holds_the_account(review: Review) -> None:
    board = review.gateway.queue.reviewers
    ann = board.authenticate(board.add("ann", by=boss(review)))  # type: ignore[arg-type]
    row = review.poisoned()
    fields = review.fields(review.card(row), f"/review/items/{row.id}/yes")
    make_program(board, "boss", owner="ann", by=ann)
    review.wait()
    given = {"scope": "data", "digest": row.digest[7:13], "code": "not_wanted", "note": "seen"}
    sent = review.client.post(f"/review/items/{row.id}/yes", data={**fields, **given})
    assert sent.status_code in {303, 403}
    assert review.state(row) is State.PENDING


def test_the_card_names_everybody_who_asked(review: Review) -> None:
    review.gateway.queue.owners.of_task = lambda _thread: (Behind(FOR, "dan"), Behind(TOKEN, "<b>cem</b>"))
    page = review.card(review.poisoned())
    for words in (
        "dan",
        "it was started for them",
        "&lt;b&gt;cem",
        "owns the token",
        "zoe@corp.example",
        "owns the agent",
    ):
        assert words in page, words


def test_the_card_says_why_somebody_does_not_count(review: Review) -> None:
    review.gateway.queue.owners.of_task = lambda _thread: (Behind(TOKEN, "boss"),)
    row = review.poisoned()
    assert "you own the API token that asked for this call" in review.card(row)
    assert f'action="/review/items/{row.id}/yes"' not in review.card(row)


def test_the_list_of_people_says_which_are_programs(review: Review) -> None:
    review.gateway.queue.reviewers.add("ci-bot", by=boss(review), owner="ann")  # type: ignore[arg-type]
    page = review.get("/review/people")
    assert "a program, owned by" in page
    assert page.count('action="/review/people/invite"') == 2, "a new link for the boss, one for somebody new"


def test_a_vote_says_that_it_was_given_with_a_token(review: Review) -> None:
    queue = review.gateway.queue
    row = review.poisoned()
    queue.approve(row.id, queue.reviewers.authenticate(review.token), row.digest, note="seen")
    assert "with a token" in review.card(row)
