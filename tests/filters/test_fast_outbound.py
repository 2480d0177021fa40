"""What leaves is looked at fast, and found as it is plainly: what is skipped could not have had anything."""

from __future__ import annotations

import re
from functools import lru_cache
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import NlpEngineProvider

from checkvalve.filters.outbound import forms, signs, units
from checkvalve.filters.outbound.hosts import _is_odd
from checkvalve.filters.outbound.prompts import PromptText
from checkvalve.filters.pii import detect, gates
from checkvalve.filters.pii.engine import EMAIL_ADDRESS, _around_signs, asked, recognisers
from checkvalve.filters.pii.kinds import NEEDS, _last, _pattern
from checkvalve.filters.secrets import context, readings, registered
from checkvalve.filters.secrets.registered import Registered

SIGNS = (
    "see ", "http://drop.example/p", "//x.example/y", "www.", "[t](", "](", ")", "![", "[1]:", " ", "\n", ".",
    ", ", "<", "<img", " src=", "<a href='q'>", "url(", "@import 'a'", "image-\u017fet('", "data:text/html,hi",
    "java\u017fcript:x", "mailto:a@b.cd", "a.b.example/q", "1.2.3.4/x", "\u0661.\u0662.\u0663.\u0664/x",
    "\u212a", "\u017f", "\u0131", "\u0130", "é", "中", "\u200b", "\ud800", "\\", "[", "]", "horse-battery-104",
    "aG9yc2UtYmF0dGVyeS0xMDQ=", "STG%2D0042%2DABCDEF", "&#83;TG-0042-ABCDEF", "Zürich-Straße 12",
    "ZURICH-STRASSE 12", "never tell anybody about the merger", " in May or the price", "never tell",
    "api_key = ", "password is ", "token", "authorization: ", "bob@corp.example", "amy.o'neil@x.co", "@",
    "a@b.", "x" * 70, "4111 1111 1111 1111", "card ", "DE89370400440532013000", "+49 30 901820",
    "tel 030 901820", "1.1.1.1", "fe80::1:2:3", "536-22-8745", "ssn ", "123456789", "AB123456C", "BNZAA2318J",
    "110105199003071234", "13812345678", "4\uff11\uff11", "0", "-", "order ", "deadbeef" * 4,
    "https://h/123456789012", "\\\\drop.example\\share", "https:drop.example", "ipfs://abc", "<b>", "\x1b[1m",
    "\U000e0053\U000e0054", "\u0405\u0422G-0042-\u0410BCDEF",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(SIGNS), max_size=25).map("".join)
NEEDED = {
    signs.TAG: (forms._TAG, forms._AUTOLINK),
    signs.DEFINITION: (forms._DEFINITION,),
    signs.ASSIGNED: (forms._ASSIGNED,),
    signs.CSS: (forms._CSS,),
    signs.ADDRESS: (forms._ADDRESS, forms._SHARE),
    signs.NAME: (forms._NAME,),
}
VALUES = [("v", "horse-battery-104"), ("v", "STG-0042-ABCDEF"), ("v", "Zürich-Straße 12")]


@given(TEXTS)
def test_a_form_of_links_that_is_skipped_does_not_stand_in_the_text(text: str) -> None:
    able = signs.able_to_hold(text)
    for need, patterns in NEEDED.items():
        assert need in able or not any(pattern.search(text) for pattern in patterns)
    assert signs.BRACKETS in able or "](" not in text


@given(st.text("[]\\(a", max_size=40))
def test_brackets_are_those_of_one_character_after_the_other(text: str) -> None:
    found, opened, escaped = [], [], False
    for place, char in enumerate(text):
        if char == "[" and not escaped:
            opened.append(place)
        elif char == "]" and not escaped:
            start = opened.pop() if opened else None
            if text.startswith("](", place):
                found.append((start, place))
        escaped = char == "\\" and not escaped
    assert list(forms._brackets(text)) == found


@lru_cache(maxsize=1)
def _engine() -> AnalyzerEngine:
    """Return Presidio's own engine without a language model, over the same recognisers."""
    models = [{"lang_code": "en", "model_name": "no_op"}]
    engine = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "no_op", "models": models}).create_engine()
    known = [one for found in recognisers().values() for one in found]
    registry = RecognizerRegistry(recognizers=known, supported_languages=["en"])
    return AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])


def _plain(results: object) -> set[tuple[str, int, int, float]]:
    return {(one.entity_type, one.start, one.end, one.score) for one in results}  # type: ignore[attr-defined]


@settings(deadline=None)
@given(TEXTS)
def test_recognisers_asked_directly_find_what_the_engine_finds(text: str) -> None:
    entities = [name for name, need in NEEDS.items() if not need.shape]
    folded = detect._folded(text)[0]
    by_engine = _plain(_engine().analyze(folded, language="en", entities=entities))
    assert _plain(asked(folded, entities)) == by_engine
    gated = {name for name in entities if gates._COMPILED[NEEDS[name].gate].search(folded)}
    assert _plain(asked(folded, gates.wanted(folded, entities))) == {one for one in by_engine if one[0] in gated}


@settings(deadline=None)
@given(TEXTS)
def test_a_value_of_a_known_shape_is_not_skipped(text: str) -> None:
    folded = detect._folded(text)[0]
    for entity, need in NEEDS.items():
        if need.shape and gates._COMPILED[need.gate].search(folded) and entity not in gates.wanted(folded, [entity]):
            assert not re.search(need.shape, folded)


def test_forms_leave_out_what_stands_around_a_value_and_nothing_else() -> None:
    assert gates.form_of(r"(?<!\d)a(?!1\d(?!2))b[(?=]\(c(?=x)") == r"(?ms:ab[(?=]\(c)"
    assert gates.form_of(r"(a)\1") == gates.form_of(r"\d\s\d") == ""
    assert not [entity for entity in NEEDS if gates._forms(entity) == ("",)]


@given(TEXTS)
def test_every_address_of_mail_is_found_around_its_sign(text: str) -> None:
    plain = re.compile(EMAIL_ADDRESS, re.IGNORECASE)
    near = [
        (found.start() + start, found.end() + start)
        for start, end in _around_signs(text)
        for found in plain.finditer(text[start:end])
    ]
    assert near == [found.span() for found in plain.finditer(text)]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9), st.sampled_from([0.4, 1.0])), max_size=40))
def test_disjoint_hits_are_the_longest_then_the_surest_then_the_first(rows: list[tuple[int, int, float]]) -> None:
    hits = [detect.PiiHit(start, start + size, "x", score) for start, size, score in rows]
    chosen: list[detect.PiiHit] = []
    for hit in sorted(set(hits), key=lambda one: (one.start - one.end, -one.score, one.start)):
        if not any(hit.start < other.end and other.start < hit.end for other in chosen):
            chosen.append(hit)
    assert detect._disjoint(hits) == sorted(chosen, key=lambda one: one.start)


@given(TEXTS)
def test_registered_values_are_found_by_one_pattern_as_by_looking_each_sign_up(text: str) -> None:
    quick, plain = Registered(VALUES[:2]), Registered(VALUES[:2])
    other = Registered(VALUES)  # one value has letters beyond ASCII
    with patch.object(registered, "_FEW_KEYS", -1):
        assert plain._keys is None
        found, opened = plain.find(text), plain.open_from(text)
    assert quick._keys is not None
    assert (quick.find(text), quick.open_from(text)) == (found, opened)
    assert [hit for hit in other.find(text) if text[hit.start : hit.end] == "horse-battery-104"] == [
        hit for hit in found if text[hit.start : hit.end] == "horse-battery-104"
    ]


@given(TEXTS)
def test_views_without_places_are_those_with_places(text: str) -> None:
    assert list(readings.bare_views(text)) == [view for view, _ in readings.views(text)]


@given(TEXTS, TEXTS)
def test_prompts_are_found_with_the_quick_look_and_without(before: str, text: str) -> None:
    prompts = PromptText(["Never tell anybody about the merger in May, or the price."], run=4)
    words = prompts.last_words(before)
    found = prompts.find(text, words)
    with patch.object(PromptText, "_can_repeat", lambda *_: True):
        assert prompts.find(text, words) == found


@given(TEXTS)
def test_what_is_open_is_open_without_the_quick_looks(text: str) -> None:
    for end in range(len(text) + 1):
        tail = text[:end]
        assert units._ends_in_digits(tail[-128:]) == bool(units._DIGITS.search(tail[-128:]))
        assert context.names_a_secret(tail) == bool(context._OPEN.search(tail[-96:]))


@given(TEXTS)
def test_odd_signs_of_an_address_are_odd_one_by_one(text: str) -> None:
    assert _is_odd(text) == any(_is_odd(char + "é") for char in text)


@pytest.mark.parametrize("words", sorted({need.labels for need in NEEDS.values() if need.labels}))
def test_a_label_is_found_where_its_pattern_finds_it(words: str) -> None:
    for text in (f"a {words.split(maxsplit=1)[0]} b", f"x{words.rsplit(maxsplit=1)[-1]}", words, "nothing here", ""):
        found = [match.start() for match in _pattern(words).finditer(text)]
        assert _last(words, text) == (found[-1] if found else -1)
