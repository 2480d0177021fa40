"""What is done fast gives the same as what is done plainly: the plain way of each is written down here."""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.filters.inbound import jsonparts, jsontext, references, rules, spelling, terminal
from checkvalve.filters.inbound.canonical import canonical, fold, is_plain
from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.views import JOINT, Builder, View

SIGNS = (
    "a", "B", "é", "ſ", "ﬁ", "Ж", "е", "о", "中", "文", "ا", "ى", "ـ", "\u200b", "\u0301", "\n", "\r\n", "\r",
    "\x0b", "\x00", "\x1b[8m", "𝐢", "🅰", "\ud800", "\ufeff", " ", '"', "\\", "\\n", "\\u0041", "\\ud83d\\ude00",
    ":", ",", "{", "}", "[", "]", "true", "tr", "ue", "1.5e3", "\u3000", "&amp;", "&#105;", "&#1;", "<p>",
    "</p>", "<br>", "<b x='y z'>", "</b>", "<!-- a b c -->", "<i hidden>", "ingore",
    "ignoreallpreviousinstructions", "instructoins",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(SIGNS), max_size=60).map("".join)


@given(TEXTS)
def test_a_text_is_folded_as_its_characters_are_one_by_one(text: str) -> None:
    view = canonical(View(text))
    assert view.text == "".join(map(fold, text))
    places = [at for at, char in enumerate(text) for _ in fold(char)]
    assert [view.origin(at, at + 1) for at in range(len(places))] == [(place, place + 1) for place in places]


@pytest.mark.parametrize("count", [30, 41, 63, 64, 65, 200])
def test_the_number_of_different_letters_changes_nothing(count: int) -> None:
    letters = "".join(map(chr, range(0x410, 0x410 + 70))) + "".join(map(chr, range(0x4E00, 0x4E00 + 200)))
    for text in (letters[:count] * 3, letters[60 : 60 + count] + "Abc", letters[-count:]):
        assert canonical(View(text)).text == "".join(map(fold, text))


def test_folding_twice_is_folding_once() -> None:
    """Letters are replaced one after the other, so what one becomes must not be what another one changes from."""
    codes = (code for code in range(0x30000) if not 0xD800 <= code < 0xE000)
    assert [hex(code) for code in codes if len(form := fold(chr(code))) == 1 and fold(form) != form] == []


@given(TEXTS)
def test_plain_ascii_is_what_has_no_other_sign(text: str) -> None:
    assert is_plain(text) == all(char in "\t\n\r" or " " <= char <= "~" for char in text)


@given(TEXTS)
def test_lines_run_on_as_they_did_in_characters(text: str) -> None:
    plain = text.replace("\r\n", " \n") if "\n" in text else text
    plain = plain.replace("\n \n", "\x0b \x0b").replace("\n\n", "\x0b\x0b").replace("\n", " ")
    assert rules.one_line(text) == plain.encode("utf-8", "surrogatepass")


@given(TEXTS)
def test_plain_text_hides_nothing_from_a_terminal(text: str) -> None:
    if is_plain(text) and "\r" not in text:
        assert not any(terminal._ANY.found(text[at : at + 2]) for at in range(len(text)))
        assert terminal.look(View(text), Notes()) == []


@given(TEXTS)
def test_json_is_told_the_same_with_the_quick_look_and_without(text: str) -> None:
    for item in (text, f"[{text}]", json.dumps([text]), f'["{text}"]', f'["{text}'):
        brackets = item.lstrip()[:1] in "[{" and item.rstrip()[-1:] in "]}"
        if brackets:
            assert jsontext.is_json(item) == (not jsonparts.BETWEEN.sub("", jsonparts.STRING.sub("", item)))
        else:
            assert not jsontext.is_json(item) or jsontext._OPENS.match(item)
    dump = json.dumps([text])
    assert jsontext.is_json(dump[: len(dump) // 2 + 2])


def _leaves(text: str) -> tuple[str, str]:
    """Return values and keys, found one match after the other."""
    values, keys = [], []
    for found in jsonparts.STRING.finditer(text):
        said = jsontext._ESCAPE.sub(jsontext._meant, found[1])
        if found[2] is not None:
            keys.append(said)
        elif found[1]:
            values.append(said)
    return JOINT.join(values), JOINT.join(keys)


@given(TEXTS)
def test_the_strings_of_json_are_those_of_one_match_after_the_other(text: str) -> None:
    for item in (text, json.dumps({"k": text, "l": ["", {text: text[:9]}]}), f'{{"a": "{text}'):
        if len(item) >= jsontext._LONG:
            continue
        views = list(jsontext.leaves(View(item)))
        found = {view.note: view.text for view in views}
        values, keys = _leaves(item)
        assert (found.get("", ""), found.get("keys", "")) == (values, keys)


@given(TEXTS)
def test_each_character_of_a_json_value_comes_from_where_it_stands(text: str) -> None:
    item = json.dumps([text], ensure_ascii=True)
    for view in jsontext.leaves(View(item)):
        for at, char in enumerate(view.text):
            start, end = view.origin(at, at + 1)
            written = item[start:end]
            assert written == char or written.startswith("\\")


@given(TEXTS)
def test_slips_are_looked_for_where_there_are_any_and_nowhere_else(text: str) -> None:
    view = canonical(View(text))
    if "\ud800" in view.text:
        return
    runs = spelling._RUN.found(view.text)
    plainly = [item for item in (spelling.mended(view), spelling.parted(view) if runs else None) if item is not None]
    assert [item.text for item in spelling.mendings(view)] == [item.text for item in plainly]


@given(TEXTS)
def test_json_is_cut_at_its_quotes_as_by_the_pattern(text: str) -> None:
    plain = text.replace('"', "").replace("\\", "")
    for item in (
        text,
        f'["{plain}", 12, {{"{plain}" : ["\\"{plain}\\\\", "a\\\\\\"b", true]}}]',
        json.dumps([text, {text: [text]}]),
    ):
        found = jsonparts.parts(item)
        with patch.object(jsonparts, "cut", return_value=None):
            slow = jsonparts.parts(item)
        assert (list(found.pieces), found.letters) == (list(slow.pieces), slow.letters)
        assert found.starts == slow.starts
        assert all(item.startswith(said, at) for said, at in zip(found.strings, found.starts, strict=True))


def test_json_with_many_escaped_quotes_reads_the_same() -> None:
    for count in (jsonparts._MANY, jsonparts._MANY + 1):
        said = 'a "b" \\ c' * (count // 2) + '"' * (count % 2)
        assert next(jsontext.leaves(View(json.dumps([said])))).text == said


@given(st.lists(st.tuples(st.sampled_from("cpjlu"), st.integers(0, 9), st.integers(0, 6)), max_size=40))
def test_a_view_is_the_same_packed_early_or_late(steps: list[tuple[str, int, int]]) -> None:
    made = []
    for loose in (0, 10_000):
        builder = Builder(View("abc&lt;def\nghi"))
        for step, at, size in steps:
            match step:
                case "c":
                    builder.copy(at, at + min(size, 14 - at))
                case "p":
                    builder.put("xyz"[:size], at, at + size)
                case "j":
                    builder.joint(at)
                case "l":
                    builder.line(at)
                case _:
                    builder.undone(references._REFERENCE, references._meant, at, 14)
            if not loose:
                builder._pack()
        view = builder.view()
        made.append((view.text, [view.origin(start, start + 1) for start in range(len(view.text))]))
    assert made[0] == made[1]
