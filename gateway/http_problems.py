"""Errors of the HTTP API as ``application/problem+json`` (RFC 9457), and the bounds that hold before any of it runs.

Guarantees: a body is bounded, read by the strict JSON rules, and never repeated in an error; whatever code raises
becomes a problem without its text, and its class goes into the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from checkvalve.approvals.errors import ApprovalError, QueueError
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import parse_strict
from checkvalve.gateway.errors import TokenError
from checkvalve.gateway.logs import get_logger

MAX_BODY: Final = 262_144
"""Bytes of a request: a task is a page of words; documents come in through tools."""
MEDIA: Final = "application/problem+json"


class Problem(Exception):  # noqa: N818  # RFC 9457's word
    """One coded answer that says no, and what to do."""

    def __init__(self, status: int, code: str, detail: str, remedy: str = "") -> None:
        super().__init__(code)
        self.status, self.code, self.detail, self.remedy = status, code, detail, remedy

    def response(self) -> JSONResponse:
        """Return it as a response."""
        headers = {"WWW-Authenticate": "Bearer"} if self.status == HTTPStatus.UNAUTHORIZED else None
        return JSONResponse(self.body(), self.status, headers, media_type=MEDIA)

    def body(self) -> dict[str, str | int]:
        """Return the members of RFC 9457, with ``code`` and ``remedy`` as further ones."""
        return {
            "type": f"urn:checkvalve:problem:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            "remedy": self.remedy,
        }


def add_handlers(app: FastAPI) -> None:
    """Let every error of ``app`` become a problem."""

    @app.exception_handler(Problem)
    async def _problem(_: Request, error: Problem) -> JSONResponse:
        return error.response()

    @app.exception_handler(TokenError)
    async def _token(_: Request, error: TokenError) -> JSONResponse:
        return Problem(401, "not_authenticated", "the token was not accepted", error.remedy).response()

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        places = sorted({".".join(str(step) for step in _declared(item)) for item in error.errors()})
        known = ", ".join(place for place in places if place.isascii() and place.isprintable())[:300]
        return Problem(422, "invalid_request", f"not as described: {known}", "see /openapi.json").response()

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_").replace("-", "_")
        return Problem(error.status_code, code, HTTPStatus(error.status_code).phrase).response()

    @app.exception_handler(ApprovalError)
    async def _store(_: Request, error: ApprovalError) -> JSONResponse:
        if isinstance(error, QueueError):
            return Problem(409, "conflict", "the store refused this", "look at the run and try again").response()
        get_logger().error("the store failed", error=type(error).__name__)
        return Problem(503, "store_failed", "the store cannot be used now", "try again later").response()


def _declared(item: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return where something is wrong, in names that we declared: that of a further key is the sender's word."""
    place = tuple(item["loc"])
    return place[:-1] if item["type"] == "extra_forbidden" else place


class Bounds:
    """The outermost layer: bounded bodies of strict JSON in, and nothing but problems out when code fails."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand in front of ``app``."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def note(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, replay(await _body(scope, receive), receive), note)
        except Problem as error:
            await error.response()(scope, receive, send)
        except Exception as error:  # noqa: BLE001  # code of ours or of a tool: its words may be content
            get_logger().error("a request failed", error=type(error).__name__)
            if started:
                raise ConnectionAbortedError from None  # the head is out: let the connection break, and say no more
            await Problem(500, "internal", "the gateway failed", "the operator has to look").response()(
                scope, receive, send
            )


async def _body(scope: Scope, receive: Receive) -> bytes:
    """Return the whole body, under the bounds.

    Raises:
        Problem: it is too large, not JSON, or not said to be.
    """
    headers: Mapping[bytes, bytes] = dict(scope["headers"])
    found, more = bytearray(), True
    while more and scope["method"] not in {"GET", "HEAD"}:
        message = await receive()
        if message["type"] != "http.request":
            break
        found += message.get("body", b"")
        more = message.get("more_body", False)
        if len(found) > MAX_BODY:
            raise Problem(413, "too_large", f"a request has at most {MAX_BODY} bytes", "send less")
    if found:
        media = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if media != b"application/json":
            raise Problem(415, "not_json", "bodies are JSON", "send Content-Type: application/json")
        try:
            parse_strict(bytes(found))
        except HostileInputError as error:
            raise Problem(400, "not_json", f"not acceptable JSON [{error.code}]", "send one JSON object") from None
    return bytes(found)


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a way to receive a body that was read already once more; what follows it comes from ``receive``."""
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def problem_schema() -> dict[str, object]:
    """Return how a problem is described in the API's own description."""
    text = {"type": "string"}
    shape = {
        "type": "object",
        "properties": {"code": text, "detail": text, "remedy": text, "status": {"type": "integer"}},
    }
    return {"description": "A problem", "content": {MEDIA: {"schema": shape}}}


__all__ = ["MAX_BODY", "Bounds", "Problem", "add_handlers", "problem_schema"]
