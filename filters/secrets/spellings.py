"""How a value can be spelled or encoded, each way as bare, folded signs that can be looked up.

Guarantees: a value gives some hundred forms whatever it is; what depends on the text around it (Base64 and its like
at each offset) is cut to the signs that the value alone decides.
"""

from __future__ import annotations

import base64
import codecs
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from checkvalve.filters.secrets.readings import squeezed

KEY: Final = 6
"""Signs by which a form is looked up: a shorter one is none."""
SIGNS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-")
"""Signs around an encoded form that say a part of the value, too."""
GRAPHIC: Final = frozenset(map(chr, range(33, 127)))
"""The same for Base85, which uses nearly every sign."""
NO_SIGNS: Final[frozenset[str]] = frozenset()
_LONG: Final = 9  # signs of a form in Base85, which lose their punctuation, and so say less
_BLOCK: Final = 4  # bytes of a block of Base85


def forms_of(value: str) -> dict[str, frozenset[str]]:
    """Return the forms of ``value``, each with the signs around it that belong to it; none for one that is spelled."""
    spelled = {value, value.lower(), value.upper()}
    once = {form for text in spelled for form in (*_encoded(text), *_listed(text))}
    twice = {form for text in [value, *_encoded(value)] for form in _encoded(text)}
    packed = {form for form in _long(packed for text in spelled for packed in _base85(text)) if len(form) >= _LONG}
    shown = _long({*spelled, *(text[::-1] for text in spelled)})
    return dict.fromkeys(packed, GRAPHIC) | dict.fromkeys(_long(once | twice), SIGNS) | dict.fromkeys(shown, NO_SIGNS)


def _listed(text: str) -> Iterator[str]:
    """Yield ``text`` as a list of codes in each notation, and as UTF-16 in Base64 and hexadecimal."""
    data = text.encode("utf-8", "surrogatepass")
    for notation in ("d", "03d", "o", "03o", "#o", "#x", "08b", "07b", "#b"):
        yield "".join(format(byte, notation) for byte in data)
    for codec in ("utf-16-le", "utf-16-be"):
        wide = text.encode(codec, "surrogatepass")
        yield wide.hex()
        for offset in range(3):
            yield _core(base64.b64encode, wide, offset, 6, 3)
            yield _core(base64.urlsafe_b64encode, wide, offset, 6, 3)


def _base85(text: str) -> Iterator[str]:
    """Yield ``text`` in both alphabets of Base85: all of it, and the whole blocks of it at each offset."""
    data = text.encode("utf-8", "surrogatepass")
    for encode in (base64.b85encode, base64.a85encode):
        yield encode(data).decode()
        for offset in range(_BLOCK):
            blocks = data[offset : offset + (len(data) - offset) // _BLOCK * _BLOCK]
            yield encode(blocks).decode()


def _long(texts: Iterable[str]) -> set[str]:
    return {form for form in (squeezed(text)[0] for text in texts) if len(form) >= KEY}


def _encoded(text: str) -> Iterator[str]:
    """Yield ``text`` in each encoding once. Base64 and Base32 depend on what stands before, so each offset is one."""
    data = text.encode("utf-8", "surrogatepass")
    yield text[::-1]
    yield data.hex()
    yield codecs.encode(text, "rot13")
    for offset in range(3):
        yield _core(base64.b64encode, data, offset, 6, 3)
        yield _core(base64.urlsafe_b64encode, data, offset, 6, 3)
    for offset in range(5):
        yield _core(base64.b32encode, data, offset, 5, 5)


def _core(encode: Callable[[bytes], bytes], data: bytes, offset: int, bits: int, block: int) -> str:
    """Return the signs of an encoding that depend on ``data`` alone, whatever stands before and after it."""
    first = -(-offset * 8 // bits)
    last = (offset + len(data)) * 8 // bits
    padding = -(offset + len(data)) % block
    return encode(b"\0" * offset + data + b"\0" * padding).decode()[first:last]
