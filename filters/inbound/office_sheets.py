"""Workbooks: which sheets, rows and columns are shown, and which of the shared strings stand in a cell that is.

Guarantees: a sheet is found by the workbook's relations; where there are none, by its number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.etree import ElementTree as ET

from checkvalve.filters.inbound.budget import Budget
from checkvalve.filters.inbound.office_looks import child, name_of, value_of

_LETTERS: Final = re.compile(r"[A-Za-z]{1,3}")
_SHEET: Final = re.compile(r"xl/(?:work|macro|dialog|chart)sheets/[^/]+\.xml", re.IGNORECASE)
_MAX_RANGES: Final = 500  # hidden ranges of columns
_FLAT: Final = 0.1  # points


@dataclass(slots=True)
class Workbook:
    """What is known of a workbook so far: its parts are read in order, the shared strings last."""

    hidden: set[str] = field(default_factory=set)
    shown: set[str] | None = None  # None: the workbook does not say
    _used: set[int] = field(default_factory=set)
    _any: bool = False

    def take(self, root: ET.Element, related: Mapping[str, str]) -> None:
        """Read the part ``xl/workbook.xml``."""
        self.shown = set() if related else None
        sheets = (item for item in root.iter() if name_of(item) == "sheet")
        for number, item in enumerate(sheets, 1):
            target = related.get(value_of(item, "id"), "")
            file = _file(target) if target else f"xl/worksheets/sheet{number}.xml"
            if item.get("state", "visible") != "visible":
                self.hidden.add(file)
            elif self.shown is not None:
                self.shown.add(file)

    def hides(self, file: str) -> bool:
        """Say whether a part is a sheet that is not shown."""
        return file in self.hidden or (
            self.shown is not None and bool(_SHEET.fullmatch(file)) and file not in self.shown
        )

    def prepare(self, root: ET.Element, budget: Budget, *, hidden: bool) -> None:
        """Mark the cells of a sheet that are not shown, and take the numbers of shared strings out of the others."""
        ranges = _hidden_columns(root)
        self._any = True
        for row in (item for item in root.iter() if name_of(item) == "row"):
            if _is_flat(row.get("ht", "")):
                row.set("hidden", "1")
            away = hidden or row.get("hidden") in {"1", "true"}
            for place, cell in enumerate(row, 1):
                budget.spend(len(ranges) // 8)
                column = _column(cell.get("r", "")) or place
                if any(first <= column <= last for first, last in ranges):
                    cell.set("hidden", "1")
                if cell.get("t") == "s":
                    self._use(cell, seen=not away and cell.get("hidden") != "1")

    def _use(self, cell: ET.Element, *, seen: bool) -> None:
        value = child(cell, "v")
        if value is not None and value.text and value.text.strip().isdecimal():
            if seen:
                self._used.add(int(value.text))
            value.text = None

    def strings(self, root: ET.Element) -> None:
        """Mark the shared strings that stand in no cell which is shown."""
        if self._any:
            for number, item in enumerate(item for item in root if name_of(item) == "si"):
                if number not in self._used:
                    item.set("hidden", "1")


def _file(target: str) -> str:
    return target.lstrip("/").lower() if target.startswith("/") else f"xl/{target.removeprefix('./')}".lower()


def _hidden_columns(root: ET.Element) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for item in root.iter():
        if name_of(item) == "col" and (item.get("hidden") in {"1", "true"} or _is_flat(item.get("width", ""))):
            first, last = item.get("min", ""), item.get("max", "")
            if first.isdecimal() and last.isdecimal() and len(found) < _MAX_RANGES:
                found.append((int(first), int(last)))
    return found


def _is_flat(size: str) -> bool:
    try:
        return float(size) < _FLAT
    except ValueError:
        return False


def _column(place: str) -> int:
    """Return the number of a cell's column: 1 for ``A7``, 28 for ``AB7``, 0 where it is not said."""
    letters = _LETTERS.match(place)
    number = 0
    for letter in letters[0].upper() if letters else "":
        number = number * 26 + ord(letter) - ord("A") + 1
    return number
