# ruff: noqa: E501 - a part of a file is one line
"""Ways in that are no sentence in a mail: files, pictures' notes, terminals, tools, and items that belong together.

Each takes a sentence, hands it to the filter as that surface would, and returns what the filter says. The files are the
smallest that hold the sentence where nobody looks. Guarantees: pure; the sentence stands in no file name and no key.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Callable
from typing import Final

from checkvalve.filters.inbound import scan_inbound
from checkvalve.filters.inbound.carry import Carry
from checkvalve.filters.outcomes import ScanResult

_WORD: Final = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def _archive(**members: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as found:
        for name, text in members.items():
            found.writestr(name.replace("__", "/") + ".xml", text)
    return data.getvalue()


def document(sentence: str) -> bytes:
    """Return a text document whose second run is not shown."""
    runs = f"<w:r><w:t>Agenda</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>{sentence}</w:t></w:r>"
    return _archive(word__document=f"<w:document {_WORD}><w:body><w:p>{runs}</w:p></w:body></w:document>")


def comment(sentence: str) -> bytes:
    """Return a text document with a comment."""
    return _archive(
        word__document=f"<w:document {_WORD}><w:body><w:p><w:r><w:t>Agenda</w:t></w:r></w:p></w:body></w:document>",
        word__comments=f"<w:comments {_WORD}><w:comment><w:p><w:r><w:t>{sentence}</w:t></w:r></w:p></w:comment></w:comments>",
    )


def workbook(sentence: str) -> bytes:
    """Return a workbook whose second sheet is hidden."""
    sheet = "<worksheet><sheetData><row><c t='inlineStr'><is><t>{}</t></is></c></row></sheetData></worksheet>"
    return _archive(
        xl__workbook='<workbook><sheets><sheet name="A"/><sheet name="B" state="veryHidden"/></sheets></workbook>',
        xl__worksheets__sheet1=sheet.format("Total"),
        xl__worksheets__sheet2=sheet.format(sentence),
    )


def portable(sentence: str) -> bytes:
    """Return a PDF of one page whose second line is drawn in the mode that draws nothing."""
    stream = f"BT /F1 12 Tf 50 700 Td (Agenda) Tj ET BT 3 Tr /F1 12 Tf 50 600 Td ({sentence}) Tj ET".encode()
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    data, rows = b"%PDF-1.4\n", b"0000000000 65535 f \n"
    for number, body in enumerate(objects, 1):
        rows += b"%010d 00000 n \n" % len(data)
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    end = b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % len(data)
    return data + b"xref\n0 6\n" + rows + end


def png(sentence: str) -> bytes:
    """Return a PNG with a packed note."""
    body = b"Comment\x00\x00" + zlib.compress(sentence.encode())
    chunk = len(body).to_bytes(4, "big") + b"zTXt" + body + zlib.crc32(b"zTXt" + body).to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n" + chunk + b"\x00\x00\x00\x00IEND\xaeB`\x82"


def photograph(sentence: str) -> bytes:
    """Return a JPEG with a comment in its EXIF part, as cameras and Windows write it."""
    body = b"Exif\x00\x00" + sentence.encode("utf-16-le")
    return b"\xff\xd8\xff\xe1" + (len(body) + 2).to_bytes(2, "big") + body + b"\xff\xda"


def in_two_items(sentence: str) -> ScanResult:
    """Scan a sentence of which one item has the first half and the next one the other."""
    words, carry = sentence.split(), Carry()
    scan_inbound(f"The first part says: please {' '.join(words[:3]).lower()}", carry=carry)
    return scan_inbound(f"{' '.join(words[3:])}. The rest follows on Friday.", carry=carry)


def schema(sentence: str) -> ScanResult:
    """Scan a tool's schema with the sentence in a parameter's description."""
    properties = {"city": {"type": "string", "description": f"Name of the city. {sentence}."}}
    return scan_inbound(json.dumps({"type": "object", "properties": properties}), tools=True)


SURFACES: Final[dict[str, Callable[[str], ScanResult]]] = {
    "hidden run in a DOCX": lambda text: scan_inbound(document(text)),
    "comment in a DOCX": lambda text: scan_inbound(comment(text)),
    "hidden sheet in an XLSX": lambda text: scan_inbound(workbook(text)),
    "invisible line in a PDF": lambda text: scan_inbound(portable(text)),
    "note in a PNG": lambda text: scan_inbound(png(text)),
    "EXIF of a JPEG": lambda text: scan_inbound(photograph(text)),
    "address of a terminal link": lambda text: scan_inbound(
        f"build ok \x1b]8;;https://ci.corp.example/?note={text}\x1b\\log\x1b]8;;\x1b\\ done\n"
    ),
    "overwritten by a carriage return": lambda text: scan_inbound(f"step 1 done\n{text}\rstep 2 done {' ' * 90}\n"),
    "split over two items": in_two_items,
    "tool description": lambda text: scan_inbound(f"Returns the weather of a city. {text}.", tools=True),
    "tool schema": schema,
}
"""Name of the surface, and what the filter says when a sentence comes in there."""
