"""Kinds of values and their canonical forms: two spellings of one thing become one string.

Guarantees: :func:`canonical` is pure and total; it returns None when the text is not a value of that kind, and never
makes two different hosts, mailboxes or accounts equal. Host rules follow WHATWG URL parsing where Python's differs.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Final
from urllib.parse import unquote, urlsplit

from checkvalve.filters.normalise import normalise
from checkvalve.filters.vocabulary import MONTHS

# ASCII on purpose: \w would swallow neighbouring Han text, and a confusable domain must not look like a plain one.
EMAIL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._%+'-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}")
URL: Final = re.compile(
    r"""(?:[a-z][a-z0-9+.-]{1,15}:)?//[^\s<>"'`{}|^]{1,2048}|\bwww\.[^\s<>"'`{}|^]{1,2048}""", re.IGNORECASE
)
_HOST: Final = re.compile(
    r"\b(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}[a-z]{2,24}(?:/[^\s<>\"'`{}|^]{0,2048})?", re.IGNORECASE
)
ACCOUNT: Final = re.compile(r"\b[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{2,4}){3,8}\b|\b[0-9](?:[ -]?[0-9]){7,18}\b")
NUMBER: Final = re.compile(r"(?<![\w.])[-+]?[0-9]{1,15}(?:[,'\u2019 ][0-9]{3})*(?:\.[0-9]{1,9})?(?![\w]|\.[0-9])")
_PHONE: Final = re.compile(r"\+?[0-9](?:[ ()./-]{0,2}[0-9]){6,14}")
MIN_ACCOUNT: Final = 4
"""Characters of the shortest account number; shorter strings are too common to compare without their punctuation."""
PHONE_DIGITS: Final = range(7, 18)
"""Digits of a phone number: ITU-T E.164 allows 15, and two more for the international prefix."""
MAX_MAGNITUDE: Final = 40
"""Decimal exponent up to which numbers are compared; nobody pays or counts beyond it."""
_TRAILING: Final = ".,;:!?)]}'\"»”’"


def canonical(kind: str, text: str) -> str | None:
    """Return the canonical form of ``text`` as a value of ``kind``, or None when it is no such value.

    Kinds without a form of their own (names, channels, ids, free text) compare by normalised words.
    """
    maker = _MAKERS.get(kind.partition(":")[0])
    return maker(text.strip()) if maker else words(text)


def words(text: str) -> str | None:
    """Return the normalised text with white space collapsed; None when nothing is left."""
    return " ".join(normalise(text).text.split()) or None


def _email(text: str) -> str | None:
    folded = unicodedata.normalize("NFKC", text)
    if folded[:7].lower() == "mailto:":
        folded = folded[7:].partition("?")[0]
    match = re.fullmatch(rf"(?:[^<>@]{{0,100}}<)?({EMAIL.pattern})>?", folded)
    return match[1].lower() if match else None


def canonical_host(host: str) -> str | None:
    """Return ``host`` lower-cased, IDNA-encoded and without its trailing dot; None when it is no usable host name."""
    folded = unicodedata.normalize("NFKC", host).replace("\u3002", ".").rstrip(".").lower()
    if not folded or "%" in folded or "\\" in folded or "\0" in folded:
        return None
    if re.fullmatch(r"[0-9]{1,10}", folded) and int(folded) < 2**32:
        return str(ipaddress.ip_address(int(folded)))
    try:
        return folded.encode("idna").decode("ascii") if not folded.isascii() else folded
    except UnicodeError:
        return None


def _url(text: str) -> str | None:
    folded = text.strip().rstrip(_TRAILING)
    if any(char in folded for char in "\\\t\n\r ") or not folded:
        return None
    if "://" not in folded and not folded.startswith("//"):
        if ":" in folded.split("/", 1)[0] and not re.match(r"[\w.-]+:\d+(/|$)", folded):
            return None
        folded = "//" + folded
    try:
        parts = urlsplit(folded)
        host = canonical_host(parts.hostname or "")
        port = parts.port
    except ValueError:
        return None
    if host is None or parts.username is not None or ("." not in host and host != "localhost" and ":" not in host):
        return None
    scheme = "" if parts.scheme.lower() in {"", "http", "https"} else parts.scheme.lower() + ":"
    site = f"{host}:{port}" if port not in {None, 80, 443} else host
    path = unquote(parts.path).rstrip("/")
    return (
        f"{scheme}//{site}{path}"
        + (f"?{parts.query}" if parts.query else "")
        + (f"#{parts.fragment}" if parts.fragment else "")
    )


def url_host(text: str) -> str | None:
    """Return the canonical host that a client would connect to for the URL ``text``."""
    form = _url(text)
    return form.partition("//")[2].split("/", 1)[0].split("?", 1)[0].split("#", 1)[0] if form else None


def _compact(text: str) -> str | None:
    form = re.sub(r"[\s.()/-]", "", unicodedata.normalize("NFKC", text)).upper()
    return form if len(form) >= MIN_ACCOUNT else None


def _phone(text: str) -> str | None:
    digits = re.sub(r"\D", "", unicodedata.normalize("NFKC", text))
    return digits.removeprefix("00") if len(digits) in PHONE_DIGITS else None


def _number(text: str) -> str | None:
    cleaned = re.sub(r"[,'\u2019\s]|[^\d.+-]", "", unicodedata.normalize("NFKC", text))
    try:
        value = Decimal(cleaned)
    except InvalidOperation:
        return None
    return format(value.normalize(), "f") if value.is_finite() and abs(value.adjusted()) < MAX_MAGNITUDE else None


def _path(text: str) -> str | None:
    form = unicodedata.normalize("NFC", text.replace("\\", "/"))
    form = re.sub(r"/+", "/", re.sub(r"(?:(?<=/)|^)\./", "", form))
    return form.rstrip("/") or ("/" if form else None)


_NAMED_DATE: Final = re.compile(
    r"(?i)\b([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})"
    r"|\b(\d{1,2})(?:st|nd|rd|th)?\.? (?:of )?([a-z]{3,9})\.?,? (\d{4})"
)
_DATE_FORMS: Final = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y")


def _date(text: str) -> str | None:
    """Return ``YYYY-MM-DD``, with `` HH:MM`` when a time is given; months may be named, as in "May 15th, 2024"."""
    day, _, clock = re.sub(r"[T\s]+", " ", text.strip()).partition(" ")
    for form in _DATE_FORMS:
        try:
            found = datetime.strptime(day, form).date().isoformat()  # noqa: DTZ007 - a calendar day has no zone
        except ValueError:
            continue
        time = re.match(r"([0-2]?[0-9]):([0-5][0-9])", clock)
        return f"{found} {int(time[1]):02}:{time[2]}" if time else found
    named = _NAMED_DATE.search(text)
    if not named:
        return None
    month, number, year = (named[1], named[2], named[3]) if named[1] else (named[5], named[4], named[6])
    index = [position for position, name in enumerate(MONTHS, 1) if name.startswith(month.lower())]
    return f"{year}-{index[0]:02}-{int(number):02}" if len(index) == 1 and int(number) <= 31 else None  # noqa: PLR2004


_MAKERS: Final[dict[str, Callable[[str], str | None]]] = {
    "email": _email,
    "url": _url,
    "host": canonical_host,
    "account": _compact,
    "phone": _phone,
    "number": _number,
    "path": _path,
    "date": _date,
}


def entities(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield ``(kind, canonical form, start, end)`` for every address, link, account and number in ``text``.

    Offsets are characters of ``text``. A bare host (``example.com/x``) counts as a URL, since people write it so.
    """
    for kind, pattern in (
        ("email", EMAIL),
        ("url", URL),
        ("url", _HOST),
        ("account", ACCOUNT),
        ("phone", _PHONE),
        ("number", NUMBER),
    ):
        for match in pattern.finditer(text):
            end = match.end() - (len(match[0]) - len(match[0].rstrip(_TRAILING)) if kind == "url" else 0)
            before, after = text[match.start() - 1 : match.start()], text[end : end + 1]
            if pattern is _HOST and (before in {"@", "/", ".", ":"} or after == "@"):
                continue  # a part of an address or a URL, which has its own pattern
            form = canonical(kind, text[match.start() : end])
            if form is not None:
                yield kind, form, match.start(), end
