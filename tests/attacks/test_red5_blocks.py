"""Blocks of results that call themselves something else, so that nobody cleans them; and floods of personal data."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from checkvalve.approvals.manifest import parse_manifest
from checkvalve.filters.inbound import InboundOptions
from checkvalve.gateway.cleaning import cleaned
from checkvalve.gateway.inbound import token_rules
from checkvalve.gateway.tokenised import Spoken
from checkvalve.graphs.inbound import Inbound
from tests.effort import bounded
from tests.gateway.world import MANIFEST

KEY = "ghp_a8F3kZ01mmQ92xTr5Bv7Nc4Ld6We1Yu3Io2P"
ANN = "ann@corp.example"
HIDDEN = "total 4\u200b\U000e0069\U000e0067"
INBOUND = Inbound("on", InboundOptions(), redact=True)
PIXELS = "iVBORw0KGgo" + "A" * 3_000


def words_in(text: str) -> list[dict[str, Any]]:
    return [
        {"type": "text-plain", "text": text, "mime_type": "text/plain"},
        {"type": "file", "source_type": "text", "text": text},
        {"type": "document", "source": {"type": "text", "data": text, "media_type": "text/plain"}},
        {"type": "search_result", "title": "t", "content": [{"type": "text", "text": text}]},
        {"type": "text", "text": "a mail", "subject": text},
        {"type": "image", "base64": PIXELS, "caption": text},
        {"type": "json", "json": {"a": "b"}, "more": text},
        {"type": text, "text": "a mail"},
        {text: "a mail", "type": "text"},
    ]


def shown(block: dict[str, Any]) -> str:
    result = cleaned(ToolMessage([block], tool_call_id="c", name="read_mail"), INBOUND)
    assert isinstance(result, ToolMessage)
    return json.dumps(result.content, ensure_ascii=False)


@pytest.mark.claim("C3")
@pytest.mark.parametrize("number", range(9))
def test_a_block_of_any_kind_is_shown_without_keys_and_without_what_hides_in_it(number: int) -> None:
    """A record of data may have a field `type`, and whoever wrote the mail that it is of chose it."""
    assert KEY not in shown(words_in(f"the key is {KEY}")[number])
    assert "\U000e0069" not in shown(words_in(HIDDEN)[number])


@pytest.mark.claim("C3")
@pytest.mark.parametrize("number", range(9))
def test_a_block_of_any_kind_is_shown_with_tokens(number: int) -> None:
    spoken = Spoken(token_rules("*: email"), parse_manifest(MANIFEST, "m"), {})
    block = words_in(f"from {ANN}")[number]
    (heard,) = spoken.heard([ToolMessage([block], tool_call_id="c", name="read_mail")])
    assert ANN not in json.dumps(heard.content)
    assert "EMAIL_1" in json.dumps(heard.content)


@pytest.mark.claim("C3")
def test_pictures_stay_what_they_are() -> None:
    block = {"type": "image", "base64": PIXELS, "mime_type": "image/png", "url": "https://corp.example/a.png"}
    message = ToolMessage([block, {"type": "text", "text": "a picture"}], tool_call_id="c", name="read_mail")
    assert cleaned(message, INBOUND) is message


@pytest.mark.claim("C3")
def test_values_that_outsiders_wrote_by_the_thousand_hold_nothing_up() -> None:
    spoken = Spoken(token_rules("*: email"), parse_manifest(MANIFEST, "m"), {})
    flood = " ".join(f"u{number}@m{number % 50}.example" for number in range(4_000))
    spoken.heard([ToolMessage(flood, tool_call_id="c", name="read_mail")])
    with bounded():
        spoken.heard([AIMessage("u" * 400_000 + " u7@m7.example"), AIMessage([{"type": "text", "text": "u"}] * 2_000)])


@pytest.mark.claim("C3")
def test_of_values_inside_each_other_the_longest_is_exchanged() -> None:
    spoken = Spoken(token_rules("*: email"), parse_manifest(MANIFEST, "m"), {})
    mail = ToolMessage("a@b.example and xa@b.example and a@b.example.net", tool_call_id="c", name="read_mail")
    heard = spoken.heard([mail, AIMessage("xa@b.example a@b.example.net a@b.example 1a@b.example")])
    assert "@" not in heard[0].text + heard[1].text
    assert spoken.said(heard[1]).text == "xa@b.example a@b.example.net a@b.example 1a@b.example"
