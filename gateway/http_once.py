"""Every request that changes something, once: what its ``Idempotency-Key`` does, on all routes of the API alike.

1. The credential is checked: nobody uses up a key, or is told an answer, without one. 2. The key is taken in the
store, so that of two equal requests, also at two processes, one goes on; a key that came with another request is
refused. 3. The request is carried out. One that is refused gives its key back. 4. How it ended is kept, sealed
(:mod:`kept_answers`), and the same request again is told that. 5. While it is carried out the second one waits a
little; where nobody knows how it ended, because a process died in the middle, it is refused: nothing is done twice.

A router has this as its ``route_class``. A route that takes the key itself has a stronger way: the log of the call says
whether the request was done (:mod:`http_deciding`), or a run's name follows from the key (:mod:`http_run_once`).

Guarantees: without the header nothing is different; passwords are no part of what is kept, not even as a digest.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeAlias, cast

from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from checkvalve.approvals import request_keys
from checkvalve.approvals.causes import Cause
from checkvalve.approvals.errors import ApprovalError
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.errors import TokenError
from checkvalve.gateway.http_callers import who_sends
from checkvalve.gateway.http_causes import STATUS
from checkvalve.gateway.http_deciding import Key, known_of
from checkvalve.gateway.http_problems import Problem
from checkvalve.gateway.http_runs import RunServer
from checkvalve.gateway.http_tokens import ApiTokens
from checkvalve.gateway.kept_answers import KEPT_HEADERS, Answered, seal, unseal
from checkvalve.gateway.logs import get_logger

HEADER: Final = "Idempotency-Key"
CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
WITHOUT: Final[Mapping[str, str]] = {
    "POST /approvals/{name}/reveal": "every look at what is not shown is one of its own, and the log has each",
    "POST /approvals/{name}/standing-rule/dry-run": "nothing is saved",
    "POST /channels/teams/{name}": "Teams sends no such header; each signed message has an id, and is taken once",
}
"""Routes that change something by their method and take no key, and why."""
_WAIT: Final = 20
"""How often the second of two equal requests looks whether the first one has ended."""
_EVERY: Final = 0.25  # seconds between two looks
_SECRET: Final = "password"  # noqa: S105  # the name of a member
_NOTHING_DONE: Final = frozenset({Cause.BUSY, Cause.DAMAGED})
"""Causes of a 503 that say that nothing was changed; of any other one nobody knows."""
_Handler: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]


def declared(idempotency_key: Key = "") -> None:
    """Say in the description of a route that it takes the key; :class:`OnceRoute` reads it."""


class OnceRoute(APIRoute):
    """A route whose requests can be sent twice; one that takes the key itself, or is in :data:`WITHOUT`, stays."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Take what every route takes."""
        methods = CHANGING & {str(name).upper() for name in options.get("methods") or ()}
        own = "idempotency_key" in inspect.signature(endpoint).parameters
        self.once = bool(methods) and not own and not any(f"{one} {path}" in WITHOUT for one in methods)
        if self.once:
            options["dependencies"] = [*(options.get("dependencies") or ()), Depends(declared)]
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> _Handler:
        """Return the handler, with the key in front of it."""
        plain = super().get_route_handler()
        if not self.once:
            return plain

        async def handle(request: Request) -> Response:
            credential = _credential(request)
            if not request.headers.get(HEADER) or not credential:  # without a credential it is refused in there
                return await plain(request)
            return await _once(await _sent(request, credential), request, plain)

        return handle


@dataclass(frozen=True, slots=True)
class _Sent:
    """One request with a key: whose, by which credential, and what."""

    server: RunServer
    who: str
    credential: str
    key: str
    what: JSON

    @property
    def claim(self) -> tuple[Any, str, str, JSON]:
        return self.server.gateway.store, self.who, self.key, self.what


async def _sent(request: Request, credential: str) -> _Sent:
    server = cast(RunServer, request.app.state.server)
    who = await run_in_threadpool(who_sends, server, cast(ApiTokens, request.app.state.tokens), credential)
    asked = [request.method, request.url.path, request.url.query, request.headers.get("If-Match", "")]
    return _Sent(server, who, credential, request.headers[HEADER], [*asked, _said(await request.body())])


def _credential(request: Request) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.casefold() == "bearer" else ""


def _said(body: bytes) -> JSON:
    """Return what was sent, without the password: a digest of one could be guessed."""
    found: JSON = json.loads(body) if body else None  # it was read by the strict rules before
    if isinstance(found, dict):
        return {key: value for key, value in found.items() if key != _SECRET}
    return found


async def _once(sent: _Sent, request: Request, plain: _Handler) -> Response:
    """Carry a request out, or tell how it ended."""
    for _ in range(_WAIT):
        known = await run_in_threadpool(known_of, sent.server, sent.who, sent.key, sent.what)
        if known == "new":
            return await _first(sent, request, plain)
        kept = await run_in_threadpool(request_keys.answer_of, *sent.claim)
        if kept is not None:
            return _again(sent, kept)
        await asyncio.sleep(_EVERY)
    text = "this request came before, and nobody knows yet how it ended"
    raise Problem(409, "request_open", text, "look at what there is; only if it is not done, draw a new key")


async def _first(sent: _Sent, request: Request, plain: _Handler) -> Response:
    try:
        response = await plain(request)
    except Exception as error:
        if _did_nothing(error):
            await run_in_threadpool(request_keys.forget, *sent.claim)
        raise
    await run_in_threadpool(_keep, sent, response)
    return response


def _did_nothing(error: Exception) -> bool:
    """Say whether it is certain that a request which failed has changed nothing."""
    if isinstance(error, Problem | ApprovalError):
        status = error.status if isinstance(error, Problem) else STATUS[error.cause]
        return status < HTTPStatus.INTERNAL_SERVER_ERROR or error.cause in _NOTHING_DONE
    return isinstance(error, RequestValidationError | HTTPException | TokenError)


def _keep(sent: _Sent, response: Response) -> None:
    """Keep an answer. Where that fails the answer is given all the same, and the key stays taken."""
    headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    body = bytes(response.body).decode()
    try:
        sealed = seal(Answered(response.status_code, headers, body), sent.credential, sent.who, sent.what)
        request_keys.keep_answer(*sent.claim, sealed)
    except ApprovalError as error:
        get_logger().warning("an answer was not kept for its key", error=type(error).__name__)


def _again(sent: _Sent, kept: bytes) -> Response:
    found = unseal(kept, sent.credential, sent.who, sent.what)
    if found is None:
        text = "this request was carried out, and its answer cannot be told again"
        raise Problem(409, "request_done", text, "look at what there is", cause=Cause.DONE_ALREADY)
    response = Response(found.body, found.status, found.headers)
    response.headers["Idempotency-Replayed"] = "true"
    return response


__all__ = ["CHANGING", "HEADER", "WITHOUT", "OnceRoute"]
