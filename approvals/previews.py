"""What a call would do, as its tool said when somebody was about to be asked: kept beside the question, for people.

1. A preview is a call of its own in the record, in a thread of its own: no task counts it, reads it or is asked for it.
2. An event of the question names that call, the digest that was previewed and the time, or says why there is none. It
is written once. 3. Shown is only what was previewed of exactly this digest, and only where the record still is what its
events say.

Guarantees: nothing here is read by a decision, a tier or a plan, so a preview changes none of them; its text is
untrusted, is an origin of no value, and no model is shown it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import audit, moves
from checkvalve.approvals.asides import PREVIEW
from checkvalve.approvals.clock import rfc3339, to_the_second
from checkvalve.approvals.decision import ArgumentReport, Decision
from checkvalve.approvals.errors import ApprovalError, StoreCorruptError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.previewspec import RULE
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.redaction import Veil
from checkvalve.approvals.render import clip
from checkvalve.approvals.review_tables import plans
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.sound_events import sound_events
from checkvalve.approvals.verdicts import Allow
from checkvalve.filters.strictjson import JSON

THREAD: Final = PREVIEW
"""How the thread of a preview begins; the id of the question follows."""
CALL: Final = "preview"
"""The name of the call in that thread."""
HEAD: Final = 12 * 1024
TAIL: Final = 4 * 1024
"""Bytes that are kept of what a preview said, of its start and of its end: what a person reads before a decision."""
MADE, FAILED = "preview.made", "preview.failed"
WHY: Final = {
    "edited": "the call was edited, and nobody has previewed it since",
    "tool_missing": "the tool that would show it was not at hand",
    "no_such_argument": "the call was made without an argument that the preview needs",
    "no_dry_run": "the tool at hand has no such dry run, so the call would have been real",
    "not_allowed": "a rule did not let it be made",
    "other_rules": "the rules at hand are not those that the call was decided by",
    "too_late": "it took longer than the manifest allows",
    "busy": "as many previews as may run at once had not come back",
    "failed": "the tool failed",
    "unreadable": "its record cannot be read",
    "erased": "it was erased",
}
"""Why there is no preview, in words."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a person is shown: the text that the tool gave, or in ``why`` a word for why there is none.

    ``left_out`` is how many bytes between ``text`` and ``end`` were not kept; ``at`` is when it was made, in
    microseconds; ``call`` names it in the record. ``ok`` is false where the tool itself said that the call would fail.
    """

    at: int
    tool: str = ""
    dry_run: bool = False
    text: str = ""
    left_out: int = 0
    end: str = ""
    ok: bool = True
    why: str = ""
    call: str = ""

    @property
    def reason(self) -> str:
        """Why there is no preview, in words; empty where there is one."""
        return f"no preview: {WHY.get(self.why, WHY['failed'])}" if self.why else ""

    @property
    def heading(self) -> str:
        """What kind of text this is, in words that are ours."""
        dry = "untrusted words of a dry run (that it changed nothing is the tool's own word)"
        how = dry if self.dry_run else "untrusted words of a tool that reads"
        failing = "" if self.ok else ", which says that the call would fail"
        return f"{how}, made {to_the_second(self.at)}{failing}"

    def under(self, veil: Veil) -> Preview:
        """Return it as it is shown: what a rule redacts in a call is a mark in what is said of it, too."""
        return replace(self, text=veil.text(self.text), end=veil.text(self.end))

    def whole(self) -> str:
        """Return the text; where something was not kept, it says how much."""
        if not self.left_out:
            return self.text
        return f"{self.text}\n\u2026 {self.left_out:,} bytes were not kept \u2026\n{self.end}"

    def to_json(self) -> dict[str, Any]:
        """Return the published form. The text is content: whoever shows it shows it as text and nothing else."""
        return {
            "made_at": rfc3339(self.at),
            "tool": self.tool,
            "dry_run": self.dry_run,
            "text": None if self.why else self.whole(),
            "left_out": self.left_out,
            "ok": self.ok,
            "trust": "untrusted",
            "why_not": self.reason,
            "call": self.call,
        }


def thread_for(proposal_id: str) -> str:
    """Return the thread of the preview of a question."""
    return f"{THREAD}{proposal_id}"


def as_dry_run(decision: Decision, name: str) -> Decision:
    """Return the decision on a dry run of a call that a person is asked about: allowed, and nothing is used or offered.

    What a rule denies is no question, so it never gets here.
    """
    fixed: dict[str, object] = {"source": "manifest", "span": [0, 0], "match": "reference", "trust": "authoritative"}
    said = ArgumentReport(name, "control", "text", sufficient=True, origins=(fixed,))
    nothing = replace(decision, endorsable=(), uses=(), mandate=None, standing={})
    return replace(nothing, verdict=Allow(RULE), rules=(RULE, *decision.rules), arguments=(*decision.arguments, said))


def kept(text: str, *, ok: bool) -> JSON:
    """Return what is recorded of a preview, in the form of a tool's result: its text, or both ends of a long one."""
    start, left_out, end = clip(text, head=HEAD, tail=TAIL)
    values: list[JSON] = [start, end] if left_out else [start]
    return {"ok": ok, "values": values, "declared": [False] * len(values), "left_out": left_out}


def is_known(queue: Queue, question: Proposal) -> bool:
    """Say whether a preview of exactly this call was made, or was found to be impossible."""
    with queue.store.read() as connection:
        return _noted(connection, question) is not None


def note(queue: Queue, question: Proposal, *, tool: str, dry_run: bool, call: str = "", why: str = "") -> None:
    """Write that a preview was made, or why there is none. What was written first stays."""
    body: dict[str, JSON] = {"digest": question.digest, "tool": tool, "dry_run": dry_run, "call": call, "by": "gateway"}
    with queue.store.write() as connection:
        if moves.load(connection, question.id).state is State.PENDING and _noted(connection, question) is None:
            told = {**body, "reason": why} if why else body
            audit.append(connection, at=queue.clock(), kind=FAILED if why else MADE, subject=question.id, body=told)


def preview_of(queue: Queue, question: Proposal) -> Preview | None:
    """Return what a card says of the effect of a call; nothing where its tool offers no preview."""
    try:
        with queue.store.read() as connection:
            noted = _noted(connection, question)
            if noted is None:
                return Preview(question.created_at, why="edited") if _was_edited(connection, question) else None
    except StoreCorruptError:  # an event of the question is not as it was written; its decision says so, too
        return Preview(question.created_at, why="unreadable")
    at, kind, body = noted
    told = Preview(at, tool=str(body.get("tool")), dry_run=body.get("dry_run") is True)
    if kind == FAILED:
        return replace(told, why=str(body.get("reason")))
    name = str(body.get("call"))
    try:
        outcome = Executor(queue).look(name)
    except ApprovalError:
        return replace(told, why="unreadable")
    if outcome.proposal.thread != thread_for(question.id):
        return replace(told, why="unreadable")
    return _read(replace(told, call=name), outcome)


def seen_preview(queue: Queue, row: Seen) -> Preview | None:
    """Return what a card says of the effect of a call, as it is shown beside the call."""
    found = preview_of(queue, row.exact)
    return None if found is None else found.under(row.veil)


def _read(told: Preview, outcome: Outcome) -> Preview:
    match outcome.result:
        case {"ok": bool(ok), "values": [str(text)], "left_out": 0}:
            return replace(told, ok=ok, text=text)
        case {"ok": bool(ok), "values": [str(text), str(end)], "left_out": int(left_out)}:
            return replace(told, ok=ok, text=text, left_out=left_out, end=end)
        case None:
            return replace(told, why="erased")
        case _:
            return replace(told, why="unreadable")


def _noted(connection: sa.Connection, question: Proposal) -> tuple[int, str, dict[str, Any]] | None:
    """Return the event that says of exactly this call what became of its preview."""
    for event in sound_events(connection, question.id):
        if event.kind in {MADE, FAILED} and event.body:
            body = json.loads(event.body)
            if isinstance(body, dict) and body.get("digest") == question.digest:
                return event.at, event.kind, body
    return None


def _was_edited(connection: sa.Connection, question: Proposal) -> bool:
    """Say whether this is an edit of a call whose tool offered a preview."""
    query = sa.select(plans.c.parent).where(plans.c.proposal_id == question.id)
    parent = str(connection.execute(query).scalar() or "")
    found = parent and any(event.kind in {MADE, FAILED} for event in sound_events(connection, parent))
    return bool(found) or (bool(parent) and _was_edited(connection, moves.load(connection, parent)))


__all__ = [
    "CALL", "FAILED", "MADE", "RULE", "THREAD", "WHY", "Preview", "as_dry_run", "is_known", "kept", "note",
    "preview_of", "seen_preview", "thread_for",
]  # fmt: skip
