"""One POST to an address that somebody configured: over TLS, to a public address, and nowhere else.

1. Look the host up. 2. Refuse it where one of its addresses is not public, unless the host is allowed by name.
3. Connect to an address that was looked at, not to the name again, and to a few of them at most; the certificate has
to be the name's. 4. Send, read the status, and close: no redirect is followed, no proxy is used, and no body is taken
in, unless the caller says how many bytes of one.

Guarantees: bounded in time as a whole and in what is read; an error is a stable word, without anything the other side
said. What it does not see: a public host that passes requests on to a private one.
"""

from __future__ import annotations

import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

TIMEOUT: Final = 10.0
"""Seconds for one step of a connection."""
DEADLINE: Final = 30.0
"""Seconds for the whole of it, however slowly the other side speaks; connecting is a part of it."""
MAX_ADDRESSES: Final = 4
"""Addresses of one name that are tried."""
_MAX_RETRY_AFTER: Final = 86_400  # seconds
_DIGITS: Final = re.compile(r"[0-9]{1,9}")
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_LOCAL_NAT64: Final = ipaddress.ip_network("64:ff9b:1::/48")
_COMPATIBLE: Final = ipaddress.ip_network("::/96")
_RELAYS: Final = ipaddress.ip_network("192.88.99.0/24")
"""Relays of 6to4, which are no more (RFC 7526): whoever answers there now is nobody's choice."""
_Ip: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


class UnsafeAddressError(Exception):
    """The host has an address that is not public, and is not allowed by name."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back: an HTTP status, or a word for why there is none. ``retry_after`` is in seconds."""

    status: int = 0
    code: str = ""
    retry_after: float = 0.0
    sent: bool = field(default=False)
    body: bytes = field(default=b"", repr=False)

    @property
    def ok(self) -> bool:
        """Say whether it arrived."""
        return http.HTTPStatus.OK <= self.status < http.HTTPStatus.MULTIPLE_CHOICES

    @property
    def word(self) -> str:
        """A stable word for a failure."""
        return self.code or f"status_{self.status}"


def is_public(address: str) -> bool:
    """Say whether an IP address is one of the internet, also where it carries another one inside."""
    found: _Ip = ipaddress.ip_address(address.partition("%")[0])
    inner = _inside(found)
    outer = [] if found in _NAT64 else [found]  # such an address is nothing but the one inside
    return all(_is_public(item) for item in (*outer, *inner))


def _is_public(found: _Ip) -> bool:
    odd = found.is_multicast or found.is_reserved or found.is_unspecified or found.is_loopback or found.is_link_local
    odd = odd or found in _RELAYS or (isinstance(found, ipaddress.IPv6Address) and found.is_site_local)
    return found.is_global and not found.is_private and not odd


def _inside(found: _Ip) -> list[_Ip]:
    """Return the IPv4 addresses that an IPv6 address leads to."""
    if isinstance(found, ipaddress.IPv4Address):
        return []
    inner: list[_Ip] = [item for item in (found.ipv4_mapped, found.sixtofour) if item is not None]
    inner += list(found.teredo or ())
    if any(found in network for network in (_NAT64, _LOCAL_NAT64, _COMPATIBLE)):
        inner.append(ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF))
    return inner


def addresses(host: str, port: int, private_hosts: Collection[str] = ()) -> list[tuple[int, str]]:
    """Return family and address of everything that ``host`` resolves to.

    Raises:
        UnsafeAddressError: one of them is not public, and the host is not in ``private_hosts``.
        OSError: it cannot be looked up.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    pairs = list(dict.fromkeys((int(family), str(place[0])) for family, _, _, _, place in found))
    if host.lower() not in private_hosts and not all(is_public(address) for _, address in pairs):
        raise UnsafeAddressError(host)
    return pairs


class _Checked(http.client.HTTPSConnection):
    """A connection to an address that was looked at; the name is only what the certificate is compared with."""

    def __init__(
        self, host: str, port: int, found: list[tuple[int, str]], context: ssl.SSLContext, deadline: float
    ) -> None:
        super().__init__(host, port, timeout=TIMEOUT, context=context)
        self._found, self._tls = found[:MAX_ADDRESSES], context
        self.seconds, self._until = deadline, time.monotonic() + deadline

    def left(self) -> float:
        """Return the seconds that are left for everything.

        Raises:
            TimeoutError: there are none.
        """
        if (left := self._until - time.monotonic()) <= 0:
            raise TimeoutError
        return left

    def connect(self) -> None:
        """Try each address once, while there is time; whoever cuts the connection reaches each step of it."""
        for number, (family, address) in enumerate(self._found, 1):
            bound = min(TIMEOUT, self.left())
            self.sock = plain = socket.socket(socket.AddressFamily(family), socket.SOCK_STREAM)
            try:
                plain.settimeout(bound)
                plain.connect((address, self.port))
                plain.settimeout(min(TIMEOUT, self.left()))
                self.sock = self._tls.wrap_socket(plain, server_hostname=self.host, do_handshake_on_connect=False)
                self.sock.do_handshake()
                return
            except OSError:
                self.close()
                if number == len(self._found):
                    raise


def post(  # each is a bound
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    private_hosts: Collection[str] = (),
    ca_file: Path | None = None,
    keep: int = 0,
    deadline: float | None = None,
) -> Answered:
    """Send ``body`` to ``url``, once. Never raises for what the other side or the network does.

    ``keep`` is how many bytes of an answer are taken in; a longer one is ``too_long``. ``deadline`` is in seconds,
    :data:`DEADLINE` where none is given.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or http.client.HTTPS_PORT
    if parts.scheme != "https" or not host:
        return Answered(code="not_https")
    try:
        context = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
        found = addresses(host, port, private_hosts)
        connection = _Checked(host, port, found, context, DEADLINE if deadline is None else deadline)
    except UnsafeAddressError:
        return Answered(code="private_address")
    except (OSError, ValueError, UnicodeError):
        return Answered(code="no_address")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _sent(connection, path, body, headers, keep)


def _sent(connection: _Checked, path: str, body: bytes, headers: Mapping[str, str], keep: int) -> Answered:
    late = threading.Event()
    over = threading.Timer(connection.seconds, lambda: _cut(connection, late))
    over.daemon = True
    over.start()
    try:
        connection.request("POST", path, body, {**headers, "Connection": "close", "User-Agent": "checkvalve"})
        response = connection.getresponse()
        found = response.read(keep + 1) if keep else b""
        if late.is_set() or len(found) > keep:
            return Answered(code="timeout" if late.is_set() else "too_long", sent=True)
        again = _seconds(response.getheader("Retry-After"))
        return Answered(response.status, retry_after=again, sent=True, body=found)
    except ssl.SSLCertVerificationError:
        return Answered(code="bad_certificate")
    except TimeoutError:
        return Answered(code="timeout")
    except (OSError, http.client.HTTPException, ValueError):
        return Answered(code="timeout" if late.is_set() else "not_connected")
    finally:
        over.cancel()
        connection.close()


def _cut(connection: http.client.HTTPSConnection, late: threading.Event) -> None:
    late.set()
    if (open_ := connection.sock) is not None:
        try:
            socket.socket.shutdown(open_, socket.SHUT_RDWR)  # a TLS socket's own would go on in the clear
        except OSError:
            return


def _seconds(text: str | None) -> float:
    """Return what a server asks for in whole seconds; a date, or anything else, asks for nothing."""
    if not text or not _DIGITS.fullmatch(text):
        return 0.0
    return float(min(int(text), _MAX_RETRY_AFTER))


__all__ = ["DEADLINE", "Answered", "UnsafeAddressError", "addresses", "is_public", "post"]
