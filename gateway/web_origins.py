"""Where a value came from, for the card: the recorded origins, each with the passage of the stored history it names.

Guarantees: an origin is shown as it was recorded; a passage is looked up under the recorded source, field and span, and
left out where it is not there, or where the value is not shown. Nothing is attributed anew, and the passage decides
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from checkvalve.approvals.content import HistoryItem
from checkvalve.approvals.hand import HAND, TYPED
from checkvalve.approvals.origin_words import place_of
from checkvalve.approvals.redaction import Veil
from checkvalve.approvals.veiled import part, veiled
from checkvalve.filters.fields import dotted, leaves, scalar_text, source_of
from checkvalve.gateway.web_text import Shown, line, shown

_WINDOW: Final = 4_000  # characters around a value in which secrets are looked for
AROUND: Final = 140
"""Characters of a passage on each side of the value: enough to see what kind of text it stands in."""
MAX_ORIGINS: Final = 6
"""Origins of one value that a card names; of more it says how many."""
TRUSTS: Final = frozenset({"untrusted", "verified", "authoritative"})
UNKNOWN: Final = "unknown"
"""The trust of what nobody is known to have said; it is shown like the worst."""


@dataclass(frozen=True, slots=True)
class Passage:
    """The stored text around a value, and the value in it."""

    before: Shown
    value: Shown
    after: Shown
    cut: bool


@dataclass(frozen=True, slots=True)
class OriginView:
    """One recorded place of a value: source, tool, field, match, trust, and what was flagged in the source."""

    trust: str
    source: Shown
    tool: Shown
    is_user: bool
    field: Shown
    match: str
    span: tuple[int, int] | None
    flags: tuple[Shown, ...]
    passage: Passage | None
    at: int | None

    @property
    def is_result(self) -> bool:
        """Say whether it stands in what a tool returned."""
        return bool(self.tool.start)


@dataclass(frozen=True, slots=True)
class Stored:
    """What the history of a task holds under each source, and what of it is not shown."""

    veil: Veil
    texts: Mapping[tuple[str, str], str]
    tools: Mapping[str, tuple[str, int]]
    """By source: the tool, and the number of the item in the history."""


def stored(items: Iterable[HistoryItem], veil: Veil) -> Stored:
    """Return the fields of every result by source and field; of two alike the first one."""
    texts: dict[tuple[str, str], str] = {}
    tools: dict[str, tuple[str, int]] = {}
    for item in items:
        if item.kind != "result" or not isinstance(item.value, dict):
            continue
        tool, call = str(item.value.get("tool")), str(item.value.get("call") or "")
        source = source_of(tool, call)
        tools.setdefault(source, (tool, item.seq))
        for path, value in leaves(item.value.get("value")):
            if value is not None:
                texts.setdefault((source, dotted(path)), scalar_text(value))
    return Stored(veil, texts, tools)


def origins(report: Mapping[str, Any], held: Stored, *, whole: bool = False) -> tuple[list[OriginView], int]:
    """Return the recorded origins of one argument, and how many more there are; ``whole`` if nothing of it is shown."""
    found = [item for item in _list(report.get("origins")) if isinstance(item, dict)]
    views = [_origin(item, held, whole=whole) for item in found[:MAX_ORIGINS]]
    return views, max(0, len(found) - MAX_ORIGINS)


def _origin(item: Mapping[str, Any], held: Stored, *, whole: bool) -> OriginView:
    source, field = split(str(item.get("source")), held)
    span = _span(item.get("span"))
    trust = str(item.get("trust"))
    if item.get("match") == TYPED:
        trust, source, field = TYPED, str(item.get("source")).removeprefix(HAND), ""
    tool, at = held.tools.get(source, ("", None))
    place = place_of(str(item.get("source")))
    if not tool and trust != TYPED and place.kind == "result":  # without its history the name says it, too
        tool, field = place.name, place.field
    return OriginView(
        trust=trust if trust in {*TRUSTS, TYPED} else UNKNOWN,
        source=line(source),
        tool=line(tool),
        is_user=trust != TYPED and place.kind == "user",
        field=line("" if place.kind == "user" else field),
        match=str(item.get("match")),
        span=span,
        flags=tuple(line(flag, limit=80) for flag in _list(item.get("flags"))),
        passage=None if whole else _passage(held.texts.get((source, field)), span, held.veil),
        at=at,
    )


def split(name: str, held: Stored) -> tuple[str, str]:
    """Return the source and the field in a recorded name; a tool's own name may hold any character."""
    for place in (index for index, character in enumerate(name) if character == "#"):
        if name[:place] in held.tools:
            return name[:place], name[place + 1 :]
    source, _, field = name.partition("#")
    return source, field


def _passage(text: str | None, span: tuple[int, int] | None, veil: Veil) -> Passage | None:
    if text is None or span is None:
        return None
    data = text.encode("utf-8", "surrogatepass")
    first, last = span
    if not 0 <= first < last <= len(data):
        return None
    try:
        parts = [piece.decode("utf-8", "surrogatepass") for piece in (data[:first], data[first:last], data[last:])]
    except UnicodeDecodeError:  # the stored text is another one than when the span was recorded
        return None
    before, value, after = parts
    near = before[-_WINDOW:], value, after[:_WINDOW]
    around, places = veiled("".join(near), veil.hidden("".join(near)))
    start, end = len(near[0]), len(near[0]) + len(value)
    begin, stop = places.start(max(0, start - AROUND)), places.end(min(len("".join(near)), end + AROUND))
    inside = places.start(start), places.end(end)
    cut = len(before) > AROUND or len(after) > AROUND
    left, right = shown(part(around, begin, inside[0])), shown(part(around, inside[1], stop))
    return Passage(left, shown(part(around, *inside)), right, cut)


def marks(text: str, report: Mapping[str, Any], held: Stored) -> tuple[list[tuple[int, int, str]], str]:
    """Return which parts of an argument's text come from where, and the trust of the rest.

    1. No origin: all of it is unknown. 2. A value that was recorded as sufficient has the trust of its best origin.
    3. An origin whose stored passage is part of the text marks that part; the worst trust wins where two overlap.
    4. Where nothing can be marked, all of it has the worst trust of its origins.
    """
    found = [item for item in _list(report.get("origins")) if isinstance(item, dict)]
    if not found:  # 1.
        return [], UNKNOWN
    if report.get("sufficient") is True:  # 2.
        return [], max((_trust(item) for item in found), key=lambda trust: _RANK.get(trust, 0))
    places: list[tuple[int, int, str]] = []
    for item in sorted(found, key=lambda item: _RANK.get(str(item.get("trust")), 0)):  # 3.
        said = _said(item, held) or ""
        at = text.find(said) if said and said != text else -1
        if at >= 0 and all(at + len(said) <= first or last <= at for first, last, _ in places):
            places.append((at, at + len(said), _trust(item)))
    worst = min((_trust(item) for item in found), key=lambda trust: _RANK.get(trust, 0))
    covered = any(_said(item, held) in {None, text} for item in found)
    return (sorted(places), UNKNOWN) if places and not covered else ([], worst)  # 4.


_RANK: Final = {UNKNOWN: 0, "untrusted": 0, "verified": 1, "authoritative": 2}


def _trust(item: Mapping[str, Any]) -> str:
    trust = str(item.get("trust"))
    return trust if trust in TRUSTS else UNKNOWN


def _said(item: Mapping[str, Any], held: Stored) -> str | None:
    text, span = held.texts.get(split(str(item.get("source")), held)), _span(item.get("span"))
    if text is None or span is None:
        return None
    return text.encode("utf-8", "surrogatepass")[span[0] : span[1]].decode("utf-8", "replace")


def _span(value: object) -> tuple[int, int] | None:
    match value:
        case [int(first), int(last)]:
            return first, last
        case _:
            return None


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


__all__ = ["OriginView", "Passage", "Stored", "marks", "origins", "split", "stored"]
