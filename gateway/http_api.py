"""The HTTP API of runs: start one, say more, look, go on, and watch its events (Server-Sent Events).

Guarantees: every request but the one for health needs a token, and sees only runs of that token's name; runs are
driven in the background and survive this process; a broken event stream goes on where it was (``Last-Event-ID``), and
one whose token is taken back ends. A token of this API decides no approval (:mod:`http_approvals`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Final, cast

from fastapi import APIRouter, FastAPI, Header, Request, Response
from fastapi.responses import StreamingResponse

from checkvalve.gateway import (
    http_approvals,
    http_delegations,
    http_glass,
    http_interrupts,
    http_mandates,
    http_receipts,
    http_report,
    http_reveal,
    http_revoke,
    http_rules,
    http_seeds,
    http_standing,
    http_talk,
    http_teams,
    http_undos,
)
from checkvalve.gateway.app import Gateway
from checkvalve.gateway.http_access import PROBLEMS, Anybody, Looker, Runner, Server, Thread
from checkvalve.gateway.http_deciding import Key
from checkvalve.gateway.http_once import OnceRoute
from checkvalve.gateway.http_problems import Bounds, Problem, add_handlers
from checkvalve.gateway.http_run_once import begin_once
from checkvalve.gateway.http_runs import MAX_STREAMS, NewMessage, NewRun, RunServer, RunView
from checkvalve.gateway.http_tokens import ApiTokens
from checkvalve.gateway.ladder_keeper import LadderKeeper
from checkvalve.gateway.notifier import notifier_of
from checkvalve.gateway.run_log import OVER, RunLog
from checkvalve.gateway.seed_keeper import SeedKeeper
from checkvalve.gateway.teams_answers import TeamsAnswers
from checkvalve.gateway.undo_point import UndoPoint, UndoWorker
from checkvalve.gateway.worker import Worker
from checkvalve.graphs.runs import Pipeline
from checkvalve.graphs.undoing import Undoing

_MAX_DIGITS: Final = 15  # of an event's number: every database can hold and compare it

router: Final = APIRouter(route_class=OnceRoute)


def create_app(gateway: Gateway, pipeline: Pipeline, tokens: ApiTokens) -> FastAPI:
    """Return the API over ``pipeline``, with a worker that goes on with every run that can, and one for each channel.

    Raises:
        ChannelError: the file of channels cannot be used.
    """
    log = RunLog(gateway.content)
    worker = Worker(pipeline, log, gateway.queue, max_runs=gateway.settings.max_runs)
    notifier = notifier_of(gateway.settings.channels, gateway.queue, gateway.settings.review_origin)
    settings = gateway.settings
    seeding = SeedKeeper(
        gateway.queue, gateway.manifest, gateway.policy, per_week=settings.seeded_items, profile=settings.profile
    )
    ladder = LadderKeeper(gateway.queue, seeding=seeding)

    undoer = UndoWorker(UndoPoint(Undoing(gateway.services), pipeline.tools))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        worker.start()
        ladder.start()
        undoer.start()
        if notifier is not None:
            notifier.start()
        yield
        await asyncio.to_thread(ladder.stop)
        if notifier is not None:
            await asyncio.to_thread(notifier.stop)
        await asyncio.to_thread(undoer.stop)
        await asyncio.to_thread(worker.stop)

    app = FastAPI(
        title="Checkvalve",
        version="1",
        description="Runs of the two-agent pipeline, and the calls that wait for a person. Text in them is content.",
        openapi_url=None,  # ours below asks for a token
        docs_url=None,  # the page would load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.server = RunServer(gateway, pipeline, log, worker)
    app.state.tokens = tokens
    gateway.queue.owners.of_task = log.behind
    app.state.teams = TeamsAnswers([] if notifier is None else notifier.channels.teams, gateway.queue)
    app.include_router(router)
    app.include_router(http_mandates.router)
    app.include_router(http_approvals.streaming)
    app.include_router(http_approvals.router)
    app.include_router(http_talk.router)
    app.include_router(http_delegations.router)
    app.include_router(http_glass.router)
    app.include_router(http_interrupts.router)
    app.include_router(http_rules.router)
    app.include_router(http_seeds.router)
    app.include_router(http_standing.router)
    app.include_router(http_report.router)
    app.include_router(http_undos.router)
    app.include_router(http_receipts.router)
    app.include_router(http_reveal.router)
    app.include_router(http_revoke.router)
    app.include_router(http_teams.router)
    add_handlers(app)
    app.add_middleware(Bounds)
    return app


@router.get("/healthz")
def healthz() -> dict[str, str]:
    """Say that the server lives; needs no token."""
    return {"status": "ok"}


@router.get("/openapi.json", include_in_schema=False)
def describe(request: Request, _client: Anybody) -> dict[str, Any]:
    """Describe the API, to whoever has a token."""
    return cast(FastAPI, request.app).openapi()


@router.post("/runs", status_code=202, responses=PROBLEMS)
def start(body: NewRun, server: Server, client: Runner, response: Response, *, idempotency_key: Key = "") -> RunView:
    """Start a run. It goes on in the background; look at it, or watch its events.

    The same request again, with the same key or, where there is none, `message_id`, meets the same run.
    """
    thread, there = begin_once(server, body, client, idempotency_key)
    if there:
        response.headers["Idempotency-Replayed"] = "true"
    response.headers["Location"] = f"/runs/{thread}"
    return server.view(server.own(thread, client))


@router.get("/runs/{thread}", responses=PROBLEMS)
def look(thread: Thread, server: Server, client: Looker) -> RunView:
    """Say how a run stands."""
    return server.view(server.own(thread, client))


@router.post("/runs/{thread}/resume", status_code=202, responses=PROBLEMS)
def resume(thread: Thread, server: Server, client: Runner) -> RunView:
    """Let a run go on that waits or failed. Where nothing was decided, nothing happens."""
    server.own(thread, client)
    server.go_on(thread, client)
    return server.view(server.own(thread, client))


@router.post("/runs/{thread}/messages", status_code=202, responses=PROBLEMS)
def say(thread: Thread, body: NewMessage, server: Server, client: Runner) -> RunView:
    """Say more. While a call waits, the settings decide: it is kept, takes the call back, or begins a task of its own.

    The answer is about the run that has the message.
    """
    server.own(thread, client)
    context = server.say(thread, client, body.text, body.message_id)
    return server.view(server.own(context, client))


@router.get("/runs/{thread}/events", responses=PROBLEMS)
def watch(
    request: Request,
    thread: Thread,
    server: Server,
    client: Looker,
    last_event_id: Annotated[str, Header(description="the number of the last event that arrived")] = "",
) -> Response:
    """Stream the events of a run from the start, or from after Last-Event-ID, until run or token end."""
    record = server.own(thread, client)
    after = _number(last_event_id)
    tokens = cast(ApiTokens, request.app.state.tokens)
    if record.status in OVER and after and not server.log.events(thread, after):
        return Response(status_code=204)  # which tells a browser not to connect again
    if server.streams >= MAX_STREAMS:
        raise Problem(503, "too_many_streams", "too many event streams are open", "try again later")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    events = server.events(thread, after, lambda: tokens.holds(client))
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


def _number(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()) or len(text) > _MAX_DIGITS:
        raise Problem(
            400, "no_such_event", "Last-Event-ID is no number of an event", "send the id of an event, or none"
        )
    return int(text)


__all__ = ["create_app", "router"]
