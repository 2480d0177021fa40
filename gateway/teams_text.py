"""The words of a message in Teams, and whether its author really typed them: nothing quoted, struck, hidden, forwarded.

1. The text and every part of it that comes as HTML hold known marks only: paragraphs, lines, bold, italics, underline
and mentions, closed in the order in which they were opened. 2. A mark has no attribute but those of a mention, a
language and a direction, and the size that Teams writes itself: what hides a text does it with one. 3. Nothing else is
attached: a message that quotes or forwards another one names it there. 4. It has one part of HTML, and so many marks as
somebody who types makes. Whatever is not so is not plain, and none of it is read.

Guarantees: pure; an unknown mark is no plain text, so what Teams invents later is refused and not misread; what reading
takes is bounded, since it may grow with the square of the number of marks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from typing import Any, Final

MAX_SAID: Final = 4_000
"""Characters of a message that are read: a code, and a reason in words."""
MAX_HTML: Final = 20_000
"""Characters of the same message as HTML."""
MAX_MARKS: Final = 200
"""Marks in one text; Teams writes two for each line."""
_MARKS: Final = frozenset({"p", "div", "span", "br", "b", "strong", "i", "em", "u", "at"})
_MENTION: Final = "http://schema.skype.com/Mention"
_HARMLESS: Final = frozenset({"dir", "lang"})
_OF_A_MENTION: Final = frozenset({"id", "itemid", "itemscope", "itemtype"})
_SIZE: Final = re.compile(r"\s*(?:font-size:\s*(?:inherit|1[0-9]px)\s*;?\s*)?")
_HTML: Final = "text/html"


class _NotPlainError(ValueError):
    """There is something in a message that is more than words."""


class _Words(HTMLParser):
    """Reads one text; what is in a mention is left out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, bool]] = []
        self.said: list[str] = []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        """Open a mark."""
        if tag not in _MARKS:
            raise _NotPlainError
        given = dict(attrs)
        mention = tag == "at" or (tag == "span" and given.get("itemtype") == _MENTION)
        if len(given) != len(attrs) or not all(_is_harmless(name, value, mention) for name, value in attrs):
            raise _NotPlainError
        self.said.append(" ")
        if tag != "br":
            self.open.append((tag, mention))

    def handle_endtag(self, tag: str) -> None:
        """Close the mark that was opened last."""
        if tag != "br" and (not self.open or self.open.pop()[0] != tag):
            raise _NotPlainError
        self.said.append(" ")

    def handle_data(self, data: str) -> None:
        """Take words."""
        if not any(mention for _, mention in self.open):
            self.said.append(data)

    def refuse(self, _: str, /) -> None:
        """Refuse what is not shown."""
        raise _NotPlainError

    handle_comment = handle_decl = unknown_decl = handle_pi = refuse  # type: ignore[assignment]  # by position only


def plain_words(message: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the words of a message without who was mentioned; None where it is more than plain words."""
    text, attached = message.get("text"), message.get("attachments")
    parts = attached if isinstance(attached, list) else [] if attached is None else [attached]
    try:
        if len(parts) > 1:
            raise _NotPlainError
        said = _words(text if isinstance(text, str) else "", MAX_SAID)
        for item in parts:
            if (
                not isinstance(item, dict)
                or item.get("contentType") != _HTML
                or not isinstance(item.get("content"), str)
            ):
                raise _NotPlainError
            _words(item["content"], MAX_HTML)
    except _NotPlainError:
        return None
    return said


def _words(text: str, limit: int) -> tuple[str, ...]:
    """Return the words of one text.

    Raises:
        _NotPlainError: it is too long, or more than words.
    """
    if len(text) > limit or text.count("<") > MAX_MARKS:
        raise _NotPlainError
    reader = _Words()
    reader.feed(text)
    reader.close()
    if reader.open:
        raise _NotPlainError
    return tuple("".join(reader.said).split())


def _is_harmless(name: str, value: str | None, mention: bool) -> bool:  # noqa: FBT001  # what the mark is
    if name in _HARMLESS or (mention and name in _OF_A_MENTION):
        return True
    return name == "style" and _SIZE.fullmatch(value or "") is not None


__all__ = ["MAX_SAID", "plain_words"]
