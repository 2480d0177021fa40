"""Signing in and out of the review pages, and the choice of a language.

Guarantees: a token or password that is wrong is refused in the same words whatever is wrong with it; tries are counted
before they cost anything; whoever gets in has a session of a new name.
"""

from __future__ import annotations

import secrets
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from checkvalve.approvals import challenges
from checkvalve.approvals.errors import CredentialError, StepUpError
from checkvalve.approvals.proofs import Proof
from checkvalve.gateway.web_desk import (
    BEFORE_COOKIE,
    DEVICE_COOKIE,
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
from checkvalve.gateway.web_door import TooManyTriesError, browser_of, typed
from checkvalve.gateway.web_words import LANGUAGES

_YEAR: Final = 31_536_000
_MAX_PATH: Final = 300
_MAX_NAME: Final = 200
router: Final = APIRouter()


def before(request: Request, template: str, status: int = 200, *, nonce: str = "", **values: Any) -> Response:
    """Return a page for somebody who is not signed in, with forms that only this browser can send."""
    desk = desk_of(request)
    browser = request.cookies.get(desk.named(BEFORE_COOKIE), "") or secrets.token_urlsafe(32)
    seals = {"seal": desk.door.before.seal(browser), "nonce_seal": desk.door.before.seal(browser, "passkey", nonce)}
    response = desk.page(template, words_of(request), status, nonce=nonce, **seals, **values)
    desk.set_cookie(response, desk.named(BEFORE_COOKIE), browser)
    return response


def check_before(request: Request, form: Form, *parts: str, field: str = "seal") -> None:
    """Make sure that a form is one that this browser was shown.

    Raises:
        Stop: it is not.
    """
    desk = desk_of(request)
    browser = request.cookies.get(desk.named(BEFORE_COOKIE), "")
    if not desk.door.before.is_sealed(form.get(field, [""])[-1], browser, *parts):
        raise Stop(403, "seal", back=f"{HOME}/signin")


def address_of(request: Request) -> str:
    """Return where a request comes from, as far as the server can say."""
    return request.client.host if request.client else ""


@router.get("/signin")
def sign_in_page(request: Request, next: str = HOME) -> Response:  # noqa: A002  # the field's name
    """Ask for the credential."""
    return _page(request, own(next))


def _page(request: Request, where: str, status: int = 200, *, failed: bool = False, name: str = "") -> Response:
    desk, door = desk_of(request), desk_of(request).door
    nobody = not failed and not desk.queue.reviewers.list()
    nonce = challenges.draw_nonce(desk.queue.clock())
    options = ""
    here = door.site is not None and door.site.id == request.url.hostname
    if door.site is not None and here and not nobody:
        options = door.passkeys.proving(door.site, challenges.challenge("sign-in", nonce=nonce))
    return before(
        request,
        "signin.html",
        status,
        nonce=nonce,
        next=where,
        failed=failed,
        name=name[:_MAX_NAME],
        nobody=nobody,
        options=options,
        passkeys_at="" if here or door.site is None else door.site.origin,
        provider=door.provider.label if door.provider is not None and not nobody else "",
    )


@router.post("/signin")
def sign_in(request: Request, form: Fields) -> Response:
    """Let a reviewer in: 1. the form is ours, 2. the try is counted, 3. the secret is looked at, 4. a new session."""
    check_before(request, form)
    desk, where = desk_of(request), own(form.get("next", [HOME])[-1])
    device = request.cookies.get(desk.named(DEVICE_COOKIE), "")
    name, secret = form.get("name", [""])[-1], form.get("token", [""])[-1]
    try:
        proof = desk.door.with_secret(name, typed(secret), address=address_of(request), device=device)
    except TooManyTriesError as error:
        raise Stop(429, error.code, back=f"{HOME}/signin") from None
    except CredentialError:
        return _page(request, where, 401, failed=True, name=name)
    return enter(request, proof, back(where))


@router.post("/signin/passkey")
def sign_in_with_passkey(request: Request, form: Fields) -> Response:
    """Let whoever has this passkey in; the steps are those of the other form."""
    nonce = form.get("nonce", [""])[-1]
    check_before(request, form, "passkey", nonce)
    desk, where = desk_of(request), own(form.get("next", [HOME])[-1])
    try:
        proof = desk.door.with_passkey(form.get("response", [""])[-1], nonce, address=address_of(request))
    except TooManyTriesError as error:
        raise Stop(429, error.code, back=f"{HOME}/signin") from None
    except (CredentialError, StepUpError):
        return _page(request, where, 401, failed=True)
    return enter(request, proof, back(where))


def enter(request: Request, proof: Proof, response: Response) -> Response:
    """Sign the person of a proof in with ``response``, and know this browser from now on."""
    desk = desk_of(request)
    browser = browser_of(request.headers.get("user-agent", "")[:400])
    name = desk.sessions.start(proof, browser)
    desk.set_cookie(response, desk.cookie, name)
    held = request.cookies.get(desk.named(DEVICE_COOKIE), "")
    known = desk.door.tries.remember(proof.reviewer.name, held)
    desk.set_cookie(response, desk.named(DEVICE_COOKIE), known, age=_YEAR)
    forget(desk, response, desk.named(BEFORE_COOKIE))
    return response


def forget(desk: Desk, response: Response, cookie: str) -> None:
    """Take a cookie from a browser."""
    response.delete_cookie(cookie, path="/", secure=desk.secure, httponly=True, samesite="strict")


@router.post("/signout")
def sign_out(request: Request, sent: Sent) -> Response:
    """End this session."""
    desk = sent.visit.desk
    desk.sessions.end(request.cookies.get(desk.cookie, ""))
    response = back(f"{HOME}/signin")
    forget(desk, response, desk.cookie)
    response.headers["Clear-Site-Data"] = '"cache"'
    return response


@router.post("/language")
def language(sent: Sent) -> Response:
    """Keep the language of the frame in a cookie."""
    code = sent.get("language")
    response = back(own(sent.get("next")))
    if code in LANGUAGES:
        sent.visit.desk.set_cookie(response, LANGUAGE_COOKIE, code, age=_YEAR)
    return response


def own(path: str) -> str:
    """Return a path of these pages, and the first page for anything else: nobody is sent elsewhere."""
    fine = path == HOME or path.startswith((f"{HOME}/", f"{HOME}?"))
    plain = path.isascii() and path.isprintable() and "\\" not in path and "//" not in path and len(path) <= _MAX_PATH
    return path if fine and plain else HOME


__all__ = ["address_of", "before", "check_before", "enter", "forget", "own", "router"]
