"""Texts of PDF files through ``pypdf``, when the extra ``documents`` is installed.

Guarantees: without the extra, or when the library fails on a file, the file is noted as not scanned; text that is
drawn invisibly, in white or tiny is hidden text; pages and characters are bounded.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, Final

from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.outcomes import Channel

MAX_PAGES: Final = 60
MAX_CHARACTERS: Final = 400_000
_INVISIBLE: Final = 3  # text rendering mode: neither filled nor stroked
_SMALLEST: Final = 2.0


def texts(data: bytes, notes: Notes) -> Iterator[tuple[str, Channel, str]]:
    """Yield text, channel and a note of where it stood."""
    try:
        import pypdf  # noqa: PLC0415  # an extra
    except ImportError:
        notes.leave("no-pdf-reader")
        return
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        found = list(_all(reader, notes))
    except Exception:  # noqa: BLE001  # the library raises many kinds on files that are made to break it
        notes.leave("broken-document")
        return
    yield from found


def _all(reader: Any, notes: Notes) -> Iterator[tuple[str, Channel, str]]:
    size = 0
    for number, page in enumerate(reader.pages):
        if number >= MAX_PAGES or size > MAX_CHARACTERS:
            notes.leave("too-long")
            break
        look = _Look()
        page.extract_text(visitor_operand_before=look.operand, visitor_text=look.text)
        for text, channel in ((" ".join(look.seen), Channel.VISIBLE), (" ".join(look.unseen), Channel.HIDDEN)):
            size += len(text)
            if text.strip():
                yield text, channel, f"page {number + 1}"
        for item in page.get("/Annots") or ():
            if contents := item.get_object().get("/Contents"):
                yield str(contents), Channel.METADATA, "annotation"
    for name, value in (reader.metadata or {}).items():
        yield str(value), Channel.METADATA, f"property {name}"


class _Look:
    """Follows how text is drawn while a page is read."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.unseen: list[str] = []
        self._mode = 0
        self._white = False

    def operand(self, operator: bytes, operands: list[Any], _matrix: Any, _text_matrix: Any) -> None:
        """Note rendering mode and colour."""
        if operator == b"Tr" and operands:
            self._mode = int(operands[0])
        elif operator in {b"g", b"rg", b"k", b"sc", b"scn"}:
            numbers = [float(item) for item in operands if isinstance(item, int | float)]
            ground = 0.0 if operator == b"k" else 1.0
            self._white = bool(numbers) and all(abs(number - ground) < 0.02 for number in numbers)  # noqa: PLR2004  # no eye tells

    def text(self, text: str, _matrix: Any, text_matrix: Any, _font: Any, size: float) -> None:
        """Take drawn text."""
        scale = abs(float(text_matrix[3])) or 1.0
        hidden = self._mode == _INVISIBLE or self._white or 0 < abs(float(size or 0)) * scale < _SMALLEST
        (self.unseen if hidden else self.seen).append(text)
