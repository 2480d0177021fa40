"""Attachments and files that are no text: what kind of file the bytes are, and every text that can be had from them.

Guarantees: what cannot be read is noted as not scanned, never passed over; a picture's own content always is; text
that a file hides is reported as a page's is, whatever it says.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final

from checkvalve.filters.inbound import documents, pictures
from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.office_text import FIELD
from checkvalve.filters.inbound.tables import reaches_out
from checkvalve.filters.inbound.views import View
from checkvalve.filters.outcomes import Channel, Severity

_PROSE: Final = re.compile(r"[^\W\d_]{2,}\s[^\W\d_]{2,}")
_HEADS: Final = (  # what files begin with, as base64 writes it: only bytes that fill whole letters
    "iVBORw0KGg",  # PNG
    "/9j/",  # JPEG
    "R0lGOD",  # GIF
    "UklGR",  # RIFF: WebP, WAVE, AVI
    "UEsDB",  # archives, office files
    "JVBERi",  # PDF
    "0M8R4KGxGu",  # office files of the older kind
    "H4sI",  # gzip
    "SUkqA",  # TIFF
    "TU0AK",
    "T2dnU",  # Ogg
    "SUQz",  # MP3
)
_MEDIA_ADDRESS: Final = re.compile(
    r"data:(?:image|audio|video|application)/[\w.+-]{1,80}[^,\s]{0,100},\Z", re.IGNORECASE
)
_LONGEST_ADDRESS: Final = 220
_SHORTEST: Final = 40  # letters; less is no file, and may be a key
_LONG: Final = 50_000  # characters of a text that may be one window of a longer one
_BLANKS: Final = re.compile(r"\s+")


def look_into(data: bytes, view: View, notes: Notes, media: str = "") -> Iterator[View]:
    """Yield the texts in ``data``, whose place in the item is the whole of ``view``."""
    if pictures.is_picture(data):
        notes.leave("picture")
        for note in pictures.texts(data):
            yield _within(view, note, Channel.METADATA, "picture")
    elif documents.is_document(data):
        for said, channel, where in documents.texts(data, notes):
            if channel is Channel.HIDDEN and where != FIELD and _PROSE.search(said):
                notes.find("hidden-text", view, 0, len(view.text), Severity.LOW, detail="document", channel=channel)
            if said.startswith("=") and reaches_out(said):
                notes.find("formula", view, 0, len(view.text), Severity.MEDIUM)
            yield _within(view, said, channel, where)
    elif (text := _as_text(data)) is not None:
        yield _within(view, text, view.channel, "attachment")
    else:
        notes.leave("unknown-media" if not media.startswith(("audio/", "video/")) else "media")


def may_be_file(text: str, start: int, end: int) -> bool:
    """Say whether the stretch of base64 from ``start`` to ``end`` may be a file: by how it begins, or by an address."""
    if end - start < _SHORTEST:
        return False
    return text.startswith(_HEADS, start, end) or (
        text[start - 1 : start] == ","
        and _MEDIA_ADDRESS.search(text, max(0, start - _LONGEST_ADDRESS), start) is not None
    )


def written_out(region: View, notes: Notes) -> Iterator[View]:
    """Yield the texts of a file that stands in a text as base64; ``region`` is that stretch (:func:`may_be_file`).

    A file is known by its first bytes, or by the address ``data:`` before it. What is cut off is noted by the reader
    of its kind: a piece of an archive is no archive.
    """
    text = region.text
    plain = _BLANKS.sub("", text).rstrip("=").translate(str.maketrans("-_", "+/"))
    plain = plain[: len(plain) - (len(plain) % 4 == 1)]
    try:
        data = base64.b64decode(plain + "=" * (-len(plain) % 4))
    except (binascii.Error, ValueError):
        notes.leave("broken-encoding")
        return
    if region.parent is not None and len(region.parent.text) >= _LONG and region.parent.text.endswith(text):
        notes.leave("too-long")  # the rest of it stands in the next window
    if _as_text(data) is None or documents.is_document(data):
        yield from look_into(data, region, notes)


def _within(view: View, text: str, channel: Channel, note: str) -> View:
    return view.whole(text, 0, len(view.text), note=note, channel=channel)


def _as_text(data: bytes) -> str | None:
    if b"\x00" in data[:1000]:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
