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
from checkvalve.filters.inbound.styles import colour, declarations, hidden_names, hides
from checkvalve.filters.inbound.views import Builder, View
from checkvalve.filters.outcomes import Channel, Severity

_TOKEN: Final = re.compile(
    r"<!--(?P<comment>.*?)(?:--!?>|\Z)|<!\[CDATA\[(?P<cdata>.*?)(?:\]\]>|\Z)|<[!?](?P<declaration>[^>]*+)>?"
    r"|<(?P<close>/?)(?P<name>[a-zA-Z][^\s/<>]*+)(?P<rest>(?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+)>?",
    re.DOTALL,
)
_ATTRIBUTE: Final = re.compile(r"([^\s\"'<>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'=<>`]++)))?")
_ENTITY: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});?")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VOID: Final = _names("area base br col embed hr img input link meta param source track wbr !doctype")
_INLINE: Final = _names(
    "a abbr b bdi bdo big cite code data dfn em font i kbd mark q s samp small span strike strong sub sup time tt u var "
    "wbr"
)
_RAW: Final = frozenset({"script", "style", "xmp", "noembed", "noframes"})
_UNSEEN: Final = frozenset(
    {"template", "noscript", "head", "datalist", "desc", "metadata", "audio", "video", "canvas", "object"}
)
_TEXTS: Final = _names(
    "alt title aria-label aria-description aria-roledescription placeholder content summary label value abbr cite longdesc "
    "href src action data srcdoc"
)
_PROSE: Final = re.compile(r"[^\W\d_]{2,}[^<]{0,40}\s[^\W\d_]{2,}")
_FEWEST_WORDS: Final = 3
_LINES: Final = _names("td th br")
_BLOCKS: Final = _names(
    "address article aside blockquote div dl fieldset footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section "
    "table ul"
)
_ENDED_BY: Final = {
    "p": _BLOCKS,
    "li": _names("li"),
    "td": _names("td th tr"),
    "th": _names("td th tr"),
    "tr": _names("tr"),
    "dt": _names("dt dd"),
    "dd": _names("dt dd"),
    "option": _names("option"),
}
"""Elements whose end tag may be left out, and the start tags that end them."""
_MAX_OPEN: Final = 2_000


@dataclass(slots=True)
class _Element:
    name: str
    start: int
    hidden: bool
    background: str


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

    @property
    def unseen(self) -> bool:
        return bool(self.stack) and self.stack[-1].hidden

    def text(self, start: int, end: int) -> None:
        """Take text between tags."""
        if start < end:
            _unescaped(self.hidden if self.unseen else self.shown, start, end)

    def border(self, at: int, name: str) -> None:
        """Divide words where a tag does: cells and line breaks by a line, other blocks by a paragraph."""
        if name in _INLINE:
            return
        builder = self.hidden if self.unseen else self.shown
        if name in _LINES:
            builder.line(at)
        else:
            builder.joint(at)

    def open(self, name: str, start: int, attributes: dict[str, tuple[str, int, int]]) -> None:
        """Take a start tag in; it may end an element that nobody closed."""
        while self.stack and name in _ENDED_BY.get(self.stack[-1].name, ()):
            self._drop(len(self.stack) - 1, start)
        outer = self.stack[-1] if self.stack else _Element("", 0, hidden=False, background="white")
        style = declarations(attributes["style"][0]) if "style" in attributes else {}
        if name == "font" and "color" in attributes:
            style.setdefault("color", attributes["color"][0])
        ground = (
            style.get("background-color")
            or style.get("background", "").split(" ")[0]
            or attributes.get("bgcolor", ("",))[0]
        )
        background = colour(ground) if ground else outer.background
        unseen = (
            name in _UNSEEN
            or "hidden" in attributes
            or (bool(style) and hides(style, background))
            or self._named(name, attributes)
        )
        if len(self.stack) < _MAX_OPEN and name not in _VOID:
            self.stack.append(_Element(name, start, outer.hidden or unseen, background))

    def _named(self, name: str, attributes: dict[str, tuple[str, int, int]]) -> bool:
        """Say whether the style sheet hides an element of this name, class or id."""
        if not self.names:
            return False
        classes = attributes.get("class", ("",))[0].split()
        given = {
            name,
            *(f".{item}" for item in classes),
            *(f"{name}.{item}" for item in classes),
            f"#{attributes.get('id', ('',))[0]}",
        }
        return bool(given & self.names)

    def close(self, name: str, end: int) -> None:
        """Take an end tag in: it closes the innermost element of its name, and all inside that."""
        for depth in range(len(self.stack) - 1, max(len(self.stack) - 64, 0) - 1, -1):
            if self.stack[depth].name == name:
                self._drop(depth, end)
                return

    def _drop(self, depth: int, end: int) -> None:
        element = self.stack[depth]
        outermost = element.hidden and not (depth and self.stack[depth - 1].hidden)
        del self.stack[depth:]
        if outermost and element.name != "head":
            self.cut(element.start, end, "hidden-element")

    def cut(self, start: int, end: int, detail: str) -> None:
        """Note something hidden, to be taken out of what is shown."""
        prose = _PROSE.search(self.view.text, start, end) is not None
        if prose:
            self.notes.find("hidden-text", self.view, start, end, Severity.LOW, detail=detail, channel=Channel.HIDDEN)
            self.notes.replace(self.view, start, end, "", "hidden-text")

    def end(self) -> None:
        """Close what is still open at the end of the page."""
        if self.stack:
            self._drop(next((n for n, item in enumerate(self.stack) if item.hidden), 0), len(self.view.text))


def channels(view: View, notes: Notes) -> Iterator[View]:
    """Yield what a page shows, what it hides, and what stands in its attributes and head."""
    page = _Page(view, notes, Builder(view), Builder(view), Builder(view))
    text = view.text
    if "<style" in text.lower():
        sheets = re.findall(r"<style[^>]{0,500}>(.*?)(?:</style|\Z)", text, re.DOTALL | re.IGNORECASE)
        page.names = hidden_names("".join(sheets[:50]))
    position = 0
    while (found := _TOKEN.search(text, position)) is not None:
        page.text(position, found.start())
        position = max(_token(page, found), found.start() + 1)
    page.text(position, len(text))
    page.end()
    if page.shown:
        yield page.shown.view()
    if page.hidden:
        yield page.hidden.view(Channel.HIDDEN, "markup")
    if page.aside:
        yield page.aside.view(Channel.METADATA, "markup")


def _token(page: _Page, found: re.Match[str]) -> int:
    """Take one token in; return where reading goes on."""
    start, end = found.span()
    if found["name"] is None:
        _section(page, found)
        return end
    name = found["name"].lower()
    page.border(start, name)
    if found["close"]:
        page.close(name, end)
        return end
    attributes = _attributes(page, found) if found["rest"] else {}
    if name in _RAW or name == "title":
        closing = re.compile(rf"</{name}|\Z", re.IGNORECASE).search(page.view.text, end)
        last = closing.start() if closing else len(page.view.text)
        if name != "style":
            page.aside.joint(end)
            page.aside.copy(end, last)
        return last
    page.open(name, start, attributes)
    return end


def _section(page: _Page, found: re.Match[str]) -> None:
    if found["comment"] is not None:
        page.hidden.joint(found.start())
        page.hidden.copy(*found.span("comment"))
        page.cut(*found.span(), "comment")
    elif found["cdata"] is not None:
        (page.hidden if page.unseen else page.shown).copy(*found.span("cdata"))
    elif "<!ENTITY" in found[0] or ("<!DOCTYPE" in found[0].upper() and "[" in found[0]):
        page.notes.find("entity-declaration", page.view, *found.span(), Severity.MEDIUM)
        page.notes.leave("entity-declaration")


def _attributes(page: _Page, found: re.Match[str]) -> dict[str, tuple[str, int, int]]:
    """Return the attributes of a tag; those with text in them become metadata."""
    attributes: dict[str, tuple[str, int, int]] = {}
    for item in _ATTRIBUTE.finditer(page.view.text, *found.span("rest")):
        group = next((number for number in (2, 3, 4) if item[number] is not None), 0)
        name = item[1].lower()
        start, end = item.span(group) if group else (item.end(), item.end())
        attributes.setdefault(name, (html.unescape(page.view.text[start:end]), start, end))
        if end - start > 8 and (name in _TEXTS or name.startswith("data-")):  # noqa: PLR2004  # shorter is no sentence
            page.aside.joint(start)
            _unescaped(page.aside, start, end)
    return attributes


def asides(view: View, notes: Notes) -> Iterator[View]:
    """Yield comments and hidden elements of a text that has some tags in it and is no page."""
    text = view.text.lower()
    if not any(sign in text for sign in ("<!--", "style", "hidden", "alt=", "<template", "<noscript")):
        return
    yield from (part for part in channels(view, notes) if part.channel is not Channel.VISIBLE)


def _unescaped(builder: Builder, start: int, end: int) -> None:
    """Append a stretch with its character references undone."""
    text, position = builder.parent.text, start
    if "&" in text[start:end]:
        for found in _ENTITY.finditer(text, start, end):
            builder.copy(position, found.start())
            builder.put(html.unescape(found[0]), *found.span())
            position = found.end()
    builder.copy(position, end)
