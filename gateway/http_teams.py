"""The door for what people say in Microsoft Teams: the address that an outgoing webhook posts to.

Guarantees: it takes a signed message and nothing else, no token and no cookie; what is said in reply is plain text.
Without a channel that has a security token every message is refused.
"""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Header, Path, Request
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from checkvalve.gateway.errors import TeamsError
from checkvalve.gateway.http_once import OnceRoute
from checkvalve.gateway.http_problems import Problem, problem_schema
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.teams_answers import TeamsAnswers

MAX_MESSAGE: Final = 65_536
"""Bytes of one message: a card's code and a reason, with what Teams adds."""
router: Final = APIRouter(tags=["chat"], route_class=OnceRoute)


class Reply(BaseModel):
    """What is said in reply, in the form that Teams takes."""

    type: str = "message"
    text: str
    textFormat: str = "plain"  # noqa: N815  # the name that Teams gives it


@router.post(
    "/channels/teams/{name}",
    responses={code: problem_schema(code) for code in (400, 401, 403, 409, 413, 415, 422, 503)},
)
async def said(
    name: Annotated[str, Path(max_length=40, description="the channel's name in the file of channels")],
    request: Request,
    authorization: Annotated[str, Header(max_length=200, description="`HMAC` and the signature of Teams")] = "",
) -> Reply:
    """Take what somebody said to the outgoing webhook of a channel: an answer to a call, or a code that links them."""
    answers: TeamsAnswers = request.app.state.teams
    body = await request.body()
    if len(body) > MAX_MESSAGE:
        raise Problem(413, "too_large", f"a message has at most {MAX_MESSAGE} bytes", "say it in fewer words")
    try:
        return Reply(text=await run_in_threadpool(answers.answer, name, authorization, body))
    except TeamsError as error:
        get_logger().warning("a message of a chat was refused", code=error.code)
        raise Problem(error.status, error.code, str(error), error.remedy, cause=error.cause) from error


__all__ = ["MAX_MESSAGE", "router"]
