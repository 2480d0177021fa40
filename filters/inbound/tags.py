# ruff: noqa: E501 - a pattern that is cut is harder to read than a long one
"""What one HTML tag says, wherever it stands: its name, its attributes, how it divides words and whether it hides.

Guarantees: pure, and a tag's text is all that counts, so that a page's few different tags are read once each.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from checkvalve.filters.inbound.styles import colour, declarations

TOKEN: Final = re.compile(
    r"<!--(?P<comment>.*?)(?:--!?>|\Z)|<!\[CDATA\[(?P<cdata>.*?)(?:\]\]>|\Z)|<[!?](?P<declaration>[^>]*+)>?"
    r"|<(?P<close>/?)(?P<name>[a-zA-Z][^\s/<>]*+)(?P<rest>(?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+)>?",
    re.DOTALL,
)
"""Everything between two stretches of text; ``rest`` is the last group of a tag and of nothing else."""
ATTRIBUTE: Final = re.compile(r"([^\s\"'<>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'=<>`]++)))?")

_PROSE: Final = re.compile(r"[\s&%\\]|[^\x00-\x7f]")
SHORTEST: Final = 8  # characters of an attribute that are no sentence
LONG: Final = 24  # characters from which an attribute without a blank may hold an encoding
BARE: Final = 3  # words in a tag that are given no value, from which they may be a sentence


def names(text: str) -> frozenset[str]:
    """Return the words of ``text``, such as names of elements."""
    return frozenset(text.split())


_INLINE: Final = names(
    "a abbr b bdi bdo big cite code data dfn em font i kbd mark q s samp small span strike strong sub sup time tt u var "
    "wbr"
)
UNSEEN: Final = frozenset(
    {"template", "noscript", "head", "datalist", "desc", "metadata", "audio", "video", "canvas", "object"}
)
"""Elements that are not shown, whatever their attributes say."""
_TEXTS: Final = names(
    "alt title aria-label aria-description aria-roledescription placeholder content summary label value abbr cite longdesc "
    "href src action data srcdoc"
)
"""Attributes that are text whatever they hold; another one is text where its value may be a sentence."""
_LINES: Final = names("td th br")
LINE, PARAGRAPH = 1, 2
"""How a tag divides words: cells and line breaks by a line, other blocks by a paragraph, inline tags not at all."""


@dataclass(frozen=True, slots=True)
class Tag:
    """What a tag says, wherever it stands. ``texts`` are its attributes with text, in characters from its start.

    ``divides`` says what is between the words before and behind it: nothing, a line end, or a paragraph.
    """

    name: str
    closes: bool = False
    divides: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)
    texts: tuple[tuple[int, int], ...] = ()
    style: Mapping[str, str] = field(default_factory=dict)
    ground: str = ""
    hides: bool = False  # by its name or an attribute, whatever its style says


def divides(name: str) -> int:
    """Return how the tags of an element divide words."""
    return 0 if name in _INLINE else LINE if name in _LINES else PARAGRAPH


def tag_of(found: re.Match[str]) -> Tag:
    """Return what the tag says that :data:`TOKEN` found."""
    name = found["name"].lower()
    between = divides(name)
    if not found["rest"]:
        return Tag(name, bool(found["close"]), between, hides=name in UNSEEN)
    if found["close"]:
        return Tag(name, True, between, texts=_whole(found), hides=name in UNSEEN)
    attributes, texts = _attributes(found)
    return with_attributes(name, attributes, texts)


def with_attributes(name: str, attributes: Mapping[str, str], texts: tuple[tuple[int, int], ...] = ()) -> Tag:
    """Return what a start tag says with these attributes, their names in small letters."""
    style = declarations(attributes["style"]) if "style" in attributes else {}
    if name == "font" and "color" in attributes:
        style.setdefault("color", attributes["color"])
    ground = style.get("background-color") or style.get("background", "").split(" ")[0] or attributes.get("bgcolor", "")
    unseen = name in UNSEEN or "hidden" in attributes
    return Tag(name, False, divides(name), attributes, texts, style, colour(ground) if ground else "", unseen)


def _attributes(found: re.Match[str]) -> tuple[dict[str, str], tuple[tuple[int, int], ...]]:
    """Return the attributes of a tag, and where in it those stand that have text in them."""
    attributes: dict[str, str] = {}
    texts, bare = [], 0
    text, base = found.string, found.start()
    for item in ATTRIBUTE.finditer(text, *found.span("rest")):
        group = next((number for number in (2, 3, 4) if item[number] is not None), 0)
        name = item[1].lower()
        start, end = item.span(group) if group else (item.end(), item.end())
        attributes.setdefault(name, html.unescape(text[start:end]))
        bare += not group
        if end - start > SHORTEST and is_said(name, text[start:end]):
            texts.append((start - base, end - base))
    return attributes, tuple(texts) if bare < BARE else (*texts, *_whole(found))


def is_said(name: str, value: str) -> bool:
    """Say whether an attribute is text by its name, or may be words, or words in an encoding, by its value."""
    return len(value) >= LONG or name in _TEXTS or name.startswith("data-") or _PROSE.search(value) is not None


def _whole(found: re.Match[str]) -> tuple[tuple[int, int], ...]:
    """Return where all stands that a tag holds beside its name."""
    start, end = found.span("rest")
    return ((start - found.start(), end - found.start()),) if end - start > SHORTEST else ()
