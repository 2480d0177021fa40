from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.approvals.render import block, clip, code_point, is_deceptive, neutralise, warnings

anything = st.text(alphabet=st.characters(), max_size=200)  # every code point, lone surrogates included


@pytest.mark.claim("C3")
def test_every_code_point_that_deceives_is_shown_by_its_number() -> None:
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        category = unicodedata.category(character)
        must = category in hidden or (category == "Zs" and character != " ")
        shown = neutralise(character)
        assert shown in (character, f"\u27e8U+{number:04X}\u27e9")
        assert not must or shown != character, f"U+{number:04X} {category} is shown as it is"


@pytest.mark.parametrize(
    "number",
    [0x1B, 0x07, 0x08, 0x0D, 0x0A, 0x9B, 0xAD, 0x34F, 0x61C, 0x115F, 0x17B4, 0x180B, 0x200B, 0x202E, 0x2028, 0x2066,
     0x2800, 0x3164, 0xFE0F, 0xFEFF, 0xFFA0, 0xE0001, 0xE0041, 0xE0100, 0xD800, 0xE000, 0xA0, 0x3000, 0x27E8, 0x27E9],
)  # fmt: skip
def test_the_usual_tools_of_forgers(number: int) -> None:
    assert neutralise(f"a{chr(number)}b") == f"a\u27e8U+{number:04X}\u27e9b"


@given(anything)
def test_what_is_shown_has_nothing_left_to_hide(text: str) -> None:
    shown = neutralise(text)
    inner = shown.replace("\u27e8", "").replace("\u27e9", "")
    assert not [character for character in inner if is_deceptive(character)]
    assert shown.count("\u27e8") == shown.count("\u27e9")


@given(anything, anything)
def test_different_texts_look_different(one: str, other: str) -> None:
    plain = all(unicodedata.category(character) not in {"Mn", "Me"} for character in one + other)
    assert not plain or (neutralise(one) == neutralise(other)) == (one == other)


def test_terminal_sequences_and_piles_of_marks_are_harmless() -> None:
    assert neutralise("\x1b[2J\x1b]8;;http://x\x07y") == "⟨U+001B⟩[2J⟨U+001B⟩]8;;http://x⟨U+0007⟩y"
    assert neutralise("o" + "\u0301" * 6) == "o" + "\u0301" * 4 + "⟨U+0301⟩" * 2
    assert (
        neutralise("caf\u00e9 \u4e2d\u6587 \u05e9\u05dc\u05d5\u05dd [bold]x[/bold]")
        == "caf\u00e9 \u4e2d\u6587 \u05e9\u05dc\u05d5\u05dd [bold]x[/bold]"
    )


@given(st.text(), st.integers(1, 50), st.integers(1, 50))
def test_clipping_accounts_for_every_byte(text: str, head: int, tail: int) -> None:
    start, left_out, end = clip(text, head=head, tail=tail)
    size = len(text.encode())
    assert len(start.encode()) + left_out + len(end.encode()) == size
    assert text.startswith(start)
    assert text.endswith(end)
    assert (left_out == 0) == (start == text) or not end
    assert size <= head + tail or len(start.encode()) <= head


def test_a_payload_in_the_middle_is_announced_and_one_at_the_end_is_shown() -> None:
    text = "a" * 9_000 + "PAY" + "b" * 9_000 + "EVIL"
    shown = block(text)
    assert "15,007 bytes not shown here" in shown
    assert "EVIL" in shown
    assert "PAY" in block(text, full=True)
    assert "not shown" not in block(text, full=True)


def test_lines_break_but_cannot_scroll_the_card_away() -> None:
    assert block("a\nb\n\n\nc\n") == "a⟨U+000A⟩\nb⟨U+000A⟩⟨U+000A⟩⟨U+000A⟩\nc⟨U+000A⟩"
    assert block("\n" * 400).count("\n") == 0
    assert block("x\n" * 900).count("\n") == 39


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("bob@example.org", []),
        ("two\nlines", []),
        ("p\u0430ypal.example", ["a word mixes alphabets"]),
        ("\u043f\u0440\u0438\u0432\u0435\u0442 bob", []),
        ("a\u202eb", ["hidden or control characters"]),
        ("\uff42ob", ["changes under Unicode normalisation"]),
    ],
)
def test_values_that_are_not_what_they_look_like_carry_a_warning(text: str, found: list[str]) -> None:
    assert warnings(text) == found


def test_code_points_have_at_least_four_digits() -> None:
    assert [code_point(character) for character in "\x07\U000e0041"] == ["⟨U+0007⟩", "⟨U+E0041⟩"]
