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

from checkvalve.filters.inbound.letters import PLAIN, exchanged, foreign
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
_KNOWN: Final = 256  # different characters of a text up to which their forms are remembered
_CUT: Final = "\0"
"""What marks the place of a character whose form is not one character: it is such a one itself."""


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
    return text.isascii() and not text.encode().translate(None, PLAIN)


def folded(text: str) -> str:
    """Return the canonical form of ``text`` alone."""
    if is_plain(text):
        return text.lower()
    return text.translate(_FOLDS)


def canonical(view: View, others: str | None = None) -> View:
    """Return the canonical view of ``view``; ``others`` are its characters outside plain ASCII, if they are known."""
    text = view.text
    others = foreign(text) if others is None else others
    if not others:
        return view.same(text.lower())
    even = exchanged(text, others, _even if len(others) <= _KNOWN else _formed)
    return _joined(view, even) if _CUT in even else view.same(even)


@lru_cache(maxsize=512)  # alphabets come again
def _even(characters: str) -> str:
    """Return the same as :func:`_formed`, remembered."""
    return _formed(characters)


def _formed(characters: str) -> str:
    """Return the form of each character, and a cut where that is not one character."""
    forms = (_FOLDS[ord(char)] for char in characters)
    return "".join(form if len(form) == 1 else _CUT for form in forms)


def _joined(view: View, even: str) -> View:
    """Return the view of ``even``, each cut of it the form of the character that stands there."""
    text, builder, position = view.text, Builder(view), 0
    for piece in even.split(_CUT):
        end = position + len(piece)
        if piece:
            builder.even(piece, position, end)
        if form := _FOLDS[ord(text[end])] if end < len(text) else "":
            builder.put(form, end, end + 1)
        position = end + 1
    return builder.view()
