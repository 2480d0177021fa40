"""Attachments and files that are no text: what kind of file the bytes are, and every text that can be had from them.

Guarantees: what cannot be read is noted as not scanned, never passed over; a picture's own content always is.
"""

from __future__ import annotations

from collections.abc import Iterator

from checkvalve.filters.inbound import documents, pictures
from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.views import View
from checkvalve.filters.outcomes import Channel


def look_into(data: bytes, view: View, notes: Notes, media: str = "") -> Iterator[View]:
    """Yield the texts in ``data``, whose place in the item is the whole of ``view``."""
    if pictures.is_picture(data):
        notes.leave("picture")
        for note in pictures.texts(data):
            yield _within(view, note, Channel.METADATA, "picture")
    elif documents.is_document(data):
        yield from (_within(view, said, channel, where) for said, channel, where in documents.texts(data, notes))
    elif (text := _as_text(data)) is not None:
        yield _within(view, text, view.channel, "attachment")
    else:
        notes.leave("unknown-media" if not media.startswith(("audio/", "video/")) else "media")


def _within(view: View, text: str, channel: Channel, note: str) -> View:
    return view.whole(text, 0, len(view.text), note=note, channel=channel)


def _as_text(data: bytes) -> str | None:
    if b"\x00" in data[:1000]:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
