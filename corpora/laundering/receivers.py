"""How the world reads a value once the call has run: mail servers, URL parsers, file systems, dialers, banks.

Independent of ``filters/`` on purpose: this is what the search holds against it. Each kind has several readers, because
receivers differ; a value goes elsewhere when any one of them reads something that the user did not name.
"""

from __future__ import annotations

import ntpath
import posixpath
import re
import socket
import unicodedata
from collections.abc import Callable, Iterable
from email.utils import getaddresses
from typing import Final
from urllib.parse import unquote, urlsplit

import idna

Reader = Callable[[str], object]

_AUTHORITY: Final = re.compile(r"^(?:([a-z][a-z0-9+.-]*):)?[/\\]*([^/\\?#]*)(.*)$", re.IGNORECASE | re.DOTALL)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443", "": ""}


def goes_elsewhere(kind: str, value: object, named: Iterable[str]) -> bool:
    """Say whether some receiver of ``kind`` reads ``value`` as something that no value in ``named`` is to it."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return any(reader(text) not in {reader(name) for name in named} for reader in _READERS.get(kind, (_as_it_is,)))


def _as_it_is(text: str) -> object:
    return " ".join(text.split()).lower()


def _mailboxes(text: str) -> object:
    """Every mailbox that a mail library finds, with the display name: both go to the receiver."""
    found = getaddresses([text.replace("\n", ",").replace(";", ",")])
    return frozenset((unicodedata.normalize("NFKC", box).lower().rstrip("."), name) for name, box in found)


def _spelled(text: str) -> object:
    """The text as it is handed on; a full stop behind a host name is the root that every name ends in."""
    return text.strip().lower().rstrip(".")


def _browser(text: str) -> object:
    """Scheme, host, port and the rest as a browser makes them of an address: it mends slashes and drops line breaks.

    An empty query and one slash at the end lead to the same page of the same host.
    """
    plain = re.sub(r"[\t\n\r]", "", text).strip()
    match = _AUTHORITY.match(plain)
    scheme, place, rest = (match[1] or "https", match[2], match[3]) if match else ("", plain, "")
    host, _, port = place.rpartition("@")[2].partition(":")
    port = "" if port in {"", _DEFAULT_PORTS.get(scheme.lower(), "")} else port
    return scheme.lower(), _resolved(host), port, rest.replace("\\", "/").rstrip("?#").rstrip("/")


def _resolved(host: str) -> str:
    """Return the host that is connected to: percent signs decoded, IDNA applied, numeric addresses read as such."""
    plain = unquote(host)
    try:
        plain = idna.encode(plain, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        plain = plain.lower()
    plain = plain.lower().removesuffix(".")
    try:
        return socket.inet_ntoa(socket.inet_aton(plain)) if re.match(r"[0-9]", plain) else plain
    except (OSError, ValueError):
        return plain


def _library(text: str) -> object:
    try:
        parts = urlsplit(text if "//" in text else f"//{text}")
        default = _DEFAULT_PORTS.get(parts.scheme.lower(), "")
        port = str(parts.port or "")
        return _resolved(parts.hostname or ""), "" if port == default else port
    except ValueError:
        return text


def _account(text: str) -> object:
    return re.sub(r"[ \u00a0-]", "", text.strip()).upper()


def _dialed(text: str) -> object:
    """What a dialer makes of it: the digits, and whatever else it would send on."""
    digits = re.sub(r"[ ()./\u00a0-]", "", unicodedata.normalize("NFKC", text))
    return re.sub(r"^\+", "00", digits)


def _unix_path(text: str) -> object:
    return posixpath.normpath(unicodedata.normalize("NFC", text))


def _windows_path(text: str) -> object:
    return ntpath.normpath(unicodedata.normalize("NFC", text)).lower().rstrip(". ")


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _room(text: str) -> object:
    return text.strip().lstrip("#@").lower()


_READERS: Final[dict[str, tuple[Reader, ...]]] = {
    "email": (_mailboxes, _spelled),
    "url": (_browser, _library),
    "account": (_account,),
    "phone": (_dialed,),
    "path": (_unix_path, _windows_path),
    "number": (_number,),
    "channel": (_room,),
    "user": (_room,),
}
