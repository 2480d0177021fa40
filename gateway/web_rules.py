"""The pages of the gateway's rules: what is in force, what waits, a change line by line, propose, confirm, refuse.

Guarantees: 1. every form carries the seal of this session for this address; 2. a change is confirmed only as it was
shown: the seal is over its digest, and some time passed; 3. proposing and confirming take a proof of who it is that is
at most five minutes old; 4. the rules of ``checkvalve.approvals.rule_changes`` decide once more, in one transaction.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from fastapi.responses import Response

from checkvalve.approvals.errors import ApprovalError, ConfigError, ConflictError, NotAllowedError
from checkvalve.approvals.proofs import FRESH
from checkvalve.approvals.rule_draft import MAX_NOTE, MAX_OVERLAP
from checkvalve.approvals.ruleset_store import RuleChange
from checkvalve.approvals.rulesets import PARTS
from checkvalve.gateway.errors import GatewayError
from checkvalve.gateway.rule_impact import Place
from checkvalve.gateway.rule_proposals import Wanted, differences, differing, draft_of, files_here, texts_of_base
from checkvalve.gateway.rulefiles import check_texts
from checkvalve.gateway.web_desk import HOME, Looking, Posted, Sent, Stop, Visit, back, link
from checkvalve.gateway.web_item import Id, now_ms
from checkvalve.gateway.web_rules_view import FileView, change_view, files_view, impact_view, parts_view, text_view
from checkvalve.gateway.web_sessions import MIN_LOOK
from checkvalve.gateway.web_text import Shown, line

PLACE: Final = f"{HOME}/rules"
_OVER: Final = 50
"""Changes that are over, on the page of all."""
_MS: Final = 1_000
_DIGITS: Final = 5
router: Final = APIRouter()


@router.get("/rules")
def listing(visit: Looking, done: str = "") -> Response:
    """Show what is in force, what waits, and whether the files of this server are what was adopted."""
    known = visit.desk.queue.rule_changes
    found = list(reversed(known.list()))
    waiting = [change_view(item) for item in found if item.state == "waiting"]
    rest = [change_view(item) for item in found if item.state != "waiting" and not item.is_current]
    current = next((item for item in found if item.is_current), None)
    other, unusable = _files(visit, current)
    return visit.page(
        "rules.html",
        current=None if current is None else change_view(current),
        waiting=waiting,
        rows=rest[:_OVER],
        more=max(0, len(rest) - _OVER),
        files=other,
        unusable=unusable,
        fresh=_is_fresh(visit),
        required=_place(visit).settings.require_adoption,
        most={"note": MAX_NOTE, "overlap": MAX_OVERLAP},
        notice=done,
    )


@router.post("/rules/propose")
def propose(sent: Sent) -> Response:
    """Propose the files of this server as the rules."""
    visit = sent.visit
    _require_fresh(sent, PLACE)
    overlap = sent.get("overlap").strip() or "0"
    if not (overlap.isascii() and overlap.isdigit() and len(overlap) <= _DIGITS):
        raise Stop(422, "rules", "overlap: a whole number of seconds", back=PLACE)
    try:
        draft = draft_of(_place(visit), Wanted({}, (), sent.get("note"), int(overlap)))
        made = visit.desk.queue.rule_changes.propose(draft, visit.reviewer)
    except (ApprovalError, GatewayError) as error:
        raise _no(error, PLACE) from error
    return back(f"{PLACE}/{made.id}?done=rules.{'proposed' if made.state == 'waiting' else 'adopted'}")


@router.get("/rules/{name}")
def one(visit: Looking, name: Id, done: str = "") -> Response:
    """Show one change: what it would have changed, and what differs, line by line."""
    known = visit.desk.queue.rule_changes
    found = known.find(name)
    base, texts, at = texts_of_base(_place(visit), found), known.texts(found), str(now_ms(visit))
    return visit.page(
        "rules_change.html",
        row=change_view(found),
        impact=impact_view(found.impact),
        parts=parts_view(differences(base, texts)) if base else [],
        sizes=[] if base else [(part, texts[part].count("\n")) for part in PARTS if part in texts],
        fresh=_is_fresh(visit),
        mine=found.state == "waiting" and known.waits_for_others(found, visit.reviewer),
        seal=f"{at}.{visit.session.seal('rules', found.id, found.digest, at)}",
        most=MAX_NOTE,
        notice=done,
    )


@router.get("/rules/{name}/text/{part}")
def text(visit: Looking, name: Id, part: str) -> Response:
    """Show one part whole, as it was proposed."""
    known = visit.desk.queue.rule_changes
    found = known.find(name)
    if part not in found.parts:
        raise Stop(404, "missing", back=f"{PLACE}/{found.id}")
    lines = text_view(known.texts(found)[part])
    return visit.page("rules_text.html", row=change_view(found), part=part, digest=found.parts[part], lines=lines)


@router.post("/rules/{name}/confirm")
def confirm(sent: Sent, name: Id) -> Response:
    """Agree as the second person to the change that was shown."""
    visit, where = sent.visit, f"{PLACE}/{name}"
    _require_fresh(sent, where)
    at, _, mac = sent.get("shown").partition(".")
    digest = sent.get("digest")
    if not visit.session.is_sealed(mac, "rules", name, digest, at):
        raise Stop(409, "stale", back=where)
    if now_ms(visit) - int(at) < MIN_LOOK * _MS:
        raise Stop(425, "fast", back=where)
    try:
        visit.desk.queue.rule_changes.confirm(name, visit.reviewer, digest)
    except ApprovalError as error:
        raise _no(error, where) from error
    return back(f"{where}?done=rules.adopted")


@router.post("/rules/{name}/refuse")
def refuse(sent: Sent, name: Id) -> Response:
    """Say no to a change, or take one's own back."""
    where = f"{PLACE}/{name}"
    try:
        sent.visit.desk.queue.rule_changes.refuse(name, sent.visit.reviewer, sent.get("note"))
    except ApprovalError as error:
        raise _no(error, where) from error
    return back(f"{where}?done=rules.refused")


def _files(visit: Visit, current: RuleChange | None) -> tuple[list[FileView], Shown]:
    """Return the files that differ; where one cannot be used, what is wrong."""
    try:
        check_texts(files_here(_place(visit)))
        return files_view(differing(_place(visit), current)), line("")
    except (ConfigError, GatewayError) as error:
        return [], line(error)


def _place(visit: Visit) -> Place:
    if visit.desk.rules is None:
        raise Stop(404, "missing")
    return visit.desk.rules


def _is_fresh(visit: Visit) -> bool:
    return 0 <= visit.desk.queue.clock() - visit.session.proved <= FRESH


def _require_fresh(sent: Posted, where: str) -> None:
    if not _is_fresh(sent.visit):
        raise Stop(403, "prove", back=link("/prove", next=where))


def _no(error: ApprovalError | GatewayError, where: str) -> Stop:
    status = 403 if isinstance(error, NotAllowedError) else 409 if isinstance(error, ConflictError) else 422
    return Stop(status, "rules", str(error), back=where)


__all__ = ["router"]
