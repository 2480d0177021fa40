"""Office files and PDFs: every text in them, and whether a person who opens the file would see it.

Office files are archives of XML and need nothing else; PDFs need the extra ``documents``. Guarantees: archives are
bounded by unpacked size, ratio and number of members before they are read; a document type declaration is refused, so
no entity is ever expanded; what was not read is noted.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree as ET

from checkvalve.filters.inbound import pdf
from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.outcomes import Channel

MAX_MEMBER: Final = 8 << 20
"""Unpacked bytes of one part of an office file."""
MAX_TOTAL: Final = 32 << 20
MAX_RATIO: Final = 400
"""Unpacked size by packed size; office XML packs about ten to one."""
MAX_MEMBERS: Final = 2_000
_READ: Final = re.compile(
    r"word/(?:document|comments\w*|footnotes|endnotes|header\d*|footer\d*)\.xml|docProps/(?:core|app|custom)\.xml"
    r"|xl/(?:workbook|sharedStrings|comments\d*|worksheets/sheet\d+)\.xml|xl/threadedComments/\w+\.xml"
    r"|ppt/(?:slides/slide\d+|notesSlides/notesSlide\d+|comments/\w+)\.xml"
)
_ASIDE: Final = re.compile(r"comment|notes|docProps|header|footer")
_SMALLEST: Final = 4  # half points
_WHITE: Final = frozenset({"FFFFFF", "FEFEFE"})


def is_document(data: bytes) -> bool:
    """Say whether ``data`` begins like an archive or a PDF."""
    return data.startswith(b"PK\x03\x04") or b"%PDF-" in data[:1024]


def texts(data: bytes, notes: Notes) -> Iterator[tuple[str, Channel, str]]:
    """Yield text, channel and a note of where it stood."""
    if not data.startswith(b"PK"):
        yield from pdf.texts(data, notes)
        return
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield from _office(archive, notes)
    except (zipfile.BadZipFile, zlib.error, ValueError, NotImplementedError, RuntimeError, EOFError, OSError):
        notes.leave("broken-archive")


def _office(archive: zipfile.ZipFile, notes: Notes) -> Iterator[tuple[str, Channel, str]]:
    wanted = [item for item in archive.infolist()[:MAX_MEMBERS] if _READ.fullmatch(item.filename)]
    if not wanted:
        notes.leave("unknown-archive")
    hidden_sheets: set[str] = set()
    total = 0
    for item in sorted(wanted, key=lambda item: item.filename != "xl/workbook.xml"):
        total += item.file_size
        if item.file_size > MAX_MEMBER or total > MAX_TOTAL or item.file_size > MAX_RATIO * max(item.compress_size, 1):
            notes.leave("archive-bomb")
            continue
        with archive.open(item) as member:
            data = member.read(MAX_MEMBER)  # not more, whatever the directory says
        root = _root(data, notes)
        if root is None:
            continue
        if item.filename == "xl/workbook.xml":
            hidden_sheets = _hidden_sheets(root)
        unseen = item.filename in hidden_sheets or root.get("show") == "0"
        outer = Channel.HIDDEN if unseen else Channel.METADATA if _ASIDE.search(item.filename) else Channel.VISIBLE
        yield from ((text, _worse(outer, inner), item.filename) for text, inner in _paragraphs(root))


def _root(data: bytes, notes: Notes) -> ET.Element | None:
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        notes.leave("entity-declaration")
        return None
    try:
        return ET.fromstring(data)  # noqa: S314  # there is no document type, so there are no entities
    except ET.ParseError:
        notes.leave("broken-document")
        return None


def _worse(outer: Channel, inner: Channel) -> Channel:
    return inner if outer is Channel.VISIBLE or inner is Channel.HIDDEN else outer


def _hidden_sheets(root: ET.Element) -> set[str]:
    """Return the files of sheets that are not shown; they are numbered in the order of the workbook."""
    sheets = [item for item in root.iter() if _name(item) == "sheet"]
    return {
        f"xl/worksheets/sheet{number}.xml"
        for number, item in enumerate(sheets, 1)
        if item.get("state", "visible") != "visible"
    }


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _paragraphs(root: ET.Element) -> Iterator[tuple[str, Channel]]:
    """Yield the text of each paragraph or cell: first what is seen of it, then what is not."""
    for block in root.iter():
        if _name(block) in {"p", "si", "c", "comment", "threadedComment"}:
            seen: list[str] = []
            unseen: list[str] = []
            _runs(block, seen, unseen, hidden=block.get("hidden") == "1")
            if seen:
                yield "".join(seen), Channel.VISIBLE
            if unseen:
                yield "".join(unseen), Channel.HIDDEN
        elif (
            _name(block)
            in {"title", "subject", "creator", "keywords", "description", "category", "lastModifiedBy", "lpwstr"}
            and block.text
        ):
            yield block.text, Channel.METADATA
        described = block.get("descr") or block.get("title")
        if described:
            yield described, Channel.METADATA


def _runs(block: ET.Element, seen: list[str], unseen: list[str], *, hidden: bool) -> None:
    for item in block:
        name = _name(item)
        below = hidden or name in {"del", "moveFrom"} or (name == "r" and _is_unseen(item))
        if name in {"t", "delText", "instrText", "f", "v", "text"} and item.text:
            (unseen if below or name in {"delText", "instrText"} else seen).append(item.text)
        elif name in {"br", "tab", "cr"}:
            (unseen if below else seen).append(" ")
        if len(item) and name != "p":
            _runs(item, seen, unseen, hidden=below)


def _is_unseen(run: ET.Element) -> bool:
    """Say whether the properties of a run of text hide it: vanished, white, or too small to be read."""
    for item in next((part for part in run if _name(part) == "rPr"), ()):
        name = _name(item)
        value = next((text for key, text in item.attrib.items() if key.rpartition("}")[2] == "val"), "")
        if name in {"vanish", "webHidden"} and value not in {"0", "false"}:
            return True
        if name == "color" and value.upper() in _WHITE:
            return True
        if name == "sz" and value.isdigit() and int(value) <= _SMALLEST:
            return True
    return False
