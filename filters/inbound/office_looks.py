"""How office files hide text: properties of runs, styles that stand for them, shapes, and grounds that show white.

Guarantees: linear; a chain of styles that runs in a circle ends; white on a ground of another colour is seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.etree import ElementTree as ET

_SMALLEST: Final = 4  # half points
_SMALLEST_DRAWN: Final = 200  # hundredths of a point, in slides
_WHITE: Final = frozenset({"FFFFFF", "FEFEFE", "WHITE", "#FFFFFF", "#FFF"})
_NO_GROUND: Final = frozenset({"", "AUTO", "NONE", *_WHITE})
_MAX_CHAIN: Final = 12  # styles based on styles
_FILLS: Final = frozenset({"solidFill", "gradFill", "blipFill", "pattFill", "fillRef"})
_SHAPES: Final = frozenset({"wsp", "sp", "shape", "rect", "roundrect", "oval"})
_NAMES: Final = frozenset({"nvSpPr", "nvPicPr", "nvGraphicFramePr", "nvGrpSpPr"})


def name_of(element: ET.Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def child(element: ET.Element, name: str) -> ET.Element | None:
    """Return the first child of this name."""
    return next((part for part in element if name_of(part) == name), None)


def value_of(element: ET.Element | None, name: str = "val") -> str:
    """Return an attribute without its namespace, or nothing."""
    if element is None:
        return ""
    return next((text for key, text in element.attrib.items() if key.rpartition("}")[2] == name), "")


@dataclass(frozen=True, slots=True)
class Looks:
    """What properties say about a text; None is nothing. ``white`` hides only where there is no ``ground``."""

    vanished: bool | None = None
    white: bool | None = None
    tiny: bool | None = None
    ground: bool | None = None

    def under(self, own: Looks) -> Looks:
        """Return these looks with those of something inside, which win."""
        return Looks(
            self.vanished if own.vanished is None else own.vanished,
            self.white if own.white is None else own.white,
            self.tiny if own.tiny is None else own.tiny,
            self.ground if own.ground is None else own.ground,
        )

    @property
    def unseen(self) -> bool:
        """Whether nobody sees the text."""
        return bool(self.vanished or self.tiny or (self.white and not self.ground))


def looks_of(properties: ET.Element | None) -> Looks:
    """Return what the properties of a run, a paragraph, a cell or a style say."""
    if properties is None:
        return Looks()
    vanished = white = tiny = ground = None
    for item in properties:
        name, value = name_of(item), value_of(item)
        if name in {"vanish", "webHidden"}:
            vanished = value not in {"0", "false", "off"}
        elif name == "color":
            white = value.upper() in _WHITE
        elif name == "sz" and value.isdigit():
            tiny = int(value) <= _SMALLEST
        elif name == "shd":
            ground = value_of(item, "fill").upper() not in _NO_GROUND
        elif name == "highlight":
            ground = value not in {"white", "none"}
    drawn = properties.get("sz", "")
    if drawn.isdigit():
        tiny = int(drawn) <= _SMALLEST_DRAWN
    return Looks(vanished, white, tiny, ground)


def is_put_away(element: ET.Element, name: str) -> bool:
    """Say whether an element is not shown: deleted, moved away, hidden as a row, a cell, a paragraph or a shape."""
    if name in {"del", "moveFrom"} or element.get("hidden") in {"1", "true"}:
        return True
    if name == "tr":
        properties = child(element, "trPr")
        return properties is not None and any(name_of(item) in {"hidden", "del"} for item in properties)
    if name in {"sp", "pic", "graphicFrame", "grpSp"}:
        said = next((part for part in element if name_of(part) in _NAMES), None)
        return said is not None and value_of(child(said, "cNvPr"), "hidden") in {"1", "true"}
    return False


def has_ground(shape: ET.Element, name: str) -> bool:
    """Say whether a shape is filled, so that white text in it may be seen."""
    if name not in _SHAPES:
        return False
    if shape.get("fillcolor", "").upper() not in _NO_GROUND:
        return True
    return any(name_of(item) in _FILLS for part in shape if name_of(part) in {"spPr", "style"} for item in part)


@dataclass(slots=True)
class Styles:
    """The styles of a text document, by their names."""

    _own: dict[str, tuple[str, Looks]] = field(default_factory=dict)

    @classmethod
    def of(cls, root: ET.Element) -> Styles:
        """Read the part ``word/styles.xml``."""
        own: dict[str, tuple[str, Looks]] = {}
        for style in root:
            if name_of(style) == "style" and value_of(style, "type") in {"paragraph", "character"}:
                looks = looks_of(child(style, "pPr")).under(looks_of(child(style, "rPr")))
                own[value_of(style, "styleId")] = value_of(child(style, "basedOn")), looks
        return cls(own)

    def looks(self, name: str) -> Looks:
        """Return what a style and those it is based on say."""
        chain: list[Looks] = []
        while name in self._own and len(chain) < _MAX_CHAIN:
            name, looks = self._own[name]
            chain.append(looks)
        return joined(reversed(chain))


def joined(looks: Iterable[Looks]) -> Looks:
    """Return all looks, from the outside in."""
    together = Looks()
    for item in looks:
        together = together.under(item)
    return together


def relations(root: ET.Element) -> Mapping[str, str]:
    """Return the targets of a part's relations by their names."""
    return {item.get("Id", ""): item.get("Target", "") for item in root}


def links_out(root: ET.Element) -> Iterator[str]:
    """Yield the targets of a part's relations that are outside of the file."""
    for item in root:
        if item.get("TargetMode", "").lower() == "external" and (target := item.get("Target")):
            yield target
