"""What a program's token is shown of its own call: nothing of people that the call's receipt would not tell it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.runs_world import serving
from tests.gateway.test_revoke import Table

pytestmark = pytest.mark.claim("C5")
LADDER = "everywhere: {decide_within: 10h, escalate: [{after: 0.01, to: ['oncall:night', zoe]}]}\n"
NOTE = "between us"
LADDERS = {"escalate", "remind", "channels", "break_glass", "parent", "edited_by"}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Table]:
    (tmp_path / "rules.yaml").write_text(LADDER)
    with serving(tmp_path, review_rules=tmp_path / "rules.yaml") as api:
        yield Table(api)


@pytest.mark.parametrize(("answer", "kept"), [("approve", ""), ("reject", ""), ("respond", NOTE)])
def test_its_card_has_of_peoples_words_what_is_for_the_agent(desk: Table, answer: str, kept: str) -> None:
    row = desk.asked()
    desk.decide(row, answer, message=NOTE)
    full, mine = (desk.get(f"/approvals/{row.id}", who).json() for who in (desk.boss, desk.api.ann))
    assert (full["note"], full["votes"][0]["note"]) == (NOTE, NOTE)
    assert full["plan"]["escalate"] == [{"after": 0.01, "to": ["oncall:night", "zoe"]}]
    plan = {name: item for name, item in full["plan"].items() if name not in LADDERS}
    assert set(full["plan"]) > LADDERS
    assert mine == {**full, "note": kept, "votes": [], "plan": plan}


def test_taking_an_approval_back_or_a_question_back_tells_it_no_more(desk: Table) -> None:
    row = desk.asked("approved")
    desk.decide(row, message=NOTE)
    revoked = desk.revoke(row, desk.api.ann)
    assert (revoked.json()["state"], NOTE in revoked.text, "zoe" in revoked.text) == ("revoked", False, False)
    assert desk.get(f"/approvals/{row.id}").json()["note"] == NOTE, "it still is that of who approved it"
    row = desk.asked("open")
    own = {**desk.api.ann, "If-Match": f'"{row.digest}"'}
    cancelled = desk.api.client.post(f"/approvals/{row.id}/cancel", headers=own)
    assert (cancelled.json()["state"], "zoe" in cancelled.text) == ("cancelled", False)


def test_of_the_talk_it_has_what_is_for_it_and_no_reply_of_one_reviewer_to_another(desk: Table) -> None:
    row, eve = desk.asked(), desk.bearer("eve")
    for who, route, words in (
        (desk.boss, "question", "which office?"),
        (desk.api.ann, "answer", "the one in Bern"),
        (eve, "answer", NOTE),
    ):
        headers = {**who, "If-Match": f'"{row.digest}"'}
        said = desk.api.client.post(f"/approvals/{row.id}/{route}", json={"note": words}, headers=headers)
        assert said.status_code == 200, said.text
    full, mine = (desk.get(f"/approvals/{row.id}", who).json()["talk"] for who in (desk.boss, desk.api.ann))
    assert [item["kind"] for item in full] == ["question", "answer", "reply"]
    assert [(item["kind"], item["text"]) for item in mine] == [
        ("question", "which office?"),
        ("answer", "the one in Bern"),
    ]


def test_no_list_and_no_result_tells_it_more(desk: Table) -> None:
    row = desk.asked()
    desk.decide(row, "reject", message=NOTE)
    for path in ("/approvals?state=rejected", f"/approvals/{row.id}/result", f"/approvals/{row.id}/undo"):
        text = desk.get(path, desk.api.ann).text
        assert row.id in text, path
        assert (NOTE in text, "zoe" in text) == (False, False), path
