"""Messages with headers (RFC 5322) and parts (MIME), taken apart in place: headers, bodies, attachments.

A reader of our own, because a finding has to name its place in the original. Guarantees: parts and their depth are
bounded, and what lies beyond is noted as not scanned; a body that is encoded maps as a whole to its encoded form.
"""

from __future__ import annotations

import base64
import binascii
import quopri
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.header import decode_header
from itertools import pairwise
from typing import Final

from checkvalve.filters.inbound import pictures
from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.views import Builder, View
from checkvalve.filters.outcomes import Channel

MAX_PARTS: Final = 60
MAX_DEPTH: Final = 6
_HEADERS: Final = re.compile(
    r"\s*(?:[A-Za-z][A-Za-z-]{1,60}:[^\r\n]*+\r?\n(?:[ \t]+[^\r\n]*+\r?\n)*+){2,100}+(?=\r?\n|\Z|[^:\r\n]{0,60}\s)"
)
_PART_HEADERS: Final = re.compile(
    r"(?:[A-Za-z][A-Za-z-]{1,60}:[^\r\n]*+(?:\r?\n|\Z)(?:[ \t]+[^\r\n]*+(?:\r?\n|\Z))*+){0,100}+"
)
_ONE: Final = re.compile(r"([A-Za-z][A-Za-z-]{1,60}):[ \t]*+((?:[^\r\n]|\r?\n[ \t])*+)")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KNOWN: Final = _names(
    "from to subject date received mime-version content-type message-id cc reply-to return-path delivered-to"
)
_BOUNDARY: Final = re.compile(r"boundary\s*=\s*(?:\"([^\"\r\n]{1,70})\"|([^\s;]{1,70}))", re.IGNORECASE)
_FILES: Final = (b"PK\x03\x04", b"%PDF-")
"""What archives and PDF begin with; a text that only mentions one further on is a text."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a message. ``data`` are the bytes of what is no text; ``view`` then is its encoded form."""

    view: View
    media: str = "text/plain"
    data: bytes | None = None


def is_mail(text: str) -> bool:
    """Say whether ``text`` begins with the headers of a message."""
    found = _HEADERS.match(text[:20_000])
    if not found:
        return False
    names = {item[1].lower() for item in _ONE.finditer(found[0])}
    return len(names & _KNOWN) >= 2  # noqa: PLR2004  # one header is a line of any text


def parts(view: View, notes: Notes) -> Iterator[Part]:
    """Yield the headers and the parts of a message."""
    yield from _parts(view, 0, notes, [0])


def _parts(view: View, depth: int, notes: Notes, count: list[int]) -> Iterator[Part]:
    count[0] += 1
    if depth > MAX_DEPTH or count[0] > MAX_PARTS:
        notes.leave("too-many-parts")
        yield Part(view)
        return
    head = (
        _PART_HEADERS.match(view.text, len(view.text) - len(view.text.lstrip()))
        if depth == 0
        else _PART_HEADERS.match(view.text)
    )
    end = head.end() if head else 0
    headers = {item[1].lower(): (item[2], item.start(2), item.end(2)) for item in _ONE.finditer(view.text, 0, end)}
    if headers:
        yield Part(_header_view(view, headers))
    body = view.part(end, len(view.text))
    media = headers.get("content-type", ("text/plain", 0, 0))[0].partition(";")[0].strip().lower() or "text/plain"
    boundary = _BOUNDARY.search(headers.get("content-type", ("", 0, 0))[0])
    if media.startswith("multipart/") and boundary:
        yield from _multipart(body, boundary[1] or boundary[2], depth, notes, count)
    elif media == "message/rfc822":
        yield from _parts(body, depth + 1, notes, count)
    else:
        yield from _single(body, media, headers.get("content-transfer-encoding", ("", 0, 0))[0].strip().lower(), notes)


def _header_view(view: View, headers: dict[str, tuple[str, int, int]]) -> View:
    """Return the values of headers, encoded words undone."""
    builder = Builder(view)
    for value, start, end in headers.values():
        builder.joint(start)
        if "=?" in value:
            builder.put(_words(value), start, end)
        else:
            builder.copy(start, end)
    return builder.view(Channel.HEADER, "headers")


def _words(value: str) -> str:
    try:
        pieces = decode_header(re.sub(r"\r?\n[ \t]", " ", value))
        return "".join(
            item if isinstance(item, str) else item.decode(codec or "utf-8", "replace") for item, codec in pieces
        )
    except (ValueError, LookupError, binascii.Error):
        return value


def _multipart(body: View, boundary: str, depth: int, notes: Notes, count: list[int]) -> Iterator[Part]:
    """Yield the parts between boundaries, and what stands before and after them as hidden text."""
    marks = list(re.finditer(rf"(?:^|\n)--{re.escape(boundary)}(?:--)?[ \t]*\r?(?:\n|\Z)", body.text))
    if not marks:
        yield Part(body)
        return
    outside = [(0, marks[0].start()), (marks[-1].end(), len(body.text))]
    for start, end in outside:
        if body.text[start:end].strip():
            yield Part(body.part(start, end, Channel.HIDDEN, "outside-parts"))
    for mark, following in pairwise(marks):
        yield from _parts(body.part(mark.end(), following.start()), depth + 1, notes, count)


def _single(body: View, media: str, encoding: str, notes: Notes) -> Iterator[Part]:
    is_text = media.startswith("text/") or media in {"application/json", "application/xml", "message/delivery-status"}
    data: bytes | None = None
    try:
        if encoding == "base64":
            data = base64.b64decode(re.sub(r"[^A-Za-z0-9+/=]", "", body.text))
        elif encoding == "quoted-printable":
            data = quopri.decodestring(body.text.encode("utf-8", "surrogatepass"))
    except (binascii.Error, ValueError):
        notes.leave("broken-encoding")
    if not is_text or (data is not None and _is_file(data)):  # whatever it calls itself
        yield Part(body, media, data if data is not None else body.text.encode("utf-8", "surrogatepass"))
    elif data is not None:
        channel = body.channel if body.channel is not Channel.VISIBLE else Channel.VISIBLE
        yield Part(
            body.whole(data.decode("utf-8", "replace"), 0, len(body.text), note=encoding, channel=channel), media
        )
    else:
        yield Part(body, media)


def _is_file(data: bytes) -> bool:
    return pictures.is_picture(data) or data.startswith(_FILES)
