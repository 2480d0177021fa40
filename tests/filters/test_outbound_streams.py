"""What leaves in pieces: any stream of a text has the verdict of the whole, and no text takes long."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.filters.links import links
from checkvalve.filters.outbound.rules import OutboundRules
from checkvalve.filters.outbound.scan import scan_outbound
from checkvalve.filters.outbound.stream import OutboundStream
from checkvalve.filters.outbound.units import HARD, KEY
from checkvalve.filters.outcomes import ContentOutcome, Status
from tests.effort import bounded
from tests.filters.outbound_texts import EVIL, HOSTILE, PARTS, RULES, origins, out


@pytest.mark.parametrize("piece", HOSTILE)
def test_b55_no_text_of_50_kb_takes_long(piece: str) -> None:
    text = piece * (50_000 // len(piece))
    rules = replace(RULES, pii=frozenset({"email", "phone", "card", "ip"}))
    scan_outbound(text[:500], rules)  # engines are built
    with bounded():
        scan_outbound(text, rules)


@pytest.mark.parametrize("count", [500, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_texts_at_random_never_crash_and_never_leak(count: int) -> None:
    draw = random.Random(7)
    signs = [*HOSTILE, *PARTS, "\x00", "\ud800", "é", "汉", "\u202e", "<", ">", '"', "&", ";", "\r\n"]
    for _ in range(count):
        text = "".join(draw.choice(signs)[:60] for _ in range(draw.randint(1, 9)))
        result = scan_outbound(text, RULES)
        assert "STG-0042-ABCDEF" not in result.text


def test_what_is_too_long_or_too_late_does_not_leave_and_is_called_unscanned() -> None:
    long = scan_outbound("word " * 100, OutboundRules(max_chars=300))
    assert (long.outcome, long.status, long.reason) == (ContentOutcome.WITHHOLD, Status.UNSCANNED, "too-long")
    answers = iter([False, True])
    late = scan_outbound("a line\n" * 5, expired=lambda: next(answers))
    assert (late.text, late.status, late.reason) == ("⟨withheld: deadline⟩", Status.UNSCANNED, "deadline")


def test_findings_name_bytes_and_spans_lead_back() -> None:
    text = f"é {EVIL} ü\nSTG-0042-ABCDEF!"
    result = scan_outbound(text, RULES)
    pieces = [text.encode()[one.start : one.end].decode() for one in result.findings]
    assert pieces == [EVIL, "STG-0042-ABCDEF"]
    assert result.text == "é ⟨removed: composed-link⟩ ü\n⟨removed: registered-value⟩!"
    place = result.text.index("ü")
    start, end = result.origin(place, place + 1)
    assert text.encode()[start:end].decode() == "ü"
    assert EVIL not in repr(result.findings)


@pytest.mark.claim("C8")
@given(
    st.lists(st.sampled_from(PARTS), max_size=25).map("".join), st.lists(st.integers(0, 40), min_size=1, max_size=30)
)
@settings(max_examples=300, deadline=None)
def test_b23_any_chunking_gives_the_verdict_and_the_text_of_the_whole(text: str, sizes: list[int]) -> None:
    whole = scan_outbound(text, RULES, origins=origins)
    stream = OutboundStream(RULES, origins)
    seen, place, turn = "", 0, 0
    while place < len(text):
        size = sizes[turn % len(sizes)] if any(sizes) else 1
        seen += stream.text(text[place : place + size])
        place, turn = place + size, turn + 1
        assert stream.held <= KEY
    closed = stream.close()
    seen += closed.text
    assert closed.result == whole
    if whole.outcome is ContentOutcome.WITHHOLD:
        assert seen.endswith(whole.text)
        assert "STG-0042-ABCDEF" not in seen
    else:
        assert seen == whole.text


@given(st.lists(st.sampled_from(PARTS), max_size=25).map("".join))
@settings(max_examples=200, deadline=None)
def test_a_text_that_was_cleaned_is_clean(text: str) -> None:
    once = scan_outbound(text, RULES, origins=origins)
    if once.outcome is not ContentOutcome.WITHHOLD:
        left = [link for link in links(once.text) if link.auto_fetch and "img.cdn.example" not in link.target]
        assert not left, once.text
        assert RULES.registered.find(once.text) == []


@given(st.text(alphabet=st.characters(), max_size=300))
@settings(max_examples=200, deadline=None)
def test_no_text_is_an_exception_and_plain_text_is_untouched(text: str) -> None:
    result = scan_outbound(text, RULES)
    assert result.outcome is not ContentOutcome.PASS or result.text == text


@pytest.mark.parametrize("secret", ["STG-0042-ABCDEF", "ghp_a8F3kZ01mmQ92xTr5Bv7Nc4Ld6We1Yu3Io2P", EVIL])
def test_b23_a_value_split_anywhere_with_empty_chunks_between_never_leaves(secret: str) -> None:
    for cut in range(1, len(secret)):
        stream = OutboundStream(RULES)
        chunks = ["The value is ", secret[:cut], "", secret[cut:], " ok"]
        seen = "".join(map(stream.text, chunks)) + stream.close().text
        assert "⟨removed: " in seen
        assert secret[:6] not in seen


def test_b25_a_clean_stream_is_the_text_itself() -> None:
    chunks = [f"word{number} " for number in range(200)]
    stream = OutboundStream(RULES)
    assert "".join(map(stream.text, chunks)) + stream.close().text == "".join(chunks)


def test_a_stream_holds_back_a_line_or_two_and_never_more_than_the_longest_form() -> None:
    stream = OutboundStream(RULES)
    most = 0
    for char in "Some ordinary words, and more of them here. " * 60:
        stream.text(char)
        most = max(most, stream.held)
    assert most < 256
    for char in "x" * (2 * HARD):
        stream.text(char)
        assert stream.held <= HARD


@pytest.mark.claim("C8")
def test_not_a_character_of_a_call_leaves_before_its_gate_has_all_of_it() -> None:
    stream = OutboundStream(RULES)
    seen = [stream.text("I will send it.\n")]
    stream.call(0, id="c1", name="send_", args='{"to": "x@drop')
    seen.append(stream.text("Done"))
    stream.call(0, name="mail", args='.example"}')
    stream.call(1, id="c2", name="note")
    closed = stream.close()
    assert "drop" not in "".join(seen) + closed.text
    assert [(call.id, call.name, call.args) for call in closed.calls] == [
        ("c1", "send_mail", '{"to": "x@drop.example"}'),
        ("c2", "note", ""),
    ]


def test_a_private_key_that_is_longer_than_a_piece_goes_to_its_end() -> None:
    body = "".join(f"{'aB3' * 20}\n" for _ in range(400))
    text = f"a\n-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\nb"
    assert len(text) > KEY
    assert out(text) == "a\n⟨removed: private-key⟩\nb"
