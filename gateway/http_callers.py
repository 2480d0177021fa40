"""Who asks about approvals over HTTP: the client whose runs proposed them, or a reviewer with a credential.

Guarantees: a client sees the calls that were proposed in its own name and decides nothing; a reviewer sees all and
decides what the queue lets that person decide. A token of the one kind is never taken for the other.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from checkvalve.approvals.causes import Cause
from checkvalve.approvals.errors import ApprovalError, CredentialError
from checkvalve.approvals.people import folded
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.gateway.http_access import Server
from checkvalve.gateway.http_problems import Problem
from checkvalve.gateway.http_runs import RunServer
from checkvalve.gateway.http_tokens import ApiTokens, Client

_BEARER: Final = HTTPBearer(auto_error=False, description="an API token, or a reviewer's token")
_REVIEWER: Final = "cvr_"
_ONE_AT_A_TIME: Final = threading.Lock()  # argon2 takes tens of megabytes for each check


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose request this is: one of the two is set."""

    client: Client | None = None
    reviewer: Reviewer | None = None
    tokens: ApiTokens | None = None

    def holds(self, reviewers: Reviewers) -> bool:
        """Say whether the credential still is one: it may be taken back while a request waits."""
        if self.client is not None:
            return self.tokens is not None and self.tokens.holds(self.client)
        if self.reviewer is None:
            return False
        try:
            with reviewers.store.read() as connection:
                reviewers.require_known(connection, self.reviewer)
        except ApprovalError:
            return False
        return True

    def sees(self, proposal: Proposal) -> bool:
        """Say whether this call may be shown."""
        if self.reviewer is not None:
            return True
        return self.client is not None and folded(proposal.requester) == self.client.name

    def must_decide(self) -> Reviewer:
        """Return the reviewer.

        Raises:
            Problem: it is a client: those decide nothing.
        """
        if self.reviewer is None:
            text = "a decision needs a reviewer's credential"
            raise Problem(403, "not_a_reviewer", text, "send a reviewer's token", cause=Cause.NOT_A_REVIEWER)
        return self.reviewer


def reviewer_of(server: RunServer, token: str) -> Reviewer:
    """Return whose token this is.

    Raises:
        Problem: nobody's.
    """
    try:
        with _ONE_AT_A_TIME:
            return server.gateway.queue.reviewers.authenticate(token)
    except CredentialError as error:
        raise Problem(401, "not_authenticated", "the token was not accepted", error.remedy) from error


def who_sends(server: RunServer, tokens: ApiTokens, token: str) -> str:
    """Return in whose name a request comes: ``reviewer:NAME`` or ``client:NAME``, whatever the token may do.

    Raises:
        Problem, TokenError: the token is not accepted.
    """
    if token.startswith(_REVIEWER):
        return f"reviewer:{reviewer_of(server, token).name}"
    return f"client:{tokens.authenticate(token).name}"


def _caller(
    request: Request, server: Server, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]
) -> Caller:
    if given is None:
        raise Problem(401, "not_authenticated", "a token is needed", "send Authorization: Bearer TOKEN")
    if given.credentials.startswith(_REVIEWER):
        return Caller(reviewer=reviewer_of(server, given.credentials))
    tokens: ApiTokens = request.app.state.tokens
    client = tokens.authenticate(given.credentials)
    if "read" not in client.scopes:
        text = "this token lacks the scope read"
        raise Problem(403, "not_allowed", text, "use a token that has it", cause=Cause.SCOPE_MISSING)
    return Caller(client=client, tokens=tokens)


Calling: TypeAlias = Annotated[Caller, Depends(_caller)]

__all__ = ["Caller", "Calling", "reviewer_of", "who_sends"]
