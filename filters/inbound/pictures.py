"""Texts beside the picture in image files: PNG, JPEG, GIF and WebP chunks, EXIF strings and XMP.

Guarantees: only the chunks are walked and nothing is decoded into pixels; a packed chunk unpacks to a bounded size;
what the picture itself shows is never read, which the caller is told.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Final

MAX_TEXT: Final = 65_536
"""Bytes of one chunk's text, packed or not."""
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_RUN: Final = re.compile(rb"[\x20-\x7e\x80-\xff\t\r\n]{8,}")
_WIDE: Final = re.compile(rb"(?:[\x20-\x7e]\x00){8,}")
_MAX_CHUNKS: Final = 2_000


def is_picture(data: bytes) -> bool:
    """Say whether ``data`` begins like a picture that is known here."""
    return data.startswith((_PNG, b"\xff\xd8\xff", b"GIF8")) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP")


def texts(data: bytes) -> Iterator[str]:
    """Yield the texts in a picture's chunks."""
    if data.startswith(_PNG):
        chunks = _png(data)
    elif data.startswith(b"\xff\xd8"):
        chunks = _jpeg(data)
    elif data.startswith(b"GIF8"):
        chunks = iter([data])
    else:
        chunks = _riff(data)
    for number, chunk in enumerate(chunks):
        if number >= _MAX_CHUNKS:
            return
        yield from _readable(chunk[:MAX_TEXT])


def _readable(chunk: bytes) -> Iterator[str]:
    for found in _WIDE.finditer(chunk):
        yield found[0].decode("utf-16-le", "replace")
    for found in _RUN.finditer(chunk):
        text = found[0].decode("utf-8", "ignore").strip()
        if sum(map(str.isalpha, text)) * 2 > len(text):
            yield text


def _png(data: bytes) -> Iterator[bytes]:
    position = len(_PNG)
    while position + 8 <= len(data):
        size, kind = int.from_bytes(data[position : position + 4], "big"), data[position + 4 : position + 8]
        body = data[position + 8 : position + 8 + min(size, 4 * MAX_TEXT)]
        if kind == b"zTXt":
            keyword, _, packed = body.partition(b"\x00")
            yield keyword + b": " + _unpacked(packed[1:])
        elif kind == b"iTXt":
            keyword, _, rest = body.partition(b"\x00")
            text = rest[2:].split(b"\x00", 2)[-1]
            yield keyword + b": " + (_unpacked(text) if rest[:1] == b"\x01" else text)
        elif kind in {b"tEXt", b"eXIf"}:
            yield body.replace(b"\x00", b": ")
        position += 12 + size
    if position < len(data):
        yield data[position:]


def _unpacked(packed: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(packed, MAX_TEXT)
    except zlib.error:
        return b""


def _jpeg(data: bytes) -> Iterator[bytes]:
    position = 2
    while position + 4 <= len(data) and data[position] == 0xFF:  # noqa: PLR2004  # every marker begins with it
        marker, size = data[position + 1], int.from_bytes(data[position + 2 : position + 4], "big")
        if marker in {0xFE, *range(0xE1, 0xEF)}:
            yield data[position + 4 : position + 2 + size]
        if marker == 0xDA:  # noqa: PLR2004  # from here on it is the picture
            break
        position += 2 + max(size, 2)
    end = data.rfind(b"\xff\xd9")
    if 0 <= end < len(data) - 2:
        yield data[end + 2 :]


def _riff(data: bytes) -> Iterator[bytes]:
    position = 12
    while position + 8 <= len(data):
        kind, size = data[position : position + 4], int.from_bytes(data[position + 4 : position + 8], "little")
        if kind in {b"EXIF", b"XMP "}:
            yield data[position + 8 : position + 8 + size]
        position += 8 + size + size % 2
