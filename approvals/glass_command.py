"""``checkvalve approvals break-glass``, ``afterlook`` and ``tick``: what happens in an emergency, and by the clock."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Final

import typer
from rich.text import Text

from checkvalve.approvals import afterlooks, ladder_words
from checkvalve.approvals.afterlooks import MIN_FINDING, AfterLook, AfterLooks
from checkvalve.approvals.breakglass import MIN_REASON, break_glass, require_worth_proving
from checkvalve.approvals.card import SHORT_ID, digest_hex, safe
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.ladder import A_RULE, AFTERLOOKS, CLOSING, Ladder, stuck_now
from checkvalve.approvals.matching import MIN_DIGEST, match_digest
from checkvalve.approvals.moves import conflict
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.step_terminal import ask_step_up
from checkvalve.approvals.terminal import (
    NO_DECISION,
    NOBODY,
    AsJson,
    Id,
    Token,
    TokenFile,
    ask,
    console,
    opened,
    prove,
    stop,
)

_HELP: Final = (
    "first add somebody (checkvalve approvals reviewer add NAME), "
    "or give roles (checkvalve approvals reviewer roles NAME --role ROLE)"
)
_SAID: Final = {
    "reminded": "people were reminded",
    "escalated": "others were told",
    "unreachable": "NOBODY CAN DECIDE IT: too few enabled reviewers may, whoever asked left out",
    "reachable": "somebody can decide it again",
    "afterlook": "ran by one person's word, and nobody has looked at it yet",
}


def looks(queue: Queue) -> AfterLooks:
    """Return the after-looks of a queue."""
    return AfterLooks(queue.store, queue.clock, queue.reviewers)


def say_urgent(queue: Queue, *, as_json: bool) -> None:
    """Say loudly what nobody can decide, and what ran by one person's word and was not looked at."""
    lost = stuck_now(queue)
    with queue.store.read() as connection:
        open_ = afterlooks.count_open(connection)
    for name, since in lost.items():
        said = f"NOBODY CAN DECIDE {name[:SHORT_ID]} since {to_the_second(since)}: too few reviewers may say yes"
        console(stderr=as_json).print(Text(said, style="bold red"), soft_wrap=True)
    if lost:
        console(stderr=as_json).print(f"    {_HELP if queue.reviewers.list() else NOBODY}", soft_wrap=True)
    if open_:
        said = f"{open_} ran by one person's word and wait for a look: checkvalve approvals afterlook list"
        console(stderr=as_json).print(Text(said, style="bold red"), soft_wrap=True)


def add_emergency(app: typer.Typer, open_queue: Callable[[], Queue], show: Callable[[Queue, Proposal], None]) -> None:
    """Add the commands to ``app``; ``show`` prints the card of a call."""
    _add_breaking(app, open_queue, show)
    _add_tick(app, open_queue)
    after = typer.Typer(help="The look that follows a broken glass.", no_args_is_help=True)
    _add_afterlooks(after, open_queue)
    app.add_typer(after, name="afterlook")


def _add_breaking(app: typer.Typer, open_queue: Callable[[], Queue], show: Callable[[Queue, Proposal], None]) -> None:
    @app.command("break-glass")
    def break_glass_(
        context: typer.Context,
        proposal_id: Id,
        *,
        note: Annotated[str, typer.Option(help=f"Why, in at least {MIN_REASON} characters; kept for ever.")],
        digest: Annotated[
            str, typer.Option(help=f"At least {MIN_DIGEST} characters of the digest you were shown.")
        ] = "",
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """In an emergency: let a call run by your word alone. Everybody is told, and somebody else looks afterwards."""
        with opened(open_queue) as queue:
            proposal = queue.find(proposal_id)
            if proposal.state is not State.PENDING:
                raise conflict(proposal)
            if not digest:
                show(queue, proposal)
                question = f"Type the first {MIN_DIGEST} characters of the digest to break the glass"
                digest = ask(question, instead="give --digest (shown above) and --token-file FILE")
                if not digest:
                    stop("no decision", NO_DECISION)
            match_digest(proposal, digest)
            reviewer = prove(context, queue, token, token_file)
            require_worth_proving(queue, proposal, reviewer, digest, reason=note, channel="cli")
            proof = ask_step_up(queue, proposal, reviewer, "break_glass")
            done = break_glass(queue, proposal.id, reviewer, digest, reason=note, step_up=proof, channel="cli")
            until = to_the_second(done.execute_by or 0)
            said = f"THE GLASS IS BROKEN by {reviewer.name}: {digest_hex(done)} may run once until {until}"
            console().print(Text(neutralise(said), style="bold red"), soft_wrap=True)
            console().print("every channel is told; somebody else has to look: checkvalve approvals afterlook list")


def _add_afterlooks(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    @app.command("list")
    def list_(
        *,
        everything: Annotated[bool, typer.Option("--all", help="Also those that somebody has looked at.")] = False,
        as_json: AsJson = False,
    ) -> None:
        """List the calls that ran by one person's word and that nobody has looked at yet."""
        with opened(open_queue) as queue:
            found = looks(queue).list(everything=everything)
            if as_json:
                typer.echo(json.dumps([item.to_json() for item in found], indent=2))
            elif not found:
                console().print(Text(neutralise(f"no glass waits for a look in {queue.store.address}")), soft_wrap=True)
            for item in [] if as_json else found:
                _tell(item, queue)

    @app.command("close")
    def close(
        context: typer.Context,
        proposal_id: Id,
        *,
        note: Annotated[str, typer.Option(help=f"What you found, in at least {MIN_FINDING} characters.")],
        disagree: Annotated[bool, typer.Option("--disagree", help="It should not have run.")] = False,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Write down what you found. Neither who broke the glass nor who asked for the call can."""
        with opened(open_queue) as queue:
            proposal = queue.find(proposal_id)
            reviewer = prove(context, queue, token, token_file)
            _tell(looks(queue).close(proposal.id, reviewer, note, disagreed=disagree), queue)


def _tell(item: AfterLook, queue: Queue) -> None:
    proposal = queue.get(item.proposal_id)
    state = ("open", "bold red") if item.is_open else ("closed", "dim")
    head = Text.assemble((item.proposal_id[:SHORT_ID], "bold"), "  ", state, "  ")
    said = f"{proposal.tool}, {proposal.state.value}; broken by {item.by} at {to_the_second(item.at)}"
    console().print(head.append_text(safe(said)), soft_wrap=True)
    console().print(Text("    why: ").append_text(safe(item.reason)), soft_wrap=True)
    if item.looked_at is not None:
        said = "IT SHOULD NOT HAVE RUN: " if item.disagreed else ""
        found = f"{said}{item.finding} ({item.looked_by}, {to_the_second(item.looked_at)})"
        console().print(Text("    found: ").append_text(safe(found)), soft_wrap=True)


def _add_tick(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    @app.command()
    def tick(*, as_json: AsJson = False) -> None:
        """Do what the clock asks for, once: expire, remind, escalate. `checkvalve serve` does so by itself."""
        with opened(open_queue) as queue:
            found = Ladder(queue).tick()
            if as_json:
                done = [
                    {
                        "approval": item.proposal_id,
                        "what": item.what,
                        "who": list(item.who),
                        "why": dict(item.why),
                        "cannot": dict(item.cannot),
                    }
                    for item in found.done
                ]
                told = {"done": done, "closed": found.closed, "damaged": found.damaged, "failed": found.failed}
                typer.echo(json.dumps(told, indent=2))
                return
            if found.closed:
                console().print(f"{found.closed} closed, since their time was over")
            for item in found.done:
                who = f": {', '.join(item.who)}" if item.who else ""
                said = f"{item.proposal_id[:SHORT_ID]}  {_SAID[item.what]}{who}"
                style = "bold red" if item.what == "unreachable" else ""
                console().print(Text(neutralise(said), style=style), soft_wrap=True)
                for line in ladder_words.said(item.why, item.cannot):
                    console().print(Text(neutralise(f"    {line}"), style="bold red"), soft_wrap=True)
            for name in found.damaged:
                console(stderr=True).print(
                    f"{_short(name)}  was changed beside the log and is left alone: checkvalve audit verify"
                )
            for name, error in found.failed.items():
                console(stderr=True).print(
                    f"{_short(name)}  could not be looked at ({error}); it is tried again at the next look"
                )
            if not (found.done or found.closed or found.damaged or found.failed):
                console().print("nothing was due")


def _short(name: str) -> str:
    return name if name in {A_RULE, AFTERLOOKS, CLOSING} else name[:SHORT_ID]


__all__ = ["add_emergency", "looks"]
