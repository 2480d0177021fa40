"""The HTTP API's way to take an approval back before its call has begun.

Guarantees: it takes the credential of a reviewer who may, or the token that acts in the name of whoever asked; the call
is named by its digest, and the same request again does nothing a second time; once the call has begun it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from checkvalve.approvals import revoking
from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.records import State
from checkvalve.approvals.remarks import MAX_TEXT
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.http_access import Server
from checkvalve.gateway.http_approval_views import Card
from checkvalve.gateway.http_approvals import full_card
from checkvalve.gateway.http_callers import Calling
from checkvalve.gateway.http_deciding import (
    DECIDING,
    Key,
    Match,
    Name,
    refused,
    wanted_of,
    was_done,
)
from checkvalve.gateway.http_once import OnceRoute
from checkvalve.gateway.http_seed_items import to_act_on
from checkvalve.gateway.http_talk import require_run

_KIND: Final = f"proposal.{State.REVOKED.value}"
router: Final = APIRouter(tags=["approvals"], route_class=OnceRoute)


class Note(BaseModel):
    """Why an approval is taken back."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    note: str = Field("", max_length=MAX_TEXT, description="plain text, for the record")


@router.post("/approvals/{name}/revoke", responses=DECIDING)
def revoke(  # each is a part of the request
    name: Name,
    server: Server,
    caller: Calling,
    response: Response,
    body: Note | None = None,
    *,
    if_match: Match = "",
    idempotency_key: Key = "",
) -> Card:
    """Take the approval of a call back, as long as the call has not begun; its agent is told so."""
    require_run(caller)  # before the key is taken: a token that only reads must not use up that of another one
    wanted, note = wanted_of(if_match), "" if body is None else body.note
    row = to_act_on(server, caller, name, wanted=wanted, refusing=revoking.require_revocable)
    queue = server.gateway.queue
    by = f"client:{caller.client.name}" if caller.client is not None else f"reviewer:{caller.must_decide().name}"
    request: JSON = [name, "revoke", note]
    try:
        wanted.require_digest(row)
        if was_done(server, by, idempotency_key, request, name, partial(_made, by)):
            response.headers["Idempotency-Replayed"] = "true"
            return full_card(server, row, caller)
        wanted.require_seen(server, row)
        if caller.client is not None:
            row = revoking.revoke_own(queue, name, caller.client.name, note, channel="rest")
        else:
            row = revoking.revoke(queue, name, caller.must_decide(), note, channel="rest")
    except ApprovalError as error:
        raise refused(error) from error
    return full_card(server, row, caller)


def _made(by: str, kind: str, body: Mapping[str, Any]) -> bool:
    return kind == _KIND and body.get("by") == by


__all__ = ["router"]
