"""A code in Teams that its author did not type: struck, quoted, hidden, forwarded or attached."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.approvals.records import Proposal
from checkvalve.gateway.teams_text import MAX_HTML, MAX_MARKS, plain_words
from tests.effort import bounded
from tests.gateway.teams_world import Room, room

pytestmark = pytest.mark.claim("C4", "C9")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Room]:
    with room(tmp_path) as found:
        yield found


def waits(here: Room, row: Proposal) -> bool:
    """Say whether nothing was decided and nothing may run."""
    return here.queue.get(row.id) == row and here.queue.grant(row.id) is None and not here.queue.standing(row.id).votes


@pytest.mark.parametrize(
    "text",
    [
        "<s>{code}</s>",
        "<p><at>Checkvalve</at> <strike>{code}</strike></p>",
        "<del>{code}</del>",
        "<blockquote>{code}</blockquote>",
        "<blockquote itemscope itemtype='http://schema.skype.com/Reply'><p>{code}</p></blockquote><p>no</p>",
        "<span style='display:none'>{code}</span>",
        "<span style='font-size:1px'>{code}</span>",
        "<p hidden>{code}</p>",
        "<p class='x'>{code}</p>",
        "<span itemscope itemtype='http://schema.skype.com/Reply'>{code}</span>",
        "<attachment id='1'></attachment>{code}",
        "<a href='https://x.example'>{code}</a>",
        "<code>{code}</code> is what the bot wrote",
        "<!-- x -->{code}",
        "<p>{code}",
        "<p><b>{code}</p></b>",
        "{code} " + "x" * 4_000,
    ],
    ids=range(17),
)
def test_13_a_code_in_quoted_struck_hidden_or_forwarded_text_is_none(text: str, here: Room) -> None:
    """Teams passes on what its author struck or quoted; as bare words it would be a yes."""
    row = here.ask("low")
    said = here.say("", text=text.replace("{code}", here.code(row)))
    assert said.startswith("Nothing was done. Type the code yourself, as plain text")
    assert waits(here, row)


@pytest.mark.parametrize(
    "attached",
    [
        [{"contentType": "messageReference", "content": "{}"}],
        [{"contentType": "forwardedMessageReference", "content": "{}"}],
        [{"contentType": "text/html", "content": "<div><s>{code}</s></div>"}],
        [{"contentType": "text/html", "content": "<blockquote>{code}</blockquote>"}],
        [{"contentType": "text/html"}],
        [{"contentType": "image/png", "contentUrl": "https://x.example"}],
        {"contentType": "text/html"},
        ["{code}"],
    ],
    ids=range(8),
)
def test_13_what_the_bare_text_does_not_show_is_looked_for_in_what_is_attached(attached: object, here: Room) -> None:
    """The text may come without marks, and its HTML beside it says that it was struck, quoted or forwarded."""
    row = here.ask("low")
    code = here.code(row)
    body = json.loads(json.dumps(attached).replace("{code}", code))
    assert here.say(code, attachments=body).startswith("Nothing was done. Type the code yourself")
    assert waits(here, row)


def test_13_what_teams_sends_of_a_typed_code_is_taken(here: Room) -> None:
    """The same message as people really write it, with the HTML of their client beside it."""
    row = here.ask("low")
    mention = "<span itemscope='' itemtype='http://schema.skype.com/Mention' itemid='0'>Checkvalve</span>"
    html = f"<div><div>{mention}&nbsp;{here.code(row)}<br/></div></div>"
    said = here.say(here.code(row), attachments=[{"contentType": "text/html", "content": html}])
    assert said.startswith("The call is approved")


@pytest.mark.parametrize("mark", ["<p a='", '<p a="', "<p a ", "<p a=b ", "<p a=''", "</p ", "<!-", "<", "<p>"])
@pytest.mark.parametrize("between", ["", "& ", "/", "]"], ids=["bare", "references", "strokes", "brackets"])
def test_13_what_reading_a_message_takes_is_bounded(mark: str, between: str) -> None:
    """A parser of HTML goes back for every mark that does not end: one message must not hold a core."""
    many = (mark * MAX_HTML)[:MAX_HTML]
    room_for = (MAX_HTML - len(mark) * MAX_MARKS) // MAX_MARKS
    few = (mark + between * (room_for // max(1, len(between)))) * MAX_MARKS
    with bounded(2.0):
        assert plain_words({"text": "", "attachments": [{"contentType": "text/html", "content": many}]}) is None
        plain_words({"text": "", "attachments": [{"contentType": "text/html", "content": few}]})
        plain_words({"text": few[:4_000]})


def test_13_a_message_has_one_part_of_html_and_as_many_marks_as_a_person_makes() -> None:
    """Teams sends one part; and two hundred marks are a hundred lines."""
    part = {"contentType": "text/html", "content": "<p>ok</p>" * (MAX_MARKS // 2)}
    assert plain_words({"text": "ok", "attachments": [part]}) == ("ok",)
    assert plain_words({"text": "ok", "attachments": [part, part]}) is None
    assert plain_words({"text": "ok", "attachments": [{**part, "content": part["content"] + "<br>"}]}) is None


@pytest.mark.parametrize("kinds", [("x", "Mention"), ("Mention", "x"), ("Mention", "Mention")], ids="/".join)
def test_13_a_mark_that_says_one_thing_twice_is_not_plain(kinds: tuple[str, str]) -> None:
    """A client takes the first of the two, and what is taken for a mention is left out of the words."""
    said = " ".join(f"itemtype='http://schema.skype.com/{kind}'" for kind in kinds)
    assert plain_words({"text": f"yes <span {said}>, but not this one</span>"}) is None
