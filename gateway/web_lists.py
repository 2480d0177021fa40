"""The pages of what was given ahead of time, and of the audit log: look, take back, verify.

Guarantees: taking something back needs the seal of the session and the reviewer's right, like every answer; verifying
reads, and one runs at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from checkvalve.approvals import pages_data
from checkvalve.approvals.audit import Event
from checkvalve.approvals.card import SHORT_ID
from checkvalve.approvals.clock import system_clock
from checkvalve.approvals.judge import body_of
from checkvalve.approvals.origin_words import place_of
from checkvalve.approvals.roles import Role, require_role
from checkvalve.approvals.still_given import accepted, granted
from checkvalve.approvals.subjects import calls_among
from checkvalve.approvals.verify import VerifyReport, format_head, verify
from checkvalve.gateway.web_desk import HOME, Looking, Sent, Stop, Visit, back
from checkvalve.gateway.web_text import Shown, line, shown
from checkvalve.gateway.web_titles import titles_of

Given = Annotated[str, Path(pattern=r"^[0-9a-f-]{6,36}$")]
MAX_SUBJECT: Final = 60
"""Characters of what an event is about: the id of a call fits, and the name of an account."""
_TOLD: Final = ("tool", "verdict", "rule", "reviewer", "name", "method", "by", "code")
_VERIFYING: Final = threading.Lock()
router: Final = APIRouter()


@dataclass(frozen=True, slots=True)
class GivenView:
    """An endorsement or a mandate as it stands."""

    id: str
    state: str
    what: Shown
    source: Shown
    role: str
    tool: Shown
    thread: Shown
    thread_name: str
    by: Shown
    at: int
    until: int | None
    used: str
    item: str = ""

    @property
    def holds(self) -> bool:
        """Say whether it can be taken back."""
        return self.state in {"in force", "void", "used up"}


@router.get("/endorsements")
def endorsements(visit: Looking, done: str = "") -> Response:
    """Show the data that people accepted, newest first."""
    now = visit.desk.queue.clock()
    found = [
        GivenView(
            id=item.id,
            state=item.state(now),
            what=shown(item.endorsement.value, rest="untrusted"),
            source=line(_whence(item.endorsement.source)),
            role=item.endorsement.role,
            tool=line(item.endorsement.tool),
            thread=line(item.thread),
            thread_name=item.thread,
            by=line(item.by),
            at=item.at,
            until=item.expires_at,
            used=str(item.used),
            item=item.proposal_id,
        )
        for item in visit.desk.queue.veiling.accepted(reversed(accepted(visit.desk.queue)))
    ]
    return _given(visit, "endorsements", found, done)


def _whence(source: str) -> str:
    """Return the tool that a value is from, or its source; nothing of one that stands nowhere."""
    place = place_of(source)
    return "" if place.kind == "nowhere" else place.name or source


@router.get("/mandates")
def mandates(visit: Looking, done: str = "") -> Response:
    """Show the mandates, newest first."""
    now = visit.desk.queue.clock()
    found = [
        GivenView(
            id=item.id,
            state=item.state(now),
            what=line(visit.desk.queue.veiling.veil(item.thread).judged(item.mandate.in_words()), limit=2_000),
            source=line(item.mandate.source),
            role=", ".join(item.mandate.roles),
            tool=line(item.mandate.tool or item.mandate.effect),
            thread=line(item.thread),
            thread_name=item.thread,
            by=line(item.granted_by),
            at=item.granted_at,
            until=item.expires_at,
            used=f"{len(item.amounts)} / {item.mandate.max_calls}",
        )
        for item in reversed(granted(visit.desk.queue))
    ]
    return _given(visit, "mandates", found, done)


def _given(visit: Visit, kind: str, found: list[GivenView], done: str) -> Response:
    held = [item for item in found if item.holds]
    ended = [item for item in found if not item.holds][: pages_data.PAGE]
    more = len(found) - len(held) - len(ended)
    return visit.page(
        "given.html",
        kind=kind,
        rows=[*held, *ended],
        more=more,
        now=visit.desk.queue.clock(),
        notice=done,
    )


@router.post("/endorsements/{name}/revoke")
def take_back(sent: Sent, name: Given) -> Response:
    """Take accepted data back: calls that rely on it and have not run yet will not."""
    sent.visit.desk.queue.revoke_endorsement(name, sent.visit.reviewer)
    return back(f"{HOME}/endorsements?done=revoked")


@router.post("/mandates/{name}/revoke")
def revoke(sent: Sent, name: Given) -> Response:
    """Take a mandate back: calls that rely on it and have not run yet will not."""
    sent.visit.desk.queue.revoke_mandate(name, sent.visit.reviewer)
    return back(f"{HOME}/mandates?done=revoked")


@router.get("/audit")
def audit(visit: Looking) -> Response:
    """Show the end of the log."""
    _require_auditor(visit)
    return _audit(visit, None)


@router.post("/audit")
def check(request: Request, sent: Sent) -> Response:  # noqa: ARG001  # the form is its seal
    """Verify the log against itself, the tables against the log, and the log against what was signed outside of it."""
    _require_auditor(sent.visit)
    if not _VERIFYING.acquire(blocking=False):
        raise Stop(503, "verifying", back=f"{HOME}/audit")
    try:
        desk = sent.visit.desk
        keys = desk.log.public_keys()
        kept, policy = (desk.log.outside(), desk.log.policy()) if keys else ((), None)
        report = verify(desk.queue.store, keys=keys, outside=kept, policy=policy, now=system_clock())
        return _audit(sent.visit, report)
    finally:
        _VERIFYING.release()


def _require_auditor(visit: Visit) -> None:
    """Let those look at the log whose role it is.

    Raises:
        RoleNeededError: it is not this person's.
    """
    with visit.desk.queue.store.read() as connection:
        require_role(connection, visit.reviewer, Role.AUDITOR, Role.ADMINISTRATOR)


def _audit(visit: Visit, report: VerifyReport | None) -> Response:
    store = visit.desk.queue.store
    events = pages_data.newest_events(store)
    calls = calls_among(store, [event.subject for event in events])
    rows = [(event, *_told(event, calls)) for event in events]
    findings = [(item.seq, item.code, line(item.text, limit=600)) for item in report.findings] if report else []
    return visit.page(
        "audit.html",
        rows=rows,
        titles=titles_of(visit.desk.queue, calls),
        report=report,
        findings=findings,
        head=format_head(report.head) if report else "",
    )


def _told(event: Event, calls: Collection[str]) -> tuple[Shown, Shown, str]:
    body = body_of(event.body)  # an erased one is empty
    said = [str(body[name]) for name in _TOLD if body.get(name)]
    item = event.subject if event.subject in calls else ""
    kind, _, rest = event.subject.partition(":")
    subject = f"{kind} {rest[:SHORT_ID]}" if kind in {"session", "task"} and len(rest) > MAX_SUBJECT else event.subject
    return line(subject, limit=MAX_SUBJECT), line(" ".join(said), limit=200), item


__all__ = ["router"]
