"""Whether CSS hides what it is put on: declarations of one element, and the simple rules of a style sheet.

Guarantees: linear; what is not understood hides nothing, so that a page is not emptied by mistake: hidden or not, all
of it is scanned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_DECLARATION: Final = re.compile(r"([a-zA-Z-]{2,40})\s*+:\s*+([^;{}]{1,300})")
_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \t\r\n\f])?|([^\r\n\f]))")
_SELECTOR: Final = re.compile(r"(?P<tag>[a-zA-Z][\w-]*)?(?:(?P<sign>[.#])(?P<name>[\w-]{1,100}))?\Z")
_LENGTH: Final = re.compile(r"(-?[0-9]*\.?[0-9]+)\s*(px|pt|em|rem|%|vh|vw|cm|in)?")
_MAX_RULES: Final = 2_000
_SMALL: Final = {"px": 2.0, "pt": 2.0, "em": 0.15, "rem": 0.15, "%": 15.0, "": 0.0}
_FAR: Final = 500
_FAINT: Final = 0.06
_WHITE: Final = frozenset(
    {
        "white",
        "#fff",
        "#ffffff",
        "#fefefe",
        "rgb(255,255,255)",
        "rgba(255,255,255,1)",
        "snow",
        "#fffffe",
        "ivory",
        "hsl(0,0%,100%)",
    }
)


def declarations(style: str) -> dict[str, str]:
    """Return the declarations of a ``style`` attribute or rule as a browser reads them, later ones winning."""
    style = plain(style)
    return {
        found[1].lower(): found[2].strip().lower().removesuffix("!important").strip()
        for found in _DECLARATION.finditer(style)
    }


def plain(style: str) -> str:
    """Return CSS without its comments and with its escapes undone."""
    if "/*" in style:
        style = _COMMENT.sub(" ", style)
    return _ESCAPE.sub(_meant, style) if "\\" in style else style


def _meant(found: re.Match[str]) -> str:
    code = int(found[1] or "0", 16)
    return found[2] or (chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd")  # noqa: PLR2004  # Unicode's own limits


def colour(value: str) -> str:
    """Return a colour in a form that compares."""
    bare = re.sub(r"\s+", "", value.lower())
    return "white" if bare in _WHITE else bare


def hides(rules: Mapping[str, str], background: str) -> bool:
    """Say whether these declarations make text invisible on ``background``."""
    if (
        rules.get("display") == "none"
        or rules.get("visibility") in {"hidden", "collapse"}
        or rules.get("mso-hide") == "all"
    ):
        return True
    if _number(rules.get("opacity", "1"), 1.0) <= _FAINT or "opacity(0" in rules.get("filter", ""):
        return True
    if _tiny(rules.get("font-size", "")) or any(_tiny(word) for word in rules.get("font", "").split("/")[0].split()):
        return True
    front = colour(rules.get("color", "")) if "color" in rules else ""
    if front in {"transparent", background} or re.search(
        r"rgba?\([^)]*[,/]\s*0(?:\.0\d*)?%?\)", rules.get("color", "")
    ):
        return True
    return _off_screen(rules) or _collapsed(rules)


def _number(value: str, default: float) -> float:
    found = _LENGTH.match(value)
    return (float(found[1]) / (100 if found[2] == "%" else 1)) if found else default


def _tiny(value: str) -> bool:
    found = _LENGTH.match(value)
    return found is not None and float(found[1]) <= _SMALL.get(found[2] or "", -1.0)


def _off_screen(rules: Mapping[str, str]) -> bool:
    moved = [
        rules.get(side, "") for side in ("left", "top", "right", "bottom", "margin-left", "margin-top", "text-indent")
    ]
    if any((found := _LENGTH.match(value)) and float(found[1]) <= -_FAR for value in moved):
        return True
    turned = rules.get("transform", "")
    return bool(re.search(r"scale[xy3d]{0,2}\(\s*0(?:\.0\d*)?\s*[,)]|translate[xy]?\(\s*-[0-9]{4,}", turned))


def _collapsed(rules: Mapping[str, str]) -> bool:
    clip = re.sub(r"\s+", "", rules.get("clip", "") + rules.get("clip-path", ""))
    if re.search(
        r"rect\(0(?:px)?,?(?:0|1)?(?:px)?,?(?:0|1)?(?:px)?,?0?(?:px)?\)|inset\((?:50|100)%|circle\(0|polygon\(0(?:px)?0",
        clip,
    ):
        return True
    sizes = [rules.get(side, "") for side in ("width", "height", "max-height", "max-width", "line-height")]
    flat = any((found := _LENGTH.match(size)) and float(found[1]) <= (1 if found[2] == "px" else 0) for size in sizes)
    return flat and rules.get("overflow", rules.get("overflow-y", "")) in {"hidden", "clip"}


def hidden_names(sheet: str) -> frozenset[str]:
    """Return the selectors of a style sheet (``.class``, ``#id``, ``tag``, ``tag.class``) whose rules hide."""
    names: set[str] = set()
    for block in _COMMENT.sub(" ", sheet).split("}")[:_MAX_RULES]:
        head, brace, body = block.rpartition("{")
        if (
            brace
            and not ("@" in head and "screen" not in head and "all" not in head)
            and hides(declarations(body), "white")
        ):
            selectors = (plain(item.strip()) for item in head.rpartition("{")[2].split(","))
            names |= {item for item in selectors if item and _SELECTOR.match(item)}
    return frozenset(names)
