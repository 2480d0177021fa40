"""Kinds of values and their canonical forms: two spellings of one thing become one string.

Guarantees: :func:`canonical` is pure and total; it returns None when the text is not a value of that kind, and never
makes two different hosts, mailboxes or accounts equal. Host rules follow WHATWG URL parsing where Python's differs.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

import idna

from checkvalve.filters.normalise import normal_text
from checkvalve.filters.vocabulary import MONTHS

# ASCII on purpose: \w would swallow neighbouring Han text, and a confusable domain must not look like a plain one. The
# look-behind keeps the tail of a longer or accented address from being read as an address of its own.
EMAIL: Final = re.compile(
    r"(?<![A-Za-z0-9\u00c0-\u024f&.'+_%/=-])[A-Za-z0-9][A-Za-z0-9._%+'-]{0,63}"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9-])"
)
URL: Final = re.compile(
    r"""(?:\b[a-z][a-z0-9+.-]{1,15}:)?//[^\s<>"'`{}|^]{1,2048}|\bwww\.[^\s<>"'`{}|^]{1,2048}""", re.IGNORECASE
)
HOST: Final = re.compile(
    r"(?<![\w@./:-])(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}[a-z]{2,24}(?![\w@-])"
    r"(?:[/?#][^\s<>\"'`{}|^)]{0,2048})?",
    re.IGNORECASE,
)
ACCOUNT: Final = re.compile(
    # a group holds a digit, but for a bank's letters: what else follows an account is a word
    r"\b[A-Z]{2}[0-9]{2}(?:[A-Z0-9]{8,30}|(?:[ -]?[A-Z]{4})?(?:[ -]?(?=[A-Z]{0,3}[0-9])[A-Z0-9]{2,4}){2,8})\b"
    r"|\b[0-9](?:[ -]?[0-9]){7,18}\b",
    re.IGNORECASE,
)
_GROUPED: Final = r"[0-9]{1,3}(?:,[0-9]{3}){2,4}(?:\.[0-9]{1,9})?|[0-9]{1,3},[0-9]{3}\.[0-9]{1,9}"
_GERMAN: Final = r"[0-9]{1,3}(?:\.[0-9]{3}){1,4},[0-9]{1,2}|[0-9]{1,15},[0-9]{1,2}"
_PLAIN_NUMBER: Final = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
NUMBER: Final = re.compile(rf"(?<![\w.,])[-+]?(?:{_GROUPED}|{_GERMAN}|{_PLAIN_NUMBER})(?![\w]|[.,][0-9])")
_ARGUMENT_NUMBER: Final = re.compile(rf"[-+]?(?:{_GROUPED}|{_PLAIN_NUMBER})")
PHONE: Final = re.compile(r"\+?[0-9](?:[ ()./-]{0,2}[0-9]){6,14}")
MULTIPLIER: Final = re.compile(
    r"\s?(?:k|m|mio|mrd|tsd|thousand|million|billion|hundred|tausend|millionen|lakh|crore|[万千百亿])\b", re.IGNORECASE
)
ISO_DATE: Final = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2})?")
HAS_DIGIT: Final = re.compile(r"[0-9]").search
MIN_ACCOUNT: Final = 4
"""Characters of the shortest account number; shorter strings are too common to compare without their punctuation."""
PHONE_DIGITS: Final = range(7, 18)
"""Digits of a phone number: ITU-T E.164 allows 15, and two more for the international prefix."""
TRAILING: Final = ".,;:!?)]}'\"»”’*_"
"""What ends a link in running text without belonging to it. Never taken off an argument: there it is data."""


def canonical(kind: str, text: str) -> str | None:
    """Return the canonical form of ``text`` as a value of ``kind``, or None when it is no such value.

    Kinds without a form of their own (names, channels, ids, free text) compare by normalised words.
    """
    return _canonical_short(kind, text) if len(text) <= _SHORT else _canonical(kind, text)


def _canonical(kind: str, text: str) -> str | None:
    maker = _MAKERS.get(kind.partition(":")[0])
    return maker(text.strip()) if maker else words(text)


_SHORT: Final = (
    256  # characters of a value whose form is remembered: the same one is asked for at every place it stands
)
_canonical_short = lru_cache(maxsize=4096)(_canonical)


def words(text: str) -> str | None:
    """Return the normalised text with white space collapsed; None when nothing is left."""
    return " ".join(normal_text(text).split()) or None


def _email(text: str) -> str | None:
    """Return a mailbox in lower case. A display name is refused: it is text that travels with the address."""
    bare = text[1:-1] if text.startswith("<") and text.endswith(">") else text
    return bare.lower() if EMAIL.fullmatch(bare) else None


def canonical_host(host: str) -> str | None:
    """Return ``host`` as a client looks it up: lower case, A-labels (UTS 46, not transitional), no trailing dot.

    None when it is no usable host name. Hosts that one standard maps together and another keeps apart stay apart.
    """
    text = host.rstrip(".\u3002")
    if not text or any(char in text for char in "%\\\0/@ "):
        return None
    if re.fullmatch(r"[0-9]{1,10}", text) and int(text) < 2**32:
        return str(ipaddress.ip_address(int(text)))
    if text.isascii():
        return text.lower()
    try:
        return idna.encode(text, uts46=True, transitional=False).decode("ascii").lower()
    except idna.IDNAError:
        return None


_DEFAULT_PORTS: Final = {"http": 80, "ws": 80, "ftp": 21}
_NO_URL: Final = re.compile(r"[\x00-\x20\\]").search


def _url(text: str) -> str | None:
    return _url_short(text) if len(text) <= _SHORT else _url_form(text)


def _url_form(text: str) -> str | None:
    """Return a URL without the scheme https, default port and one closing slash; everything else is kept as it is."""
    if not text or _NO_URL(text) or text.startswith(":"):
        return None
    if "://" not in text and not text.startswith("//"):
        if ":" in text.split("/", 1)[0] and not re.match(r"[\w.-]+:\d+(/|$)", text):
            return None
        text = "//" + text
    try:
        parts = urlsplit(text)
        host = canonical_host(parts.hostname or "")
        port = parts.port
    except ValueError:
        return None
    if host is None or parts.username is not None or ("." not in host and host != "localhost" and ":" not in host):
        return None
    # Plain http is a scheme of its own: who wrote https did not ask for the same bytes in the open.
    scheme = "" if parts.scheme.lower() in {"", "https"} else parts.scheme.lower() + ":"
    site = host if port is None or port == _DEFAULT_PORTS.get(parts.scheme.lower(), 443) else f"{host}:{port}"
    rest = parts.path + (f"?{parts.query}" if parts.query else "") + (f"#{parts.fragment}" if parts.fragment else "")
    return f"{scheme}//{site}" + ("" if rest == "/" else rest.removesuffix("/") if rest == parts.path else rest)


_GLUED: Final = re.compile(r"(?<=[a-z])\.[A-Z][a-z]{1,23}$")


def unglued(text: str) -> str | None:
    """Return an address without the next sentence's first word: "www.example.com.They" lacks a blank."""
    bare = _GLUED.sub("", text)
    return bare if bare != text and "." in bare else None


def url_host(text: str) -> str | None:
    """Return the canonical host that a client would connect to for the URL ``text``."""
    form = _url(text)
    return form.partition("//")[2].split("/", 1)[0].split("?", 1)[0].split("#", 1)[0] if form else None


def _host(text: str) -> str | None:
    """Return a host, also of a whole URL: a value that says where is the same with the path it was read from."""
    return url_host(text) if "//" in text else canonical_host(text)


def _account(text: str) -> str | None:
    """Return an account number without blanks and hyphens; a name of a payee is compared as the words it is."""
    form = text.replace(" ", "").replace("-", "").upper()
    if not form.isascii() or not form.isalnum():
        return None
    return form if len(form) >= MIN_ACCOUNT and any(char.isdigit() for char in form) else None


_NO_DIGITS: Final = re.compile(r"\D+")


def _phone(text: str) -> str | None:
    plain = unicodedata.normalize("NFKC", text)
    if not PHONE.fullmatch(plain):
        return None  # what follows the digits would be dialled, or read
    digits = _NO_DIGITS.sub("", plain)
    return digits.removeprefix("00") if len(digits) in PHONE_DIGITS else None


def _number(text: str) -> str | None:
    """Return a decimal number in plain form. Nothing is dropped: "1e3", "13k" and "2,999" are not numbers here.

    A decimal comma is read where it cannot be a separator of thousands ("12,50"); "2,999" could be either.
    """
    if not _ARGUMENT_NUMBER.fullmatch(text):
        return None
    value = Decimal(text.replace(",", ""))
    return format(value.normalize(), "f") if value else "0"


_GERMAN_NUMBER: Final = re.compile(rf"[-+]?(?:{_GERMAN})")


def spoken_number(text: str) -> str | None:
    """Return the plain form of a number as people write it, with a decimal comma where that is beyond doubt."""
    if "," in text and _GERMAN_NUMBER.fullmatch(text):
        return _number(text.replace(".", "").replace(",", "."))
    return _number(text)


_SLASHES: Final = re.compile(r"/+")
_HERE: Final = re.compile(r"(?:(?<=/)|^)\./")


def _path(text: str) -> str | None:
    form = unicodedata.normalize("NFC", text.replace("\\", "/"))
    form = _SLASHES.sub("/", _HERE.sub("", form))
    return (form.rstrip("/") or "/").lower() if form else None


_NAMED_DATE: Final = re.compile(
    r"(?i)\b([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})"
    r"|\b(\d{1,2})(?:st|nd|rd|th)?\.? (?:of )?([a-z]{3,9})\.?,? (\d{4})"
)
_DAY, _MONTH = "(?P<day>3[01]|[12]\\d|0?[1-9])", "(?P<month>1[0-2]|0?[1-9])"
_DATE_FORMS: Final = tuple(
    re.compile(form)
    for form in (
        rf"(?P<year>\d{{4}})-{_MONTH}-{_DAY}",
        rf"(?P<year>\d{{4}})/{_MONTH}/{_DAY}",
        rf"{_DAY}\.{_MONTH}\.(?P<year>\d{{4}})",
    )
)


SPOKEN_DATE: Final = re.compile(
    r"(?<![\w.-])(?:\d{1,2}\.\d{1,2}\.\d{4}|\d{4}[-/]\d{1,2}[-/]\d{1,2}"
    r"|\d{1,2}(?:st|nd|rd|th)?\.? (?:of )?[A-Za-z]{3,9}\.?,? \d{4}"
    r"|[A-Za-z]{3,9}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4})(?![\w-])"
)
_TIME: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::00(?:\.0+)?)?(?:Z|[+-]00:?00)?")


def _date(text: str) -> str | None:
    """Return ``YYYY-MM-DD``, with `` HH:MM`` when a time is given; months may be named, as in "May 15th, 2024"."""
    day, _, clock = re.sub(r"[T\s]+", " ", text.strip()).partition(" ")
    for form in _DATE_FORMS:
        parts = form.fullmatch(day)
        if parts is None:
            continue
        try:
            found = date(int(parts["year"]), int(parts["month"]), int(parts["day"])).isoformat()
        except ValueError:
            continue
        if not clock:
            return found
        time = _TIME.fullmatch(clock)
        return f"{found} {int(time[1]):02}:{time[2]}" if time else None
    named = _NAMED_DATE.fullmatch(text.strip())
    if not named:
        return None
    month, number, year = (named[1], named[2], named[3]) if named[1] else (named[5], named[4], named[6])
    index = [position for position, name in enumerate(MONTHS, 1) if name.startswith(month.lower())]
    return f"{year}-{index[0]:02}-{int(number):02}" if len(index) == 1 and int(number) <= 31 else None  # noqa: PLR2004


_url_short = lru_cache(maxsize=4096)(_url_form)

_MAKERS: Final[dict[str, Callable[[str], str | None]]] = {
    "email": _email,
    "url": _url,
    "host": _host,
    "account": _account,
    "phone": _phone,
    "number": _number,
    "path": _path,
    "date": _date,
}
