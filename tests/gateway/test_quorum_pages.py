"""Quorum and roles on the pages and over HTTP: the same thing in the same words as in the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from checkvalve.approvals.records import State
from checkvalve.approvals.roles import Role
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.rules_said import say_rules
from checkvalve.gateway.settings import load_settings
from tests.gateway.review_world import ORIGIN, Review, reviewing, sign_in

RULES = """
tiers:
  high: {approve: [{approver: 2}], deny: 2}
  critical: {approve: [{approver: 1, auditor: 1}], channels: [web]}
"""


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    (tmp_path / "rules.yaml").write_text(RULES)
    with reviewing(tmp_path, review_rules=tmp_path / "rules.yaml") as found:
        yield found


def plain(page: str) -> str:
    """Return the words of a page as they stand in a row, without markup."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", page)).split())


def said(review: Review, response: Any) -> str:
    """Return the words of the page that an answer leads to."""
    assert response.status_code == 303, response.text[:600]
    return plain(review.get(response.headers["location"]))


def joined(review: Review, name: str, *roles: Role) -> Review:
    """Return the pages as another person sees them."""
    people = review.gateway.queue.reviewers
    boss = people.authenticate(review.token)
    token = people.add(name, by=boss, roles=roles)
    client = TestClient(review.client.app, base_url=ORIGIN, follow_redirects=False)
    assert sign_in(client, token).status_code == 303
    return Review(review.gateway, review.desk, client, token)


@pytest.mark.claim("C4")
def test_the_card_says_how_far_a_quorum_is_and_takes_the_second_voice(review: Review) -> None:
    proposal = review.bill()
    text = plain(review.card(proposal))
    assert "2 approvers; different people" in text
    assert "Nobody can approve this" in text
    ann = joined(review, "ann", Role.APPROVER)
    assert "Nobody can approve this" not in plain(review.card(proposal))
    assert "Your yes is counted" in said(review, review.answer(proposal))
    assert review.state(proposal) is State.PENDING
    seen = plain(ann.card(proposal))
    assert review.client.get(f"/review/changes?item={proposal.id}").json()["item"]["said"] == 1, "an open card is told"
    assert 'data-said="1"' in ann.card(proposal)
    assert re.search(r"1 of 2 approvers.*yes boss \(approver\).*: seen.*Still needed ?one approver", seen)
    assert "You have said yes" in plain(review.card(proposal))
    assert "Approved: exactly this call" in said(ann, ann.answer(proposal, scope="call"))
    assert review.state(proposal) is State.APPROVED


@pytest.mark.claim("C4")
def test_a_no_that_is_not_enough_is_counted_and_said(review: Review) -> None:
    ann = joined(review, "ann", Role.RESPONDER)
    proposal = review.bill()
    assert f"/review/items/{proposal.id}/yes" not in ann.card(proposal)
    assert "Your no is counted" in said(ann, ann.answer(proposal, "no"))
    assert review.state(proposal) is State.PENDING
    assert "Rejected: it will not run" in said(review, review.answer(proposal, "no"))
    assert review.state(proposal) is State.REJECTED


@pytest.mark.claim("C4")
def test_a_viewer_sees_and_decides_nothing(review: Review) -> None:
    viewer = joined(review, "vi", Role.VIEWER)
    proposal = review.bill()
    page = viewer.card(proposal)
    assert f"/review/items/{proposal.id}/yes" not in page
    assert f"/review/items/{proposal.id}/no" not in page
    assert "who could: boss" in plain(page)
    for what in ("yes", "no"):
        action = f"/review/items/{proposal.id}/{what}"
        fields = review.fields(review.card(proposal), action)
        assert viewer.client.post(action, data={**fields, "digest": proposal.digest}).status_code == 403
    assert viewer.client.get("/review").status_code == 200
    refused = viewer.client.get("/review/audit")
    assert refused.status_code == 403
    assert "this takes the role auditor or administrator" in plain(refused.text)
    assert joined(review, "aud", Role.AUDITOR).client.get("/review/audit").status_code == 200


@pytest.mark.claim("C4")
def test_a_critical_call_takes_its_reason_and_both_roles(review: Review) -> None:
    auditor = joined(review, "aud", Role.AUDITOR)
    proposal = review.settings()
    refused = review.answer(proposal, scope="call", note=" ")
    assert refused.status_code == 422
    review.answer(proposal, scope="call", note="the user asked for it")
    assert "Still neededone auditor" in plain(auditor.card(proposal))
    auditor.answer(proposal, scope="call", note="seen in the ticket")
    assert review.state(proposal) is State.APPROVED


@pytest.mark.parametrize("language", ["de", "zh"])
def test_the_words_are_there_in_every_language(review: Review, language: str) -> None:
    joined(review, "ann", Role.APPROVER)
    proposal = review.bill()
    review.answer(proposal)
    review.client.cookies.set("checkvalve_language", language)
    text = plain(review.card(proposal))
    assert {"de": "Es fehlt noch", "zh": "尚需"}[language] in text
    assert {"de": "1 von 2", "zh": "1 / 2"}[language] in text


def test_a_server_says_loudly_that_nobody_can_keep_the_rules(
    review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    say_rules(review.gateway.queue)
    assert "REVIEW RULES: tier high: nobody can approve such a call: it takes 2 approvers" in capsys.readouterr().err


def test_the_file_of_rules_is_not_where_the_agent_can_write(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "rules.yaml").write_text(RULES)
    file = tmp_path / "config.toml"
    file.write_text(f'review_rules = "work/rules.yaml"\nagent_workdir = "{work}"\n')
    with pytest.raises(SettingsError, match="file of review rules"):
        load_settings(file, {"HOME": str(tmp_path)})
