# ruff: noqa: E501 - a pattern that is cut is harder to read than a long one
"""HTML and XML by channel, with exact places: what is shown, what is hidden, and what only software reads.

A tokeniser of our own, because cutting what is hidden out of the original needs the places, which parsers do not keep.
1. Tags, comments and sections are found in one pass. 2. A stack of open elements knows what is hidden: by attribute,
inline style, style sheet (simple selectors), or by what an element is. 3. Inline tags divide no word, others do.
Guarantees: linear; entities are undone with their places; a declaration of entities is never expanded, only noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, compress
from operator import add, sub
from typing import Final

from checkvalve.filters.inbound import references
from checkvalve.filters.inbound.flow import OPENING, Flow, content
from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.styles import hidden_names, hides
from checkvalve.filters.inbound.tags import PARAGRAPH, TOKEN, Tag, names, tag_of
from checkvalve.filters.inbound.tokens import CDATA, COLOURED, CUT, DIVIDES, HIDES, OTHER, TEXTS, Numbers
from checkvalve.filters.inbound.views import JOINT, Builder, Trail, View
from checkvalve.filters.linear import PatternSet
from checkvalve.filters.outcomes import Channel, Severity

_VOID: Final = names("area base br col embed hr img input link meta param source track wbr !doctype")
_PROSE: Final = re.compile(r"[^\W\d_]{2,}[^<]{0,40}\s[^\W\d_]{2,}")
_BLOCKS: Final = names(
    "address article aside blockquote div dl fieldset footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section "
    "table ul"
)
_ENDED_BY: Final = {
    "p": _BLOCKS,
    "li": names("li"),
    "td": names("td th tr"),
    "th": names("td th tr"),
    "tr": names("tr"),
    "dt": names("dt dd"),
    "dd": names("dt dd"),
    "option": names("option"),
}
"""Elements whose end tag may be left out, and the start tags that end them."""
_PAGE: Final = names("body html")
_MAX_OPEN: Final = 2_000
_MAX_BACK: Final = 64  # open elements among which an end tag finds its own
_NOT: Final = bytes((1, 0)) + bytes(254)
_IS_SAYING: Final = bytes(bool(mark & (TEXTS | OTHER)) for mark in range(256))
_MAY_HIDE: Final = bytes(bool(mark & HIDES) for mark in range(256))
_MAY_HIDE_ON_GROUND: Final = bytes(bool(mark & (HIDES | COLOURED)) for mark in range(256))
_PLAIN_TYPE: Final = "<!doctype html>"
_ASIDE: Final = ("<!--", "style", "hidden", "alt=", "<template", "<noscript")
"""What a text that is no page has where it has comments or hidden elements."""
_SIGNS: Final = PatternSet(_ASIDE, ignore_case=True, swift=True)


@dataclass(slots=True)
class _Element:
    name: str
    start: int
    hidden: bool
    background: str


_OUTSIDE: Final = _Element("", 0, hidden=False, background="white")


@dataclass(slots=True)
class _Page:
    """One pass over a page: its tokens with a number for each, the texts before, between and behind them, and the rest."""

    view: View
    notes: Notes
    numbers: Numbers
    texts: list[str]
    tokens: list[str]
    hidden: Builder
    marks: bytes = b""
    aside: list[str] = field(default_factory=list)
    stack: list[_Element] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)

    @property
    def unseen(self) -> bool:
        return bool(self.stack) and self.stack[-1].hidden

    @property
    def ends(self) -> list[int]:
        """Where each token ends, and the text."""
        if not self._ends:
            sizes = map(add, map(len, self.texts), map(len, (*self.tokens, "")))
            self._ends = list(accumulate(sizes))
        return self._ends

    def span(self, at: int) -> tuple[int, int]:
        """Return where a token stands; the one after the last is the end."""
        end = self.ends[at]
        return (end - len(self.tokens[at]) if at < len(self.tokens) else end), end

    def open(self, tag: Tag, start: int) -> None:
        """Take a start tag in; it may end an element that nobody closed."""
        stack, name = self.stack, tag.name
        while stack and name in _ENDED_BY.get(stack[-1].name, ()):
            self._drop(len(stack) - 1, start, start)
        if len(stack) >= _MAX_OPEN or name in _VOID:
            return
        outer = stack[-1] if stack else _OUTSIDE
        background = tag.ground or outer.background
        hidden = outer.hidden or tag.hides or (bool(tag.style) and hides(tag.style, background))
        stack.append(_Element(name, start, hidden or self.numbers.names(tag), background))

    def close(self, name: str, start: int, end: int) -> None:
        """Take an end tag in: it closes the innermost element of its name, and all inside that.

        The end of a page's body closes everything, whether a start tag of it is there or not.
        """
        stack = self.stack
        for depth in range(len(stack) - 1, max(len(stack) - _MAX_BACK, 0) - 1, -1):
            if stack[depth].name == name:
                self._drop(depth, start, end)
                return
        if name in _PAGE and stack:
            self._drop(0, start, start)

    def _drop(self, depth: int, start: int, end: int) -> None:
        """Close an element, whose end tag stands from ``start`` to ``end``, and all that nobody closed inside it."""
        stack = self.stack
        if depth == len(stack) - 1 and not stack[depth].hidden:
            stack.pop()
            return
        first = depth if stack[depth].hidden else next((n for n in range(depth, len(stack)) if stack[n].hidden), None)
        if first is not None and not (first and stack[first - 1].hidden) and stack[first].name != "head":
            self.cut(stack[first].start, end if first == depth else start, "hidden-element")
        del stack[depth:]

    def cut(self, start: int, end: int, detail: str) -> None:
        """Note something hidden, to be taken out of what is shown."""
        prose = _PROSE.search(self.view.text, start, end) is not None
        if prose:
            self.notes.find("hidden-text", self.view, start, end, Severity.LOW, detail=detail, channel=Channel.HIDDEN)
            self.notes.replace(self.view, start, end, "", "hidden-text")

    def end(self) -> None:
        """Close what is still open at the end of the page."""
        if self.stack:
            self._drop(0, len(self.view.text), len(self.view.text))


def channels(view: View, notes: Notes) -> Iterator[View]:
    """Yield what a page shows, what it hides, and what stands in its attributes and head."""
    yield from _parts(view, notes, shown=True)


def asides(view: View, notes: Notes) -> Iterator[View]:
    """Yield comments and hidden elements of a text that has some tags in it and is no page."""
    able = _SIGNS.may_match(view.text)
    written = view.text.lower() if able else ""
    if not any(_ASIDE[number] in written for number in able):
        return
    yield from _parts(view, notes, shown=view.channel is not Channel.VISIBLE)


def _parts(view: View, notes: Notes, *, shown: bool) -> Iterator[View]:
    text, names = view.text, frozenset[str]()
    if "<style" in text.lower():
        sheets = re.findall(r"<style[^>]{0,500}>(.*?)(?:</style|\Z)", text, re.DOTALL | re.IGNORECASE)
        names = hidden_names("".join(sheets[:50]))
    pieces = CUT.split(text)
    page = _Page(view, notes, Numbers(names), pieces[::2], pieces[1::2], Builder(view))
    page.marks = bytes(map(page.numbers.__getitem__, page.tokens))
    unseen = _read(page)
    if shown:
        seen = bytes(unseen.translate(_NOT))
        flow = Flow(page.texts, page.tokens, page.marks)
        if 0 in seen:
            texts = [*compress(page.texts, seen), *[""] * unseen[-1]]
            flow = Flow(texts, list(compress(page.tokens, seen)), bytes(compress(page.marks, seen)))
        if flow:
            yield view.made(flow.text(), lambda: _shown_trail(page, flow, seen))
    if page.hidden:
        yield page.hidden.view(Channel.HIDDEN, "markup")
    if page.aside:
        yield view.made(JOINT.join(page.aside), lambda: _aside_trail(page), Channel.METADATA, "markup")


def _read(page: _Page) -> bytearray:
    """Take in all tokens that say something; return for each, and for the end, whether that is hidden."""
    unseen = bytearray(len(page.texts))
    done = _until_shown(page, unseen)
    texts, tokens = page.numbers.texts, page.tokens
    for at in compress(range(done, len(tokens)), page.marks[done:].translate(_IS_SAYING)):
        if page.marks[at] & TEXTS:
            page.aside += texts[tokens[at]]
        else:
            _section(page, at)
    page.end()
    return unseen


def _until_shown(page: _Page, unseen: bytearray) -> int:
    """Follow the open elements up to where nothing is hidden any more, ever; return the number of tokens until there."""
    stack, numbers = page.stack, page.numbers
    last = page.marks.translate(_MAY_HIDE_ON_GROUND if numbers.grounds else _MAY_HIDE).rfind(1)
    for at, token in enumerate(page.tokens if last >= 0 else ()):
        mark = page.marks[at]
        if stack and stack[-1].hidden:
            unseen[at] = 1
            _hide(page, at, mark)
        elif at > last:
            return at
        if mark & TEXTS:
            page.aside += numbers.texts[token]
        if mark & OTHER:
            _section(page, at)
        if mark & (OTHER | CDATA):
            continue
        tag = numbers.tag(token)
        if not tag.closes:
            page.open(tag, page.span(at)[0])
        elif stack and stack[-1].name == tag.name and not stack[-1].hidden:
            stack.pop()
        else:
            page.close(tag.name, *page.span(at))
    if page.unseen:
        unseen[-1] = 1
        _hide(page, len(page.tokens), 0)
    return len(page.tokens) if last >= 0 else 0


def _hide(page: _Page, at: int, mark: int) -> None:
    """Take in what is hidden: the text before a token, how the token divides words, and a section as it is written."""
    end, _ = page.span(at)
    start = end - len(page.texts[at])
    if start < end:
        references.append(page.hidden, start, end)
    if mark & DIVIDES == PARAGRAPH:
        page.hidden.joint(end)
    elif mark & DIVIDES:
        page.hidden.line(end)
    elif mark & CDATA:
        page.hidden.copy(end + OPENING, end + OPENING + len(content(page.tokens[at])))


def _section(page: _Page, at: int) -> None:
    """Take in an element whose content is no markup, a comment or a declaration."""
    token = page.tokens[at]
    begun = token.find(">")
    if begun > 0 and token[1:begun].isalnum():  # a tag that is nothing but a name
        page.aside += [token[begun + 1 :]] if begun + 1 < len(token) else []
        return
    start, end = page.span(at)
    text = page.view.text
    found = TOKEN.match(text, start)
    if found is None:
        return
    if found.lastgroup == "rest":
        page.aside += [references.undone(text[start + first : start + last]) for first, last in tag_of(found).texts]
        if found.end() < end:
            page.aside.append(text[found.end() : end])
    elif found["comment"] is not None:
        page.hidden.joint(start)
        page.hidden.copy(*found.span("comment"))
        page.cut(start, end, "comment")
    else:
        if found[0].lower() != _PLAIN_TYPE:
            page.aside.append(references.undone(found["declaration"]))
        if "<!ENTITY" in found[0] or ("<!DOCTYPE" in found[0].upper() and "[" in found[0]):
            page.notes.find("entity-declaration", page.view, start, end, Severity.MEDIUM)
            page.notes.leave("entity-declaration")


def _shown_trail(page: _Page, flow: Flow, seen: bytes) -> Trail:
    """Return where what is shown came from."""
    starts, places = [0, *page.ends[:-1]], list(map(sub, page.ends, map(len, page.tokens)))
    if 0 in seen:
        starts, places = list(compress(starts, seen)), list(compress(places, seen))
    return flow.trail(page.view, [*starts, *[len(page.view.text)] * (len(flow.texts) - len(starts))], places)


def _aside_trail(page: _Page) -> Trail:
    """Return where the texts came from that only software reads."""
    builder, text = Builder(page.view), page.view.text
    for at in compress(range(len(page.tokens)), page.marks.translate(_IS_SAYING)):
        start, end = page.span(at)
        found = TOKEN.match(text, start)
        if found is not None and found.lastgroup == "rest":
            for first, last in tag_of(found).texts:
                builder.joint(start + first)
                references.append(builder, start + first, start + last)
            if found.end() < end:
                builder.joint(found.end())
                builder.copy(found.end(), end)
        elif found is not None and found["comment"] is None and found[0].lower() != _PLAIN_TYPE:
            builder.joint(found.start("declaration"))
            references.append(builder, *found.span("declaration"))
    return builder.trail()
