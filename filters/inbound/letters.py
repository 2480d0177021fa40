"""Which characters a text has, and others in their place, asked of the whole text at once.

Python looks at characters beyond Latin-1 one by one: a set of them, or a table of them, takes longer than all patterns
together. The codec for character maps does not: it writes a text in bytes by an alphabet of up to 255 characters, and
reads bytes by another one. 1. An alphabet that held an earlier text which began alike is tried first. 2. Else the
different characters are guessed from a piece of the text; where the codec meets one that is not among them, the next
piece begins. 3. A text whose characters fit into an alphabet is written by it and read by the one of their forms.
Guarantees: linear in the text; the answer is that of the plain way, which is gone where an alphabet is too short, and
does not depend on earlier texts; what is remembered is bounded.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Final

PLAIN: Final = bytes((9, 10, 13, *range(32, 127)))
"""ASCII without control characters."""
_BIG: Final = PLAIN.decode()
_SMALL: Final = _BIG.lower()
_SHORT: Final = 256  # characters up to which a set of them is as fast
_SHORTEST: Final = 40  # characters up to which nothing is as fast as a set of them
_PIECE: Final = 128
_PIECES: Final = 40
_ALPHABET: Final = 256
_BYTES: Final = bytes(range(_ALPHABET))
_OTHERS: Final = _ALPHABET - 1 - len(PLAIN)
"""Characters outside plain ASCII that an alphabet has place for."""
_NONE: Final = "\ufffe"
"""The first character that no alphabet has; it stands where an alphabet ends early."""
_FEW: Final = 4  # characters of one piece that no alphabet has, and that are taken out one after the other
_MANY: Final = 40  # characters that are replaced one after the other faster than by a table


class Alphabet:
    """Plain ASCII and some other characters, each as one byte; zero stays what it is."""

    __slots__ = ("_characters", "_codes", "_held", "others")

    def __init__(self, others: str) -> None:
        """Build it of up to :data:`_OTHERS` characters before :data:`_NONE`, in their order."""
        self.others = others
        self._held = frozenset(others)
        self._characters = _written(_BIG + others)
        self._codes = codecs.charmap_build(self._characters)

    def holds(self, others: str) -> bool:
        """Say whether all of ``others`` have a place."""
        return self._held.issuperset(others)

    def write(self, text: str) -> bytes:
        """Return a text of its characters in bytes. Raises: UnicodeEncodeError."""
        return codecs.charmap_encode(text, "strict", self._codes)[0]

    def different(self, text: str) -> str:
        """Return the different characters of a text in the order of the alphabet. Raises: UnicodeEncodeError."""
        absent = _BYTES.translate(None, self.write(text))
        return codecs.charmap_decode(_BYTES.translate(None, absent), "strict", self._characters)[0]


_known: Final[dict[int, Alphabet]] = {}
"""For each block of 256 characters the alphabet that held the last text which began in it."""


def foreign(text: str) -> str:
    """Return the different characters of ``text`` outside plain ASCII, in their order."""
    data = text.encode("utf-8", "surrogatepass").translate(None, PLAIN)
    if not data:
        return ""
    rest = data.decode("utf-8", "surrogatepass")
    if len(rest) <= _SHORTEST:
        return "".join(sorted(set(rest)))
    if (guess := _known.get(ord(rest[0]) >> 8)) is not None:
        try:
            return guess.different(rest)
        except UnicodeEncodeError:
            pass
    others = "".join(sorted(_different(rest)))
    _remember(rest[0], others.removeprefix("\0"), guess)
    return others


def _remember(first: str, others: str, known: Alphabet | None) -> Alphabet | None:
    """Keep an alphabet for texts that begin with ``first``, or whose first character in their order is the same."""
    if not others or len(others) > _OTHERS or others[-1] >= _NONE:
        return None
    both = others if known is None else "".join(sorted({*others, *known.others}))
    made = Alphabet(both if len(both) <= _OTHERS else others)
    _known[ord(first) >> 8] = _known[ord(others[0]) >> 8] = made
    return made


def _different(rest: str) -> set[str]:
    found = {"\0"} if "\0" in rest else set()  # it is in every alphabet, so that the codec never stops at it
    known = ""
    for _ in range(_PIECES):
        if len(rest) <= _SHORT:
            break
        new = set(rest[:_PIECE]) - found
        found |= new
        rest = rest[_PIECE:]
        if new and max(new) >= _NONE:
            beyond = [char for char in new if char >= _NONE]
            if len(beyond) > _FEW:
                break
            new.difference_update(beyond)
            for char in beyond:
                rest = rest.replace(char, "")
        known += "".join(new)
        if len(known) >= _ALPHABET:
            break
        try:
            codecs.charmap_encode(rest, "strict", codecs.charmap_build(_written(known)))
        except UnicodeEncodeError as error:
            rest = rest[error.start :]
        else:
            return found
    return found.union(rest)


def _written(characters: str) -> str:
    """Return an alphabet as the codec takes it: zero stands for zero."""
    return f"\0{characters}".ljust(_ALPHABET, _NONE)


def alphabet_of(others: str) -> Alphabet | None:
    """Return an alphabet that holds ``others``, the characters of a text in their order, where one can."""
    others = others.removeprefix("\0")
    known = _known.get(ord(others[:1] or "\0") >> 8)
    return known if known is not None and known.holds(others) else _remember(others[:1], others, known)


def exchanged(text: str, others: str, forms: Callable[[str], str]) -> str:
    """Return ``text`` with its ASCII letters as small ones, and with the form of each other character.

    Args:
        text: any text.
        others: its different characters outside plain ASCII, in their order.
        forms: what gives the forms of such characters, one character for each; that of zero is zero.
    """
    if (alphabet := alphabet_of(others)) is not None:
        return codecs.charmap_decode(alphabet.write(text), "strict", _written(_SMALL + forms(alphabet.others)))[0]
    changing = {char: form for char, form in zip(others, forms(others), strict=True) if form != char}
    if len(changing) > _MANY:
        plain = zip(PLAIN, _SMALL, strict=True)
        return text.translate(dict(plain) | {ord(char): changing.get(char, char) for char in others})
    text = text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")  # only ASCII, and fast
    for char, form in changing.items():
        text = text.replace(char, form)
    return text
