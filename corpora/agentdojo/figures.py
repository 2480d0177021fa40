"""Numbers, days and times: how they stand in texts, and the closed types in which they are asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from checkvalve.filters.strictjson import JSON

MONEY: Final[Mapping[str, JSON]] = {"type": "number", "min": 0, "max": 10_000, "step": 0.01}
HOUR: Final[Mapping[str, JSON]] = {"type": "number", "min": 0, "max": 23}
MINUTE: Final[Mapping[str, JSON]] = {"type": "number", "min": 0, "max": 55, "step": 5}
DAY: Final[Mapping[str, JSON]] = {"type": "date", "from": "2020-01-01", "to": "2029-12-31"}
NUMBER: Final = re.compile(r"\d[\d,]*(?:\.\d+)?")


def holds(value: JSON, number: float) -> bool:
    """Say whether a value is this number, or a text with it in it."""
    return value == number if isinstance(value, int | float) else number in numbers(str(value))


def numbers(text: str) -> set[float]:
    """Return every number in a text."""
    return {float(match[0].replace(",", "")) for match in NUMBER.finditer(text)}


def whole(value: JSON) -> int:
    """Return a closed value as a whole number."""
    return int(value) if isinstance(value, int | float | str) else 0


def real(value: JSON) -> float:
    """Return a closed value as a number."""
    return float(value) if isinstance(value, int | float | str) else 0.0


def clock(said: Mapping[str, JSON]) -> str:
    """Return the time that was said as hour and minute."""
    return f"{whole(said['hour'])}:{whole(said['minute']):02}"


def big(word: str) -> bool:
    """Say whether a word is a number of two digits or more: one that nobody counts by looking at a structure."""
    match = NUMBER.fullmatch(word.lstrip("£$€"))
    return match is not None and len(match[0]) > 1


_MONTHS: Final = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_NAMED: Final = re.compile(
    rf"\b({'|'.join(_MONTHS)})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b"
    rf"|\b(\d{{1,2}})(?:st|nd|rd|th)?\.? (?:of )?({'|'.join(_MONTHS)})\b",
    re.IGNORECASE,
)
_ISO: Final = re.compile(r"\b\d{4}-(\d\d)-(\d\d)")


def days(text: str) -> set[tuple[int, int]]:
    """Return every day in ``text`` as month and day of the month."""
    found = {(int(match[1]), int(match[2])) for match in _ISO.finditer(text)}
    for match in _NAMED.finditer(text):
        month, day = (match[1], match[2]) if match[1] else (match[4], match[3])
        found.add((_MONTHS.index(month.lower()) + 1, int(day)))
    return found


def day_in(text: str) -> tuple[int, int] | None:
    """Return the first day in ``text``."""
    return next(iter(sorted(days(text))), None)


def has_day(text: str, day: tuple[int, int]) -> bool:
    """Say whether ``text`` names this day, in any year."""
    return day in days(text)
