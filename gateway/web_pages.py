"""The review pages as one application, and the site that serves them beside the HTTP API.

Guarantees: everything under ``/review`` passes the shield; what code of ours says no with becomes a page that says why
and that nothing was decided; nothing of a request is logged.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from checkvalve.approvals.card import as_text
from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.errors import (
    ApprovalError,
    BudgetError,
    ConflictError,
    CredentialError,
    MandateError,
    NotAdoptedError,
    NotAllowedError,
    NoteNeededError,
    NotFoundError,
    OtherChannelError,
    QueueError,
    RoleNeededError,
    StandingRuleError,
    StepUpError,
    StoreCorruptError,
)
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.refusals import OwnCallError, RequesterUnknownError
from checkvalve.approvals.sessions import Sessions
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway import (
    web_account,
    web_answers,
    web_delegations,
    web_edit,
    web_glass,
    web_item,
    web_links,
    web_lists,
    web_live,
    web_me,
    web_oidc,
    web_people,
    web_prove,
    web_queue,
    web_receipt,
    web_report,
    web_reveal,
    web_revoke,
    web_rules,
    web_seeds,
    web_standing,
    web_talk,
    web_undo,
)
from checkvalve.gateway.log_keeper import log_place
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.oidc import Provider
from checkvalve.gateway.oidc_rules import origin_of, provider_of
from checkvalve.gateway.redeciding import deciding_by
from checkvalve.gateway.rule_impact import Place
from checkvalve.gateway.rulefiles import sign_in_counts
from checkvalve.gateway.settings import Settings
from checkvalve.gateway.web_desk import HOME, STATIC_FOLDER, Desk, SignIn, Stop, Visit, desk_of, session_of, words_of
from checkvalve.gateway.web_door import Door, site_of
from checkvalve.gateway.web_kept import kept, page_again
from checkvalve.gateway.web_security import Shield, hosts_of

_ROUTERS: Final[tuple[APIRouter, ...]] = (
    web_account.router,
    web_answers.router,
    web_delegations.router,
    web_edit.router,
    web_glass.router,
    web_item.router,
    web_links.router,
    web_lists.router,
    web_live.router,
    web_me.router,
    web_oidc.router,
    web_people.router,
    web_prove.router,
    web_queue.router,
    web_receipt.router,
    web_report.router,
    web_rules.router,
    web_reveal.router,
    web_revoke.router,
    web_seeds.router,
    web_standing.router,
    web_talk.router,
    web_undo.router,
)
CAUSE: Final = "Checkvalve-Cause"
"""The header of a page that says no: the cause of it, for programs."""
_CODES: Final[tuple[tuple[type[ApprovalError], int, str], ...]] = (
    (NotFoundError, 404, "missing"),
    (RoleNeededError, 403, "role"),
    (OtherChannelError, 403, "channel"),
    (OwnCallError, 403, "own"),
    (RequesterUnknownError, 403, "own"),
    (NotAllowedError, 403, "refused"),
    (NoteNeededError, 422, "reason"),
    (BudgetError, 429, "budget"),
    (ConflictError, 409, "moved"),
    (StepUpError, 403, "stepup"),
    (QueueError, 409, "refused"),
    (MandateError, 422, "mandate"),
    (StandingRuleError, 422, "standing"),
    (CredentialError, 403, "credential"),
    (NotAdoptedError, 409, "unadopted"),
    (StoreCorruptError, 503, "corrupt"),
)


def open_desk(
    queue: Queue,
    settings: Settings,
    *,
    unpack: Callable[[JSON], str] = as_text,
    port: int | None = None,
    settings_file: Path | None = None,
) -> Desk:
    """Return what the pages work with, as the settings say; ``unpack`` gives the text of a stored result.

    ``port`` is the one that is listened on, where it is not that of the settings; ``settings_file`` is where those are
    from, which no edited call may touch either.
    """
    origin = origin_of(settings, port)
    return Desk(
        queue,
        SqlContentStore(queue.store),
        Sessions(queue.store, queue.clock, idle=settings.review_idle, absolute=settings.review_session),
        Door(queue.reviewers, site_of(origin), _provider(queue, settings, origin)),
        unpack,
        deciding_by(settings, settings_file),
        origin=origin,
        single_user=settings.single_user,
        secure=settings.review_origin.startswith("https://"),
        log=log_place(settings),
        rules=Place(queue, settings, settings_file),
        seeded_items=settings.seeded_items,
    )


def _provider(queue: Queue, settings: Settings, origin: str) -> Provider | None:
    """Return the organisation's sign-in; none where its settings are not those that people adopted."""
    found = provider_of(settings, origin)
    if found is not None and not sign_in_counts(queue, settings):
        get_logger().error("nobody comes in by the organisation: its settings were not adopted (checkvalve rules)")
        return None
    return found


def create_pages(desk: Desk, settings: Settings) -> ASGIApp:
    """Return the pages behind their shield."""
    app = FastAPI(title="Checkvalve review", openapi_url=None, docs_url=None, redoc_url=None)
    app.state.desk = desk
    for router in _ROUTERS:
        app.include_router(router, prefix=HOME)
    app.mount(f"{HOME}/static", StaticFiles(directory=STATIC_FOLDER))
    _add_handlers(app)
    return Shield(app, hosts_of(settings.review_origin, settings.host))


class Site:
    """The pages under ``/review``, and everything else to the API, where there is one."""

    def __init__(self, pages: ASGIApp, api: ASGIApp | None = None) -> None:
        """Serve both."""
        self._pages, self._api = pages, api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the life of the API's worker."""
        path = scope.get("path", "")
        if scope["type"] == "http" and (path == HOME or path.startswith(f"{HOME}/")):
            await self._pages(scope, receive, send)
        elif self._api is not None:
            await self._api(scope, receive, send)
        elif scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            answer: Response = RedirectResponse(HOME, 307) if path == "/" else _elsewhere(path)
            await answer(scope, receive, send)


def _elsewhere(path: str) -> Response:
    if path == "/healthz":
        return PlainTextResponse('{"status":"ok"}', media_type="application/json")
    return PlainTextResponse("only the review pages are served here: /review\n", 404)


async def _live(receive: Receive, send: Send) -> None:
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})


def _add_handlers(app: FastAPI) -> None:
    """Let every no become a page."""

    @app.exception_handler(SignIn)
    async def _sign_in(request: Request, wanted: SignIn) -> Response:
        if wanted.again:
            return desk_of(request).page("again.html", words_of(request), path=wanted.path)
        return RedirectResponse(f"{HOME}/signin?{urlencode({'next': wanted.path or HOME})}", 303)

    @app.exception_handler(Stop)
    def _stop(request: Request, stop: Stop) -> Response:
        return _said(request, stop)

    @app.exception_handler(RequestValidationError)
    def _invalid(request: Request, _: RequestValidationError) -> Response:
        return _said(request, Stop(404, "missing"))

    @app.exception_handler(HTTPException)
    def _http(request: Request, error: HTTPException) -> Response:
        return _said(request, Stop(error.status_code, "missing"))

    @app.exception_handler(ApprovalError)
    def _refused(request: Request, error: ApprovalError) -> Response:
        status, code = next(((s, c) for kind, s, c in _CODES if isinstance(error, kind)), (503, "store"))
        if status == 503:  # noqa: PLR2004  # the operator has to know
            get_logger().error("the store failed", error=type(error).__name__)
        detail = error.message if isinstance(error, QueueError) else ""
        detail = str(error) if isinstance(error, NotAllowedError) and code != "own" else detail  # it says who could
        name = request.path_params.get("name", "")
        where = f"{HOME}/items/{name}" if "/items/" in request.url.path and status != 404 else HOME  # noqa: PLR2004
        return _said(request, Stop(status, code, detail, back=where, cause=error.cause))


def _said(request: Request, stop: Stop) -> Response:
    response = _page_of(request, stop)
    if stop.cause is not None:
        response.headers[CAUSE] = stop.cause.value
    return response


def _page_of(request: Request, stop: Stop) -> Response:
    try:
        visit = _maybe(request)
    except ApprovalError:  # the store is what failed
        visit = None
    typed = kept(request) if visit is not None else None
    again = page_again(visit, stop, typed) if visit is not None and typed is not None else None
    if again is not None:
        return again
    said = typed.words() if typed is not None else []
    response = desk_of(request).page("stop.html", words_of(request), stop.status, visit=visit, stop=stop, said=said)
    if stop.status == 429:  # noqa: PLR2004  # too many
        response.headers["Retry-After"] = "60"
    return response


def _maybe(request: Request) -> Visit | None:
    session = session_of(request, touch=False)
    host = request.url.hostname or ""
    return None if session is None else Visit(desk_of(request), session, words_of(request), request.url.path, host)


__all__ = ["Site", "create_pages", "open_desk"]
