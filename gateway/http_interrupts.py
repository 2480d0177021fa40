"""Open questions of a run in the payload names of LangChain's human-in-the-loop middleware, for UIs that know those.

1. One interrupt for each call that waits: ``action_requests`` and ``review_configs`` with one entry each, so that no
answer can be matched to another call by its position. 2. Everything is read from the store, never from a checkpoint.
3. What a UI resumes with only wakes the run: it decides nothing, whatever it says. Where a reviewer has asked something
about a call, a ``respond`` in it is kept as the answer. A decision is made with a reviewer's credential and the digest:
``POST /approvals/{id}/decision`` takes the same words.

Names of the payload: ``langchain.agents.middleware.human_in_the_loop`` of LangChain 1.5 (``HITLRequest``,
``ActionRequest``, ``ReviewConfig``, ``HITLResponse``).

Guarantees: names and values are inert text, since UIs of this family show them as Markdown with raw HTML; nothing is
left out without saying so; what a rule redacts is a mark, and comes back as the secret where an edit leaves it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.errors import QueueError
from checkvalve.approvals.inert import inert
from checkvalve.approvals.pins_shown import Pinned, seen_pinned
from checkvalve.approvals.previews import Preview, seen_preview
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.remarks import answer, read_talk, unanswered
from checkvalve.approvals.risk import tier_of
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.titled import in_a_message
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.heard import answer_in
from checkvalve.gateway.http_access import PROBLEMS, Looker, Runner, Server, Thread
from checkvalve.gateway.http_once import OnceRoute
from checkvalve.gateway.http_runs import RunServer
from checkvalve.gateway.http_tokens import Client
from checkvalve.gateway.preview_words import previewed
from checkvalve.gateway.shown_edits import MAX_VALUE

ALLOWED: Final = ("approve", "edit", "reject", "respond")
"""What a reviewer can answer; an edited call is another call, with a question of its own."""
_DEPTH: Final = 32
router: Final = APIRouter(tags=["langchain"], route_class=OnceRoute)


class _View(BaseModel):
    model_config = ConfigDict(frozen=True)


class ActionRequest(_View):
    """One call: its name and arguments as inert text, and what a person should know."""

    name: str
    args: dict[str, Any]
    description: str


class ReviewConfig(_View):
    """Which answers there are."""

    action_name: str
    allowed_decisions: list[str] = list(ALLOWED)


class HITLRequest(_View):
    """What LangChain's middleware interrupts a graph with."""

    action_requests: list[ActionRequest]
    review_configs: list[ReviewConfig]


class Interrupt(_View):
    """One open question. ``id`` is the approval's, and ``digest`` what a decision has to name."""

    id: str
    value: HITLRequest
    digest: str
    decide_at: str = Field(description="where a reviewer's credential decides it")


class Resume(BaseModel):
    """What a UI sends. It wakes the run; nothing of it is looked at but an answer to what a reviewer asked."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Woken(_View):
    """What waking did: ``decided`` is always false here."""

    woken: bool
    decided: bool = False
    waiting: list[str] = Field(description="calls that still wait for a person")
    answered: list[str] = Field(description="calls about which a reviewer's question was answered by this")
    remedy: str = ""


@router.get("/threads/{thread}/interrupts", responses=PROBLEMS)
def interrupts(thread: Thread, server: Server, client: Looker) -> list[Interrupt]:
    """List the calls of a run that wait for a person, as LangChain's middleware would name them."""
    server.own(thread, client)
    rows = server.gateway.queue.list([State.PENDING], thread=thread)
    queue = server.gateway.queue
    return [interrupt_of(row, seen_preview(queue, row), seen_pinned(queue, row)) for row in queue.veiling.all(rows)]


@router.post("/threads/{thread}/resume", status_code=202, responses=PROBLEMS)
def resume(thread: Thread, body: Resume, server: Server, client: Runner) -> Woken:
    """Wake a run. Answers in the body decide nothing; a ``respond`` answers what a reviewer asked, if one did."""
    server.own(thread, client)
    rows = server.gateway.queue.list([State.PENDING], thread=thread)
    waiting, answered = [row.id for row in rows], _heard(server, client, rows, body.model_extra or {})
    server.go_on(thread, client)
    remedy = "a reviewer decides: POST /approvals/{id}/decision with If-Match" if waiting else ""
    return Woken(woken=True, waiting=waiting, answered=answered, remedy=remedy)


def _heard(server: RunServer, client: Client, rows: list[Proposal], body: dict[str, Any]) -> list[str]:
    """Keep what the body answers: under the id of a call, or where one question is open in the run, that one."""
    queue = server.gateway.queue
    asked = [row for row in rows if unanswered(read_talk(queue, row)) is not None]
    found = []
    for row in asked:
        said = answer_in(body.get(row.id), row.id) or (answer_in(body, row.id) if len(asked) == 1 else "")
        with suppress(QueueError):  # it is no text, or was decided meanwhile: then nothing is answered
            if said:
                answer(queue, row.id, said, means="client", name=client.name)
                found.append(row.id)
    return found


def interrupt_of(row: Seen, preview: Preview | None = None, pinned: Pinned | None = None) -> Interrupt:
    """Return one call as an interrupt, with what is pinned, and with what it would do, where its tool said so.

    Raises:
        StoreCorruptError: the stored bytes are not what was decided.
    """
    name = inert(f"{row.server}/{row.tool}" if row.server else row.tool)
    args = {inert(key): _inert(value, 0) for key, value in row.args().items()}
    action = ActionRequest(name=name, args=args, description=_description(row, preview, pinned))
    value = HITLRequest(action_requests=[action], review_configs=[ReviewConfig(action_name=name)])
    return Interrupt(id=row.id, value=value, digest=row.digest, decide_at=f"/approvals/{row.id}/decision")


def _inert(value: JSON, depth: int) -> JSON:
    if depth > _DEPTH:
        return "\u27e8deeper than is shown here\u27e9"
    if isinstance(value, str):
        return inert(value, limit=MAX_VALUE)
    if isinstance(value, list):
        return [_inert(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {inert(key): _inert(item, depth + 1) for key, item in value.items()}
    return value


def _description(row: Seen, preview: Preview | None, pinned: Pinned | None) -> str:
    """Say why somebody is asked: frame texts of ours, and names from the record as inert text."""
    tier = tier_of(str(row.decision.get("action") or ""), row.rule)
    lines = [f"Risk {tier.value}. {in_a_message(row, values=True)}. Asked because of the rule {inert(row.rule)}."]
    reports = row.decision.get("arguments")
    for report in reports if isinstance(reports, list) else []:
        if isinstance(report, dict) and report.get("sufficient") is False:
            origins = report.get("origins")
            found = [item for item in origins if isinstance(item, dict)] if isinstance(origins, list) else []
            where = ", ".join(f"{inert(str(item.get('trust')))} {inert(str(item.get('source')))}" for item in found)
            lines.append(f"{inert(str(report.get('path')))} comes from {where or 'nowhere'}.")
    lines += [f"Pinned: {inert(text, limit=MAX_VALUE)}." for text in (pinned.lines() if pinned else ())]
    if preview is not None:
        lines.append(previewed(preview))
    lines.append(f"Decide before {to_the_second(row.decide_by).replace(':', '')}. Digest {row.digest[7:19]}.")
    lines.append("An answer here wakes the run and decides nothing.")
    return " ".join(lines)


__all__ = ["ALLOWED", "HITLRequest", "Interrupt", "interrupt_of", "router"]
