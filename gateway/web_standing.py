"""The pages of standing rules: look, draft one from a call, try it on the record, make, confirm, take back.

Guarantees: 1. every form carries the seal of this session for this address; 2. a rule is saved only as it was tried
and shown: the seal is over its digest, and some time passed; 3. a grave one takes the start of the call's digest,
typed; 4. the rules of ``checkvalve.approvals.standing_rules`` decide once more, in one transaction.
"""

from __future__ import annotations

import json
from typing import Any, Final

from fastapi import APIRouter
from fastapi.responses import Response

from checkvalve.approvals import pages_data
from checkvalve.approvals.canonical import digest
from checkvalve.approvals.errors import (
    ApprovalError,
    ConflictError,
    DigestError,
    NotAllowedError,
    QueueError,
    StandingRuleError,
)
from checkvalve.approvals.matching import match_digest
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.standing import MAX_CALLS, MAX_PER_DAY
from checkvalve.approvals.standing_draft import MAX_DAYS, TIGHT, Widening, widening_from_json
from checkvalve.approvals.standing_dryrun import Trial
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import parse_strict
from checkvalve.gateway.web_card import view
from checkvalve.gateway.web_desk import HOME, Looking, Posted, Sent, Stop, Visit, back, link
from checkvalve.gateway.web_item import Id, now_ms
from checkvalve.gateway.web_sessions import MIN_LOOK
from checkvalve.gateway.web_standing_view import advice, entry_view, rule_view, run_view
from checkvalve.gateway.web_views import GRAVE

PLACE: Final = f"{HOME}/standing"
PLACE_OF: Final = f"{HOME}/items"
_OVER: Final = 50
"""Rules that are over, on the page of all."""
_MAX_WIDER: Final = 20_000  # characters of what a form says of a rule
_MS: Final = 1_000
router: Final = APIRouter()


@router.get("/standing")
def listing(visit: Looking, done: str = "") -> Response:
    """Show the rules, newest first, and what the week says could be one."""
    rules = visit.desk.queue.standing_rules
    around = visit.desk.queue.veiling.around
    found = [entry_view(item, around(item.proposal_id)) for item in reversed(rules.list())]
    held, over = [row for row in found if row.holds], [row for row in found if not row.holds]
    return visit.page(
        "standing.html",
        rows=[*held, *over[:_OVER]],
        more=max(0, len(over) - _OVER),
        advice=advice(visit.desk.queue),
        off=rules.mode == "off",
        notice=done,
    )


@router.get("/standing/{name}")
def one(visit: Looking, name: Id, done: str = "") -> Response:
    """Show one rule, with what it would have done of itself."""
    rules = visit.desk.queue.standing_rules
    found = rules.find(name)
    return visit.page(
        "standing_rule.html",
        row=entry_view(found, visit.desk.queue.veiling.around(found.proposal_id)),
        run=run_view(rules.run(found)),
        mine=visit.reviewer.name in found.people,
        events=pages_data.log_of(visit.desk.queue.store, found.id),
        notice=done,
    )


@router.post("/standing/{name}/confirm")
def confirm(sent: Sent, name: Id) -> Response:
    """Agree to a rule as the second person."""
    where = f"{PLACE}/{name}"
    try:
        sent.visit.desk.queue.standing_rules.confirm(name, sent.visit.reviewer)
    except QueueError as error:
        raise _no(error, where) from error
    return back(f"{where}?done=standing.confirmed")


@router.post("/standing/{name}/revoke")
def revoke(sent: Sent, name: Id) -> Response:
    """Take a rule back."""
    where = f"{PLACE}/{name}"
    try:
        sent.visit.desk.queue.standing_rules.revoke(name, sent.visit.reviewer)
    except QueueError as error:
        raise _no(error, where) from error
    return back(f"{where}?done=revoked")


@router.get("/items/{name}/standing")
def drafted(visit: Looking, name: Id) -> Response:
    """Draft a rule from a call, in its tightest form, and show what that would have done."""
    return _draft_page(visit, visit.desk.queue.get(name), TIGHT)


def drafted_again(visit: Visit, name: str) -> Response:
    """Return the draft as it was tried, where saving it failed; else the tightest one, around what was typed."""
    wider = TIGHT
    if text := visit.kept(f"{PLACE_OF}/{name}/standing/make", "wider"):
        try:
            wider = widening_from_json(json.loads(text[:_MAX_WIDER]))
        except (ValueError, TypeError, AttributeError, StandingRuleError):  # nobody's form of ours
            wider = TIGHT
    return _draft_page(visit, visit.desk.queue.get(name), wider)


@router.post("/items/{name}/standing")
def tried(sent: Sent, name: Id) -> Response:
    """Try a rule that is wider, on the record. Nothing is saved."""
    return _draft_page(sent.visit, sent.visit.desk.queue.get(name), _wider(sent, link(f"/items/{name}/standing")))


@router.post("/items/{name}/standing/make")
def make(sent: Sent, name: Id) -> Response:
    """Save the rule that was shown."""
    visit, where = sent.visit, link(f"/items/{name}/standing")
    proposal, text = visit.desk.queue.get(name), sent.get("wider")[:_MAX_WIDER]
    at, _, mac = sent.get("shown").partition(".")
    if not visit.session.is_sealed(mac, "standing", name, text, sent.get("rule"), at):
        raise Stop(409, "stale", back=where)
    if now_ms(visit) - int(at) < MIN_LOOK * _MS:
        raise Stop(425, "fast", back=where)
    if pages_data.tier(proposal) in GRAVE:
        _typed(proposal, sent, where)
    wider = widening_from_json(json.loads(text))  # sealed: it is our own
    try:
        trial = visit.desk.queue.standing_rules.trial(name, wider)
        if digest(trial.rule.to_json()) != sent.get("rule"):
            raise Stop(409, "stale", back=where)
        made = visit.desk.queue.standing_rules.make(name, wider, visit.reviewer)
    except (QueueError, StandingRuleError) as error:
        raise _no(error, where) from error
    return back(f"{PLACE}/{made.id}?done=standing.{'waits' if made.state == 'waiting' else 'made'}")


def _typed(proposal: Proposal, sent: Posted, where: str) -> None:
    try:
        match_digest(proposal, sent.get("digest"))
    except DigestError:
        raise Stop(422, "digest", back=where) from None


def _draft_page(visit: Visit, proposal: Proposal, wider: Widening) -> Response:
    rules, where = visit.desk.queue.standing_rules, link(f"/items/{proposal.id}")
    try:
        tight = rules.trial(proposal.id, TIGHT)
        trial = rules.trial(proposal.id, wider)
    except (QueueError, StandingRuleError) as error:
        raise _no(error, where) from error
    at, text = str(now_ms(visit)), json.dumps(_as_json(wider), sort_keys=True)
    rule_digest, seen = digest(trial.rule.to_json()), visit.desk.queue.veiling.seen(proposal)
    return visit.page(
        "standing_draft.html",
        card=view(seen),
        grave=pages_data.tier(proposal) in GRAVE,
        fields=list(zip(rule_view(tight.rule, seen.veil).constraints, _chosen(trial, wider), strict=True)),
        rule=rule_view(trial.rule, seen.veil),
        run=run_view(trial.run),
        wider=wider,
        text=text,
        rule_digest=rule_digest,
        seal=f"{at}.{visit.session.seal('standing', proposal.id, text, rule_digest, at)}",
        most={"calls": MAX_CALLS, "day": MAX_PER_DAY, "days": MAX_DAYS},
    )


def _chosen(trial: Trial, wider: Widening) -> list[tuple[str, str, str]]:
    """Return for each value what a form shows of it: how it is bounded, further values line by line, and its cap."""
    also: dict[str, list[str]] = {}
    for name, value in wider.also:
        also.setdefault(name, []).append(value if isinstance(value, str) else f"={json.dumps(value)}")
    caps = dict(wider.up_to)
    names = [item.dotted() for item in trial.rule.constraints]
    hows = [item.how for item in trial.rule.constraints]
    return [(how, "\n".join(also.get(name, [])), caps.get(name, "")) for name, how in zip(names, hows, strict=True)]


def _wider(sent: Posted, where: str) -> Widening:
    """Return what a form says; its fields are numbered like the values of the tightest rule.

    Raises:
        Stop: it says what cannot be.
    """
    names = [item.dotted() for item in _tight(sent, where).rule.constraints]
    said = {
        how: [name for at, name in enumerate(names) if sent.get(f"how-{at}") == how] for how in ("any", "same", "at")
    }
    also = {name: _lines(sent.get(f"also-{at}"), where) for at, name in enumerate(names)}
    caps = {name: sent.get(f"cap-{at}").strip() for at, name in enumerate(names) if sent.get(f"how-{at}") == "up_to"}
    return widening_from_json(
        {
            "anything": said["any"],
            "same": said["same"],
            "at": said["at"],
            "also": {name: values for name, values in also.items() if values and name not in {*said["any"], *caps}},
            "up_to": caps,
            "anybody": sent.get("anybody") == "yes",
            "max_calls": _count(sent, "max_calls", where),
            "per_day": _count(sent, "per_day", where),
            "max_total": sent.get("max_total").strip(),
            "days": _count(sent, "days", where),
        }
    )


def _tight(sent: Posted, where: str) -> Trial:
    name = where.split("/")[-2]
    try:
        return sent.visit.desk.queue.standing_rules.trial(name, TIGHT)
    except (QueueError, StandingRuleError) as error:
        raise _no(error, link(f"/items/{name}")) from error


def _lines(text: str, where: str) -> list[Any]:
    """Return further values, one on each line; ``=`` begins one in JSON."""
    found: list[Any] = []
    for item in (row.strip() for row in text[:_MAX_WIDER].splitlines()):
        if item.startswith("="):
            try:
                found.append(parse_strict(item[1:].encode()))
            except HostileInputError:
                raise Stop(422, "standing", "a value after = is no JSON", back=where) from None
        elif item:
            found.append(item)
    return found


def _count(sent: Posted, name: str, where: str) -> int:
    text = sent.get(name).strip() or "0"
    if not (text.isascii() and text.isdigit() and len(text) <= 4):  # noqa: PLR2004  # digits
        raise Stop(422, "standing", f"{name}: a whole number", back=where)
    return int(text)


def _as_json(wider: Widening) -> dict[str, Any]:
    """Return the form that :func:`widening_from_json` reads."""
    also: dict[str, list[Any]] = {}
    for name, value in wider.also:
        also.setdefault(name, []).append(value)
    plain = {
        name: getattr(wider, name) for name in ("anybody", "max_calls", "per_day", "max_amount", "max_total", "days")
    }
    lists = {name: list(getattr(wider, name)) for name in ("anything", "same", "at")}
    return {**plain, **lists, "also": also, "up_to": dict(wider.up_to)}


def _no(error: ApprovalError, where: str) -> Stop:
    status = 403 if isinstance(error, NotAllowedError) else 409 if isinstance(error, ConflictError) else 422
    return Stop(status, "standing", str(error), back=where)


__all__ = ["router"]
