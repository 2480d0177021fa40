"""``checkvalve approvals standing``: rules that answer a question from now on. Looking is free, the rest takes a token.

What people refused comes first and in red; a rule that would have let it through is not saved.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated

import typer

from checkvalve.approvals import audit
from checkvalve.approvals.bounds_shown import rule_shown
from checkvalve.approvals.lists import events_table
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.standing_draft import DAYS, MAX_DAYS, Widening
from checkvalve.approvals.standing_dryrun import Trial
from checkvalve.approvals.standing_entry import StandingEntry
from checkvalve.approvals.standing_options import moment, widened
from checkvalve.approvals.standing_shown import print_entry, print_line, print_rule, print_run
from checkvalve.approvals.terminal import AsJson, Id, Token, TokenFile, console, opened, prove
from checkvalve.filters.strictjson import JSON

RuleId = Annotated[str, typer.Argument(help="The rule's id, or its first characters.")]
Anything = Annotated[list[str] | None, typer.Option("--any", help="Content that may be anything. May be repeated.")]
Same = Annotated[list[str] | None, typer.Option(help="A value in any spelling of its kind. May be repeated.")]
At = Annotated[list[str] | None, typer.Option(help="An address that may be anything at its host. May be repeated.")]
Also = Annotated[list[str] | None, typer.Option("--or", help="ARGUMENT=VALUE it may also have. May be repeated.")]
UpTo = Annotated[list[str] | None, typer.Option(help="ARGUMENT=CAP for an amount. May be repeated.")]
Anybody = Annotated[bool, typer.Option("--anybody", help="For every requester, not only the call's.")]
MaxCalls = Annotated[int, typer.Option(help="Calls that it answers in all; default: 10.")]
PerDay = Annotated[int, typer.Option(help="Calls that it answers within 24 hours; default: 3.")]
MaxAmount = Annotated[str, typer.Option(help="The most that one call may move; default: its caps.")]
MaxTotal = Annotated[str, typer.Option(help="The most that all calls may move; default: the caps of all calls.")]
Days = Annotated[int, typer.Option(help=f"How long it lasts, at most {MAX_DAYS} days.")]
Since = Annotated[str, typer.Option(help="How far to look back: 60d, or a day such as 2030-01-31; default: 30d.")]


def standing_app(open_queue: Callable[[], Queue]) -> typer.Typer:
    """Return the commands over the queue that ``open_queue`` opens; they close it again."""
    app = typer.Typer(help="See, try out, make and revoke rules that answer a question.", no_args_is_help=True)
    _add_looking(app, open_queue)
    _add_trying(app, open_queue, "draft", history=False)
    _add_trying(app, open_queue, "dry-run", history=True)
    _add_making(app, open_queue)
    _add_ending(app, open_queue)
    return app


def _add_looking(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    @app.command("list")
    def list_(
        *,
        everything: Annotated[bool, typer.Option("--all", help="Also those that have ended or are used up.")] = False,
        as_json: AsJson = False,
    ) -> None:
        """List the standing rules that are in force or wait for a second person."""
        with opened(open_queue) as queue:
            found = [r for r in queue.standing_rules.list() if everything or r.state in {"in force", "waiting"}]
            if as_json:
                typer.echo(json.dumps([_json(queue, item) for item in found], indent=2))
                return
            if queue.standing_rules.mode == "off":
                console().print("standing rules are switched off (setting standing_rules): none of these counts")
            if not found:
                console().print("there is no standing rule; make one of a call that succeeded: standing draft ID")
            for item in found:
                print_line(item, queue.veiling.around(item.proposal_id))

    @app.command()
    def show(rule_id: RuleId, *, since: Since = "", as_json: AsJson = False) -> None:
        """Show one rule, what it would have done of itself, and what has used it."""
        with opened(open_queue) as queue:
            found = queue.standing_rules.find(rule_id)
            run = queue.standing_rules.run(found, since=moment(since, queue.clock()))
            if as_json:
                typer.echo(json.dumps({**_json(queue, found), "dry_run": run.to_json()}, indent=2))
                return
            with queue.store.read() as connection:
                events = list(audit.read_events(connection, subject=found.id))
            print_entry(found, queue.veiling.around(found.proposal_id))
            print_run(run)
            console().print(events_table(events))


def _add_trying(app: typer.Typer, open_queue: Callable[[], Queue], name: str, *, history: bool) -> None:
    def try_out(
        proposal_id: Id,
        *,
        anything: Anything = None,
        same: Same = None,
        at: At = None,
        also: Also = None,
        up_to: UpTo = None,
        anybody: Anybody = False,
        max_calls: MaxCalls = 0,
        per_day: PerDay = 0,
        max_amount: MaxAmount = "",
        max_total: MaxTotal = "",
        days: Days = DAYS,
        since: Since = "",
        as_json: AsJson = False,
    ) -> None:
        with opened(open_queue) as queue:
            proposal = queue.find(proposal_id)
            wider = widened(
                anything=anything,
                same=same,
                at=at,
                also=also,
                up_to=up_to,
                anybody=anybody,
                max_calls=max_calls,
                per_day=per_day,
                max_amount=max_amount,
                max_total=max_total,
                days=days,
            )
            trial = queue.standing_rules.trial(proposal.id, wider, since=moment(since, queue.clock()))
            if as_json:
                typer.echo(json.dumps(_json(queue, trial), indent=2))
                return
            print_rule(trial.rule, queue.veiling.around(proposal.id), days=trial.days)
            if history:
                print_run(trial.run)
            console().print(f"nothing was saved; to save it: checkvalve approvals standing make {proposal.id[:8]} ...")

    try_out.__doc__ = (
        "Try a rule on the record: what it would have let through, what people refused first. Nothing is saved."
        if history
        else "Draft a rule from a call that succeeded: that call and no other, unless you widen it. Nothing is saved."
    )
    app.command(name)(try_out)


def _add_making(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    @app.command()
    def make(
        context: typer.Context,
        proposal_id: Id,
        *,
        anything: Anything = None,
        same: Same = None,
        at: At = None,
        also: Also = None,
        up_to: UpTo = None,
        anybody: Anybody = False,
        max_calls: MaxCalls = 0,
        per_day: PerDay = 0,
        max_amount: MaxAmount = "",
        max_total: MaxTotal = "",
        days: Days = DAYS,
        as_json: AsJson = False,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Save a rule. It is tried on the record first, and is not saved where people refused such calls."""
        with opened(open_queue) as queue:
            proposal = queue.find(proposal_id)
            wider = widened(
                anything=anything,
                same=same,
                at=at,
                also=also,
                up_to=up_to,
                anybody=anybody,
                max_calls=max_calls,
                per_day=per_day,
                max_amount=max_amount,
                max_total=max_total,
                days=days,
            )
            if not as_json:
                _show_first(queue, proposal.id, wider)
            reviewer = prove(context, queue, token, token_file)
            made = queue.standing_rules.make(proposal.id, wider, reviewer)
            _tell(queue, made, as_json=as_json)

    @app.command()
    def confirm(
        context: typer.Context,
        rule_id: RuleId,
        *,
        as_json: AsJson = False,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Agree to a rule as the second person. From then on it answers."""
        with opened(open_queue) as queue:
            found = queue.standing_rules.find(rule_id)
            if not as_json:
                print_entry(found, queue.veiling.around(found.proposal_id))
                print_run(queue.standing_rules.run(found))
            reviewer = prove(context, queue, token, token_file)
            _tell(queue, queue.standing_rules.confirm(found.id, reviewer), as_json=as_json)


def _add_ending(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    @app.command()
    def revoke(
        context: typer.Context,
        rule_id: RuleId,
        *,
        as_json: AsJson = False,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Take a rule back. Calls that rely on it and have not run yet will not."""
        with opened(open_queue) as queue:
            found = queue.standing_rules.find(rule_id)
            reviewer = prove(context, queue, token, token_file)
            _tell(queue, queue.standing_rules.revoke(found.id, reviewer), as_json=as_json)


def _show_first(queue: Queue, proposal_id: str, wider: Widening) -> None:
    trial = queue.standing_rules.trial(proposal_id, wider)
    print_rule(trial.rule, queue.veiling.around(proposal_id), days=trial.days)
    print_run(trial.run)
    trial.run.require_clean()  # before anybody types a token; it is looked at again when it is saved


def _json(queue: Queue, found: StandingEntry | Trial) -> dict[str, JSON]:
    """Return what is printed of a rule for programs, under the veil of the task that its call was of."""
    return rule_shown(found.to_json(), found.rule, queue.veiling.around(found.proposal_id))


def _tell(queue: Queue, made: StandingEntry, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(_json(queue, made), indent=2))
        return
    print_line(made, queue.veiling.around(made.proposal_id))
    if made.state == "waiting":
        said = f"it counts for nothing before another person confirms it: standing confirm {made.id[:8]}"
        console().print(said, soft_wrap=True)


__all__ = ["standing_app"]
