"""The HTTP API of approvals: list, show, watch, fetch a result; decide, with a reviewer's credential.

1. Looking takes a client's token, for calls of its own name, or a reviewer's. 2. A decision takes a reviewer's token,
the whole digest of the call in ``If-Match``, and is made once: with an ``Idempotency-Key`` the same request again is
told how it ended. 3. Whoever comes second is told who was first, and when.

Guarantees: GET changes nothing but the note that a reviewer was shown a call; a client's token decides nothing; errors
repeat nothing of the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import StreamingResponse

from checkvalve.approvals import attention
from checkvalve.approvals.crash_shown import after_crash
from checkvalve.approvals.deciding import Yes
from checkvalve.approvals.editing import EDITED
from checkvalve.approvals.edits import current, edit, lineage
from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.pins_shown import seen_pinned
from checkvalve.approvals.previews import seen_preview
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.remarks import read_talk
from checkvalve.approvals.reproposals import RESPONDED
from checkvalve.approvals.responding import respond
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.revisions import revision
from checkvalve.approvals.seed_cards import with_items
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.selection import MAX_PAGE, mark, page
from checkvalve.approvals.snoozes import put_off_by
from checkvalve.approvals.story import story_of
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.http_access import Server
from checkvalve.gateway.http_approval_views import Answer, Card, Decisions, Line, Listed, Told, card, for_program, line
from checkvalve.gateway.http_callers import Caller, Calling
from checkvalve.gateway.http_cursor import cursor, place_of
from checkvalve.gateway.http_deciding import (
    DECIDING,
    Key,
    Match,
    Name,
    Wanted,
    own_call,
    refused,
    wanted_of,
    was_done,
)
from checkvalve.gateway.http_edits import edited_args, require_usable
from checkvalve.gateway.http_once import OnceRoute
from checkvalve.gateway.http_problems import Problem, problem_schema
from checkvalve.gateway.http_runs import MAX_STREAMS, RunServer
from checkvalve.gateway.http_seed_items import decide_seed, outcome_of, seed_card, seed_of
from checkvalve.gateway.http_stepup import step_up_if_needed
from checkvalve.gateway.http_waiting import MAX_WAIT, notices, until
from checkvalve.gateway.late_result import late_result
from checkvalve.graphs.edited import deciding

Wait: TypeAlias = Annotated[
    float, Query(ge=0, le=MAX_WAIT, allow_inf_nan=False, description="seconds to wait for a change, at most 55")
]
LOOKING: Final[dict[int | str, dict[str, Any]]] = {
    code: problem_schema(code) for code in (400, 401, 403, 404, 422, 503)
}
_OPEN: Final = frozenset({State.PENDING, State.APPROVED, State.EXECUTING})
router: Final = APIRouter(tags=["approvals"], route_class=OnceRoute)
streaming: Final = APIRouter(tags=["approvals"])
"""The stream: no id of a call is called as it is, so it comes before whatever takes an id."""


@router.get("/approvals", responses=LOOKING)
async def listing(  # noqa: PLR0913  # each is a part of the query
    server: Server,
    caller: Calling,
    *,
    state: Annotated[list[State] | None, Query(description="states to list; pending when not given")] = None,
    thread: Annotated[str, Query(max_length=200, description="only this run")] = "",
    after: Annotated[str, Query(max_length=200, description="`next` of the page before")] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    snoozed: Annotated[bool, Query(description="false: without what you, as a reviewer, have put off")] = True,
    since: Annotated[int, Query(ge=0, description="`mark` of an earlier answer: with `wait`, until it is old")] = 0,
    wait: Wait = 0,
) -> Listed:
    """List calls, oldest first: those that wait for a person, or those in other states."""
    place, queue = place_of(after), server.gateway.queue
    own = None if caller.reviewer is not None or caller.client is None else caller.client.name

    def look() -> Listed:
        queue.sweep()
        seen = mark(queue.store)
        rows = page(
            queue.store,
            states=state or [State.PENDING],
            thread=thread,
            requester=own,
            after=place,
            limit=limit,
            without=() if snoozed or caller.reviewer is None else put_off_by(queue, caller.reviewer),
        )
        more = cursor(rows[-1]) if len(rows) == limit else None
        rows = with_items(queue, caller.reviewer, rows, states=state, thread=thread, after=place, more=more is not None)
        return Listed(approvals=[Line(**line(row)) for row in rows], next=more, mark=seen)

    return await until(server, caller, look, lambda found: not since or found.mark > since, wait=wait)


@streaming.get("/approvals/events", responses=LOOKING, response_class=StreamingResponse)
async def watch(
    server: Server,
    caller: Calling,
    last_event_id: Annotated[str, Header(max_length=20, description="the number of the last event that arrived")] = "",
) -> Response:
    """Stream what happens to calls, from now on or from after Last-Event-ID (Server-Sent Events)."""
    if last_event_id and not (last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) <= 15):  # noqa: PLR2004  # digits that every database can compare
        raise Problem(400, "no_such_event", "Last-Event-ID is no number of an event", "send the id of an event")
    if server.streams >= MAX_STREAMS:
        raise Problem(503, "too_many_streams", "too many event streams are open", "try again later")
    after = int(last_event_id) if last_event_id else mark(server.gateway.store)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    stream = notices(server, caller, after)
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


@router.get("/approvals/{name}", responses=LOOKING)
async def show(name: Name, server: Server, caller: Calling, response: Response, wait: Wait = 0) -> Card:
    """Show one call, with a mark for what is redacted in it. With ``wait``, answer when it is no longer pending."""
    made_up = partial(seed_of, server, caller, name)
    if item := await until(server, caller, made_up, lambda found: found is None or bool(found.answer), wait=wait):
        return seed_card(server, item, response)
    asked = partial(own_call, server, caller, name)
    row = await until(server, caller, asked, lambda found: found.state is not State.PENDING, wait=wait)
    response.headers["ETag"] = f'"{row.digest}"'
    response.headers["Cache-Control"] = "no-store"
    if caller.reviewer is not None and row.state is State.PENDING:
        now = server.gateway.queue.clock()
        attention.note_shown(server.gateway.store, row.id, caller.reviewer.name, at=now, now=now, whole=True)
    return full_card(server, row, caller)


@router.get("/approvals/{name}/result", responses={**LOOKING, 202: {"model": Told, "description": "not done yet"}})
async def result(name: Name, server: Server, caller: Calling, response: Response, wait: Wait = 0) -> Told:
    """Say what became of a call, as the tool message that its agent is told. Runs nothing; 202 until it is done."""

    def look() -> Told:
        outcome = outcome_of(server, caller, name)
        asked = own_call(server, caller, name) if outcome is None else outcome.proposal
        outcome = outcome or server.gateway.executor.look(current(server.gateway.queue, asked.id).id)
        message = late_result(outcome, server.gateway.inbound, asked)
        row = outcome.proposal
        told: dict[str, Any] = {
            "type": "tool",
            "content": message.content,
            "name": message.name,
            "tool_call_id": message.tool_call_id,
            "status": message.status,
            "artifact": message.artifact,
        }
        if caller.reviewer is not None:  # the agent's program gets the exact result; a person what a card shows
            told = {key: server.gateway.queue.veiling.veil(row.thread).json(value) for key, value in told.items()}
        return Told(id=row.id, state=row.state.value, digest=row.digest, done=row.state not in _OPEN, message=told)

    found = await until(server, caller, look, lambda told: told.done, wait=wait)
    response.status_code = 200 if found.done else 202
    response.headers["Cache-Control"] = "no-store"
    return found


@router.post("/approvals/{name}/decision", responses=DECIDING)
def decide(  # each is a part of the request
    name: Name,
    body: Answer | Decisions,
    server: Server,
    caller: Calling,
    response: Response,
    *,
    if_match: Match = "",
    idempotency_key: Key = "",
) -> Card:
    """Decide a call: exactly the one whose digest is in If-Match, once. Takes a reviewer's token.

    An edit answers with the call that it makes, which waits for a decision of its own: see ``Location`` and ``ETag``.
    """
    foreign = isinstance(body, Decisions)  # from a UI that was shown inert text
    body = body.decisions[0] if isinstance(body, Decisions) else body
    wanted = wanted_of(if_match)
    if (item := seed_of(server, caller, name)) is not None:
        usable = partial(require_usable, body, foreign=foreign)
        return decide_seed(server, caller, item, body, wanted, usable)
    reviewer = caller.must_decide()
    request: JSON = [name, wanted.digest, body.model_dump(mode="json", exclude={"password"})]
    made = partial(_made, body.type, f"reviewer:{reviewer.name}")
    if was_done(server, reviewer.name, idempotency_key, request, name, made):
        response.headers["Idempotency-Replayed"] = "true"
        return full_card(server, current(server.gateway.queue, name), caller)
    try:
        row = _decided(server, reviewer, name, wanted, body, foreign=foreign)
    except ApprovalError as error:
        raise refused(error) from error
    response.headers["ETag"] = f'"{row.digest}"'
    if row.id != name:
        response.headers["Location"] = f"/approvals/{row.id}"
    return full_card(server, row, caller)


def _made(answer: str, by: str, kind: str, body: Mapping[str, Any]) -> bool:
    """Say whether an event is what an answer of this person makes."""
    if body.get("by") != by:
        return False
    if answer == "edit":
        return kind == "proposal.superseded" and body.get("code") == EDITED
    if kind != "vote.cast":
        return False
    if answer == "approve":
        return body.get("vote") == "yes"
    return body.get("vote") == "no" and (body.get("code") == RESPONDED) == (answer == "respond")


def full_card(server: RunServer, row: Proposal, caller: Caller) -> Card:
    """Return everything of a call that the caller may read, with what was said about it and what was edited."""
    queue = server.gateway.queue
    shown = row if isinstance(row, Seen) else queue.veiling.seen(row)  # else somebody reveals it now
    with queue.store.read() as connection:  # before what it counts: what comes in between is seen, and not yet counted
        seen = revision(connection, row.id)
    asked = row.verdict_name == "review" and row.mode == "enforce"
    standing = queue.standing(row.id) if asked else None
    around = lineage(queue, shown.exact)
    before, after = (None if item is None else queue.veiling.beside(shown, item) for item in around)
    talk, preview, pinned = read_talk(queue, shown.exact), seen_preview(queue, shown), seen_pinned(queue, shown)
    found = card(
        shown,
        talk=talk,
        lineage=(before, after),
        standing=standing,
        preview=preview,
        pinned=pinned,
        story=story_of(queue, shown),
    )
    crash = after_crash(queue, shown.exact)
    found = found.model_copy(update={"revision": seen, "after_crash": crash and crash.to_json()})
    return found if caller.reviewer is not None else for_program(found, shown)


def _decided(  # each is a part of the request
    server: RunServer,
    reviewer: Reviewer,
    name: str,
    wanted: Wanted,
    body: Answer,
    *,
    foreign: bool,
) -> Proposal:
    queue, digest = server.gateway.queue, wanted.digest
    if body.type == "approve":
        said = Yes(digest, endorse=body.endorse, note=body.message, channel="rest")
        proof = step_up_if_needed(queue, queue.get(name), reviewer, body.password.get_secret_value(), said)
        return queue.approve(
            name,
            reviewer,
            digest,
            endorse=body.endorse,
            note=body.message,
            channel="rest",
            step_up=proof,
            seen=wanted.seen,
        )
    wanted.require_seen(server, queue.get(name))  # nothing runs because of what follows: a look right before is enough
    if body.type == "edit":
        args = edited_args(queue.veiling.seen(queue.get(name)), body, foreign=foreign)
        return edit(queue, name, reviewer, digest, args, deciding(server.gateway.services))
    wanted.require_digest(queue.get(name))
    if body.type == "respond":
        return respond(queue, name, reviewer, body.message)
    return queue.reject(name, reviewer, body.code, body.message, channel="rest")


__all__ = ["DECIDING", "LOOKING", "Name", "own_call", "refused", "router"]
