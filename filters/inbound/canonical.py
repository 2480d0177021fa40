"""Text in the form that rules compare, with an exact map back: letters by what they look like, nothing invisible.

1. Compatibility forms (NFKC) and case. 2. Marks off Latin, Greek and Cyrillic letters; generic combining marks,
Arabic and Hebrew vowel signs go altogether. 3. Letters that look like Latin ones become those: by their Unicode name
(small capitals, squared, regional indicators) or by the short table below. 4. Invisible characters vanish.

Guarantees: a character's form depends on nothing around it, so a rule's own words go through the same folding; work
is linear, and what is cached is bounded.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from checkvalve.filters.inbound.views import Builder, View
from checkvalve.filters.normalise import FOLD, is_invisible

_CACHED: Final = 30_000  # code points; more than any honest text has
_NAMED: Final = re.compile(
    r"(?:LATIN|SQUARED|NEGATIVE|CIRCLED|PARENTHESIZED|REGIONAL INDICATOR SYMBOL|MODIFIER|TURNED|REVERSED)\b.*?\bLETTER "
    r"(?:SMALL CAPITAL |SMALL |CAPITAL |BARRED |TURNED |REVERSED |OPEN |DOTLESS |SCRIPT |BLACKLETTER |INSULAR )*([A-Z])"
    r"(?: WITH .*)?$"
)
# Pairs: a letter, then the Latin one it looks like. Capitals are compared after case folding, so a small letter stands
# for both of its shapes. Georgian, Coptic and the rest come with NFKC or not at all: the list is of what is met.
_PAIRS: Final = (
    "аa вb еe кk мm нh оo рp сc тt уy хx іi јj ѕs һh ԁd ԛq ԝw үy ѵv ӏl ьb αa βb γy εe ζz ηn ιi κk νv οo ρp τt υu χx ωw "
    "օo սu ոn հh ցg յj զq ꭺa ꮯc ꭰd ꭼe ꮐg ꮋh ꭻj ꮶk ꮮl ꮇm ꮲp ꮢr ꮪs ꭲt ꮩv ꮃw ꮓz ıi łl øo đd ħh ŧt "
    "أا إا آا ىي ةه کك یي ہه"  # Arabic letters that keyboards mix up
)
_ALIKE: Final = {ord(pair[0]): pair[1] for pair in _PAIRS.split()}
_MARKS: Final = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_DECOMPOSED: Final = (
    (0x00C0, 0x0530),
    (0x1E00, 0x2000),
)  # blocks whose marks are ornaments; Hangul and kana keep theirs
_BREAKS: Final = frozenset("\x0b\x0c\x85\u2028\u2029")  # they divide words, so they must not vanish
_PLAIN: Final = bytes((9, 10, 13, *range(32, 127)))
_FEW: Final = 40  # different characters that change, up to which replacing each is faster than looking at all
_MANY: Final = 64  # different characters up to which taking out each is faster than looking at all


def fold(char: str) -> str:
    """Return the form of one character: usually one character, none for an invisible one."""
    if char in _BREAKS:
        return " "
    if is_invisible(char):
        return ""
    if char.isascii():
        return char.lower()
    text = "".join(FOLD.get(piece, piece) for piece in unicodedata.normalize("NFKC", char)).casefold()
    if any(low <= ord(piece) < high for piece in text for low, high in _DECOMPOSED):
        text = unicodedata.normalize("NFD", text)
    text = _MARKS.sub("", text)
    return "".join(_ALIKE.get(ord(piece)) or _named(piece) for piece in text)


def _named(piece: str) -> str:
    if piece.isascii():
        return piece
    found = _NAMED.search(unicodedata.name(piece, ""))
    return found[1].lower() if found else piece


class _Folds(dict[int, str]):
    """The folded form of each code point met so far."""

    def __missing__(self, code: int) -> str:
        form = fold(chr(code))
        if len(self) < _CACHED:
            self[code] = form
        return form


_FOLDS: Final = _Folds()


def is_plain(text: str) -> bool:
    """Say whether ``text`` is ASCII without control characters; most texts are, and this is the fastest way to know."""
    return text.isascii() and not text.encode().translate(None, _PLAIN)


def folded(text: str) -> str:
    """Return the canonical form of ``text`` alone."""
    if is_plain(text):
        return text.lower()
    return text.translate(_FOLDS)


def canonical(view: View) -> View:
    """Return the canonical view of ``view``."""
    text = view.text
    if is_plain(text):
        return view.same(text.lower())
    others = foreign(text)
    uneven = "".join(char for char in others if len(_FOLDS[ord(char)]) != 1)
    if not uneven:
        return view.same(_evenly(text, others))
    vanishing = {char for char in uneven if not _FOLDS[ord(char)]}
    builder, position = Builder(view), 0
    for found in re.finditer(f"[{re.escape(uneven)}]+", text):
        start, end = found.span()
        if position < start:
            builder.even(_evenly(text[position:start], others), position, start)
        if not vanishing.issuperset(found[0]):
            for at in range(start, end):
                builder.put(_FOLDS[ord(text[at])], at, at + 1)
        position = end
    if position < len(text):
        builder.even(_evenly(text[position:], others), position, len(text))
    return builder.view()


@lru_cache(maxsize=4)  # several stages ask the same of one window
def foreign(text: str) -> str:
    """Return the different characters outside plain ASCII: by taking out one after the other, while they are few."""
    rest = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN).decode("utf-8", "surrogatepass")
    found: set[str] = set()
    while rest and len(found) < _MANY:
        char = rest[0]
        found.add(char)
        rest = rest.replace(char, "")
    return "".join(sorted(found.union(rest)))


def _evenly(text: str, others: str) -> str:
    """Fold a text whose characters all fold to one: by replacing the few that change, or by looking at each."""
    if is_plain(text):
        return text.lower()
    changing = {char: form for char in others if (form := _FOLDS[ord(char)]) != char}
    if len(changing) > _FEW:
        return text.translate(_FOLDS)
    text = text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")  # only ASCII, and fast
    for char, form in changing.items():
        text = text.replace(char, form)
    return text
