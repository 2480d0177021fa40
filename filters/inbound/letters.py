"""Which characters a text has, and others in their place, asked of the whole text at once.

Python looks at characters beyond Latin-1 one by one: a set of them, or a table of them, takes longer than all patterns
together. The codec for character maps does not: it writes a text in bytes by an alphabet of up to 255 characters, and
reads bytes by another one. 1. The different characters of a text are guessed from a piece of it; where the codec meets
one that is not among them, the next piece begins. 2. A text whose characters fit into an alphabet is written by it and
read by the one of their forms. Guarantees: linear in the text, and the answer is that of the plain way, which is gone
where an alphabet is too short.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Final

PLAIN: Final = bytes((9, 10, 13, *range(32, 127)))
"""ASCII without control characters."""
_BIG: Final = PLAIN.decode()
_SMALL: Final = _BIG.lower()
_SHORT: Final = 256  # characters up to which a set of them is as fast
_PIECE: Final = 128
_PIECES: Final = 40
_ALPHABET: Final = 256
_NONE: Final = "\ufffe"
"""The first character that no alphabet has; it stands where an alphabet ends early."""
_FEW: Final = 4  # characters that are replaced one after the other faster than by an alphabet
_MANY: Final = 40  # characters that are replaced one after the other faster than by a table


def foreign(text: str) -> str:
    """Return the different characters of ``text`` outside plain ASCII, in their order."""
    data = text.encode("utf-8", "surrogatepass").translate(None, PLAIN)
    return "".join(sorted(_different(data.decode("utf-8", "surrogatepass")))) if data else ""


def _different(rest: str) -> set[str]:
    found: set[str] = set()
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
            codecs.charmap_encode(rest, "strict", codecs.charmap_build(_alphabet("\0", known)))
        except UnicodeEncodeError as error:
            rest = rest[error.start :]
        else:
            return found
    return found.union(rest)


def _alphabet(zero: str, others: str) -> str:
    """Return an alphabet: what zero stands for, which the codec asks for first, and the others."""
    return f"{zero}{others}".ljust(_ALPHABET, _NONE)


def exchanged(text: str, others: str, forms: Mapping[str, str]) -> str:
    """Return ``text`` with its ASCII letters as small ones, and with the form of each character that has one.

    Args:
        text: any text.
        others: its different characters outside plain ASCII, in their order.
        forms: the one character that stands for it, for each of ``others`` that is not to stay.
    """
    zero = others.startswith("\0")
    fits = len(others) + len(PLAIN) - zero < _ALPHABET and others[-1:] < _NONE
    if len(forms) <= (_FEW if fits else _MANY):
        text = text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")  # only ASCII, and fast
        for char, form in forms.items():
            text = text.replace(char, form)
        return text
    if not fits:
        table = dict(zip(PLAIN, _SMALL, strict=True)) | {ord(char): forms.get(char, char) for char in others}
        return text.translate(table)
    others = others[zero:]
    written, _ = codecs.charmap_encode(text, "strict", codecs.charmap_build(_alphabet("\0", _BIG + others)))
    meant = "".join([forms.get(char, char) for char in others])
    return codecs.charmap_decode(written, "strict", _alphabet(forms.get("\0", "\0"), _SMALL + meant))[0]
