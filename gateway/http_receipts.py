"""The receipt of a call over HTTP: the proof that its events are in the signed log, for ``audit verify-receipt``.

Guarantees: of what is not decided, is not the caller's, or is no call, the same is said; while the newest events
are not signed yet, it is said when to ask again; a receipt is not to be kept by anybody on the way.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from checkvalve.approvals.call_receipts import Unsigned, call_receipt
from checkvalve.approvals.errors import LogError, LogTamperedError, NotFoundError
from checkvalve.gateway.http_access import Server
from checkvalve.gateway.http_approvals import LOOKING, Name
from checkvalve.gateway.http_callers import Caller, Calling
from checkvalve.gateway.http_problems import Problem, problem_schema
from checkvalve.gateway.http_runs import RunServer

RETRY_AFTER: Final = 1
"""Seconds after which asking again makes sense: a gateway signs every second."""
_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    **LOOKING,
    202: {"description": "The newest events of the call are not signed yet; ask again after `Retry-After` seconds"},
    409: problem_schema(),
}
router: Final = APIRouter(tags=["approvals"])


@router.get("/approvals/{name}/receipt", responses=_ANSWERS)
def receipt(name: Name, server: Server, caller: Calling, response: Response) -> dict[str, Any]:
    """Return the proof that the decision on a call, and what was done of it, are in the signed log."""
    found = _found(server, caller, name)
    if isinstance(found, Unsigned):
        return JSONResponse(_waiting(found), 202, {"Retry-After": str(RETRY_AFTER), "Cache-Control": "no-store"})  # type: ignore[return-value]  # FastAPI sends a response as it is
    response.headers["Cache-Control"] = "no-store"
    response.headers["Content-Disposition"] = f'attachment; filename="receipt-{name[:8]}.json"'
    return found


def _found(server: RunServer, caller: Caller, name: str) -> dict[str, Any] | Unsigned:
    queue = server.gateway.queue
    try:
        row = queue.get(name)
    except NotFoundError:
        row = None
    if row is None or not caller.sees(row):
        raise _nothing()
    try:
        with queue.store.read() as connection:
            veil = queue.veiling.veil(row.thread)
            made = call_receipt(connection, row, veil, whole=caller.reviewer is not None)
    except LogTamperedError:
        raise
    except LogError as error:
        raise Problem(409, "in_two_logs", error.message, "ask for the log: checkvalve audit export") from error
    if made is None:
        raise _nothing()
    if isinstance(made, Unsigned) and made.is_never:
        raise Problem(404, "log_not_signed", "this gateway's log is not signed, so nothing can be proven of it",
                      "whoever runs it makes a key: checkvalve audit key create")  # fmt: skip
    return made if isinstance(made, Unsigned) else made.to_json()


def _nothing() -> Problem:
    return Problem(
        404, "no_receipt", "there is no such call of yours that was decided", "list decided ones: GET /approvals?state="
    )


def _waiting(found: Unsigned) -> dict[str, Any]:
    return {
        "state": "not_signed_yet",
        "event": found.event,
        "signed": found.signed,
        "detail": f"event {found.event} of this call is not signed yet; {found.signed} events are",
        "remedy": f"ask again in {RETRY_AFTER} s; if it stays so, whoever runs the gateway looks why nothing is signed",
    }


__all__ = ["RETRY_AFTER", "router"]
