"""Signing in with an organisation's account: going there, and what the browser comes back with.

Guarantees: the answer counts only in the browser that asked, once, within minutes, and for what was asked: to come in,
to link one's own account, or to prove once more who one is. An account opens to issuer and subject alone.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from checkvalve.approvals import challenges
from checkvalve.approvals.errors import AccountError, CredentialError, QueueError, StepUpError
from checkvalve.approvals.passkey_wire import as_text, from_text
from checkvalve.approvals.proofs import Proof
from checkvalve.gateway.errors import OidcError
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.oidc import Provider, Started, Told
from checkvalve.gateway.web_account import check_before, enter, forget, own
from checkvalve.gateway.web_desk import HOME, Desk, Fields, Sent, SignIn, Stop, back, desk_of, session_of, words_of
from checkvalve.gateway.web_me import ME, fresh_proof

COOKIE: Final = "checkvalve_oidc"
_GOOD_FOR: Final = 600  # seconds for which somebody may be away
_DOOR: Final = f"{HOME}/signin"
_MAX: Final = 4_000
router: Final = APIRouter()


@router.post("/oidc/start")
def start(request: Request, form: Fields) -> Response:
    """Go to the organisation's sign-in in order to come in."""
    check_before(request, form)
    return _go(request, "enter", own(form.get("next", [HOME])[-1]))


@router.post("/oidc/link")
def link_account(request: Request, sent: Sent) -> Response:
    """Go there in order to link one's own account."""
    fresh_proof(sent)
    return _go(request, "link", ME, sent.visit.session.key)


@router.post("/oidc/prove")
def prove(request: Request, sent: Sent) -> Response:
    """Go there in order to prove once more who one is."""
    return _go(request, "prove", own(sent.get("next")), sent.visit.session.key)


def _go(request: Request, purpose: str, where: str, session: str = "") -> Response:
    """Send the browser away by a page of ours: a form may lead to these pages only (Content-Security-Policy)."""
    desk, provider = desk_of(request), _provider(desk_of(request))
    try:
        url, started = provider.begin(prove=purpose == "prove")
    except OidcError as error:
        raise _failed(error) from None
    kept = [started.state, started.nonce, started.verifier, purpose, where, session, desk.queue.clock()]
    body = as_text(json.dumps(kept).encode())
    response = desk.page("away.html", words_of(request), url=url, name=provider.label)
    cookie = f"{body}.{desk.door.before.seal('oidc', body)}"
    desk.set_cookie(response, desk.named(COOKIE), cookie, age=_GOOD_FOR)
    return response


@router.get("/oidc/callback")
def callback(
    request: Request,
    state: Annotated[str, Query(max_length=200)] = "",
    code: Annotated[str, Query(max_length=_MAX)] = "",
    iss: Annotated[str, Query(max_length=500)] = "",
    error: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Take what the browser came back with.

    1. The cookie of this browser is ours, not too old, and of this very answer, which is taken once. 2. The issuer says
    who it is. 3. What was asked happens.
    """
    desk, provider = desk_of(request), _provider(desk_of(request))
    held = request.cookies.get(desk.named(COOKIE), "")
    if not held and request.headers.get("sec-fetch-site") == "cross-site":  # the cookie comes with a look from here
        raise SignIn(f"{request.url.path}?{request.url.query}", again=True)
    started, purpose, where, session = _kept(desk, held, state)  # 1.
    if error or not code:
        raise _failed(OidcError("refused", "the sign-in service let nobody in"))
    _spend(desk, state)
    try:
        told = provider.finish(started, code=code, issuer=iss, prove=purpose == "prove")  # 2.
    except OidcError as problem:
        raise _failed(problem) from None
    response = _done(request, told, purpose, where, session)  # 3.
    forget(desk, response, desk.named(COOKIE))
    return response


def _kept(desk: Desk, held: str, state: str) -> tuple[Started, str, str, str]:
    body, _, seal = held.rpartition(".")
    if not desk.door.before.is_sealed(seal, "oidc", body):
        raise Stop(403, "seal", back=_DOOR)
    known, nonce, verifier, purpose, where, session, at = json.loads(from_text(body))
    age = desk.queue.clock() - int(at)
    if not state or state != known or not 0 <= age <= _GOOD_FOR * 1_000_000:
        raise Stop(403, "seal", back=_DOOR)
    return Started(known, nonce, verifier), purpose, where, session


def _spend(desk: Desk, state: str) -> None:
    """Take an answer once, also when it is sent twice at the same moment."""
    try:
        with desk.queue.store.write() as connection:
            value = challenges.challenge("oidc", nonce=state)
            challenges.spend(connection, value, "oidc", "", desk.queue.clock())
    except StepUpError:
        raise Stop(403, "seal", back=_DOOR) from None


def _done(request: Request, told: Told, purpose: str, where: str, session: str) -> Response:
    if purpose == "enter":
        return enter(request, _entering(desk_of(request), told), back(where))
    desk, mine = desk_of(request), session_of(request)
    if mine is None or mine.key != session:
        raise Stop(403, "seal", back=_DOOR)
    if purpose == "link":
        try:
            desk.door.identities.link(mine.reviewer, told.identity, mine.proof)
        except CredentialError:
            raise Stop(403, "prove", back=f"{HOME}/prove?next={quote(ME)}") from None
        return back(f"{ME}?done=identity.linked")
    proof = desk.door.identities.find(told.identity)
    if proof is None:
        raise Stop(403, "stranger", back=ME)
    try:
        desk.sessions.prove(mine, proof)
    except CredentialError:
        raise Stop(403, "stranger", back=ME) from None
    return back(where)


def _entering(desk: Desk, told: Told) -> Proof:
    door = desk.door
    try:
        proof = door.identities.find(told.identity)
        if proof is None and door.provider is not None and door.provider.rules.auto_add:
            proof = door.identities.add(told.identity)
    except (AccountError, CredentialError, QueueError) as error:
        raise Stop(403, "provider", error.message, back=_DOOR) from None
    if proof is None:
        raise Stop(403, "stranger", back=_DOOR)
    return proof


def _provider(desk: Desk) -> Provider:
    found: Any = desk.door.provider
    if found is None:
        raise Stop(404, "missing")
    return found  # type: ignore[no-any-return]


def _failed(error: OidcError) -> Stop:
    get_logger().warning("the organisation's sign-in failed", code=error.code)
    return Stop(502 if error.code in {"unreachable", "too_long"} else 403, "provider", error.code, back=_DOOR)


__all__ = ["COOKIE", "router"]
