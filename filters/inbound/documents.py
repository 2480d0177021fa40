"""Office files and PDFs: every text in them, and whether a person who opens the file would see it.

Office files are archives of XML and need nothing else; PDFs need the extra ``documents``. Guarantees: archives are
bounded by unpacked size, ratio and number of members before they are read, and paid from the item's budget; a document
type declaration is refused, so no entity is ever expanded; what was not read is noted: a part is read, or it is one
that holds no text (:data:`_SAFE`), or the item is not scanned in full.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from xml.etree import ElementTree as ET

from checkvalve.filters.inbound import pdf, pictures
from checkvalve.filters.inbound.budget import Budget
from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.office_looks import Styles, links_out, relations
from checkvalve.filters.inbound.office_sheets import Workbook
from checkvalve.filters.inbound.office_text import blocks, everything
from checkvalve.filters.outcomes import Channel

MAX_MEMBER: Final = 8 << 20
"""Unpacked bytes of one part of an office file."""
MAX_TOTAL: Final = 32 << 20
MAX_RATIO: Final = 400
"""Unpacked size by packed size; office XML packs about ten to one."""
MAX_MEMBERS: Final = 2_000
LOOKS_PER_BYTE: Final = 2
"""What a byte of XML costs, in characters that the other stages look at."""
_HEAD: Final = 200
_CHUNK: Final = 1 << 16  # bytes that are parsed between two looks at the budget
_READ: Final = re.compile(  # parts whose paragraphs, cells, comments and points are known here
    r"word/(?:(?:document|comments|footnotes|endnotes|header|footer)\d*|glossary/document)\.xml|docprops/(?:core|app|custom)\.xml"
    r"|xl/(?:workbook|sharedstrings|comments\d*|(?:work|macro|dialog)sheets/[^/]+|threadedcomments/[^/]+)\.xml"
    r"|ppt/(?:(?:slides/slide|notesslides/notesslide|slidemasters/slidemaster|slidelayouts/slidelayout|notesmasters/notesmaster"
    r"|handoutmasters/handoutmaster)\d+|comments/[^/]+)\.xml"
    r"|(?:word|xl|ppt)/(?:charts/chart(?:ex)?|diagrams/(?:data|drawing)|drawings/drawing)\d*\.xml"
)
_SEARCHED: Final = re.compile(  # parts of other forms: all that stands in them
    r"xl/(?:tables/table\d*|pivottables/[^/]+|pivotcache/[^/]+|externallinks/externallink\d*|connections|styles|metadata"
    r"|querytables/[^/]+|persons/person\d*)\.xml|customxml/item\d*\.xml"
    r"|ppt/(?:presentation|commentauthors|authors|tags/tag\d*)\.xml|word/(?:people|webextensions/[^/]+)\.xml"
    r"|(?:xl|ppt|word)/drawings/vmldrawing\d*\.vml"
)
_RELATIONS: Final = re.compile(r"(?:.*/)?_rels/[^/]*\.rels")
_SAFE: Final = re.compile(  # parts that hold settings, shapes and names, and no text that a program shows
    r"\[content_types\]\.xml|(?:word|ppt|xl)/(?:theme/theme(?:override)?\d*|settings|websettings|fonttable)\.xml"
    r"|word/(?:styles|styleswitheffects|numbering|commentsextended|commentsids|commentsextensible)\.xml"
    r"|(?:word|xl|ppt)/(?:diagrams/(?:layout|colors|quickstyle)|charts/(?:style|colors))\d*\.xml"
    r"|ppt/(?:presprops|viewprops|tablestyles|revisioninfo)\.xml|xl/(?:calcchain\.xml|printersettings/[^/]+\.bin)"
    r"|ppt/printersettings/[^/]+\.bin|word/fonts/[^/]+\.odttf|ppt/fonts/[^/]+\.fntdata|docprops/thumbnail\.\w+"
    r"|customxml/itemprops\d*\.xml|docmetadata/labelinfo\.xml"
)
_PICTURE: Final = re.compile(r".*\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg|webp|wdp|ico)")
_MEDIA: Final = re.compile(r".*\.(?:mp[34]|m4[av]|wav|wma|wmv|avi|mov|ogg|webm)")
_ASIDE: Final = re.compile(r"comment|notes|docprops|header|footer|master|layout|glossary|macrosheet")
_FIRST: Final = ("xl/_rels/workbook.xml.rels", "xl/workbook.xml", "word/styles.xml")
_TABLE_STYLES: Final = re.compile(rb'<w:style w:type="table"[^>]*>.*?</w:style>', re.DOTALL)
"""They say nothing of what is hidden, and are nine tenths of a usual file of styles."""
_LAST: Final = "xl/sharedstrings.xml"


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
            yield from _Office(archive, notes, notes.budget or Budget.for_text(len(data))).texts()
    except (zipfile.BadZipFile, zlib.error, ValueError, NotImplementedError, RuntimeError, EOFError, OSError):
        notes.leave("broken-archive")


@dataclass(slots=True)
class _Office:
    """One office file while it is read, part by part."""

    archive: zipfile.ZipFile
    notes: Notes
    budget: Budget
    styles: Styles = field(default_factory=Styles)
    book: Workbook = field(default_factory=Workbook)
    related: dict[str, str] = field(default_factory=dict)
    total: int = 0

    def texts(self) -> Iterator[tuple[str, Channel, str]]:
        """Yield the texts of all parts, in an order in which each is understood."""
        members = self.archive.infolist()
        if len(members) > MAX_MEMBERS:
            self.notes.leave("too-many-parts")
        parts = [(_name(item), item) for item in members[:MAX_MEMBERS] if not item.is_dir()]
        if not any(_READ.fullmatch(name) for name, _ in parts):
            self.notes.leave("unknown-archive")
        for name, item in sorted(parts, key=lambda part: (_order(part[0]), part[1].header_offset)):
            if name in _FIRST:
                yield from self._first(name, item)
            elif _READ.fullmatch(name):
                yield from self._part(name, item)
            elif _RELATIONS.fullmatch(name):
                yield from self._links(item)
            elif not _SAFE.fullmatch(name):
                yield from self._other(name, item)

    def _first(self, name: str, item: zipfile.ZipInfo) -> Iterator[tuple[str, Channel, str]]:
        root = self._root(item, without=_TABLE_STYLES if name == "word/styles.xml" else None)
        if root is None:
            return
        if name == "word/styles.xml":
            self.styles = Styles.of(root)
        elif name == "xl/workbook.xml":
            self.book.take(root, self.related)
            yield from everything(root, self.budget)
        else:
            self.related |= relations(root)

    def _links(self, item: zipfile.ZipInfo) -> Iterator[tuple[str, Channel, str]]:
        """Yield where a part leads outside of the file: what is clicked, and what loads by itself."""
        root = self._root(item)
        for target in links_out(root) if root is not None else ():
            yield target, Channel.METADATA, "link"

    def _part(self, name: str, item: zipfile.ZipInfo) -> Iterator[tuple[str, Channel, str]]:
        root = self._root(item)
        if root is None:
            return
        unseen = self.book.hides(name) or root.get("show") == "0"
        if name == _LAST:
            self.book.strings(root)
        elif name.startswith("xl/") and "sheets/" in name:
            self.book.prepare(root, self.budget, hidden=unseen)
        outer = Channel.HIDDEN if unseen else Channel.METADATA if _ASIDE.search(name) else Channel.VISIBLE
        for text, inner, where in blocks(root, self.styles, self.budget):
            yield text, _worse(outer, inner), where or name

    def _other(self, name: str, item: zipfile.ZipInfo) -> Iterator[tuple[str, Channel, str]]:
        """Read what can be read of a part whose form is not known, and note what cannot."""
        known = _SEARCHED.fullmatch(name) is not None
        if _PICTURE.fullmatch(name):
            self.notes.leave("picture")
            if (data := self._data(item)) and pictures.is_picture(data):
                yield from ((text, Channel.METADATA, "picture") for text in pictures.texts(data))
            return
        if not known:
            self.notes.leave("media" if _MEDIA.fullmatch(name) else "unread-part")
        if known or name.endswith((".xml", ".vml")):
            root = self._root(item)
            if root is not None:
                yield from ((text, channel, name) for text, channel, _ in everything(root, self.budget))

    def _data(self, item: zipfile.ZipInfo) -> bytes | None:
        self.total += item.file_size
        bomb = item.file_size > MAX_RATIO * max(item.compress_size, 1)
        if item.file_size > MAX_MEMBER or self.total > MAX_TOTAL or bomb:
            self.notes.leave("archive-bomb")
            return None
        self.budget.spend(0)
        with self.archive.open(item) as member:
            return member.read(MAX_MEMBER)  # not more, whatever the directory says

    def _root(self, item: zipfile.ZipInfo, without: re.Pattern[bytes] | None = None) -> ET.Element | None:
        data = self._data(item)
        if data is None:
            return None
        if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
            self.notes.leave("entity-declaration")
            return None
        if b"\x00" in data[:_HEAD]:  # in UTF-16 the signs above would not be seen
            self.notes.leave("unread-part")
            return None
        data = without.sub(b"", data) if without else data
        parser = ET.XMLParser()  # noqa: S314  # there is no document type, so there are no entities
        try:
            for start in range(0, len(data), _CHUNK):
                self.budget.spend(min(_CHUNK, len(data) - start) * LOOKS_PER_BYTE)
                parser.feed(data[start : start + _CHUNK])
            return parser.close()
        except ET.ParseError:
            self.notes.leave("broken-document")
            return None


def _name(item: zipfile.ZipInfo) -> str:
    """Return a part's name as programs compare it: they see no difference between large and small letters."""
    return item.filename.replace("\\", "/").lstrip("/").lower()


def _order(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST) + (name == _LAST)


def _worse(outer: Channel, inner: Channel) -> Channel:
    return inner if outer is Channel.VISIBLE or inner is Channel.HIDDEN else outer
