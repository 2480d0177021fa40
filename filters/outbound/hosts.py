"""Which host an address really leads to, and whether it may stand in what leaves.

1. Signs that clients read differently (backslash, white space, controls, ``%`` in the host, user names before ``@``)
make an address unusable. 2. The scheme must be one that people click: http, https, ftp, mailto, tel. 3. The host is
made canonical: lower case, no trailing dot, A-labels, IPv4 in any spelling. 4. A host that only looks like another one
after folding (full width, ideographic stop) is unusable. 5. Addresses of this machine and of private networks are
unusable. 6. What is left is compared label by label with the lists.

Guarantees: pure and total; an address that nobody can explain is unusable, never allowed.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from checkvalve.filters.normalise import is_invisible
from checkvalve.filters.values import canonical_host

CLICKED: Final = frozenset({"http", "https", "ftp"})
_SPOKEN: Final = frozenset({"mailto", "tel"})
_INTERNAL: Final = ("localhost", "internal", "local", "localdomain", "home.arpa", "intranet", "lan")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30}):")
_BYTE: Final = 255


@dataclass(frozen=True, slots=True)
class Address:
    """Where an address leads: its canonical host, or the code of why it is not usable."""

    host: str = ""
    problem: str = ""
    query: bool = False


@dataclass(frozen=True, slots=True)
class HostRules:
    """Hosts as the deployer lists them: exact names, or ``*.name`` for everything below a name.

    ``listed`` may be linked to; ``fetched`` may also be loaded by a client without anybody clicking.
    """

    listed: frozenset[str] = frozenset()
    fetched: frozenset[str] = field(default=frozenset())

    @classmethod
    def of(cls, listed: Iterable[str] = (), fetched: Iterable[str] = ()) -> HostRules:
        """Build from names as people write them; a name that is no host is dropped, which allows less."""
        one, other = ({name for text in names if (name := _listed(text))} for names in (listed, fetched))
        return cls(frozenset(one | other), frozenset(other))

    def links(self, address: Address) -> bool:
        """Say whether ``address`` may be linked to."""
        return not address.problem and _is_among(address.host, self.listed)

    def fetches(self, address: Address) -> bool:
        """Say whether a client may load ``address`` by itself: a listed host, and nothing told to it."""
        return not address.problem and not address.query and _is_among(address.host, self.fetched)


def _listed(text: str) -> str | None:
    star, name = ("*.", text[2:]) if text.startswith("*.") else ("", text)
    host = canonical_host(name.strip())
    return star + host if host and "." in host else None


def _is_among(host: str, names: frozenset[str]) -> bool:
    labels = host.split(".")
    return host in names or any("*." + ".".join(labels[start:]) in names for start in range(1, len(labels)))


def address_of(target: str) -> Address:
    """Return where ``target`` leads; see the module's procedure."""
    if _is_odd(target):
        return Address(problem="odd-signs")
    scheme, rest = _split(target)
    if scheme in _SPOKEN:
        return Address(host=rest.partition("?")[0].rpartition("@")[2].lower(), query="?" in rest)
    if scheme not in CLICKED:
        return Address(problem="scheme")
    if not rest.startswith("//") or rest.startswith("///"):
        return Address(problem="no-host")
    try:
        parts = urlsplit("https:" + rest)
        name, port = parts.netloc, parts.port
    except ValueError:
        return Address(problem="no-host")
    if "@" in name:
        return Address(problem="user-name")
    host, problem = _host(name.removesuffix(f":{port}") if port is not None else name.rstrip(":"))
    told = bool(parts.query) or ";" in parts.path or port not in {None, 80, 443}  # another port is another server
    return Address(host, problem, told)


def _is_odd(target: str) -> bool:
    """Say whether ``target`` has a sign that clients read differently."""
    if target.isascii():
        return bool(_ODD_ASCII.search(target))
    return any(char == "\\" or char <= " " or is_invisible(char) for char in target)


_ODD_ASCII: Final = re.compile(r"[\x00-\x20\\\x7f]")


def _split(target: str) -> tuple[str, str]:
    """Return scheme and rest; an address without a scheme is opened with the page's own."""
    if target.startswith("//"):
        return "https", target
    found = _SCHEME.match(target)
    if found and not re.match(r"[\w.-]+:\d{1,5}(?:[/?#]|$)", target):
        return found[1].lower(), target[found.end() :]
    return "https", "//" + target


def _host(name: str) -> tuple[str, str]:
    if not name or "%" in name:
        return "", "no-host" if not name else "encoded-host"
    if name.startswith("["):
        return _numeric(name.strip("[]"))
    folded = unicodedata.normalize("NFKC", name)
    if folded.casefold() != unicodedata.normalize("NFC", name).casefold() or "\u3002" in name:
        return "", "look-alike-host"
    host = canonical_host(name)
    if host is None:
        return "", "no-host"
    if is_number(host.rpartition(".")[2]):
        return _numeric(host)
    internal = "." not in host or any(host == end or host.endswith("." + end) for end in _INTERNAL)
    return host, "internal-host" if internal else ""


def is_number(label: str) -> bool:
    """Say whether a host that ends in ``label`` is an IPv4 address: the last label decides (WHATWG URL)."""
    return bool(re.fullmatch(r"[0-9]+|0[xX][0-9A-Fa-f]*", label))


def _numeric(text: str) -> tuple[str, str]:
    """Return an IP address in its one form; every number of a private or reserved network is a problem."""
    try:
        found = ipaddress.ip_address(text) if ":" in text else _ipv4(text.split("."))
    except ValueError:
        return "", "no-host"
    mapped = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    inside = not found.is_global or (mapped is not None and not mapped.is_global)
    return str(mapped or found), "internal-host" if inside else ""


def _ipv4(parts: list[str]) -> ipaddress.IPv4Address:
    """Read one to four numbers, decimal, octal or hexadecimal; the last one fills the bytes that are left."""
    if not 1 <= len(parts) <= 4:  # noqa: PLR2004 - bytes of an address
        raise ValueError
    numbers = [
        int(part[2:] or "0", 16) if part[:2] in {"0x", "0X"} else int(part, 8 if part[0] == "0" else 10)
        for part in parts
    ]
    *first, last = numbers
    if any(number > _BYTE for number in first) or last >= 256 ** (5 - len(parts)):
        raise ValueError
    value = sum(number << 8 * (3 - place) for place, number in enumerate(first)) + last
    return ipaddress.IPv4Address(value)
