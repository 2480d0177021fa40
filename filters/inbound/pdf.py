"""Texts of PDF files through ``pypdf``, when the extra ``documents`` is installed.

Guarantees: without the extra, or when the library fails on a file, the file is noted as not scanned; text that is
drawn so that nobody sees it is hidden text; a page is admitted by the size of what it unpacks to, before it is parsed,
and each of its operators is paid from the item's budget; pictures, attached files and what is over a bound are noted.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from checkvalve.filters.inbound.budget import Budget, OutOfBudgetError
from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.pdf_drawing import CHANGES, Drawn, Sheet
from checkvalve.filters.outcomes import Channel

MAX_PAGES: Final = 60
MAX_CHARACTERS: Final = 400_000
MAX_CONTENT: Final = 256 << 10
"""Unpacked bytes of one page or form; the library needs about a microsecond for each, and cannot be stopped in one."""
MAX_STREAM: Final = 4 << 20
"""Unpacked bytes of anything in the file."""
MAX_FORMS: Final = 8
"""Forms inside forms."""
LOOKS_PER_BYTE: Final = 2
"""What a byte of content costs, in characters that the other stages look at."""
LOOKS_PER_STEP: Final = 10
"""What an operator costs."""
_MAX_NOTES: Final = 2_000  # annotations and fields of one page
_BOUNDS: Final = {
    "array_based_stream_maximum_output_length": MAX_STREAM,
    "brotli_maximum_output_length": MAX_STREAM,
    "lzw_maximum_output_length": MAX_STREAM,
    "run_length_maximum_output_length": MAX_STREAM,
    "zlib_maximum_output_length": MAX_STREAM,
    "zlib_maximum_recovery_input_length": MAX_CONTENT,
    "page_tree_maximum_entries": 5_000,
    "page_tree_maximum_page_entries": 100_000,
}
_ASIDES: Final = {"/Contents": "annotation", "/V": "field", "/TU": "field", "/RC": "annotation", "/Subj": "annotation"}
_BLANKS: Final = re.compile(" {2,}")
_SHOWS: Final = (b"Tj", b"TJ", b"'", b'"')

Found: TypeAlias = list[tuple[str, Channel, str]]


def texts(data: bytes, notes: Notes) -> Iterator[tuple[str, Channel, str]]:
    """Yield text, channel and a note of where it stood."""
    try:
        import pypdf  # noqa: PLC0415  # an extra
    except ImportError:
        notes.leave("no-pdf-reader")
        return
    found: Found = []
    try:
        with pypdf.apply_configuration(pypdf.get_configuration().with_overwrites(**_BOUNDS)):
            _read(pypdf.PdfReader(io.BytesIO(data)), notes, notes.budget or Budget.for_text(len(data)), found)
    except OutOfBudgetError:
        notes.leave("out-of-time")
    except Exception:  # noqa: BLE001  # the library raises many kinds on files that are made to break it
        notes.leave("broken-document")
    yield from found


def _read(reader: Any, notes: Notes, budget: Budget, found: Found) -> None:
    size = 0
    for number, page in enumerate(reader.pages):
        if number >= MAX_PAGES or size > MAX_CHARACTERS:
            notes.leave("too-long")
            break
        drawn = Drawn()
        try:
            _Page(reader, page, notes, budget, drawn).read()
        finally:
            for text, channel in (("".join(drawn.seen), Channel.VISIBLE), ("".join(drawn.unseen), Channel.HIDDEN)):
                size += len(text)
                if text.strip():
                    found.append((_BLANKS.sub(" ", text), channel, f"page {number + 1}"))
        _asides(page, notes, budget, found)
    for name, value in (reader.metadata or {}).items():
        found.append((str(value), Channel.METADATA, f"property {name}"))
    if "/EmbeddedFiles" in _dictionary(_dictionary(reader.trailer.get("/Root")).get("/Names")):
        notes.leave("unread-part")


def _asides(page: Any, notes: Notes, budget: Budget, found: Found) -> None:
    annotations = _resolved(page.get("/Annots")) or ()
    for count, item in enumerate(annotations):
        budget.spend(LOOKS_PER_STEP)
        if count >= _MAX_NOTES:
            notes.leave("too-long")
            return
        annotation = _dictionary(item)
        for key, name in _ASIDES.items():
            if (said := _resolved(annotation.get(key))) and isinstance(said, str):
                found.append((str(said), Channel.METADATA, name))
        if "/FS" in annotation:
            notes.leave("unread-part")


class _Page:
    """Reads one page: every operator is seen before the library acts on it."""

    def __init__(self, reader: Any, page: Any, notes: Notes, budget: Budget, drawn: Drawn) -> None:
        self._reader, self._page, self._notes, self._budget, self._drawn = reader, page, notes, budget, drawn
        box = page.mediabox
        self._sheets = [Sheet((float(box.left), float(box.bottom), float(box.right), float(box.top)))]
        self._resources = [_dictionary(page.get("/Resources"))]
        self._forms: set[int] = set()

    def read(self) -> None:
        """Take in all that is drawn."""
        from pypdf.generic import NameObject  # noqa: PLC0415  # an extra

        contents = self._page.get("/Contents")
        if contents is None:
            return
        self._page[NameObject("/Contents")] = self._admitted(contents, self._resources[0])
        self._page.extract_text(
            visitor_operand_before=self._before, visitor_operand_after=self._after, visitor_text=self._text
        )

    def _admitted(self, contents: Any, resources: Any) -> Any:
        """Return the content of a page or form, parsed, with an end of text before each change of colour or mode.

        The library hands text over at ends of text only: without them two colours would be one piece.
        """
        from pypdf.generic import ContentStream  # noqa: PLC0415  # an extra

        content = ContentStream(contents, self._reader, "bytes")
        data = content.get_data()
        self._budget.spend(len(data) * LOOKS_PER_BYTE)
        if len(data) > MAX_CONTENT:
            self._notes.leave("too-long")
            content.set_data(b"")
            return content
        if not resources and any(sign in data for sign in _SHOWS):
            self._notes.leave("unread-part")  # the library reads no text where there are no fonts
        for font in _dictionary(resources.get("/Font")).values():
            table = _resolved(_dictionary(font).get("/ToUnicode"))
            size = len(table.get_data()) if hasattr(table, "get_data") else 0
            self._budget.spend((size + 200) * LOOKS_PER_BYTE)
        steps: list[Any] = []
        for operands, operator in content.operations:
            if operator in CHANGES:
                steps.append(([], b"ET"))
            steps.append((operands, operator))
        content.operations = steps
        return content

    def _before(self, operator: bytes, operands: Any, matrix: Any, _text_matrix: Any) -> None:
        self._budget.spend(LOOKS_PER_STEP)
        if operator == b"INLINE IMAGE":
            self._notes.leave("picture")
            self._sheets[-1].picture(matrix)
        elif operator == b"Do" and operands:
            self._form(operands[0], matrix)
        elif isinstance(operands, list):
            self._sheets[-1].take(operator, operands, matrix)

    def _form(self, name: Any, matrix: Any) -> None:
        """Prepare what ``Do`` draws: a picture is noted, a form is admitted like a page."""
        from pypdf.generic import NameObject  # noqa: PLC0415  # an extra

        objects = _dictionary(self._resources[-1].get("/XObject"))
        drawn = _dictionary(objects.get(name))
        inner, resources = self._sheets[-1].inner(), _dictionary(drawn.get("/Resources"))
        if drawn.get("/Subtype") == "/Image":
            self._notes.leave("picture")
            self._sheets[-1].picture(matrix)
        elif drawn.get("/Subtype") == "/Form":
            if len(self._sheets) > MAX_FORMS:
                self._notes.leave("too-deep")
                objects[NameObject(name)] = NameObject("/Deeper")
            elif id(drawn) in self._forms:  # parsed before: it costs the same again
                self._budget.spend(sum(1 for _ in drawn.operations) * LOOKS_PER_STEP)
            else:
                content = self._admitted(drawn, resources)
                content.update(drawn)
                objects[NameObject(name)] = content
                self._forms.add(id(content))
        self._sheets.append(inner)
        self._resources.append(resources)

    def _after(self, operator: bytes, operands: Any, _matrix: Any, _text_matrix: Any) -> None:
        if operator == b"Do" and operands:
            self._sheets.pop()
            self._resources.pop()

    def _text(self, text: str, matrix: Any, text_matrix: Any, _font: Any, size: Any) -> None:
        if text:
            self._budget.spend(len(text))
            self._drawn.add(text, hidden=self._sheets[-1].hides(matrix, text_matrix, float(size or 0)))


def _resolved(value: Any) -> Any:
    return value.get_object() if hasattr(value, "get_object") else value


def _dictionary(value: Any) -> Any:
    found = _resolved(value)
    return found if isinstance(found, dict) else {}
