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

from checkvalve.approvals.causes import MEANINGS, Cause, Present
from checkvalve.approvals.errors import ApprovalError, NotFoundError
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, parse_strict
from checkvalve.gateway.errors import TokenError
from checkvalve.gateway.http_causes import STATUS, code_of
from checkvalve.gateway.logs import get_logger

MAX_BODY: Final = 262_144
"""Bytes of a request: a task is a page of words; documents come in through tools."""
MEDIA: Final = "application/problem+json"
_AT_THE_DOOR: Final = {
    401: Cause.NOT_AUTHENTICATED,
    403: Cause.NOT_ALLOWED,
    404: Cause.UNKNOWN,
    409: Cause.CONFLICT,
    413: Cause.TOO_LARGE,
    415: Cause.NOT_JSON,
    428: Cause.DIGEST_NEEDED,
    429: Cause.TOO_OFTEN,
    500: Cause.FAILED,
    503: Cause.FAILED,
}
"""The cause of what is refused before the queue is asked; of every other status :attr:`Cause.UNUSABLE`."""


class Problem(Exception):  # noqa: N818  # RFC 9457's word
    """One coded answer that says no, and what to do. ``cause`` is the exact reason, ``code`` a coarser word for it."""

    def __init__(  # each is a member of the answer
        self,
        status: int,
        code: str,
        detail: str,
        remedy: str = "",
        *,
        cause: Cause | None = None,
        present: Present | None = None,
    ) -> None:
        super().__init__(code)
        self.status, self.code, self.detail, self.remedy = status, code, detail, remedy
        self.cause, self.present = cause or _AT_THE_DOOR.get(status, Cause.UNUSABLE), present or Present()

    def response(self) -> JSONResponse:
        """Return it as a response; ``ETag`` is that of the call as it is now, where the problem is about one."""
        headers = {"WWW-Authenticate": "Bearer"} if self.status == HTTPStatus.UNAUTHORIZED else {}
        if self.present.digest:
            headers["ETag"] = f'"{self.present.digest}"'
        return JSONResponse(self.body(), self.status, headers, media_type=MEDIA)

    def body(self) -> dict[str, JSON]:
        """Return the members of RFC 9457, with ``code``, ``cause``, ``remedy`` and how it stands as further ones."""
        return {
            "type": f"urn:checkvalve:problem:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "code": self.code,
            "cause": self.cause.value,
            "detail": self.detail,
            "remedy": self.remedy,
            **self.present.to_json(),
        }


def problem_of(error: ApprovalError, none: tuple[str, str, str]) -> Problem:
    """Return the problem for what was refused; the queue's own words hold no content.

    ``none`` is what to say where there is no such thing: code, detail and remedy.
    """
    if isinstance(error, NotFoundError):
        return Problem(404, *none, cause=error.cause)
    if code := code_of(error):
        status = STATUS[error.cause]
        return Problem(status, code, error.message, error.remedy, cause=error.cause, present=error.present)
    return Problem(503, "store_failed", "the store cannot be used now", "try again later", cause=error.cause)


def add_handlers(app: FastAPI) -> None:
    """Let every error of ``app`` become a problem, and its description have what a problem is."""
    plain = app.openapi

    def described() -> dict[str, Any]:
        found = plain()
        found.setdefault("components", {}).setdefault("schemas", {})["Problem"] = _SHAPE
        return found

    app.openapi = described  # type: ignore[method-assign]  # as its documentation says

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
        found = problem_of(error, ("not_found", "there is no such thing", "look at what there is"))
        if found.status == HTTPStatus.SERVICE_UNAVAILABLE:
            get_logger().error("the store failed", error=type(error).__name__)
        return found.response()


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


def problem_schema(status: int = 0) -> dict[str, object]:
    """Return how the problems of one status are described in the API's own description, with all their causes."""
    causes = [cause.value for cause in Cause if STATUS[cause] == status]
    said = f"A problem; causes: {', '.join(causes)}" if causes else "A problem"
    return {"description": said, "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}}


_TEXT: Final = {"type": "string"}
_SHAPE: Final[dict[str, object]] = {
    "type": "object",
    "required": ["type", "title", "status", "code", "cause", "detail", "remedy"],
    "properties": {
        **dict.fromkeys(("type", "title", "code", "detail", "remedy"), _TEXT),
        "status": {"type": "integer"},
        "cause": {
            **_TEXT,
            "enum": [cause.value for cause in Cause],
            "description": "; ".join(f"{cause.value}: {MEANINGS[cause]}" for cause in Cause),
        },
        "state": {**_TEXT, "description": "of the call as it is now"},
        "decided_by": {**_TEXT, "description": "who decided before"},
        "decided_at": {**_TEXT, "format": "date-time"},
        "version": {"type": "integer"},
        "digest": {**_TEXT, "description": "what a decision names now; also in ETag"},
    },
}


__all__ = ["MAX_BODY", "Bounds", "Problem", "add_handlers", "problem_of", "problem_schema"]
