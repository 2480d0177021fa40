# ruff: noqa: E501 - a pattern that is cut is harder to read than a long one
"""Markup cut at its tags at once, and of each tag one number that says what is to be done about it.

A page has the same few tags over and over, and of most there is nothing to say but how they divide words. 1. One
pattern cuts a text into tokens and what stands between them; elements whose content is no markup are one token with
it. 2. Each different token gets its number once. 3. Only tokens with text in them, tags that may hide and what is no tag at
all are looked at one by one. Guarantees: linear; the pieces are all of the text, in order.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final

from checkvalve.filters.inbound.references import undone
from checkvalve.filters.inbound.styles import colour, hides
from checkvalve.filters.inbound.tags import (
    ATTRIBUTE,
    BARE,
    LONG,
    SHORTEST,
    UNSEEN,
    Tag,
    divides,
    is_said,
    names,
    with_attributes,
)

RAW: Final = names("script style xmp noembed noframes title")
"""Elements whose content is no markup."""
_REST: Final = r"""(?:[^<>"']++|"[^"]*+"|'[^']*+')*+>?"""
_RAW: Final = "|".join(rf"(?ai:{name})(?=[\s/<>]|\Z){_REST}(?:[^<]++|<(?!(?i:/{name})))*+" for name in sorted(RAW))
CUT: Final = re.compile(
    rf"(<(?:/[a-zA-Z][^\s/<>]*+{_REST}|(?=[nNsStTxX])(?:{_RAW})|[a-zA-Z][^\s/<>]*+{_REST}"
    rf"|!--(?:[^-]++|-(?!-!?>))*+(?:--!?>|\Z)|!\[CDATA\[(?:[^\]]++|\](?!\]>))*+(?:\]\]>|\Z)|[!?][^>]*+>?))",
    re.DOTALL,
)
"""Divides a text at its tokens, which are :data:`~checkvalve.filters.inbound.tags.TOKEN` and raw content behind it."""
_NAME: Final = re.compile(r"</?([a-zA-Z][^\s/<>]*+)")
DIVIDES: Final = 3
"""The bits of a number that say what is between the words before and behind a tag."""
TEXTS, HIDES, COLOURED, CDATA, OTHER = 4, 8, 16, 32, 64
"""Further bits: a tag has text in it; it may hide; it may where the ground has a colour; it is no tag but text as it is
written; it is a comment, a declaration, or an element with raw content."""
_SPOKEN: Final = "aria-hidden"
"""An attribute that hides from ears, not from eyes."""
_FEW: Final = 20  # words of a style sheet that are looked for in each tag before it is taken apart
_KNOWN: Final = 1_000
_SHORT: Final = 16
_NUMBERS: Final[dict[str, int]] = {}
"""The numbers of short tags without attributes, whatever page they are in."""
_NOWHERE: Final = "\0"  # no colour


class Numbers(dict[str, int]):
    """The number of each token of one page, and the texts of those that have some."""

    def __init__(self, hidden: frozenset[str] = frozenset()) -> None:
        """Begin a page whose style sheet hides what these selectors name."""
        super().__init__()
        self.texts: dict[str, list[str]] = {}
        self.grounds = False  # whether an element has a ground of its own
        self.hidden = hidden
        self._tags: dict[str, Tag] = {}
        self._words = tuple({word for name in hidden for word in re.split("[.#]", name) if word})

    def __missing__(self, token: str) -> int:
        number = None if self.hidden else _NUMBERS.get(token)
        if number is None:
            number = self._number(token)
        self[token] = number
        return number

    def tag(self, token: str) -> Tag:
        """Return what a tag says, without the attributes of one that cannot hide."""
        tag = self._tags.get(token)
        if tag is None:
            name = _name(token)
            tag = self._tags[token] = Tag(name, token[1] == "/", self[token] & DIVIDES, hides=name in UNSEEN)
        return tag

    def _number(self, token: str) -> int:
        if token[1] in "!?":
            return CDATA if token.startswith("<![CDATA[") else OTHER
        found = _NAME.match(token)
        name = found[1].lower() if found else ""
        closes = token[1] == "/"
        number = divides(name)
        if name in RAW and not closes:
            return number | OTHER
        if name in UNSEEN and not closes:
            number |= HIDES
        start = found.end(1) if found else 0
        if start >= len(token) - 1:
            if len(_NUMBERS) < _KNOWN and len(token) < _SHORT:
                _NUMBERS[token] = number
            return number if closes or not self.hidden else number | self._hides(Tag(name))
        given = [] if closes else ATTRIBUTE.findall(token, start)
        if texts := _texts(token, start, given):
            self.texts[token] = texts
            number |= TEXTS
        if not closes and self._may_hide(token):
            attributes = {key.lower(): html.unescape(one or two or three) for key, one, two, three in reversed(given)}
            tag = self._tags[token] = with_attributes(name, attributes)
            self.grounds = self.grounds or bool(tag.ground)
            number |= self._hides(tag)
        return number

    def _may_hide(self, token: str) -> bool:
        """Say whether a start tag has to be taken apart to know whether it hides."""
        written = token.lower()
        if "style" in written or "color" in written:
            return True
        if "hidden" in written and "hidden" in written.replace(_SPOKEN, ""):
            return True
        if not self._words:
            return False
        return len(self._words) > _FEW or "&" in token or any(word in token or word in written for word in self._words)

    def _hides(self, tag: Tag) -> int:
        """Return whether a tag hides whatever stands around it, or where the ground has its colour."""
        if tag.hides or (tag.style and hides(tag.style, _NOWHERE)) or self.names(tag):
            return HIDES
        if "color" not in tag.style:
            return 0
        return HIDES if colour(tag.style["color"]) == "white" else COLOURED

    def names(self, tag: Tag) -> bool:
        """Say whether the style sheet hides an element of this name, class or id."""
        if not self.hidden:
            return False
        name, classes = tag.name, tag.attributes.get("class", "").split()
        given = {
            name,
            *(f".{item}" for item in classes),
            *(f"{name}.{item}" for item in classes),
            f"#{tag.attributes.get('id', '')}",
        }
        return bool(given & self.hidden)


def _name(token: str) -> str:
    found = _NAME.match(token)
    return found[1].lower() if found else ""


def _texts(token: str, start: int, given: Sequence[tuple[str, str, str, str]]) -> list[str]:
    """Return the attributes of a tag that are text; where words stand in it without a value, all from ``start`` on."""
    texts, bare = [], 0
    for name, one, two, three in given:
        value = one or two or three
        if len(value) > SHORTEST:
            if len(value) >= LONG or is_said(name.lower(), value):
                texts.append(undone(value) if "&" in value else value)
        elif not value:
            bare += 1
    if bare >= BARE:  # or they have an empty one
        bare = sum(found.lastindex == 1 for found in ATTRIBUTE.finditer(token, start))
    if bare >= BARE or not given:
        rest = token[start:].removesuffix(">")
        if len(rest) > SHORTEST and (bare >= BARE or token[1] == "/"):
            texts.append(undone(rest))
    return texts
