"""The HTTP API of standing rules: draft one from a call, try it on the record, make, confirm, look, take back.

Guarantees: everything here takes a reviewer's token, since a rule holds values of calls and says what others do; a rule
that would have let through what people refused is not saved; errors repeat nothing of the request.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from checkvalve.approvals.bounds_shown import rule_shown
from checkvalve.approvals.errors import ApprovalError, NotFoundError, StandingRuleError
from checkvalve.approvals.standing import MAX_CALLS, MAX_PER_DAY
from checkvalve.approvals.standing_draft import CALLS, DAYS, MAX_DAYS, Widening
from checkvalve.approvals.standing_dryrun import Trial
from checkvalve.approvals.standing_entry import StandingEntry
from checkvalve.approvals.standing_people import not_for_rules
from checkvalve.approvals.standing_rules import StandingRules
from checkvalve.gateway.http_access import PROBLEMS, Server
from checkvalve.gateway.http_approvals import Name
from checkvalve.gateway.http_callers import Caller, Calling
from checkvalve.gateway.http_once import OnceRoute
from checkvalve.gateway.http_problems import Problem, problem_of
from checkvalve.gateway.http_runs import RunServer
from checkvalve.gateway.http_seed_items import open_seed

RuleId: TypeAlias = Annotated[str, Path(pattern=r"^[0-9a-f-]{36}$", description="the id of the standing rule")]
View: TypeAlias = dict[str, Any]
_Paths: TypeAlias = Annotated[list[Annotated[str, Field(max_length=400)]], Field(max_length=100)]
router: Final = APIRouter(tags=["standing rules"], route_class=OnceRoute)


class Wider(BaseModel):
    """What is wider than the call; paths are dotted, and what is not said stays as it was in the call."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    anything: _Paths = Field(default_factory=list, description="content that may be anything")
    same: _Paths = Field(default_factory=list, description="values in any spelling of their kind")
    at: _Paths = Field(default_factory=list, description="addresses that may be anything at their host")
    also: dict[str, Annotated[list[Any], Field(max_length=50)]] = Field(
        default_factory=dict, max_length=100, description="further values, by path"
    )
    up_to: dict[str, Annotated[str, Field(max_length=40)]] = Field(
        default_factory=dict, max_length=100, description="caps of amounts, by path, as digits"
    )
    anybody: bool = Field(False, description="for every requester, not only the call's")
    max_calls: int = Field(CALLS, ge=1, le=MAX_CALLS)
    per_day: int = Field(0, ge=0, le=MAX_PER_DAY, description="within 24 hours; 0: three, or fewer")
    max_amount: str = Field("", max_length=40, description="the most that one call may move; default: its caps")
    max_total: str = Field("", max_length=40, description="the most that all may move; default: the caps of all calls")
    days: int = Field(DAYS, ge=1, le=MAX_DAYS)

    def value(self) -> Widening:
        """Return it as the rules take it."""
        return Widening(
            anything=tuple(self.anything),
            same=tuple(self.same),
            at=tuple(self.at),
            also=tuple((path, value) for path, values in self.also.items() for value in values),
            up_to=tuple(self.up_to.items()),
            anybody=self.anybody,
            max_calls=self.max_calls,
            per_day=self.per_day,
            max_amount=self.max_amount,
            max_total=self.max_total,
            days=self.days,
        )


Since: TypeAlias = Annotated[
    int, Query(ge=1, le=3_650, description="how many days to look back; a rule is saved by 30 days at least")
]


@router.get("/standing-rules", responses=PROBLEMS)
def listing(server: Server, caller: Calling) -> list[View]:
    """List the standing rules, ended ones too. Values in them are content: show them as text and nothing else."""
    caller.must_decide()
    return [_shown(server, item) for item in _rules(server).list()]


@router.get("/standing-rules/{name}", responses=PROBLEMS)
def show(name: RuleId, server: Server, caller: Calling, since_days: Since = 30) -> View:
    """Show one rule, with what it would have done of itself."""
    caller.must_decide()
    try:
        found = _rules(server).find(name)
        run = _rules(server).run(found, since=_since(server, since_days))
    except ApprovalError as error:
        raise _refused(error) from error
    return {**_shown(server, found), "dry_run": run.to_json()}


@router.post("/approvals/{name}/standing-rule/dry-run", responses=PROBLEMS)
def try_out(name: Name, body: Wider, server: Server, caller: Calling, since_days: Since = 30) -> View:
    """Draft a rule from a call that succeeded, and say what it would have let through. Nothing is saved."""
    caller.must_decide()
    try:
        trial = _rules(server).trial(name, body.value(), since=_since(server, since_days))
        return _shown(server, trial)
    except ApprovalError as error:
        raise _of_no_call(server, caller, name, error) from error


@router.post("/approvals/{name}/standing-rule", status_code=201, responses=PROBLEMS)
def make(name: Name, body: Wider, server: Server, caller: Calling, response: Response) -> View:
    """Save a rule. Where two people have to agree, it counts for nothing before the second one confirms it."""
    reviewer = caller.must_decide()
    try:
        made = _rules(server).make(name, body.value(), reviewer)
    except ApprovalError as error:
        raise _of_no_call(server, caller, name, error) from error
    response.headers["Location"] = f"/standing-rules/{made.id}"
    return _shown(server, made)


@router.post("/standing-rules/{name}/confirm", responses=PROBLEMS)
def confirm(name: RuleId, server: Server, caller: Calling) -> View:
    """Agree to a rule as the second person."""
    reviewer = caller.must_decide()
    try:
        found = _rules(server).confirm(name, reviewer)
        return _shown(server, found)
    except ApprovalError as error:
        raise _refused(error) from error


@router.delete("/standing-rules/{name}", responses=PROBLEMS)
def revoke(name: RuleId, server: Server, caller: Calling) -> View:
    """Take a rule back: calls that rely on it and have not run yet will not."""
    reviewer = caller.must_decide()
    try:
        found = _rules(server).revoke(name, reviewer)
        return _shown(server, found)
    except ApprovalError as error:
        raise _refused(error) from error


def _shown(server: RunServer, found: StandingEntry | Trial) -> View:
    """Return a rule as it is shown: every bound; and content as the card of its call shows it."""
    return rule_shown(found.to_json(), found.rule, server.gateway.queue.veiling.around(found.proposal_id))


def _rules(server: RunServer) -> StandingRules:
    return server.gateway.queue.standing_rules


def _since(server: RunServer, days: int) -> int:
    return server.gateway.queue.clock() - days * 86_400_000_000


def _of_no_call(server: RunServer, caller: Caller, name: str, error: ApprovalError) -> Problem:
    """Return the problem for a rule that cannot be made of a call; an item is told what any open call is."""
    if isinstance(error, NotFoundError) and open_seed(server, caller, name) is not None:
        return _refused(not_for_rules("no reviewer approved this call"))
    return _refused(error)


def _refused(error: ApprovalError) -> Problem:
    """Return the problem for what was refused; why no rule can be made may name values of the call and is left out."""
    if isinstance(error, StandingRuleError):
        return Problem(422, "no_such_standing_rule", "this rule cannot be made", error.remedy, cause=error.cause)
    return problem_of(
        error, ("no_such_rule", "there is no such standing rule or call", "list them: GET /standing-rules")
    )


__all__ = ["Wider", "router"]
