"""Asking an organisation's sign-in: bounded in time and size, over TLS, without redirects and proxies.

Guarantees: an address is used only over TLS, or on this machine where the issuer itself is there; what comes back is a
JSON object or one error; nothing of it stands in the error.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from checkvalve.gateway.errors import MissingExtraError, OidcError

TIMEOUT: Final = 5.0
"""Seconds for one step of a connection."""
DEADLINE: Final = 15.0
"""Seconds for a whole answer."""
MAX_ANSWER: Final = 262_144
"""Bytes of an answer."""
_LOCAL: Final = frozenset({"localhost", "127.0.0.1"})
_OK: Final = 200


def ask(
    url: str, form: Mapping[str, str] | None = None, *, login: tuple[str, str] | None = None, local: bool = False
) -> dict[str, Any]:
    """Return the JSON object at an address; with ``form`` it is sent there, with ``login`` as HTTP Basic.

    Raises:
        OidcError: the address is not safe, or there was no such answer.
        MissingExtraError: the extra ``oidc`` is not installed.
    """
    try:
        import httpx  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise MissingExtraError.for_extra("httpx", "oidc") from error
    check_address(url, local=local)
    until, found = time.monotonic() + DEADLINE, bytearray()
    try:
        with (
            httpx.Client(timeout=TIMEOUT, follow_redirects=False, trust_env=False) as client,
            client.stream(
                "GET" if form is None else "POST",
                url,
                data=dict(form) if form is not None else None,
                auth=login,
                headers={"Accept": "application/json"},
            ) as answer,
        ):
            for part in answer.iter_bytes():
                found += part
                if len(found) > MAX_ANSWER or time.monotonic() > until:
                    raise OidcError("too_long", "the answer of the sign-in service is too long or too slow")
            status = answer.status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise OidcError("unreachable", "the sign-in service cannot be reached") from error
    if status != _OK:
        raise OidcError(f"status_{status}", "the sign-in service refused")
    try:
        body = json.loads(found)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise OidcError("not_json", "the sign-in service does not answer as one does")
    return body


def check_address(url: object, *, local: bool) -> str:
    """Return an address that may be asked, or that people may be sent to.

    Raises:
        OidcError: it is none, or not over TLS.
    """
    text = url if isinstance(url, str) else ""
    try:
        parts = urlsplit(text)
        scheme, host = parts.scheme, parts.hostname
    except ValueError:
        scheme, host = "", None
    plain = text.isascii() and text.isprintable() and not any(char in text for char in " \"'<>")
    if not host or not plain or not (scheme == "https" or (local and scheme == "http" and host in _LOCAL)):
        raise OidcError("address", "the sign-in service names an address that is not over TLS")
    return text


__all__ = ["DEADLINE", "MAX_ANSWER", "ask", "check_address"]
