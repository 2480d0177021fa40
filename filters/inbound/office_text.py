"""The texts of one part of an office file: its paragraphs, cells, comments and chart points, and its properties.

Guarantees: one pass whatever the nesting; every block gives what is seen of it, what is not, and its field codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from xml.etree import ElementTree as ET

from checkvalve.filters.inbound.budget import Budget
from checkvalve.filters.inbound.office_looks import (
    Looks,
    Styles,
    child,
    has_ground,
    is_put_away,
    joined,
    looks_of,
    name_of,
    value_of,
)
from checkvalve.filters.outcomes import Channel

FIELD: Final = "field"
"""Where a text stood that is an instruction to the program, such as ``PAGE``: hidden, and nothing to wonder at."""
_BLOCKS: Final = frozenset({"p", "si", "c", "comment", "threadedComment", "pt"})
_SAYS: Final = frozenset({"t", "delText", "f", "v", "text"})
_CODES: Final = frozenset({"instrText", "delInstrText"})
_PROPERTIES: Final = frozenset(
    {"title", "subject", "creator", "keywords", "description", "category", "lastModifiedBy", "lpwstr"}
)
_WORDS: Final = re.compile(r"[^\W\d_]{2,}\s+[^\W\d_]{2,}")


@dataclass(slots=True)
class _Block:
    seen: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)


def blocks(root: ET.Element, styles: Styles, budget: Budget) -> Iterator[tuple[str, Channel, str]]:
    """Yield the text of each block with its channel; the last value is :data:`FIELD` or nothing."""
    found: list[_Block | str] = []
    loose = _Block()  # what stands in no block is no text
    waiting: list[tuple[ET.Element, bool, Looks, _Block]] = [(root, False, Looks(), loose)]
    while waiting:
        element, away, looks, block = waiting.pop()
        budget.spend(1)
        name = name_of(element)
        if name in _BLOCKS:
            block = _Block()
            found.append(block)
        elif name in _PROPERTIES and element.text:
            found.append(element.text)
        if described := element.get("descr") or element.get("title"):
            found.append(described)
        away = away or is_put_away(element, name)
        looks = _inside(element, name, looks, styles)
        _take(element, name, block, hidden=away or looks.unseen)
        waiting += ((part, away, looks, block) for part in reversed(element))
    yield from _said(found)


def _inside(element: ET.Element, name: str, looks: Looks, styles: Styles) -> Looks:
    """Return the looks of what is inside an element."""
    if name == "tc":
        return looks.under(Looks(ground=looks_of(child(element, "tcPr")).ground))
    if name == "p":
        own = child(element, "pPr")
        style = styles.looks(value_of(child(own, "pStyle")) if own is not None else "")
        return joined((looks, style, Looks(ground=looks_of(own).ground)))
    if name == "r":
        own = child(element, "rPr")
        style = styles.looks(value_of(child(own, "rStyle")) if own is not None else "")
        return joined((looks, style, looks_of(own)))
    return looks.under(Looks(ground=True)) if has_ground(element, name) else looks


def _take(element: ET.Element, name: str, block: _Block, *, hidden: bool) -> None:
    if name in _CODES and element.text:
        block.codes.append(element.text)
    elif name in _SAYS and element.text:
        # a sheet keeps a formula without its first sign, and that is what formulas are known by
        text = f"={element.text}" if name == "f" else element.text
        (block.unseen if hidden or name == "delText" else block.seen).append(text)
    elif name in {"br", "tab", "cr"}:
        (block.unseen if hidden else block.seen).append(" ")


def _said(found: list[_Block | str]) -> Iterator[tuple[str, Channel, str]]:
    for item in found:
        if isinstance(item, str):
            yield item, Channel.METADATA, ""
            continue
        for pieces, channel, where in (
            (item.seen, Channel.VISIBLE, ""),
            (item.unseen, Channel.HIDDEN, ""),
            (item.codes, Channel.HIDDEN, FIELD),
        ):
            if text := "".join(pieces):
                yield text, channel, where


def everything(root: ET.Element, budget: Budget) -> Iterator[tuple[str, Channel, str]]:
    """Yield all that a part says, in elements and attributes: for parts whose form is not known here."""
    said: list[str] = []
    for element in root.iter():
        budget.spend(1)
        said += (text for text in (element.text, element.tail) if text and text.strip())
        said += (text for text in element.attrib.values() if _WORDS.search(text))
    if said:
        yield "\n".join(said), Channel.METADATA, ""
