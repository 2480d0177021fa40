"""Every view leads back to the characters, and every finding to the bytes, that it was made from."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.filters.inbound import scan_inbound
from checkvalve.filters.inbound.canonical import canonical, fold, folded
from checkvalve.filters.inbound.jsontext import leaves
from checkvalve.filters.inbound.views import Builder, View
from checkvalve.filters.outcomes import ContentOutcome, Edit, apply_edits

TEXTS = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "aAbB .\n\u200b\u00ad\u202eİıﬁéÀ\u0301\U000e0041\ufe0f\U0001f468\u200d忽略игНорируйتَجا½ⅷ\ud800"
        ),
    ),
    max_size=120,
)


@given(TEXTS)
def test_each_canonical_character_leads_to_the_one_it_was_folded_from(text: str) -> None:
    view = canonical(View(text))
    assert view.text == folded(text) == "".join(map(fold, text))
    for at, char in enumerate(view.text):
        start, end = view.origin(at, at + 1)
        assert end == start + 1
        assert char in fold(text[start])


@given(TEXTS, st.data())
def test_a_stretch_leads_to_the_smallest_stretch_it_came_from(text: str, data: st.DataObject) -> None:
    view = canonical(View(text))
    if not view.text:
        return
    start = data.draw(st.integers(0, len(view.text) - 1))
    end = data.draw(st.integers(start + 1, len(view.text)))
    first, last = view.origin(start, end)
    assert view.text[start:end] in folded(text[first:last])
    assert folded(text[first : first + 1]), "it begins with something that is seen"
    assert folded(text[last - 1 : last]), "and ends so"


@given(TEXTS, st.lists(st.tuples(st.integers(0, 120), st.integers(0, 40), st.text(max_size=4)), max_size=6))
def test_what_no_edit_covers_stays_and_is_mapped(text: str, cuts: list[tuple[int, int, str]]) -> None:
    edits = [Edit(min(at, len(text)), min(at + size, len(text)), new, "x") for at, size, new in cuts]
    changed, spans = apply_edits(text, edits)
    data = text.encode("utf-8", "surrogatepass")
    if not spans:
        assert changed == text
    for span in spans:
        if not span.code:
            piece = changed[span.start : span.end].encode("utf-8", "surrogatepass")
            assert piece == data[span.origin_start : span.origin_end]
    assert "".join(changed[span.start : span.end] for span in spans) in {changed, ""}


@given(st.recursive(st.text(max_size=30), lambda inner: st.lists(inner, max_size=3), max_leaves=5))
def test_json_values_lead_to_their_characters(value: object) -> None:
    import json

    text = json.dumps({"k": value})
    for view in leaves(View(text)):
        for at, char in enumerate(view.text):
            start, end = view.origin(at, at + 1)
            written = text[start:end]
            glue = view.note == "neighbours" and char == " " and not written
            assert glue or written == char or json.loads(f'"{written}"') == char or char == "\n"


def test_a_builder_keeps_the_order_of_what_it_was_given() -> None:
    builder = Builder(View("0123456789"))
    builder.copy(2, 4)
    builder.put("x", 5, 8)
    builder.joint(9)
    builder.copy(9, 10)
    view = builder.view()
    assert view.text == "23x\n\n9"
    assert [view.origin(at, at + 1) for at in range(6)] == [(2, 3), (3, 4), (5, 8), (9, 9), (9, 9), (9, 10)]
    assert view.origin(1, 3) == (3, 8)


@settings(max_examples=200)
@given(st.text(max_size=40), st.text(max_size=40))
def test_a_finding_names_the_bytes_of_what_it_found(before: str, after: str) -> None:
    token = "<|im_start|>"
    text = f"{before}\n{token}\n{after}"
    data = text.encode("utf-8", "surrogatepass")
    found = [item for item in scan_inbound(text, media="text").findings if item.code == "role-token"]
    assert any(data[item.start : item.end] == token.encode() for item in found)


def test_places_in_bytes_that_are_no_text_are_exact_as_well() -> None:
    data = b"\xff\xfe caf\xc3\xa9 <|im_end|> \x80"
    result = scan_inbound(data)
    (found,) = [item for item in result.findings if item.code == "role-token"]
    assert data[found.start : found.end] == b"<|im_end|>"
    assert result.outcome is ContentOutcome.SANITISE
    assert "\ufffd" in result.text
    assert result.origin(result.text.index("‹"), result.text.index("›") + 1) == (found.start, found.end)
