"""The witness over HTTP: ``POST /add-checkpoint`` of C2SP, and ``GET /checkpoints`` for people who look after logs.

``GET /checkpoints/NAME`` is one of them as it was cosigned: a file for ``checkvalve audit verify --anchor``.
"""

from __future__ import annotations

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from checkvalve.gateway.witness import MAX_BODY, Answer, Witness


def create_witness_app(witness: Witness) -> FastAPI:
    """Return the application. There is no sign-in: who may ask is decided by the signature of the log."""
    app = FastAPI(title="Checkvalve witness", docs_url=None, redoc_url=None, openapi_url=None)

    @app.post("/add-checkpoint")
    async def add_checkpoint(request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                return _response(Answer(400, "the request is too large\n"))
        return _response(await run_in_threadpool(witness.add, bytes(body)))

    @app.get("/checkpoints")
    def checkpoints() -> JSONResponse:
        return JSONResponse(witness.newest())

    @app.get("/checkpoints/{origin:path}")
    def checkpoint(origin: str) -> Response:
        found = witness.newest().get(origin)
        return _response(Answer(404, "this log is not known here\n") if found is None else Answer(200, found))

    return app


def _response(answer: Answer) -> Response:
    return Response(answer.text, answer.status, {"content-type": answer.kind})  # as it is: no charset is added
