"""Further readings of a text: its encoded regions undone, and the whole of it turned, shifted, mended or joined.

Guarantees: a reading is a view with the way back to the stretch it came from; the number of readings and their size
are bounded; which readings are tried is decided by one linear pass.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from itertools import islice
from typing import Final

from checkvalve.filters.inbound.encodings import REGIONS, base64_places, is_text
from checkvalve.filters.inbound.payloads import may_be_file
from checkvalve.filters.inbound.rules import Looked
from checkvalve.filters.inbound.spelling import RUN_TOGETHER, mendings
from checkvalve.filters.inbound.unescaped import NOTE, unescaped
from checkvalve.filters.inbound.views import Builder, View
from checkvalve.filters.linear import Pattern, PatternSet
from checkvalve.filters.outcomes import Channel

MAX_REGIONS: Final = 60
"""Regions of one encoding that are undone in one text."""
MAX_REGION: Final = 200_000
"""Characters of one region: a message fits, a film does not; what follows is left."""

REGION_NAMES: Final = frozenset({*(name for name, _, _ in REGIONS), "spaced", "vertical", "assembled"})
"""The notes of readings that are texts of their own."""
EMPHASIS: Final = "emphasis"
"""The note of a text without its marks of emphasis."""
GUESSES: Final = frozenset({"rot13", "reversed", "leet"})
"""The notes of readings that are tried on every text: only a pattern that is enough alone counts in them."""
SAME: Final = GUESSES | {"misspelt", RUN_TOGETHER, EMPHASIS, NOTE}
"""The notes of readings that repeat most of the text as it stands."""
FILE: Final = "file"
"""The note of a stretch of base64 as it stands: it may be a file."""
MAX_JOINED: Final = 4_000
"""Characters of one stretch of single letters: nobody writes a page like that."""
_LOWER: Final = string.ascii_lowercase
_ROT13: Final = bytes.maketrans(_LOWER.encode(), (_LOWER[13:] + _LOWER[:13]).encode())
_EMPHASIS: Final = bytes.maketrans(b"*_~`", b"    ")
_LEET: Final = tuple(bytes.maketrans(b"430578@$!1", f"aeostbasi{one}".encode()) for one in "il")
_SPACED: Final = r"(?:\b\w[ .\-_*|·]{1,3}){8,}\w\b"
_VERTICAL: Final = r"(?m)(?:^[ \t]{0,4}[^\s]{1,2}[ \t]{0,4}\r?\n){8,}"
_GATES: Final = {
    **{name: pattern for name, pattern, _ in REGIONS},
    "leet": r"[a-z][013457@$!][a-z]",
    "spaced": _SPACED,
    "vertical": _VERTICAL,
}
_COMPILED: Final = {name: Pattern(pattern) for name, pattern in _GATES.items()}
_TRIGGERS: Final = {  # shorter than the regions, so that the one pass over every text stays fast
    "base64": r"[A-Za-z0-9+/_-]{20}",
    "base32": r"[A-Z2-7]{24}",
    "hex": r"(?:[0-9a-fA-F]{2}[ :,]?(?:0x|\\x)?){6}",
    "percent": r"%[0-9a-fA-F]{2}",
    "entities": r"&#?[0-9a-zA-Z]{2,8};",
    "escapes": r"\\(?:u[0-9a-fA-F{]|x[0-9a-fA-F]|U000|[0-3][0-7])",
    "quoted-printable": r"=[0-9A-F]{2}|=\r?\n",
    "morse": r"(?:[.\-·•−–—_]{1,6}[ /|\n]{1,4}){6}",
    "bits": r"[01]{7}",
    "numbers": r"(?:[0-9]{2,3}[ ,;]{1,2}){6}",
    "emphasis": r"[*_~`]\w",
    "assembled": r"= ?[\"'][^\"'\n]{2,200}[\"'] ?[;,\n+&]",
    "leet": r"[a-z][013457@$!][a-z]",
    "spaced": r"(?:\b\w[ .\-_*|·]{1,3}){6}",
    "vertical": r"(?:\n[ \t]{0,4}[^\s]{1,2}[ \t]{0,4}\r?){6}",
}
_GIVEN: Final = re.compile(r"[=:+] ?[\"']([^\"'\n]{2,200}+)[\"']")
_SURE: Final = {  # the triggers that count characters: what counts bytes finds more
    "assembled": re.compile(r"= ?[\"'][^\"'\n]{2,200}+[\"'] ?[;,\n+&]"),
    "vertical": re.compile(r"(?:\n[ \t]{0,4}[^\t\n\f\r ]{1,2}+[ \t]{0,4}\r?){6}"),
}
_RUNS: Final = ("hex", "morse", "numbers", "spaced", "vertical")
"""What repeats a few signs: in a machine of its own, since the others are faster without it, and it without them."""
_SETS: Final = tuple(
    (names, PatternSet([_TRIGGERS[name] for name in names], swift=True))
    for names in (tuple(name for name in _TRIGGERS if name not in _RUNS), _RUNS)
)
_UNDO: Final = {name: undo for name, _, undo in REGIONS}


def readings(view: View, plain: View, seen: Looked) -> Iterator[View | None]:
    """Yield the further readings of ``view``, whose canonical view is ``plain``.

    None stands for a reading of the same length that no pattern can match, as ``seen`` says.
    """
    data = view.text.encode("utf-8", "surrogatepass")
    found = {names[number] for names, one in _SETS for number in one.candidates(data)}
    found -= {name for name, trigger in _SURE.items() if name in found and not trigger.search(view.text)}
    for name in _UNDO:
        if name in found:
            yield from _regions(view, name)
    if "spaced" in found:
        yield from _joined(view, "spaced", r"[ .\-_*|·]")
    if "vertical" in found:
        yield from _joined(view, "vertical", r"\s")
    if "leet" in found:
        yield from (_shifted(plain, table, "leet") if seen.may_be_enough(table) else None for table in _LEET)
    for mended in mendings(plain):
        yield with_single_blanks(mended) if mended.note == RUN_TOGETHER else mended
    if "assembled" in found:
        yield _assembled(view)
    if "escapes" in found:
        yield unescaped(view)
    if "emphasis" in found:
        yield _shifted(plain, _EMPHASIS, EMPHASIS) if seen.may_match() else None
    yield _shifted(plain, _ROT13, "rot13") if seen.turned else None
    yield turned(plain) if seen.turned else None


def _shifted(view: View, letters: bytes, note: str) -> View:
    """Return ``view`` with ASCII characters exchanged."""
    data = view.text.encode("utf-8", "surrogatepass").translate(letters)
    channel = view.channel if note == EMPHASIS else Channel.DECODED
    return view.same(data.decode("utf-8", "surrogatepass"), channel=channel, note=note)


def with_single_blanks(view: View) -> View:
    """Return ``view`` with runs of blanks as one."""
    builder, position = Builder(view), 0
    for found in re.finditer(" {2,}", view.text):
        builder.copy(position, found.start() + 1)
        position = found.end()
    builder.copy(position, len(view.text))
    return builder.view(view.channel, view.note)


def _assembled(view: View) -> View:
    """Return the strings that are given to variables, one after the other."""
    builder = Builder(view)
    for count, found in enumerate(_GIVEN.finditer(view.text)):
        if count >= MAX_REGIONS:
            break
        builder.copy(*found.span(1))
    return builder.view(Channel.DECODED, "assembled")


def turned(view: View) -> View:
    """Return ``view`` read from its end."""
    return view.whole(view.text[::-1], 0, len(view.text), note="reversed")


def _regions(view: View, name: str) -> Iterator[View]:
    undo, whole = _UNDO[name], view.text
    places = base64_places(whole) if name == "base64" else (found.span() for found in _COMPILED[name].finditer(whole))
    for start, end in islice(places, MAX_REGIONS):
        text = undo(whole[start : min(end, start + MAX_REGION)])
        if text:
            yield view.whole(text, start, end, note=name)
        if name == "base64" and may_be_file(whole, start, end):
            yield view.part(start, end, note=FILE)


def _joined(view: View, name: str, between: str) -> Iterator[View]:
    """Yield stretches of single letters as words: one separator joins, more of them divide."""
    for count, found in enumerate(_COMPILED[name].finditer(view.text)):
        if count >= MAX_REGIONS:
            return
        start, end = found.start(), min(found.end(), found.start() + MAX_JOINED)
        inner, builder = view.text[start:end], Builder(view)
        gap = min((len(run) for run in re.findall(f"{between}+", inner)), default=1)
        for piece in re.finditer(rf"({between}+)|((?!{between}).)", inner, re.DOTALL):
            if piece[1] is None:
                builder.copy(start + piece.start(), start + piece.end())
            elif len(piece[1]) > gap:
                builder.put(" ", start + piece.start(), start + piece.end())
        joined = builder.view(Channel.DECODED, name)
        if is_text(joined.text):
            yield joined
