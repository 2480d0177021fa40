"""Proving once more who one is: for changes of one's own account, and for a yes that takes a step-up.

Guarantees: a try is counted like one at the door; a passkey answers a challenge that this session was shown, once; a
proof for a call is bound to that call, its digest and the decision (``checkvalve.approvals.stepup``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import Response

from checkvalve.approvals import challenges, plans, stepup
from checkvalve.approvals.errors import CredentialError, StepUpError
from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.stepup import Decision, Item, StepUp
from checkvalve.gateway.web_account import address_of, own
from checkvalve.gateway.web_desk import DEVICE_COOKIE, HOME, Looking, Posted, Sent, Stop, Visit, back, link
from checkvalve.gateway.web_door import TooManyTriesError, typed
from checkvalve.gateway.web_text import line
from checkvalve.gateway.web_titles import title_view

MAX_SECRET: Final = 300
"""Characters of a password or token that are looked at."""
T = TypeVar("T")
_ANSWERS: Final[dict[Decision, str]] = {"approve": "yes", "break_glass": "glass"}
"""The last part of the address that an answer is sent to."""
_CARRIED: Final = ("shown", "digest", "note", "scope", "code")
router: Final = APIRouter()


@router.get("/prove")
def prove_page(visit: Looking, next: str = f"{HOME}/me") -> Response:  # noqa: A002  # the field's name
    """Ask somebody who is signed in to prove once more who they are."""
    return _page(visit, own(next))


@router.post("/prove")
def prove(request: Request, sent: Sent) -> Response:
    """Note that they did, by password, token or passkey."""
    visit, where = sent.visit, own(sent.get("next"))
    try:
        visit.desk.sessions.prove(visit.session, _proof(request, sent))
    except (CredentialError, StepUpError):
        return _page(visit, where, status=401)
    return back(where)


def _page(visit: Visit, where: str, status: int = 200) -> Response:
    asked = _asked(visit, visit.session.key, "")
    provider = visit.desk.door.provider
    linked = visit.desk.door.identities.of(visit.reviewer.name) if provider is not None else []
    label = provider.label if provider is not None and linked else ""
    return visit.page("prove.html", status, next=where, failed=status != 200, provider=label, **asked)  # noqa: PLR2004


def _asked(visit: Visit, bound: str, item: str, call: Item | None = None) -> dict[str, str | bool]:
    """Return what a page needs to ask for a passkey, and whether this person has any."""
    door, name = visit.desk.door, visit.reviewer.name
    has = bool(door.passkeys.of(name))
    nonce = challenges.draw_nonce(visit.desk.queue.clock())
    value = call.challenge(nonce) if call is not None else challenges.challenge("sign-in", bound, nonce=nonce)
    options = door.passkeys.proving(visit.site, value, name=name) if has and visit.site is not None else ""
    return {"nonce": nonce, "nonce_seal": visit.session.seal("prove", item, nonce), "options": options, "has": has}


def _proof(request: Request, sent: Posted) -> Proof:
    visit, door = sent.visit, sent.visit.desk.door
    response, nonce = sent.get("response"), sent.get("nonce")
    if not response:
        return _secret(request, sent, lambda secret: door.proof_of(visit.reviewer.name, secret))
    if door.site is None or not visit.session.is_sealed(sent.get("nonce_seal"), "prove", "", nonce):
        raise Stop(403, "seal", back=f"{HOME}/me")
    now = visit.desk.queue.clock()
    value = challenges.challenge("sign-in", visit.session.key, nonce=nonce)
    if not challenges.is_fresh(nonce, now):
        raise CredentialError("the passkey was asked too long ago", remedy="try again")
    proof = door.passkeys.verify(door.site, response, value)
    with visit.desk.queue.store.write() as connection:
        challenges.spend(connection, value, "sign-in", visit.reviewer.name, now)
    return proof


def _secret(request: Request, sent: Posted, check: Callable[[str], T]) -> T:
    """Return what ``check`` makes of the password or token in a form.

    Raises:
        Stop: there were too many tries.
        CredentialError: it was not accepted.
    """
    desk, name = sent.visit.desk, sent.visit.reviewer.name
    secret = typed(sent.get("secret")[:MAX_SECRET])
    place = {"address": address_of(request), "device": request.cookies.get(desk.named(DEVICE_COOKIE), "")}
    try:
        return desk.door.counted(name, secret, lambda: check(secret), **place)
    except TooManyTriesError as error:
        raise Stop(429, error.code, back=sent.visit.path.removesuffix("/yes").removesuffix("/glass")) from None


def step_up_of(
    request: Request, sent: Posted, proposal: Proposal, decision: Decision = "approve"
) -> StepUp | Response | None:
    """Return the proof that came with a yes; None where the plan takes none; else the page that asks for it.

    1. The plan of the question says whether a yes takes a proof; breaking the glass always does. 2. Without one, the
    page asks, and carries the answer along. 3. What was given is checked for exactly this call, digest and decision;
    else the page asks again.
    """
    visit = sent.visit
    with visit.desk.queue.store.read() as connection:
        if decision == "approve" and not plans.read(connection, proposal.id).step_up:  # 1.
            return None
    response, nonce = sent.get("response"), sent.get("nonce")
    if not response and not sent.get("secret"):  # 2.
        return _ask(sent, Item.of(proposal, decision), proposal)
    try:  # 3.
        return _checked(request, sent, Item.of(proposal, decision), response, nonce)
    except (CredentialError, StepUpError):
        return _ask(sent, Item.of(proposal, decision), proposal, status=401)


def _checked(request: Request, sent: Posted, item: Item, response: str, nonce: str) -> StepUp:
    visit, door = sent.visit, sent.visit.desk.door
    if response:
        if door.site is None or not visit.session.is_sealed(sent.get("nonce_seal"), "prove", item.proposal_id, nonce):
            raise Stop(403, "seal", back=link(f"/items/{item.proposal_id}"))
        return stepup.with_passkey(door.checks, door.site, visit.reviewer, item, nonce=nonce, response=response)
    return _secret(request, sent, lambda secret: stepup.with_secret(door.checks, visit.reviewer, item, secret))


def _ask(sent: Posted, item: Item, proposal: Proposal, status: int = 200) -> Response:
    visit = sent.visit
    asked = _asked(visit, "", item.proposal_id, item)
    return visit.page(
        "stepup.html",
        status,
        item=item.proposal_id,
        answer=_ANSWERS[item.decision],
        title=title_view(visit.desk.queue.veiling.seen(proposal)),
        tool=line(proposal.tool),
        digest=item.digest.removeprefix("sha256:"),
        carried=[(name, sent.get(name)) for name in _CARRIED],
        failed=status != 200,  # noqa: PLR2004  # HTTP's
        site=visit.desk.door.site,
        **asked,
    )


__all__ = ["router", "step_up_of"]
