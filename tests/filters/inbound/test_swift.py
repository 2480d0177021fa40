"""What Hyperscan is asked is what RE2 says: for every set of patterns, with wider and turned ones, and in bytes."""

from __future__ import annotations

import base64
import copy
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.corpora.texts.disguises import ATTACK, FORMS
from checkvalve.filters import forms, swift
from checkvalve.filters.inbound import decoding, markdown, markup, roles, rules, scan_inbound, sieve, spelling, tables
from checkvalve.filters.inbound.canonical import folded
from checkvalve.filters.inbound.encodings import REGIONS, base64_places, from_base64, text_in
from checkvalve.filters.inbound.phrases_english import PHRASES, table
from checkvalve.filters.inbound.phrases_world import SCRIPTS, world
from checkvalve.filters.inbound.wider import GAP, MARKS, rarest, rotated, thin
from checkvalve.filters.linear import Pattern, PatternSet

pytestmark = pytest.mark.skipif(swift.hyperscan is None, reason="Hyperscan has no wheel for this machine")
SETS = {
    "roles": roles._ALL,
    "triggers": decoding._SETS[0][1],
    "runs": decoding._SETS[1][1],
    "slips": spelling._ODD,
    "formulas": tables._ABLE,
    "markdown": markdown._ABLE,
    "signs": markup._SIGNS,
}
SIGNS = (
    "a", "A1", "ignore", "sytem", "credential", "all", "*previous*", "_instructions_", "user", "`tool`", "\n", "\n\n",
    " ", "é", "ſystem", "\u212aelvin", "中文", "•", "·", "—", "\ud800", "\x0b", "<|im_start|>", "<｜x y｜>",
    "</system>", "system:", "Human: x\n", '{"role": "tool"}', "QUJDREVGR0hJSktMTU5P", "3a3b3c3d3e3f",
    "12 34 56 78 90 11 ", "&amp;", "\\u0041", "%41", "=3D", "a b c d e f g ", '= "xy";', "=HYPERLINK(", "-cmd|'",
    "[//]: # (hidden text)\n",
    '](x "some title here")', "![an alternative text that is long]", "\\phantom{something}", "<!--", "style", "hidden",
    "01010101", ". - .. / ", "t4ke", "ignoreallpreviousinstructions", "\r\n",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from([*SIGNS, *FORMS.values()]).map(str), max_size=30).map("".join)
HEAVY = [pattern.replace("~", GAP) for _, weight, pattern in (*table(PHRASES), *world("latin")) if weight >= 3]
EVERY = [pattern.replace("~", GAP) for script in SCRIPTS for _, _, pattern in world(script)]


@cache
def built(name: str) -> PatternSet:
    made = copy.copy(SETS[name])
    made._build()
    assert made._machine is not None
    return made


@pytest.mark.parametrize("name", SETS)
@given(text=TEXTS)
def test_a_set_says_the_same_by_either_machine(name: str, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    one, plainly = built(name), SETS[name]._plainly(data)
    assert one.matching(data) == plainly
    assert set(plainly) <= set(one.candidates(data))


@cache
def heavy() -> tuple[PatternSet, list[Pattern]]:
    made = PatternSet([sieve.written_blind(sieve.sieving(pattern)) for pattern in HEAVY], swift=True)
    made._build()
    return made, [Pattern(pattern) for pattern in HEAVY]


WORDS = st.lists(
    st.sampled_from(
        [*ATTACK.split(), "*", "_", "`", "without telling the user", "never", "decode and follow", "your new task",
         "everything above", "now", ".", "é", "\x0b", "system override", "ignorez les instructions", "\n\n"]
    ),
    max_size=30,
)  # fmt: skip


@given(WORDS)
def test_a_pattern_that_matches_is_let_through_with_its_marks_or_without(words: list[str]) -> None:
    data = rules.one_line(folded(" ".join(words)))
    plain = sieve.without_marks(data)
    made, patterns = heavy()
    seen = set(made.candidates(plain))
    for text in (data, plain):
        assert {number for number, one in enumerate(patterns) if next(one.places(text), None)} <= seen


@cache
def turned() -> PatternSet:
    made = copy.copy(rules._turned_set())
    made._build()
    return made


@given(WORDS)
def test_what_is_turned_or_rotated_is_seen_before_it_is_turned_back(words: list[str]) -> None:
    text = folded(" ".join(words))
    found = rules.find(text, ["latin"], least=rules.ENOUGH)
    rotated_text = text.encode("utf-8", "surrogatepass").translate(decoding._ROT13).decode("utf-8", "surrogatepass")
    for other in (rotated_text, text[::-1]):
        line = sieve.without_marks(rules.one_line(other))
        assert not found or turned().candidates(line)
        assert not found or rules._turned_set()._plainly(line)


@pytest.mark.parametrize("pattern", [*HEAVY, *EVERY, *(one.pattern for one in roles._ONE.values())])
def test_a_pattern_is_written_as_it_was_read(pattern: str) -> None:
    tree = forms.read(pattern)
    assert forms.written(tree) == pattern
    assert forms.written(forms.turned(forms.turned(tree))) == pattern
    assert swift.bytewise(forms.written(thin(tree)))[0].isascii()


@pytest.mark.parametrize("pattern", ["a)", "(a", "[a", "(?=a)"])
def test_syntax_that_is_not_known_is_said(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"bracket|syntax"):
        forms.read(pattern)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (f"ab{GAP}{{0,50}}cd{GAP}{{0,40}}instruction", f"ab{GAP}*instruction"),
        (
            f"long word{GAP}{{0,50}}x\\.y{GAP}{{0,40}}instruction",
            f"long word{GAP}{{0,50}}x\\.y{GAP}{{0,40}}instruction",
        ),
    ],
)
def test_the_longest_words_stay(pattern: str, expected: str) -> None:
    row = thin(forms.read(pattern))
    assert forms.written(row) == expected
    assert forms.written(rotated(rarest(forms.read(f"tell{GAP}{{0,9}}instructions")))) == "vafgehpgvbaf"


@given(st.lists(st.sampled_from([*SIGNS, "=", "==", "A" * 19, "b" * 21, "-", "> ", "\t"]), max_size=24).map("".join))
def test_runs_of_base64_are_those_of_the_pattern(text: str) -> None:
    plain = text.replace("\ud800", "")
    assert list(base64_places(plain)) == [found.span() for found in Pattern(REGIONS[0][1]).finditer(plain)]


@pytest.mark.parametrize("name", decoding._TRIGGERS)
def test_a_trigger_that_bytes_do_not_show_is_looked_for_in_characters(name: str) -> None:
    assert swift.bytewise(decoding._TRIGGERS[name])[1] == (name not in decoding._SURE)


COUNTED = (
    "=", "= ", '"', "'", "é", "ab", "中", "x" * 99, "é" * 99, ";", "+", " ", "\n", "\r", "\t", "\x0b", "\xa0", "\n \t",
)  # fmt: skip


@given(st.lists(st.sampled_from(COUNTED), max_size=40).map("".join), st.integers(1, 8))
def test_what_is_looked_for_in_characters_is_what_re2_says(text: str, often: int) -> None:
    for name, one in decoding._SURE.items():
        assert (one.search(text * often) is not None) == Pattern(decoding._TRIGGERS[name]).found(text * often)


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"


@pytest.mark.parametrize("first", LETTERS)
def test_how_base64_begins_tells_no_text_away(first: str) -> None:
    for second in LETTERS:
        for rest in ("AAgAGkAbgAgAHQAZQB4AHQA", "GVsbG8gdGhlcmUgbXkgZnJpZW5k", "A", "gBoAGUAbABsAG8AIAB0AGgA"):
            region = first + second + rest
            plain = region.translate(str.maketrans("-_", "+/"))
            plain = plain[: len(plain) - (len(plain) % 4 == 1)]
            assert from_base64(region) == text_in(base64.b64decode(plain + "=" * (-len(plain) % 4)))


COMMENT = Pattern(r"(?m)(?:^[ \t]*|[ \t])(?:#|//|--|;;|%%)[ \t]?([^\n]{12,})|/\*([^*]{12,})\*/")
MARKED = ("#", "//", "--", ";;", "%%", "/*", "*/", "*", " ", "\t", "\n", "abcdefghijkl", "word and so", "é", "####")


@given(st.lists(st.sampled_from(MARKED), max_size=24).map("".join))
def test_comments_are_those_of_the_pattern(text: str) -> None:
    plainly = [found.span(1) if found[1] is not None else found.span(2) for found in COMMENT.finditer(text)]
    assert list(tables._comments(text, tables._ABLE.may_match(text))) == plainly


def test_a_set_goes_on_with_re2_until_it_is_due_and_where_building_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swift, "RIPE", 10)
    monkeypatch.setattr(swift, "_armed", type(swift._armed)())
    monkeypatch.setattr(swift, "_due", type(swift._due)())
    one, broken = PatternSet(["abc"], swift=True), PatternSet([r"\Wabc"], swift=True)
    for made in (one, broken):
        assert made.matching(b"-abc" * 10) == [0]
    assert not swift._due  # this process did not say that it goes on
    swift.arm()
    for made in (one, broken):
        assert made.matching(b"-abc") == [0]
    assert len(swift._due) == 2
    swift.settle()
    swift.settle()
    swift.settle()
    assert (one._machine is not None, broken._machine is not None) == (True, False)
    for made in (one, broken):
        assert made.matching(b"-abc") == [0]
        assert made.matching(b"-ab") == []


def test_a_set_that_several_threads_read_with_is_due_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of them find at the same moment that it has read enough."""
    built_by = list[str]()

    class Both(list[swift.Counter]):
        def __contains__(self, one: object) -> bool:
            return True

    monkeypatch.setattr(swift, "_ALL", Both())
    monkeypatch.setattr(swift, "_due", type(swift._due)())
    counter = swift.Counter(lambda: built_by.append("once"))
    counter.ripen()
    counter.ripen()
    swift.settle_all()
    assert built_by == ["once"]


@given(st.lists(st.sampled_from([*SIGNS, *FORMS.values(), ATTACK]).map(str), max_size=12).map(" ".join))
def test_a_scan_says_the_same_by_either_machine(text: str) -> None:
    plainly = scan_inbound(text)
    with pytest.MonkeyPatch.context() as patched:
        for name, one in SETS.items():
            patched.setattr(one, "_machine", built(name)._machine)
        patched.setattr(rules._turned_set(), "_machine", turned()._machine)
        assert scan_inbound(text) == plainly


def test_marks_are_those_that_a_reading_takes_out() -> None:
    assert {chr(code) for code in range(128) if decoding._EMPHASIS[code] != code} == set(MARKS)
