# ruff: noqa: E501 - a pattern that is cut is harder to read than a long one
"""Undoing encodings, one region at a time: what is written in base64, hex, percent signs, entities, escapes, morse.

Guarantees: each decoder is total (a region that is not what it looks like gives nothing), linear, and gives back no
more characters than the region has; what is no text is dropped.
"""

from __future__ import annotations

import base64
import binascii
import html
import quopri
import re
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Final

_LETTERS: Final = 0.55  # of a decoded text, letters, digits and blanks; less is noise
_PRINTABLE: Final = 0.95
_SHORTEST: Final = 6
_LINE_ENDS: Final = frozenset(" \t\r\n")
_BLANKS: Final = re.compile(r"\s+")

_CODES: Final = (
    "a.- b-... c-.-. d-.. e. f..-. g--. h.... i.. j.--- k-.- l.-.. m-- n-. o--- p.--. q--.- r.-. s... t- u..- v...- w.-- "
    "x-..- y-.-- z--.. 0----- 1.---- 2..--- 3...-- 4....- 5..... 6-.... 7--... 8---.. 9----."
)
MORSE: Final = {item[0]: item[1:] for item in _CODES.split()}
_FROM_MORSE: Final = {code: letter for letter, code in MORSE.items()}
_ESCAPED: Final = re.compile(
    r"\\u\{([0-9a-fA-F]{1,6})\}|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\x([0-9a-fA-F]{2})|\\([0-3][0-7]{2})"
)


_ALPHABET: Final = bytes(
    120 if chr(code).isascii() and (chr(code).isalnum() or chr(code) in "+/_-") else 32 for code in range(256)
)
"""Bytes as ``x`` where base64 has them, in either alphabet, and as a blank elsewhere."""
_RUN: Final = b"x" * 20
_LINES: Final = re.compile(r"(?:[A-Za-z0-9+/]{20,}+[ \t]*+\r?\n[ \t>]*+)+[A-Za-z0-9+/]{2,}={0,2}")
_OTHER_ALPHABET: Final = bytes.maketrans(b"-_", b"+/")
_NO_START: Final = frozenset("ghijklmnopqrstuv+/-_")
"""First letters whose byte begins no character of UTF-8: paths and addresses begin so, and most words."""
_MAY_BE_ZERO: Final = frozenset("AQgw+/-_")
"""Second letters after which the second byte may be zero, as UTF-16 has it; and those that no word has there."""


def base64_places(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of what may be base64, as the first of :data:`REGIONS` says, by looking for long runs alone.

    A run of twenty letters of either alphabet is where a match begins, whichever of the two forms it has.
    """
    letters = text.encode("ascii", "replace").translate(_ALPHABET)
    start = letters.find(_RUN)
    while start >= 0:
        end = letters.find(b" ", start)
        end = len(text) if end < 0 else end
        if text[end : end + 1] in _LINE_ENDS and (lines := _LINES.match(text, start)) is not None:
            end = lines.end()
        else:
            end += text.startswith("=", end) and 1 + text.startswith("=", end + 1)
        yield start, end
        start = letters.find(_RUN, end)


def text_in(data: bytes) -> str:
    """Return ``data`` as text where it is some, else nothing."""
    for codec in ("utf-8", "utf-16-le") if data[1:2] == b"\x00" else ("utf-8",):
        try:
            text = data.decode(codec)
        except UnicodeDecodeError:
            continue
        return text if is_text(text) else ""
    return ""


def is_text(text: str) -> bool:
    """Say whether ``text`` reads like writing rather than like noise."""
    size = len(text)
    if size < _SHORTEST:
        return False
    printable = sum(map(str.isprintable, text)) + text.count("\n") + text.count("\t") + text.count("\r")
    letters = sum(map(str.isalnum, text)) + text.count(" ")
    return printable >= _PRINTABLE * size and letters >= _LETTERS * size


def from_base64(region: str) -> str:
    """Decode base64 in either alphabet, with or without padding and line breaks."""
    if region[:1] in _NO_START and region[1:2].isalnum() and region[1] not in _MAY_BE_ZERO:
        return ""
    try:
        plain = b"".join(region.encode("ascii").split()).rstrip(b"=").translate(_OTHER_ALPHABET)
        plain = plain[: len(plain) - (len(plain) % 4 == 1)]
        return text_in(binascii.a2b_base64(plain + b"=" * (-len(plain) % 4)))
    except ValueError:  # binascii.Error is one
        return ""


def from_base32(region: str) -> str:
    """Decode base32."""
    plain = _BLANKS.sub("", region).rstrip("=")
    try:
        return text_in(base64.b32decode(plain + "=" * (-len(plain) % 8)))
    except (binascii.Error, ValueError):
        return ""


def from_hex(region: str) -> str:
    """Decode pairs of hexadecimal digits, whatever stands between them."""
    plain = re.sub(r"0[xX]|\\x|[^0-9a-fA-F]", "", region)
    return text_in(bytes.fromhex(plain[: len(plain) // 2 * 2]))


def from_percent(region: str) -> str:
    """Decode percent signs as URLs have them."""
    text = urllib.parse.unquote(region.replace("+", " "), errors="replace")
    return text if text != region else ""


def from_entities(region: str) -> str:
    """Decode character references of HTML."""
    text = html.unescape(region)
    return text if text != region else ""


def from_escapes(region: str) -> str:
    """Decode escapes as programming languages have them."""

    def char(found: re.Match[str]) -> str:
        code = int(next(group for group in found.groups()[:4] if group), 16) if not found[5] else int(found[5], 8)
        return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"  # noqa: PLR2004  # Unicode's own limits

    return _ESCAPED.sub(char, region)


def from_quoted_printable(region: str) -> str:
    """Decode quoted-printable."""
    text = quopri.decodestring(region.encode("utf-8", "replace")).decode("utf-8", "replace")
    return text if text != region and is_text(text) else ""


def from_morse(region: str) -> str:
    """Decode morse; words are divided by a stroke or a wide gap."""
    plain = region.translate(str.maketrans("·•−–—_|\n", "..----//"))
    words = re.split(r" ?/ ?| {3,}", plain)
    text = " ".join("".join(_FROM_MORSE.get(code, "") for code in word.split()) for word in words)
    return text if is_text(text) else ""


def from_bits(region: str) -> str:
    """Decode characters written as seven or eight binary digits."""
    groups = re.findall("[01]{7,8}", region)
    return text_in(bytes(int(group, 2) for group in groups))


def from_numbers(region: str) -> str:
    """Decode characters written as decimal numbers."""
    codes = [int(number) for number in re.findall(r"\d{2,3}", region)]
    return text_in(bytes(codes)) if all(code < 256 for code in codes) else ""  # noqa: PLR2004  # a byte


REGIONS: Final[tuple[tuple[str, str, Callable[[str], str]], ...]] = (
    (
        "base64",
        r"(?:[A-Za-z0-9+/]{20,}[ \t]*\r?\n[ \t>]*)+[A-Za-z0-9+/]{2,}={0,2}|[A-Za-z0-9+/_-]{20,}={0,2}",
        from_base64,
    ),
    ("base32", r"\b[A-Z2-7]{24,}={0,6}", from_base32),
    ("hex", r"(?:(?:0x|\\x)?[0-9a-fA-F]{2}[ :,]{0,2}){12,}", from_hex),
    ("percent", r"[^\s%]*(?:%[0-9a-fA-F]{2}[^\s%]*){3,}", from_percent),
    ("entities", r"[^\n&]*(?:&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,8});[^\n&]*){3,}", from_entities),
    (
        "escapes",
        r"(?:\\(?:u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[0-3][0-7]{2})[^\\\n]{0,24}){4,}",
        from_escapes,
    ),
    ("quoted-printable", r"(?:[^\n=]*=(?:[0-9A-F]{2}|\r?\n)){3,}[^\n=]*", from_quoted_printable),
    ("morse", r"(?:[.\-·•−–—_]{1,6}[ /|\n]{1,4}){8,}[.\-·•−–—_]{0,6}", from_morse),
    ("bits", r"(?:[01]{7,8}[ ,]{0,2}){6,}", from_bits),
    ("numbers", r"(?:[0-9]{2,3}[ ,;]{1,2}){10,}[0-9]{2,3}", from_numbers),
)
"""Name, where such text stands, and how it is undone."""
