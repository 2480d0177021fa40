"""A page that is cut at its tags at once reads as one that is read tag by tag: texts, places and notes."""

from __future__ import annotations

import re
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.filters.inbound import markup, references, tokens
from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.styles import hidden_names
from checkvalve.filters.inbound.tags import PARAGRAPH, TOKEN, tag_of
from checkvalve.filters.inbound.tokens import CUT, RAW, Numbers
from checkvalve.filters.inbound.views import Builder, View

NAMES = (
    "p",
    "div",
    "b",
    "td",
    "tr",
    "br",
    "li",
    "head",
    "html",
    "body",
    "title",
    "script",
    "STYLE",
    "template",
    "svg",
    "em",
    "x:y",
    "scripts",
    "option",
    "font",
    "TD",
    "wbr",
)
GIVEN = (
    "hidden",
    'style="display:none"',
    "style='color:#fff'",
    "bgcolor=red",
    'style="color:red"',
    "color=white",
    'class="x hide"',
    'id="q"',
    'title="a title with words"',
    'title="one &amp; two &lt; three"',
    'href="/a/long/way/to/it"',
    'data-x="123456789"',
    'aria-hidden="true"',
    "one two three four",
    'a="" b="" c=""',
    'title="x > y < z and on"',
    'title="nobody closes',
    "=",
    "/",
    '"',
    "alt=plain-long-value",
)
SHEET = "<style>.hide{display:none} #q{font-size:0} td{opacity:0}</style>"
BETWEEN = (
    "some words here",
    " ",
    "\n",
    "&amp;",
    "&#1;",
    "&#10;",
    "a\n&#1;",
    "<",
    "< 3",
    ">",
    "<!-- a comment with words -->",
    "<!---->",
    "<!--",
    "<![CDATA[written as it is]]>",
    "<![CDATA[]]>",
    "<![CDATA[",
    "<!DOCTYPE html>",
    "<!doctype x [<!ENTITY a 'b'>]>",
    "<?xml version='1.0'?>",
    "<!>",
    SHEET,
    "<td></td>",
    "<br>\n<br>",
    "</p",
    "<p",
)
TAGS = st.builds(
    lambda name, given, end: f"<{' '.join((name, *given))}{end}",
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(GIVEN), max_size=4),
    st.sampled_from((">", ">", ">", "/>", "")),
)
ENDS = st.builds("</{}{}>".format, st.sampled_from(NAMES), st.sampled_from(("", "", " ", " with words in it")))
PAGES = st.lists(st.one_of(TAGS, ENDS, st.sampled_from(BETWEEN)), max_size=24).map("".join)


def _by_tag(text: str) -> tuple[list[View], Notes]:
    """Return what :func:`markup.channels` does, read one tag after the other."""
    view, notes = View(text), Notes()
    sheets = re.findall(r"<style[^>]{0,500}>(.*?)(?:</style|\Z)", text, re.DOTALL | re.IGNORECASE)
    numbers = Numbers(hidden_names("".join(sheets)))
    shown, aside = Builder(view), Builder(view)
    page = markup._Page(view, notes, numbers, [text], [], Builder(view))
    position = 0
    while (found := TOKEN.search(text, position)) is not None:
        builder = page.hidden if page.unseen else shown
        start, end = found.span()
        if position < start:
            references.append(builder, position, start)
        position = end
        if found.lastgroup == "rest":
            position = _tag(page, builder, aside, found)
        elif found["cdata"] is not None:
            builder.copy(*found.span("cdata"))
        elif found["comment"] is not None:
            page.hidden.joint(start)
            page.hidden.copy(*found.span("comment"))
            page.cut(start, end, "comment")
        elif found[0].lower() != "<!doctype html>":
            aside.joint(found.start("declaration"))
            references.append(aside, *found.span("declaration"))
    if position < len(text):
        references.append(page.hidden if page.unseen else shown, position, len(text))
    page.end()
    made = [builder.view() for builder in (shown, page.hidden, aside) if builder]
    return made, notes


def _tag(page: markup._Page, builder: Builder, aside: Builder, found: re.Match[str]) -> int:
    tag, (start, end) = tag_of(found), found.span()
    if tag.divides == PARAGRAPH:
        builder.joint(start)
    elif tag.divides:
        builder.line(start)
    for first, last in tag.texts:
        aside.joint(start + first)
        references.append(aside, start + first, start + last)
    if tag.closes:
        page.close(tag.name, start, end)
    elif tag.name not in RAW:
        page.open(tag, start)
    else:
        closing = re.compile(rf"</{tag.name}|\Z", re.IGNORECASE).search(found.string, end)
        assert closing is not None
        if end < closing.start():
            aside.joint(end)
            aside.copy(end, closing.start())
        return closing.start()
    return end


@settings(max_examples=300)
@given(PAGES)
def test_a_page_reads_the_same_at_once_and_tag_by_tag(text: str) -> None:
    notes = Notes()
    views = list(markup.channels(View(text), notes))
    slow, told = _by_tag(text)
    assert [view.text for view in views] == [view.text for view in slow]
    for one, other in zip(views, slow, strict=True):
        places = range(len(one.text))
        assert [one.origin(at, at + 1) for at in places] == [other.origin(at, at + 1) for at in places]
        assert one.origin(0, len(one.text)) == other.origin(0, len(one.text))
        assert one.origin(len(one.text), len(one.text)) == other.origin(len(one.text), len(one.text))
    assert notes.edits == told.edits
    assert [item for item in notes.findings if item.code != "entity-declaration"] == told.findings


@given(PAGES)
def test_the_pieces_are_all_of_the_text_and_each_token_begins_as_one(text: str) -> None:
    pieces = CUT.split(text)
    assert "".join(pieces) == text
    for token in pieces[1::2]:
        found = TOKEN.match(token)
        assert found is not None
        assert found.end() == len(token) or found["name"].lower() in RAW
    assert not any(TOKEN.search(between) for between in pieces[::2])


@given(PAGES)
def test_a_page_reads_the_same_when_no_tag_is_remembered(text: str) -> None:
    def read() -> list[object]:
        notes = Notes()
        views = list(markup.channels(View(text * 2), notes))
        return [*((view.text, view.channel) for view in views), *notes.findings, *notes.edits]

    remembered = read()
    with patch.object(tokens, "_NUMBERS", {}), patch.object(tokens, "_KNOWN", 0):
        assert read() == remembered
