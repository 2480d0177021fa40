"""Signing in and out of the review pages, the first start, and the choice of a language.

Guarantees: no page creates a reviewer but the one behind the one-time link of a start without any; a token that is
wrong is refused in the same words whatever is wrong with it; tries are counted before they cost anything.
"""

from __future__ import annotations

import secrets
from typing import Annotated, Final

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from checkvalve.approvals.errors import CredentialError, QueueError
from checkvalve.gateway.web_desk import (
    BEFORE_COOKIE,
    HOME,
    LANGUAGE_COOKIE,
    Desk,
    Fields,
    Form,
    Sent,
    Stop,
    back,
    desk_of,
    words_of,
)
from checkvalve.gateway.web_words import LANGUAGES

_YEAR: Final = 31_536_000
_MAX_PATH: Final = 300
router: Final = APIRouter()


def _before(request: Request, template: str, status: int = 200, **values: object) -> Response:
    """Return a page for somebody who is not signed in, with a form that only this browser can send."""
    desk = desk_of(request)
    nonce = request.cookies.get(BEFORE_COOKIE, "") or secrets.token_urlsafe(32)
    response = desk.page(template, words_of(request), status, seal=desk.before.seal(nonce), **values)
    desk.set_cookie(response, BEFORE_COOKIE, nonce)
    return response


def _check_before(request: Request, form: Form) -> None:
    if not desk_of(request).before.is_sealed(form.get("seal", [""])[-1], request.cookies.get(BEFORE_COOKIE, "")):
        raise Stop(403, "seal", back=f"{HOME}/signin")


@router.get("/signin")
def sign_in_page(request: Request, next: str = HOME) -> Response:  # noqa: A002  # the field's name
    """Ask for the credential."""
    return _before(
        request, "signin.html", next=_own(next), failed=False, nobody=not desk_of(request).queue.reviewers.list()
    )


@router.post("/signin")
def sign_in(request: Request, form: Fields) -> Response:
    """Let a reviewer in: 1. the form is ours, 2. the try is counted, 3. the token is looked at, 4. a new session."""
    _check_before(request, form)
    desk, address = desk_of(request), request.client.host if request.client else ""
    if not desk.throttle.may_try(address):
        raise Stop(429, "tries", back=f"{HOME}/signin")
    where = _own(form.get("next", [HOME])[-1])
    try:
        reviewer = desk.queue.reviewers.authenticate(form.get("token", [""])[-1].strip())
    except CredentialError:
        desk.throttle.failed(address)
        return _before(request, "signin.html", 401, next=where, failed=True, nobody=False)
    response = back(where)
    _enter(desk, response, desk.sessions.start(reviewer))
    return response


def _enter(desk: Desk, response: Response, name: str) -> None:
    desk.set_cookie(response, desk.cookie, name)
    response.delete_cookie(BEFORE_COOKIE, path="/")


@router.post("/signout")
def sign_out(request: Request, sent: Sent) -> Response:
    """End this session."""
    desk = sent.visit.desk
    desk.sessions.end(request.cookies.get(desk.cookie, ""))
    response = back(f"{HOME}/signin")
    response.delete_cookie(desk.cookie, path="/", secure=desk.secure, httponly=True, samesite="strict")
    response.headers["Clear-Site-Data"] = '"cache"'
    return response


@router.get("/setup/{code}")
def setup_page(request: Request, code: Annotated[str, Path(max_length=100)]) -> Response:
    """Show the form of the first start. Looking at it uses nothing up, as a mail scanner might."""
    _check_code(desk_of(request), code)
    return _before(request, "setup.html", code=code, token="", problem="")


@router.post("/setup/{code}")
def setup(request: Request, code: Annotated[str, Path(max_length=100)], form: Fields) -> Response:
    """Add the first reviewer, sign in, and show the token, once."""
    desk = desk_of(request)
    _check_before(request, form)
    _check_code(desk, code)
    try:
        token = desk.queue.reviewers.add(form.get("name", [""])[-1])
    except QueueError:
        return _before(request, "setup.html", 422, code=code, token="", problem="name")
    except CredentialError:  # somebody was faster, in a terminal
        desk.setup.use_up()
        raise Stop(409, "setup", back=f"{HOME}/signin") from None
    desk.setup.use_up()
    response = desk.page("setup.html", words_of(request), code="", token=token, problem="", seal="")
    _enter(desk, response, desk.sessions.start(desk.queue.reviewers.authenticate(token)))
    return response


def _check_code(desk: Desk, code: str) -> None:
    if not desk.setup.holds(code) or desk.queue.reviewers.list():
        raise Stop(410, "setup", back=f"{HOME}/signin")


@router.post("/language")
def language(sent: Sent) -> Response:
    """Keep the language of the frame in a cookie."""
    code = sent.get("language")
    response = back(_own(sent.get("next")))
    if code in LANGUAGES:
        sent.visit.desk.set_cookie(response, LANGUAGE_COOKIE, code, age=_YEAR)
    return response


def _own(path: str) -> str:
    """Return a path of these pages, and the first page for anything else: nobody is sent elsewhere."""
    fine = path == HOME or path.startswith((f"{HOME}/", f"{HOME}?"))
    plain = path.isascii() and path.isprintable() and "\\" not in path and "//" not in path and len(path) <= _MAX_PATH
    return path if fine and plain else HOME


__all__ = ["router"]
