"""One's own account: password, passkeys, organisation's sign-in, sessions, a new token, the language.

Guarantees: what changes a way in takes a fresh proof, which the page asks for; changing password or token ends every
session but the one that is begun for it.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from checkvalve.approvals import challenges
from checkvalve.approvals.errors import CredentialError
from checkvalve.approvals.passwords import WeakPasswordError
from checkvalve.approvals.proofs import FRESH, STRONG, Proof
from checkvalve.approvals.reissue import reissue
from checkvalve.approvals.roles import Role, account_of
from checkvalve.gateway.web_account import enter, forget
from checkvalve.gateway.web_desk import HOME, Looking, Posted, Sent, Stop, Visit, back, link
from checkvalve.gateway.web_links import chosen_password
from checkvalve.gateway.web_text import line

ME: Final = f"{HOME}/me"
router: Final = APIRouter()


@router.get("/me")
def me(visit: Looking, done: str = "") -> Response:
    """Show one's own account."""
    return _page(visit, notice=done)


def _page(visit: Visit, status: int = 200, *, notice: str = "", problem: str = "", token: str = "") -> Response:
    desk, door, session = visit.desk, visit.desk.door, visit.session
    now = desk.queue.clock()
    fresh = 0 <= now - session.proved <= FRESH
    nonce = challenges.draw_nonce(now)
    options = door.passkeys.adding(visit.reviewer, visit.site, nonce) if fresh and visit.site is not None else ""
    with desk.queue.store.read() as connection:
        account = account_of(connection, visit.reviewer.name)
    return visit.page(
        "me.html",
        status,
        account=account,
        roles=[role for role in Role if role in account.roles],
        is_administrator=account.has(Role.ADMINISTRATOR),
        fresh=fresh,
        has_password=door.passwords.has(visit.reviewer.name),
        passkeys=[(one, line(one.label)) for one in door.passkeys.of(visit.reviewer.name)],
        options=options,
        site=door.site,
        nonce=nonce,
        nonce_seal=session.seal("passkey", nonce),
        identities=[(one, line(one.issuer), line(one.subject)) for one in door.identities.of(visit.reviewer.name)],
        provider=door.provider.label if door.provider is not None else "",
        sessions=desk.sessions.of(visit.reviewer),
        token=token,
        problem=problem,
        notice=notice,
    )


def fresh_proof(sent: Posted) -> Proof:
    """Return the proof of this session; whoever gave none for a while is asked first.

    Raises:
        Stop: it is too old.
    """
    visit = sent.visit
    if not 0 <= visit.desk.queue.clock() - visit.session.proved <= FRESH:
        raise Stop(403, "prove", back=link("/prove", next=ME))
    return visit.session.proof


def _strong_proof(sent: Posted) -> Proof:
    """Return the proof of this session for a change of passkeys; who has one is asked for it.

    Raises:
        Stop: it is too old, or was typed.
    """
    visit, proof = sent.visit, fresh_proof(sent)
    if proof.method not in STRONG and visit.desk.door.passkeys.of(visit.reviewer.name):
        raise Stop(403, "stronger", back=link("/prove", next=ME))
    return proof


@router.post("/me/password")
def password(request: Request, sent: Sent) -> Response:
    """Set one's own password; every other session ends."""
    visit, proof = sent.visit, fresh_proof(sent)
    given, problem = chosen_password(sent.form)
    if not problem:
        try:
            proof = visit.desk.door.passwords.change(visit.reviewer, given, proof)
        except WeakPasswordError as error:
            problem = error.problem
    if problem:
        return _page(visit, 422, problem=problem)
    return enter(request, proof, back(f"{ME}?done=password"))


@router.post("/me/passkeys")
def add_passkey(sent: Sent) -> Response:
    """Keep the passkey that the browser made."""
    visit, proof, nonce = sent.visit, _strong_proof(sent), sent.get("nonce")
    site = visit.desk.door.site
    if site is None or not visit.session.is_sealed(sent.get("nonce_seal"), "passkey", nonce):
        raise Stop(403, "seal", back=ME)
    try:
        visit.desk.door.passkeys.add(
            visit.reviewer, site, sent.get("response"), nonce=nonce, label=sent.get("label"), proof=proof
        )
    except CredentialError:
        raise Stop(422, "passkey", back=ME) from None
    return back(f"{ME}?done=passkey.added")


@router.post("/me/passkeys/name")
def name_passkey(sent: Sent) -> Response:
    """Call a passkey something else."""
    sent.visit.desk.door.passkeys.rename(sent.visit.reviewer, sent.get("credential"), sent.get("label"))
    return back(f"{ME}?done=passkey.named")


@router.post("/me/passkeys/remove")
def remove_passkey(sent: Sent) -> Response:
    """Let a passkey prove nothing any more."""
    visit, proof = sent.visit, _strong_proof(sent)
    visit.desk.door.passkeys.remove(visit.reviewer, sent.get("credential"), proof, keep=visit.session.key)
    return back(f"{ME}?done=passkey.removed")


@router.post("/me/identities/remove")
def remove_identity(sent: Sent) -> Response:
    """Let the organisation's sign-in open this account no more."""
    proof, door = fresh_proof(sent), sent.visit.desk.door
    key = sent.visit.session.key
    door.identities.remove(sent.visit.reviewer, sent.get("issuer"), sent.get("subject"), proof, keep=key)
    return back(f"{ME}?done=identity.removed")


@router.post("/me/token")
def new_token(request: Request, sent: Sent) -> Response:
    """Show a new token, once; the old one and every other session end."""
    desk, proof = sent.visit.desk, fresh_proof(sent)
    token, known = reissue(desk.queue.reviewers, sent.visit.reviewer, proof)
    page = desk.page("token.html", sent.visit.words, token=token)
    return enter(request, known, page)


@router.post("/me/sessions/end")
def end_session(sent: Sent) -> Response:
    """End one session, or all but this one, or all."""
    desk, visit, which = sent.visit.desk, sent.visit, sent.get("which")
    if which == "all":
        desk.sessions.end_all(visit.reviewer)
        response = back(f"{HOME}/signin")
        forget(desk, response, desk.cookie)
        return response
    if which == "others":
        desk.sessions.end_all(visit.reviewer, keep=visit.session.key)
    elif not desk.sessions.end_one(visit.reviewer, which):
        raise Stop(404, "missing", back=ME)
    return back(f"{ME}?done=sessions")


__all__ = ["ME", "fresh_proof", "router"]
