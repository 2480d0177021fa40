"""What kind of text an item is, and its texts by channel: what a person sees, what is hidden, headers, metadata.

Guarantees: nothing is left out: every character of an item is in some view or is structure (tags, brackets, commas);
nesting is bounded, and what lies deeper is scanned as plain text and noted as not taken apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from checkvalve.filters.inbound import calendars, jsontext, mail, markdown, markup, tables
from checkvalve.filters.inbound.budget import Budget
from checkvalve.filters.inbound.neighbours import NOTE as NEIGHBOURS
from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.payloads import look_into
from checkvalve.filters.inbound.views import View
from checkvalve.filters.outcomes import Channel

MAX_DEPTH: Final = 4
"""Texts inside texts: a mail in JSON with an HTML part and a picture's note in it is three deep."""
_SHORTEST: Final = 24  # characters of a text inside another one that is worth taking apart
_MARKUP: Final = re.compile(
    r"<(?:!doctype|html|head|body|div|p|span|table|tr|td|a|img|script|style|br|h[1-6]|ul|ol|li|meta|svg|font|center|b|i|em|strong"
    r"|section|article|details|template|input|form|iframe|\?xml)\b[^<>]{0,4000}>",
    re.IGNORECASE,
)
_XML: Final = re.compile(r"\s*<(?:\?xml|!DOCTYPE|[A-Za-z_][\w:.-]{0,100}[\s>/])")
_JSON: Final = re.compile(r"\s*[\[{]")


def kind_of(text: str) -> str:
    """Return ``json``, ``calendar``, ``mail``, ``markup`` or ``text``."""
    return "json" if _JSON.match(text) and jsontext.is_json(text) else _other_kind(text)


def _other_kind(text: str) -> str:
    """Return the kind of a text that is no JSON."""
    if "BEGIN:VCALENDAR" in text[:2000] or "BEGIN:VEVENT" in text[:2000]:
        return "calendar"
    if mail.is_mail(text):
        return "mail"
    if "<" in text and ((_XML.match(text) and text.rstrip().endswith(">")) or _many_tags(text)):
        return "markup"
    return "text"


def _many_tags(text: str) -> bool:
    found = _MARKUP.finditer(text)
    return next(found, None) is not None and text.count("</") + text.count("/>") >= 2  # noqa: PLR2004  # one tag is a mention


def texts(view: View, notes: Notes, budget: Budget, *, media: str = "", depth: int = 0) -> Iterator[tuple[View, str]]:
    """Yield every text in ``view`` with its kind; a channel is that of the place it stands at."""
    budget.spend(len(view.text))
    known = jsontext.read(view.text) if not media and _JSON.match(view.text) else None
    kind = media or ("json" if known is not None else _other_kind(view.text))
    if depth >= MAX_DEPTH:
        if kind not in {"text", "code"}:
            notes.leave("too-deep")
        yield view, "text"
        return
    if kind == "json":
        for leaf in jsontext.leaves(view, known):
            yield from [(leaf, "text")] if leaf.note == NEIGHBOURS else _inner(leaf, notes, budget, depth)
    elif kind == "calendar":
        for part in calendars.texts(view):
            yield from _inner(part, notes, budget, depth, media="text" if part.note == "calendar" else "")
    elif kind == "mail":
        yield from _mail(view, notes, budget, depth)
    elif kind == "markup":
        yield from ((part, "markup") for part in markup.channels(view, notes))
    else:
        yield view, "text"
        yield from ((part, "text") for part in (*markdown.asides(view, notes), *tables.asides(view, notes)))
        if "<" in view.text:
            yield from ((part, "text") for part in markup.asides(view, notes))


def _inner(part: View, notes: Notes, budget: Budget, depth: int, media: str = "") -> Iterator[tuple[View, str]]:
    """Yield a text inside another one, taken apart where it is long enough to be anything."""
    if len(part.text) < _SHORTEST:
        yield part, "text"
        return
    for inner, kind in texts(part, notes, budget, media=media, depth=depth + 1):
        if part.channel is not Channel.VISIBLE and inner.channel is Channel.VISIBLE:
            yield (
                inner.same(inner.text, channel=part.channel),
                kind,
            )  # what is inside is no more visible than the outside
        else:
            yield inner, kind


def _mail(view: View, notes: Notes, budget: Budget, depth: int) -> Iterator[tuple[View, str]]:
    for part in mail.parts(view, notes):
        if part.data is not None:
            yield from ((found, "text") for found in look_into(part.data, part.view, notes, part.media))
        elif part.media == "text/html":
            budget.spend(len(part.view.text))
            yield from ((found, "markup") for found in markup.channels(part.view, notes))
        else:
            yield from _inner(part.view, notes, budget, depth)
