"""The HTTP API of the gateway's rules: what is in force, what waits, propose, confirm, refuse.

Guarantees: everything here takes a reviewer's token; a change is confirmed with the digest that was looked at; where
rules are worked out or compared, that is done here and never taken from the request; errors repeat nothing of it.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field

from checkvalve.approvals.errors import ApprovalError, ConfigError, DigestError
from checkvalve.approvals.rule_changes import RuleChanges
from checkvalve.approvals.rule_draft import MAX_NOTE, MAX_OVERLAP
from checkvalve.approvals.rulesets import RuleText
from checkvalve.gateway.errors import GatewayError
from checkvalve.gateway.http_access import PROBLEMS, Server
from checkvalve.gateway.http_callers import Calling
from checkvalve.gateway.http_once import OnceRoute
from checkvalve.gateway.http_problems import Problem, problem_of
from checkvalve.gateway.http_runs import RunServer
from checkvalve.gateway.rule_impact import Place
from checkvalve.gateway.rule_proposals import Wanted, differing, draft_of, whole

ChangeId: TypeAlias = Annotated[str, Path(pattern=r"^[0-9a-f-]{36}$", description="the id of the change")]
View: TypeAlias = dict[str, Any]
Note: TypeAlias = Annotated[str, Field(max_length=MAX_NOTE, description="why, in your own words")]
router: Final = APIRouter(tags=["rules"], route_class=OnceRoute)


class NewRules(BaseModel):
    """What is proposed. A part that is not given is read from where this server's settings say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    texts: dict[Literal["manifest", "policy", "review"], str] = Field(
        default_factory=dict, description="texts that are proposed instead of the files of this server"
    )
    parts: list[Literal["manifest", "policy", "schema", "review", "settings"]] = Field(
        default_factory=list,
        description="only these parts are read from this server's files, and the others stay; default: all",
    )
    note: Note = ""
    overlap_seconds: int = Field(0, ge=0, le=MAX_OVERLAP, description="for which what is replaced stays in force")


class Agreed(BaseModel):
    """Which rules are agreed to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$", description="the digest of the change that was looked at")


class Refusal(BaseModel):
    """Why a change is refused or taken back."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    note: Note = ""


@router.get("/rules", responses=PROBLEMS)
def status(server: Server, caller: Calling) -> View:
    """Say what is in force, and whether the files of this server are that."""
    caller.must_decide()
    try:
        current = _rules(server).current()
        other = differing(_place(server), current)
    except (ApprovalError, GatewayError) as error:
        raise _refused(error) from error
    return {
        "in_force": None if current is None else current.to_json(),
        "files_that_differ": [{"part": one.part, "digest": one.digest} for one in other],
        "adoption_required": server.gateway.settings.require_adoption,
    }


@router.get("/rule-changes", responses=PROBLEMS)
def listing(server: Server, caller: Calling) -> list[View]:
    """List all changes, oldest first. Names in them are content: show them as text and nothing else."""
    caller.must_decide()
    try:
        return [item.to_json() for item in _rules(server).list()]
    except ApprovalError as error:
        raise _refused(error) from error


@router.get("/rule-changes/{name}", responses=PROBLEMS)
def show(name: ChangeId, server: Server, caller: Calling) -> View:
    """Show one change: what differs line by line, and what it would have changed of the recorded calls."""
    caller.must_decide()
    try:
        return whole(_place(server), _rules(server).find(name))
    except ApprovalError as error:
        raise _refused(error) from error


@router.get("/rule-changes/{name}/texts/{part}", responses=PROBLEMS)
def text(name: ChangeId, part: Literal["manifest", "policy", "schema", "review", "settings"], server: Server,
         caller: Calling) -> Response:  # fmt: skip
    """Return one part as it was proposed, byte for byte."""
    caller.must_decide()
    try:
        known = _rules(server)
        found = known.texts(known.find(name))[part]
    except ApprovalError as error:
        raise _refused(error) from error
    return Response(found.encode(), media_type="text/plain; charset=utf-8", headers=_PLAIN)


_PLAIN: Final = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}


@router.post("/rule-changes", status_code=201, responses=PROBLEMS)
def propose(body: NewRules, server: Server, caller: Calling, response: Response) -> View:
    """Propose rules. They count for nothing before another administrator confirms them, but for the very first ones."""
    reviewer = caller.must_decide()
    given: dict[str, RuleText] = {part: RuleText(part, found, "given") for part, found in body.texts.items()}
    try:
        place = _place(server)
        parts: list[str] = [*body.parts] or [*given]
        made = _rules(server).propose(draft_of(place, Wanted(given, parts, body.note, body.overlap_seconds)), reviewer)
        view = whole(place, made)
    except (ApprovalError, GatewayError) as error:
        raise _refused(error) from error
    response.headers["Location"] = f"/rule-changes/{made.id}"
    return view


@router.post("/rule-changes/{name}/confirm", responses=PROBLEMS)
def confirm(name: ChangeId, body: Agreed, server: Server, caller: Calling) -> View:
    """Agree to a change as the second person; from then on gateways run under these rules and no others."""
    reviewer = caller.must_decide()
    try:
        return _rules(server).confirm(name, reviewer, body.digest).to_json()
    except ApprovalError as error:
        raise _refused(error) from error


@router.post("/rule-changes/{name}/refuse", responses=PROBLEMS)
def refuse(name: ChangeId, body: Refusal, server: Server, caller: Calling) -> View:
    """Say no to a change that waits; whoever proposed it takes it back with this."""
    reviewer = caller.must_decide()
    try:
        return _rules(server).refuse(name, reviewer, body.note).to_json()
    except ApprovalError as error:
        raise _refused(error) from error


def _place(server: RunServer) -> Place:
    gateway = server.gateway
    return Place(gateway.queue, gateway.settings, gateway.settings_file)


def _rules(server: RunServer) -> RuleChanges:
    return server.gateway.queue.rule_changes


def _refused(error: ApprovalError | GatewayError) -> Problem:
    """Return the problem for what was refused; a file's own words stay out of it."""
    if isinstance(error, ConfigError):
        text = f"the rules cannot be used{f', line {error.line}' if error.line else ''}"
        return Problem(422, "unusable", text, "check them: checkvalve rules propose", cause=error.cause)
    if isinstance(error, DigestError):  # no precondition of the request: it stands in the body
        return Problem(409, "digest", error.message, error.remedy, cause=error.cause)
    if isinstance(error, ApprovalError):
        return problem_of(error, ("no_such_change", "there is no such change", "list them: GET /rule-changes"))
    return Problem(503, "store_failed", "the rules cannot be looked at now", "the operator has to look")


__all__ = ["Agreed", "NewRules", "Refusal", "router"]
