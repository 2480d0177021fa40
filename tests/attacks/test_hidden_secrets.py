"""Secrets in the arguments of a call: on no page, in no message, in no answer, in no event, unless somebody reveals.

Row 19 of the attack list: canaries of every kind are put into a call, everything around it repeats them, and every
channel is looked at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from checkvalve.approvals import pages_data, searching
from checkvalve.approvals.audit import read_events
from checkvalve.approvals.notices import notice_of
from checkvalve.approvals.ocsf import to_ocsf
from checkvalve.approvals.records import State
from checkvalve.gateway.channel_file import Mail, Slack, Webhook
from checkvalve.gateway.channel_messages import mail_of, slack_body, webhook_body
from checkvalve.gateway.edit_notice import edit_notice
from checkvalve.gateway.http_approval_views import card
from checkvalve.gateway.http_interrupts import interrupt_of
from checkvalve.gateway.told_values import as_seen
from tests.gateway.review_world import ORIGIN, Review
from tests.gateway.secret_world import CANARIES, KEY, MEMO, PASSWORD, PIN, SITE, VALUE, ask, pages, secret_review

pytestmark = pytest.mark.claim("C8")


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Review]:
    with secret_review(tmp_path, monkeypatch) as found:
        yield found


def holds_none(text: str) -> None:
    """Say which canary a text holds, as it stands or escaped."""
    plain = unescape(text)
    assert [canary for canary in CANARIES if canary in plain or canary in text] == []


def test_the_control_the_record_itself_has_every_one_of_them(review: Review) -> None:
    row = ask(review)
    assert row.state is State.PENDING
    assert ask(review, number="c3", note=VALUE).state is State.DENIED
    assert ask(review, number="c4", note=KEY).state is State.DENIED
    stored = json.dumps(row.args()) + json.dumps([item.value for item in review.desk.content.items(row.thread)])
    assert all(canary in stored for canary in (*CANARIES, PIN))


def test_19_no_page_that_a_link_leads_to_shows_one(review: Review) -> None:
    first, second = ask(review), ask(review, number="c2", note=f"Again with {PASSWORD}")
    ask(review, number="c3", note=f"This is refused: {VALUE} and {KEY}")
    review.answer(first)
    listed = dict(pages(review, "/review"))
    for path, text in listed.items():
        holds_none(text)
        assert f"pin is {PIN}" not in text, path
    assert {f"/review/items/{row.id}" for row in (first, second)} <= set(listed)
    assert any(path.startswith("/review/run") for path in listed)
    assert any(path.endswith("/bytes") for path in listed)
    assert any(path.endswith("/edit") for path in listed)


def test_19_what_a_person_judges_the_call_by_stays(review: Review) -> None:
    page = unescape(review.card(ask(review)))
    assert SITE in page
    assert "Use it for the API." in page
    assert "21 characters not shown" in page


def test_19_no_message_holds_one_whatever_its_channel_may_tell(review: Review) -> None:
    row = ask(review, note=f"Use {KEY}")
    with review.gateway.store.read() as connection:
        (event,) = [one for one in read_events(connection, subject=row.id) if one.kind == "proposal.recorded"]
    notice = notice_of(event, row)
    assert notice is not None
    every = ["low", "medium", "high", "critical"]
    hook = Webhook.model_validate({"name": "h", "url": "https://h.example/", "secret_file": Path("s"), "values": every})
    chat = Slack.model_validate({"name": "c", "url_file": Path("u"), "values": every})
    mail = Mail.model_validate(
        {"name": "m", "host": "h", "to": ["ops@corp.example"], "from": "gate@corp.example", "values": every}
    )
    for proposal in (row, review.gateway.queue.veiling.seen(row)):  # as a channel gets it, and if one forgot
        told = replace(notice, proposal=proposal)
        texts = [
            webhook_body(told, hook, ORIGIN).decode(),
            slack_body(told, chat, ORIGIN).decode(),
            mail_of(told, mail, ORIGIN).get_content(),
        ]
        for text in texts:
            plain = json.dumps(json.loads(text), ensure_ascii=False) if text.startswith("{") else text
            assert "redacted" in plain
            holds_none(plain)


def test_19_no_answer_to_a_program_holds_one(review: Review) -> None:
    row = ask(review)
    queue = review.gateway.queue
    seen = queue.veiling.seen(row)
    told = [
        card(seen, standing=queue.standing(row.id)).model_dump_json(),
        json.dumps(interrupt_of(seen).model_dump(), ensure_ascii=False),
        json.dumps(seen.to_json(), ensure_ascii=False),
        edit_notice({**row.args(), "note": "before", "password": "Other-1"}, as_seen(row)),
    ]
    for text in told:
        holds_none(text)
        assert "redacted" in text
    assert {item["path"] for item in card(seen).redacted} == {"password", "pin", "memo", "note"}
    assert card(seen).digest == row.digest


def test_19_no_event_holds_one_also_not_that_of_a_reveal(review: Review) -> None:
    row = ask(review)
    done = review.answer(row, "reveal")
    assert done.status_code == 200
    assert PASSWORD in unescape(done.text)
    review.answer(row)
    with review.gateway.store.read() as connection:
        events = list(read_events(connection))
    for event in events:
        holds_none(event.body + json.dumps(to_ocsf(event), ensure_ascii=False))
        assert PIN not in json.loads(event.body).values()
    assert "content.revealed" in {event.kind for event in events}


@pytest.mark.parametrize("canary", [PASSWORD, MEMO, KEY, VALUE])
def test_19_search_answers_no_guess_about_what_is_redacted(review: Review, canary: str) -> None:
    row = ask(review)
    for size in (4, len(canary) // 2, len(canary)):
        assert searching.history(review.gateway.queue, words=canary[:size]) == []
    assert [item.id for item in searching.history(review.gateway.queue, words="bank.example")] == [row.id]
    if canary == PASSWORD:  # the control: the store alone would answer
        assert pages_data.history(review.gateway.store, words=PASSWORD[:6])


def test_19_search_still_finds_what_is_shown(review: Review) -> None:
    rows = [ask(review, thread=f"t{number}") for number in range(3)]
    found = searching.history(review.gateway.queue, words="OPEN_ACCOUNT")
    assert {item.id for item in found} == {row.id for row in rows}
    assert searching.history(review.gateway.queue, words="open_account", page=1) == []
