# ruff: noqa: E501 - a pattern that is cut is harder to read than a long one
"""HTML and XML by channel, with exact places: what is shown, what is hidden, and what only software reads.

A tokeniser of our own, because cutting what is hidden out of the original needs the places, which parsers do not keep.
1. Tags, comments and sections are found in one pass. 2. A stack of open elements knows what is hidden: by attribute,
inline style, style sheet (simple selectors), or by what an element is. 3. Inline tags divide no word, others do.
Guarantees: linear; entities are undone with their places; a declaration of entities is never expanded, only noted.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.styles import hidden_names, hides
from checkvalve.filters.inbound.tags import PARAGRAPH, TOKEN, Tag, names, tag_of
from checkvalve.filters.inbound.views import Builder, View
from checkvalve.filters.linear import PatternSet
from checkvalve.filters.outcomes import Channel, Severity

_ENTITY: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});?")


_VOID: Final = names("area base br col embed hr img input link meta param source track wbr !doctype")
_RAW: Final = frozenset({"script", "style", "xmp", "noembed", "noframes"})
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
_MAX_TAGS: Final = 2_000  # different tags of one page that are remembered
_LONG_TAG: Final = 400
_ASIDE: Final = ("<!--", "style", "hidden", "alt=", "<template", "<noscript")
"""What a text that is no page has where it has comments or hidden elements."""
_SIGNS: Final = PatternSet(("|".join(_ASIDE),), ignore_case=True, swift=True)


@dataclass(slots=True)
class _Element:
    name: str
    start: int
    hidden: bool
    background: str


_OUTSIDE: Final = _Element("", 0, hidden=False, background="white")


@dataclass(slots=True)
class _Page:
    """One pass over a page: what goes where so far."""

    view: View
    notes: Notes
    shown: Builder
    hidden: Builder
    aside: Builder
    names: frozenset[str] = frozenset()
    stack: list[_Element] = field(default_factory=list)
    tags: dict[str, Tag] = field(default_factory=dict)

    @property
    def unseen(self) -> bool:
        return bool(self.stack) and self.stack[-1].hidden

    def tag(self, found: re.Match[str]) -> Tag:
        """Return what a tag says; a page has the same few tags over and over."""
        written = found[0]
        tag = self.tags.get(written)
        if tag is None:
            tag = tag_of(found)
            if len(self.tags) < _MAX_TAGS and len(written) < _LONG_TAG:
                self.tags[written] = tag
        return tag

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
        stack.append(_Element(name, start, hidden or (bool(self.names) and self._named(tag)), background))

    def _named(self, tag: Tag) -> bool:
        """Say whether the style sheet hides an element of this name, class or id."""
        name, classes = tag.name, tag.attributes.get("class", "").split()
        given = {
            name,
            *(f".{item}" for item in classes),
            *(f"{name}.{item}" for item in classes),
            f"#{tag.attributes.get('id', '')}",
        }
        return bool(given & self.names)

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
    page = _Page(view, notes, Builder(view), Builder(view), Builder(view))
    text = view.text
    if "<style" in text.lower():
        sheets = re.findall(r"<style[^>]{0,500}>(.*?)(?:</style|\Z)", text, re.DOTALL | re.IGNORECASE)
        page.names = hidden_names("".join(sheets[:50]))
    _read(page, text)
    page.end()
    if page.shown:
        yield page.shown.view()
    if page.hidden:
        yield page.hidden.view(Channel.HIDDEN, "markup")
    if page.aside:
        yield page.aside.view(Channel.METADATA, "markup")


def _read(page: _Page, text: str) -> None:  # noqa: C901, PLR0912  # the loop over all tags: calls cost more than steps
    """Take all tokens of a page in, and the text between them."""
    position, stack, tags = 0, page.stack, page.tags
    shown, hidden, aside, plain = page.shown, page.hidden, page.aside, "&" not in text
    search = TOKEN.search
    while (found := search(text, position)) is not None:
        start, end = found.span()
        builder = hidden if stack and stack[-1].hidden else shown
        if position < start:
            if plain:
                builder.copy(position, start)
            else:
                _unescaped(builder, position, start)
        position = end
        if found.lastgroup != "rest":
            _section(page, builder, found)
            continue
        tag = tags.get(found[0]) or page.tag(found)
        if tag.divides == PARAGRAPH:
            builder.joint(start)
        elif tag.divides:
            builder.line(start)
        for first, last in tag.texts:
            aside.joint(start + first)
            _unescaped(aside, start + first, start + last)
        if tag.closes:
            if stack and stack[-1].name == tag.name and not stack[-1].hidden:
                stack.pop()
            else:
                page.close(tag.name, start, end)
        elif tag.name in _RAW or tag.name == "title":
            position = _raw(page, tag.name, end)
        else:
            page.open(tag, start)
    if position < len(text):
        _unescaped(page.hidden if page.unseen else page.shown, position, len(text))


def _raw(page: _Page, name: str, start: int) -> int:
    """Take in what stands in an element whose content is no markup; return where that ends."""
    closing = re.compile(rf"</{name}|\Z", re.IGNORECASE).search(page.view.text, start)
    end = closing.start() if closing else len(page.view.text)
    if start < end:
        page.aside.joint(start)
        page.aside.copy(start, end)
    return end


def _section(page: _Page, builder: Builder, found: re.Match[str]) -> None:
    if found["comment"] is not None:
        page.hidden.joint(found.start())
        page.hidden.copy(*found.span("comment"))
        page.cut(*found.span(), "comment")
        return
    if found["cdata"] is not None:
        builder.copy(*found.span("cdata"))
        return
    if found[0].lower() != "<!doctype html>":
        start, end = found.span("declaration")
        page.aside.joint(start)
        _unescaped(page.aside, start, end)
    if "<!ENTITY" in found[0] or ("<!DOCTYPE" in found[0].upper() and "[" in found[0]):
        page.notes.find("entity-declaration", page.view, *found.span(), Severity.MEDIUM)
        page.notes.leave("entity-declaration")


def asides(view: View, notes: Notes) -> Iterator[View]:
    """Yield comments and hidden elements of a text that has some tags in it and is no page."""
    if not _SIGNS.may_match(view.text) or not any(sign in view.text.lower() for sign in _ASIDE):
        return
    yield from (part for part in channels(view, notes) if part.channel is not Channel.VISIBLE)


def _unescaped(builder: Builder, start: int, end: int) -> None:
    """Append a stretch with its character references undone."""
    if builder.parent.text.find("&", start, end) < 0:
        builder.copy(start, end)
    else:
        builder.undone(_ENTITY, _meant, start, end)


def _meant(found: re.Match[str]) -> str:
    return html.unescape(found[0])
