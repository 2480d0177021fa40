"""The queue page says how far a quorum is; the log's page leads to every call that an event is about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.approvals.roles import Role
from checkvalve.approvals.subjects import calls_among
from tests.gateway.review_world import Review, reviewing
from tests.gateway.test_quorum_pages import RULES, joined, plain


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    (tmp_path / "rules.yaml").write_text(RULES)
    with reviewing(tmp_path, review_rules=tmp_path / "rules.yaml") as found:
        yield found


@pytest.mark.claim("C4")
def test_the_queue_says_how_many_of_how_many_have_said_yes(review: Review) -> None:
    proposal = review.bill()
    joined(review, "ann", Role.APPROVER)
    assert "yes 0 of 2" in plain(review.get("/review"))
    assert review.answer(proposal).status_code == 303
    assert "yes 1 of 2" in plain(review.get("/review"))
    assert "of 2" not in plain(review.get("/review/history"))


def test_an_event_of_any_kind_leads_to_its_call(review: Review) -> None:
    proposal = review.bill()
    review.answer(proposal)  # a vote: an event that moves no call
    page = review.get("/review/audit")
    (row,) = [row for row in page.split("<tr>") if ">vote.cast<" in row]
    assert f'href="/review/items/{proposal.id}"' in row
    assert calls_among(review.gateway.store, [proposal.id, "reviewer:boss", ""]) == {proposal.id}
    assert "/review/items/boss" not in page
