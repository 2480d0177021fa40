"""Waiting over HTTP: bounded long polls, and an event stream of what happens to calls.

Guarantees: a wait ends by itself before proxies cut it, holds no thread while it waits, and there is a bound on how
many there are; a stream says ids, states and tiers and no value, and goes on after ``Last-Event-ID``; neither tells
anything to a credential that was taken back meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Final, TypeVar

from checkvalve.approvals.for_programs import notice_is_for_programs
from checkvalve.approvals.notices import Notice
from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.seed_cards import notices_of
from checkvalve.gateway.http_approval_views import told
from checkvalve.gateway.http_callers import Caller
from checkvalve.gateway.http_problems import Problem
from checkvalve.gateway.http_runs import MAX_STREAMS, RunServer

MAX_WAIT: Final = 55
"""Seconds of one long poll: most clients and proxies give up at 60."""
_POLL: Final = 0.25  # seconds between looks at the store
_BEAT: Final = 15.0  # seconds of silence after which a comment shows that the connection lives
_CHECKED: Final = 2.0  # seconds between looks whether the credential still is one

T = TypeVar("T")


async def until(
    server: RunServer, caller: Caller, look: Callable[[], T], done: Callable[[T], bool], *, wait: float
) -> T:
    """Return what ``look`` finds, at once when it is ``done``, else when it becomes so or the time is over.

    Raises:
        Problem: too many wait already, or the caller's credential was taken back meanwhile.
    """
    found = await asyncio.to_thread(look)
    if done(found) or wait <= 0:
        return found
    if server.streams >= MAX_STREAMS:
        raise Problem(503, "too_many_streams", "too many requests wait", "ask again later, without waiting")
    server.streams += 1
    try:
        end = time.monotonic() + min(wait, MAX_WAIT)
        while not done(found) and (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(_POLL, left))
            found = await asyncio.to_thread(look)
        if not await asyncio.to_thread(caller.holds, server.gateway.queue.reviewers):
            raise Problem(401, "not_authenticated", "the token was taken back meanwhile", "use one that is accepted")
        return found
    finally:
        server.streams -= 1


async def notices(server: RunServer, caller: Caller, after: int) -> AsyncIterator[str]:
    """Yield what happens to the calls that ``caller`` may see, from behind event ``after`` on."""
    outbox, quiet, checked = Outbox(server.gateway.store), 0.0, 0.0
    server.streams += 1
    try:
        yield "retry: 3000\n\n"
        while True:
            if checked <= 0:
                if not await asyncio.to_thread(caller.holds, server.gateway.queue.reviewers):
                    yield "event: ended\ndata: {}\n\n"
                    return
                checked = _CHECKED
            seen, after = await asyncio.to_thread(_news, server, caller, outbox, after)
            for item in seen:
                yield f"id: {item.seq}\nevent: {item.kind}\ndata: {json.dumps(told(item))}\n\n"
            quiet, checked = (0.0 if seen else quiet + _POLL), checked - _POLL
            if quiet >= _BEAT:
                quiet = 0.0
                yield ": still here\n\n"
            await asyncio.sleep(_POLL)
    finally:
        server.streams -= 1


def _news(server: RunServer, caller: Caller, outbox: Outbox, after: int) -> tuple[list[Notice], int]:
    """Return what there is to tell ``caller`` of the events behind ``after``, and the place to go on from."""
    found, end = outbox.after(after)
    seen = [item for item in found if _may_see(caller, item)]
    if caller.reviewer is not None and end > after:  # or what is made up would be told by its silence
        seen += notices_of(server.gateway.queue, caller.reviewer, after, end)
    return sorted(seen, key=lambda item: item.seq), end


def _may_see(caller: Caller, item: Notice) -> bool:
    """Say whether this is told: what is about no call, and whom people call to one, is for reviewers."""
    if caller.reviewer is not None:
        return True
    return item.proposal is not None and notice_is_for_programs(item.kind) and caller.sees(item.proposal)


__all__ = ["MAX_WAIT", "notices", "until"]
