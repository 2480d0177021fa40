"""What a page that stays open is told: that something changed, and whether the call on it still is what it shows.

Guarantees: no content is sent, only counts, numbers and states; being told keeps nobody signed in, and ends with the
session; a browser without the stream asks every few seconds, and one without scripts has a link.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from checkvalve.approvals import pages_data, pin_record, previews, votes
from checkvalve.approvals.edits import whole_talk
from checkvalve.approvals.errors import NotFoundError
from checkvalve.gateway.web_desk import Desk, Stop, desk_of, session_of

MAX_STREAMS: Final = 64
"""Streams that are kept open; further browsers ask instead."""
EVERY: Final = 1.0
"""Seconds between looks at the store for one stream."""
_BEAT: Final = 15.0  # seconds of silence after which a comment shows that the connection lives
router: Final = APIRouter()


@router.get("/changes")
def changes(request: Request, item: Annotated[str, Query(max_length=36)] = "") -> Response:
    """Say how much waits, and how the call on the page stands."""
    if session_of(request, touch=False) is None:
        raise Stop(401, "session")
    return JSONResponse(_standing(desk_of(request), item))


def _standing(desk: Desk, item: str = "") -> dict[str, Any]:
    seq, count = pages_data.mark(desk.queue.store)
    found: dict[str, Any] = {"mark": seq, "open": count}
    if item:
        try:
            row = desk.queue.get(item)
            found["item"] = {"state": row.state.value, "version": row.version, "said": said_about(desk, item)}
        except NotFoundError:
            found["item"] = {"state": "missing", "version": 0, "said": 0}
    return found


def said_about(desk: Desk, item: str) -> int:
    """Return how many remarks and votes a call has; what it would do, and what is pinned, count as one each."""
    row = desk.queue.get(item)
    said = len(whole_talk(desk.queue, row)) + previews.is_known(desk.queue, row)
    said += pin_record.is_known(desk.queue, row)
    with desk.queue.store.read() as connection:
        return said + len(votes.read(connection, item))


@router.get("/events")
async def events(request: Request) -> Response:
    """Stream one event for each change of the store."""
    desk = desk_of(request)
    if await asyncio.to_thread(session_of, request, touch=False) is None:
        raise Stop(401, "session")
    if desk.streams >= MAX_STREAMS:
        return Response(status_code=204)  # which tells a browser not to connect again: it asks instead
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_stream(request, desk), media_type="text/event-stream", headers=headers)


async def _stream(request: Request, desk: Desk) -> AsyncIterator[str]:
    quiet, last = 0.0, ""
    desk.streams += 1
    try:
        yield "retry: 3000\n\n"
        while not await request.is_disconnected():
            if await asyncio.to_thread(session_of, request, touch=False) is None:
                yield "event: ended\ndata: {}\n\n"
                return
            now = json.dumps(await asyncio.to_thread(_standing, desk))
            if now != last:
                yield f"event: change\ndata: {now}\n\n"
                last, quiet = now, 0.0
            quiet += EVERY
            if quiet >= _BEAT:
                quiet = 0.0
                yield ": still here\n\n"
            await asyncio.sleep(EVERY)
    finally:
        desk.streams -= 1


__all__ = ["router"]
