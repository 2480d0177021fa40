"""Attacks that reach a person, or claim to come from one, through each channel: terminal, pages, API, messages."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from checkvalve.approvals.audit import head, read_events
from checkvalve.approvals.card import safe
from checkvalve.approvals.inert import inert
from checkvalve.approvals.notices import notice_of
from checkvalve.approvals.records import State
from checkvalve.gateway.channel_file import Mail, Slack, Webhook
from checkvalve.gateway.channel_messages import mail_of, slack_body, webhook_body
from checkvalve.gateway.web_text import line, shown
from tests.gateway.review_world import ORIGIN, Review, reviewing
from tests.gateway.runs_world import serving

pytestmark = pytest.mark.claim("C4", "C9")

CHANNELS: dict[str, Callable[[str], str]] = {
    "terminal": lambda text: safe(text).plain,
    "page": lambda text: "".join(part for _, part in shown(text).start),
    "line of a page": lambda text: "".join(part for _, part in line(text).start),
    "message and foreign interface": lambda text: inert(text, limit=10**7),
}
CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
DRAWN_AS_NOTHING = (  # what a filter on Cc and Cf, or on str.isprintable, lets through
    *range(0xFE00, 0xFE10),
    *range(0xE0100, 0xE01F0),
    *(0x034F, 0x115F, 0x1160, 0x3164, 0xFFA0, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800),
)


def hiding() -> list[str]:
    """Return every character that hides, moves or forges text, from what Unicode says of it."""
    found = [chr(code) for code in range(sys.maxunicode + 1)]
    named = {chr(code) for code in DRAWN_AS_NOTHING}
    kinds = ((one, unicodedata.category(one)) for one in found)
    return [one for one, kind in kinds if kind in CATEGORIES or one in named or (kind == "Zs" and one != " ")]


def test_a_simpler_filter_would_miss_some() -> None:
    """The control: what the list adds is not what every filter has."""
    printable = [code for code in DRAWN_AS_NOTHING if chr(code).isprintable()]
    assert len(printable) == len(DRAWN_AS_NOTHING) > 260


@pytest.mark.parametrize("channel", CHANNELS)
def test_4_every_character_that_hides_is_seen_in_every_channel(channel: str) -> None:
    show, found = CHANNELS[channel], hiding()
    assert len(found) > 900_000
    step = 10 if channel == "line of a page" else 30  # so short that nothing is left out for its length
    sample = (
        found
        if channel.startswith("message")
        else found[:: 1 if len(found) < 10**5 else 7] + list(map(chr, DRAWN_AS_NOTHING))
    )
    for start in range(0, len(sample), step):
        part = "".join(one for one in sample[start : start + step] if one != "\n")
        text = show(f"a{part}b")
        assert not set(part) & set(text), [hex(ord(one)) for one in set(part) & set(text)]
        assert all(f"U+{ord(one):04X}" in text for one in part)


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    with reviewing(tmp_path) as found:
        yield found


def links(review: Review, name: str) -> set[str]:
    """Return every address that a message about a call holds, whatever the channel."""
    row = review.gateway.queue.get(name)
    with review.gateway.store.read() as connection:
        events = list(read_events(connection, subject=name))
    notice = notice_of(events[0], row)
    assert notice is not None
    hook = Webhook(name="h", url="https://h.example/", secret_file=Path("s"))
    chat = Slack(name="c", url_file=Path("u"))
    mail = Mail.model_validate({"name": "m", "host": "h", "to": ["ops@corp.example"], "from": "gate@corp.example"})
    texts = [
        webhook_body(notice, hook, ORIGIN).decode(),
        slack_body(notice, chat, ORIGIN).decode(),
        mail_of(notice, mail, ORIGIN).get_content(),
    ]
    found = {address for text in texts for address in re.findall(rf"{re.escape(ORIGIN)}[^\s\"\\]*", text)}
    assert found
    return found


def test_9_a_scanner_that_follows_every_link_of_a_message_decides_nothing(review: Review) -> None:
    """Mail and chat programs open links before people do, some of them with the cookies of the person."""
    row = review.poisoned()
    before = review.gateway.queue.get(row.id)
    stranger = TestClient(review.client.app, base_url=ORIGIN, follow_redirects=True)
    for client in (stranger, review.client):
        for address in links(review, row.id):
            for method in ("GET", "HEAD", "OPTIONS", "GET"):
                answer = client.request(method, address, headers={"User-Agent": "LinkScanner"})
                assert answer.status_code < 500
            page = client.get(address).text
            for inner in re.findall(r'href="(/review[^"]*)"', page):  # and goes on from there
                client.get(inner)
    assert review.gateway.queue.get(row.id) == before
    assert review.gateway.queue.grant(row.id) is None


PRESSED = {
    "type": "block_actions",
    "team": {"id": "T0EVIL"},
    "user": {"id": "U1", "name": "boss"},
    "actions": [{"action_id": "review", "type": "button", "value": "approve"}],
}


def test_13_what_a_chat_sends_is_taken_nowhere(tmp_path: Path) -> None:
    """There is no door for a chat: a wrong team, a press that is sent again, a changed value find none."""
    with serving(tmp_path) as api:
        api.start(thread="t1")
        api.wait("t1", "waiting")
        (row,) = api.gateway.queue.list([State.PENDING])
        described = api.client.get("/openapi.json", headers=api.ann).json()
        posts = [path for path, methods in described["paths"].items() if "post" in methods]
        assert posts
        form = {"payload": json.dumps({**PRESSED, "actions": [{"action_id": "x", "value": f"approve:{row.id}"}]})}
        signed = {"X-Slack-Signature": "v0=00", "X-Slack-Request-Timestamp": "1800000000", "Authorization": ""}
        end = head(api.gateway.store)
        for path in (*posts, "/slack", "/slack/interactive", "/chat", "/webhook", "/review/slack"):
            place = re.sub(r"\{[^}]*\}", row.id, path)
            for _ in range(2):
                assert api.client.post(place, data=form, headers=signed).status_code in {401, 403, 404, 405, 415, 422}
        assert api.gateway.queue.get(row.id) == row
        assert head(api.gateway.store) == end


def test_7_a_yes_that_is_sent_again_through_another_channel_is_told_of_the_first(review: Review) -> None:
    row = review.bill()
    page = review.card(row)
    assert review.answer(row, page=page).status_code == 303
    boss = review.gateway.queue.reviewers.authenticate(review.token)
    again = review.answer(row, page=page)
    assert (again.status_code, review.state(row)) == (409, State.APPROVED)
    from checkvalve.approvals.errors import ConflictError

    with pytest.raises(ConflictError, match="approved by boss"):
        review.gateway.queue.approve(row.id, boss, row.digest)
