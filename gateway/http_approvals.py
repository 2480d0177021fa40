"""The HTTP API of approvals: list, show, watch, fetch a result; decide, with a reviewer's credential.

1. Looking takes a client's token, for calls of its own name, or a reviewer's. 2. A decision takes a reviewer's token,
the whole digest of the call in ``If-Match``, and is made once: with an ``Idempotency-Key`` the same request again is
told how it ended. 3. Whoever comes second is told who was first, and when.

Guarantees: GET changes nothing but the note that a reviewer was shown a call; a client's token decides nothing; errors
repeat nothing of the request.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from checkvalve.approvals import attention
from checkvalve.approvals.audit import read_events
from checkvalve.approvals.errors import (
    ApprovalError,
    BudgetError,
    ConflictError,
    CredentialError,
    DigestError,
    NotAllowedError,
    NotFoundError,
)
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.request_keys import remember
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.selection import MAX_PAGE, mark, page
from checkvalve.approvals.tablecheck import body_of
from checkvalve.gateway.http_access import PROBLEMS, Server
from checkvalve.gateway.http_approval_views import Answer, Card, Line, Listed, Told, card, line
from checkvalve.gateway.http_callers import Caller, Calling
from checkvalve.gateway.http_problems import Problem, problem_schema
from checkvalve.gateway.http_runs import MAX_STREAMS, RunServer
from checkvalve.gateway.http_waiting import MAX_WAIT, notices, until
from checkvalve.gateway.late_result import late_result

Name: TypeAlias = Annotated[str, Path(pattern=r"^[0-9a-f-]{36}$", description="the id of the call")]
Wait: TypeAlias = Annotated[
    float, Query(ge=0, le=MAX_WAIT, allow_inf_nan=False, description="seconds to wait for a change, at most 55")
]
Match: TypeAlias = Annotated[str, Header(max_length=200, description='the ETag of the call: `"sha256:..."`')]
Key: TypeAlias = Annotated[
    str, Header(max_length=200, description="drawn by the sender; the same request again is harmless")
]
LOOKING: Final[dict[int | str, dict[str, Any]]] = {code: problem_schema() for code in (400, 401, 403, 404, 422, 503)}
DECIDING: Final[dict[int | str, dict[str, Any]]] = {
    **PROBLEMS,
    **{code: problem_schema() for code in (410, 412, 428, 429)},
}
_ETAG: Final = re.compile(r'"?(?:sha256:)?([0-9a-f]{64})"?')
_PLACE: Final = re.compile(r"([0-9]{1,18}) ([0-9a-f-]{36})")  # a moment that every database can compare, and an id
_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")
_OPEN: Final = frozenset({State.PENDING, State.APPROVED, State.EXECUTING})
router: Final = APIRouter(tags=["approvals"])


@router.get("/approvals", responses=LOOKING)
async def listing(  # each is a part of the query
    server: Server,
    caller: Calling,
    *,
    state: Annotated[list[State] | None, Query(description="states to list; pending when not given")] = None,
    thread: Annotated[str, Query(max_length=200, description="only this run")] = "",
    after: Annotated[str, Query(max_length=200, description="`next` of the page before")] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    since: Annotated[int, Query(ge=0, description="`mark` of an earlier answer: with `wait`, until it is old")] = 0,
    wait: Wait = 0,
) -> Listed:
    """List calls, oldest first: those that wait for a person, or those in other states."""
    place, queue = _place(after), server.gateway.queue
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
        )
        more = _cursor(rows[-1]) if len(rows) == limit else None
        return Listed(approvals=[Line(**line(row)) for row in rows], next=more, mark=seen)

    return await until(server, look, lambda found: not since or found.mark > since, wait=wait)


@router.get("/approvals/events", responses=LOOKING, response_class=StreamingResponse)
async def watch(
    request: Request,
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
    stream = notices(server, caller, request.app.state.tokens, after)
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


@router.get("/approvals/{name}", responses=LOOKING)
async def show(name: Name, server: Server, caller: Calling, response: Response, wait: Wait = 0) -> Card:
    """Show one call with its exact arguments. With ``wait``, answer when it is no longer pending."""
    row = await until(
        server, lambda: _own(server, caller, name), lambda found: found.state is not State.PENDING, wait=wait
    )
    response.headers["ETag"] = f'"{row.digest}"'
    response.headers["Cache-Control"] = "no-store"
    if caller.reviewer is not None and row.state is State.PENDING:
        now = server.gateway.queue.clock()
        attention.note_shown(server.gateway.store, row.id, caller.reviewer.name, at=now, now=now)
    return card(row)


@router.get("/approvals/{name}/result", responses={**LOOKING, 202: {"model": Told, "description": "not done yet"}})
async def result(name: Name, server: Server, caller: Calling, response: Response, wait: Wait = 0) -> Told:
    """Say what became of a call, as the tool message that its agent is told. Runs nothing; 202 until it is done."""

    def look() -> Told:
        row = _own(server, caller, name)
        outcome = server.gateway.executor.look(row.id)
        message = late_result(outcome, server.gateway.inbound)
        row = outcome.proposal
        told = {
            "type": "tool",
            "content": message.content,
            "name": message.name,
            "tool_call_id": message.tool_call_id,
            "status": message.status,
            "artifact": message.artifact,
        }
        return Told(id=row.id, state=row.state.value, digest=row.digest, done=row.state not in _OPEN, message=told)

    found = await until(server, look, lambda told: told.done, wait=wait)
    response.status_code = 200 if found.done else 202
    response.headers["Cache-Control"] = "no-store"
    return found


@router.post("/approvals/{name}/decision", responses=DECIDING)
def decide(  # each is a part of the request
    name: Name,
    body: Answer,
    server: Server,
    caller: Calling,
    response: Response,
    *,
    if_match: Match = "",
    idempotency_key: Key = "",
) -> Card:
    """Decide a call: exactly the one whose digest is in If-Match, once. Takes a reviewer's token."""
    reviewer = caller.must_decide()
    digest = _digest(if_match)
    if body.type in {"edit", "respond"}:
        raise Problem(
            422, "not_supported", f"{body.type} is not taken", "reject this call; a changed call is proposed anew"
        )
    if idempotency_key and _was_answered(server, reviewer, idempotency_key, (name, digest, body)):
        response.headers["Idempotency-Replayed"] = "true"
        return card(_own(server, caller, name))
    try:
        row = _decided(server, reviewer, name, digest, body)
    except ApprovalError as error:
        raise _refused(error) from error
    response.headers["ETag"] = f'"{row.digest}"'
    return card(row)


def _decided(server: RunServer, reviewer: Reviewer, name: str, digest: str, body: Answer) -> Proposal:
    queue = server.gateway.queue
    if body.type == "approve":
        return queue.approve(name, reviewer, digest, endorse=body.endorse, note=body.message)
    if queue.get(name).digest != f"sha256:{digest}":
        raise DigestError("this is not the digest of the stored call", remedy="look at the call again")
    return queue.reject(name, reviewer, body.code, body.message)


def _was_answered(server: RunServer, reviewer: Reviewer, key: str, request: tuple[str, str, Answer]) -> bool:
    """Say whether this very request was answered before, by what the log has of the call."""
    name, digest, body = request
    if not _KEY.fullmatch(key):
        raise Problem(400, "bad_key", "the Idempotency-Key is not usable", "send up to 200 printable characters")
    store = server.gateway.store
    known = remember(
        store, reviewer.name, key, [name, digest, body.model_dump(mode="json")], now=server.gateway.queue.clock()
    )
    if known == "other":
        raise Problem(422, "key_reused", "this Idempotency-Key came with another request", "draw a new key")
    if known == "new":
        return False
    kind = "proposal.approved" if body.type == "approve" else "proposal.rejected"
    with store.read() as connection:
        events = list(read_events(connection, subject=name))
    made = [body_of(event.body) for event in events if event.kind == kind]
    return any(move.get("by") == f"reviewer:{reviewer.name}" for move in made)


def _own(server: RunServer, caller: Caller, name: str) -> Proposal:
    """Return a call that the caller may see; of others it is not even said that they exist."""
    try:
        row = server.gateway.queue.get(name)
    except NotFoundError:
        row = None
    if row is None or not caller.sees(row):
        raise Problem(404, "no_such_approval", "there is no such call of yours", "list them: GET /approvals")
    return row


def _refused(error: ApprovalError) -> Problem:
    """Return the problem for a decision that was refused; the queue's own words hold no content."""
    match error:
        case NotFoundError():
            return Problem(404, "no_such_approval", "there is no such call", "list them: GET /approvals")
        case NotAllowedError():
            return Problem(403, "not_allowed", error.message, error.remedy)
        case BudgetError():
            return Problem(429, "budget_used_up", error.message, error.remedy)
        case DigestError():
            return Problem(412, "other_digest", error.message, error.remedy)
        case ConflictError() if " is expired " in error.message or " is lapsed " in error.message:
            return Problem(410, "expired", error.message, error.remedy)
        case ConflictError():
            return Problem(409, "decided", error.message, error.remedy)
        case CredentialError():
            return Problem(403, "credential", error.message, error.remedy)
        case _:
            return Problem(503, "store_failed", "the store cannot be used now", "try again later")


def _digest(if_match: str) -> str:
    if not if_match:
        raise Problem(428, "digest_needed", "a decision names the call by its digest", "send If-Match with the ETag")
    found = _ETAG.fullmatch(if_match.strip().casefold())
    if found is None:
        raise Problem(400, "bad_digest", "If-Match is no digest of a call", 'send the whole ETag: "sha256:..."')
    return found[1]


def _cursor(row: Proposal) -> str:
    return base64.urlsafe_b64encode(f"{row.created_at} {row.id}".encode()).decode()


def _place(after: str) -> tuple[int, str] | None:
    if not after:
        return None
    try:
        text = base64.b64decode(after, altchars=b"-_", validate=True).decode("ascii")
        if (found := _PLACE.fullmatch(text)) is None:
            raise ValueError
        return int(found[1]), found[2]
    except (binascii.Error, ValueError):
        raise Problem(400, "bad_cursor", "this is no place to go on from", "send `next` of an answer") from None


__all__ = ["router"]
