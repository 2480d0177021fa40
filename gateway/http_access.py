"""Who may do what at the HTTP API: every handler names its server, its client with a scope, and its run."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias, cast

from fastapi import Depends, Path, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from checkvalve.approvals.causes import Cause
from checkvalve.gateway.http_problems import Problem, problem_schema
from checkvalve.gateway.http_runs import CONTEXT, RunServer
from checkvalve.gateway.http_tokens import ApiTokens, Client

_BEARER: Final = HTTPBearer(auto_error=False, description="a token of `checkvalve token add`")
PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    code: problem_schema(code) for code in (400, 401, 403, 404, 409, 413, 415, 422, 503)
}


def _server(request: Request) -> RunServer:
    return cast(RunServer, request.app.state.server)


def _client(request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]) -> Client:
    if given is None:
        raise Problem(401, "not_authenticated", "a token is needed", "send Authorization: Bearer TOKEN")
    return cast(ApiTokens, request.app.state.tokens).authenticate(given.credentials)


def _runner(found: Annotated[Client, Depends(_client)]) -> Client:
    return _scoped(found, "run")


def _looker(found: Annotated[Client, Depends(_client)]) -> Client:
    return _scoped(found, "read")


def _scoped(client: Client, scope: str) -> Client:
    if scope not in client.scopes:
        text = f"this token lacks the scope {scope}"
        raise Problem(403, "not_allowed", text, "use a token that has it", cause=Cause.SCOPE_MISSING)
    return client


Server: TypeAlias = Annotated[RunServer, Depends(_server)]
Runner: TypeAlias = Annotated[Client, Depends(_runner)]
Looker: TypeAlias = Annotated[Client, Depends(_looker)]
Thread: TypeAlias = Annotated[str, Path(pattern=CONTEXT)]
Anybody: TypeAlias = Annotated[Client, Depends(_client)]

__all__ = ["PROBLEMS", "Anybody", "Looker", "Runner", "Server", "Thread"]
