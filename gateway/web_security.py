"""The outermost layer of the review pages: what a browser may do with them, and what may come in at all.

Guarantees: every response, also a refusal, carries the headers; pages load nothing but this server's own script and
style sheet, run no inline script, turn no text into markup (Trusted Types), and stand in no frame; a request is for a
host that these pages are known by, and its body is a bounded form.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from checkvalve.gateway.http_problems import replay
from checkvalve.gateway.logs import get_logger

MAX_FORM: Final = 65_536
"""Bytes of a form: a reason in words, a digest, and the seals of a batch."""
POLICY: Final = (
    "default-src 'none'; "
    "script-src 'self'; "
    "style-src 'self'; "
    "img-src 'self'; "
    "connect-src 'self'; "
    "form-action 'self'; "
    "base-uri 'none'; "
    "frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-Robots-Tag": "noindex",
}
STATIC: Final = "/review/static/"
_ANY: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104  # compared with, not listened on
_LOCAL: Final = frozenset({"127.0.0.1", "::1", "localhost"})


def hosts_of(origin: str, host: str) -> frozenset[str]:
    """Return the names under which the pages may be asked for; none at all means that every name is fine.

    Args:
        origin: the address in the settings, or empty.
        host: the address the server listens on.
    """
    named = {urlsplit(origin).hostname or ""} if origin else set[str]()
    if not named and host in _ANY:
        return frozenset()
    return frozenset((named | {host} | _LOCAL) - _ANY - {""})


def is_foreign(headers: Headers, host: str) -> bool:
    """Say whether a browser tells that another site sent this form.

    ``null`` is what a browser says of a page that sends no referrer, as ours; the form's seal decides then.
    """
    site = headers.get("sec-fetch-site", "same-origin")
    origin = headers.get("origin", "null")
    try:
        named = urlsplit(origin).netloc.lower()
    except ValueError:  # no browser sends such an address
        return True
    return site not in {"same-origin", "none"} or (origin != "null" and named != host.lower())


class Shield:
    """Adds the headers, checks the host, and bounds bodies."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        """Stand in front of ``app``; ``hosts`` are the names it is known by, or none for any."""
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = over = False

        async def guarded(message: Message) -> None:
            nonlocal started, over
            over = message["type"] == "http.response.body" and not message.get("more_body", False)
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                if not scope["path"].startswith(STATIC):
                    headers["Cache-Control"] = "no-store"
            await send(message)

        if refused := await self._refusal(scope, receive):
            await _plain(guarded, *refused)
            return
        try:
            await self._app(scope, scope.pop("checkvalve.receive", receive), guarded)
        except Exception as error:  # noqa: BLE001  # whatever it says may be content
            get_logger().error("a review page failed", error=type(error).__name__)
            if over:  # the framework has said that something failed, and no more
                return
            if started:
                raise ConnectionAbortedError from None
            await _plain(guarded, 500, "the gateway failed; nothing was decided; the operator has to look")

    async def _refusal(self, scope: Scope, receive: Receive) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        if self._hosts and _name(headers.get("host", "")) not in self._hosts:
            return 421, "these pages are not known by this name (set review_origin)"
        if scope["method"] not in {"GET", "HEAD", "POST"}:
            return 405, "pages are read and forms are sent, nothing else"
        if scope["method"] != "POST":
            return None
        if headers.get("content-type", "").split(";")[0].strip().lower() != "application/x-www-form-urlencoded":
            return 415, "this is no form"
        if is_foreign(headers, headers.get("host", "")):
            return 403, "this form was sent from another site; nothing was done"
        body = await _bounded(receive)
        if body is None:
            return 413, f"a form has at most {MAX_FORM} bytes"
        scope["checkvalve.receive"] = replay(body, receive)
        return None


def _name(host: str) -> str:
    """Return the name in a Host header, without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.rpartition(":")[0].lower() if host.rpartition(":")[2].isdigit() and ":" in host else host.lower()


async def _bounded(receive: Receive) -> bytes | None:
    found, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        found += message.get("body", b"")
        more = message.get("more_body", False)
        if len(found) > MAX_FORM:
            return None
    return bytes(found)


async def _plain(send: Send, status: int, text: str) -> None:
    head = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": f"{text}\n".encode()})


__all__ = ["HEADERS", "MAX_FORM", "POLICY", "STATIC", "Shield", "hosts_of", "is_foreign"]
