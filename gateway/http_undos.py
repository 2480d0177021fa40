"""The HTTP API of undoing: see what would take an effect back, and ask for it.

Guarantees: a client sees the undoing of its own calls and asks for none; asking takes a reviewer's token, and makes a
new call that another person decides. Values are content: show them as text and nothing else.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from fastapi import APIRouter, Response

from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.seed_cards import as_question
from checkvalve.gateway.http_access import Server
from checkvalve.gateway.http_approval_views import Card, card
from checkvalve.gateway.http_approvals import DECIDING, LOOKING, Name, own_call, refused
from checkvalve.gateway.http_callers import Calling
from checkvalve.gateway.http_once import OnceRoute
from checkvalve.gateway.http_runs import RunServer
from checkvalve.gateway.http_seed_items import open_seed
from checkvalve.gateway.undo_point import UndoPoint
from checkvalve.gateway.undo_views import to_json, under
from checkvalve.graphs.undoing import Undoing

View: TypeAlias = dict[str, Any]
router: Final = APIRouter(tags=["approvals"], route_class=OnceRoute)


def _point(server: RunServer) -> UndoPoint:
    return UndoPoint(Undoing(server.gateway.services), server.pipeline.tools)


@router.get("/approvals/{name}/undo", responses=LOOKING)
def show(name: Name, server: Server, caller: Calling, response: Response) -> View:
    """Say what would undo a call's effect, until when, where each value is from, and who has asked for it."""
    item = open_seed(server, caller, name)
    row = own_call(server, caller, name) if item is None else as_question(item)
    response.headers["Cache-Control"] = "no-store"
    try:
        point = _point(server)
        found = point.standing(row.id) if item is None else point.undoing.nothing_of(row)
        return to_json(under(found, server.gateway.queue.veiling.veil(row.thread)))
    except ApprovalError as error:
        raise refused(error) from error


@router.post("/approvals/{name}/undo", status_code=201, responses=DECIDING)
def ask(name: Name, server: Server, caller: Calling, response: Response) -> Card:
    """Ask for the undoing of a call's effect: a new call, which another person decides. Takes a reviewer's token."""
    reviewer = caller.must_decide()
    try:
        if (item := open_seed(server, caller, name)) is not None:
            _point(server).undoing.refuse(as_question(item), reviewer)
        asked = _point(server).ask(name, reviewer)
    except ApprovalError as error:
        raise refused(error) from error
    response.headers["Location"] = f"/approvals/{asked.id}"
    response.headers["ETag"] = f'"{asked.digest}"'
    return card(server.gateway.queue.veiling.seen(asked))


__all__ = ["router"]
