"""The terminal's other answers: edit a call, ask back and answer, respond, put off, take back a question or a yes.

Saying something about a call takes a credential: a reviewer's, or to answer and to take back also the token of the
program that asked in the requester's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from checkvalve.approvals import remarks, responding, revoking, snoozes
from checkvalve.approvals.card import SHORT_ID, digest_hex
from checkvalve.approvals.changed_lines import change_lines
from checkvalve.approvals.clock import micros, to_the_second
from checkvalve.approvals.editing import changes, parse_as
from checkvalve.approvals.edits import Decide, edit
from checkvalve.approvals.errors import EditRefusedError, QueueError
from checkvalve.approvals.matching import MIN_DIGEST, match_digest
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.seen_edits import meant
from checkvalve.approvals.spans import span_of
from checkvalve.approvals.terminal import (
    NO_DECISION,
    Id,
    Note,
    Token,
    TokenFile,
    ask,
    console,
    given_token,
    opened,
    prove,
    stop,
)
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, parse_strict

_REVIEWER: Final = "cvr_"
Words = Annotated[str, typer.Option("--note", help="What you say; you are asked for it when it is not given.")]
Digest = Annotated[
    str, typer.Option(help=f"At least {MIN_DIGEST} characters of the digest you were shown; else you are asked.")
]


@dataclass(frozen=True, slots=True)
class Others:
    """What only the gateway knows: how edited calls are decided, and whose an API token is."""

    decide: Callable[[Queue], Decide]
    client: Callable[[str], str]


def _not_here(*_: object) -> Any:
    raise QueueError("this is not possible here", remedy="use the command `checkvalve approvals`")


NOTHING: Final = Others(_not_here, _not_here)
"""For programs that mount these commands without a gateway."""


def add_answers(app: typer.Typer, open_queue: Callable[[], Queue], others: Others) -> None:
    """Add the commands to ``approvals``."""
    _add_edit(app, open_queue, others)
    _add_talk(app, open_queue, others)
    _add_leaving(app, open_queue, others)


def _add_edit(app: typer.Typer, open_queue: Callable[[], Queue], others: Others) -> None:
    @app.command("edit")
    def edit_(
        context: typer.Context,
        proposal_id: Id,
        *,
        change: Annotated[
            list[str] | None,
            typer.Option("--set", metavar="NAME=VALUE", help="Change one argument; it keeps its kind of value."),
        ] = None,
        leave_out: Annotated[
            list[str] | None, typer.Option("--unset", metavar="NAME", help="Leave out one argument.")
        ] = None,
        args: Annotated[Path | None, typer.Option(help="A JSON file with all arguments instead.")] = None,
        digest: Digest = "",
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Change the arguments of a call: that makes another call, decided anew, with a question of its own."""
        with opened(open_queue) as queue:
            proposal = queue.find(proposal_id)
            new = _read(args) if args is not None else _changed(proposal, change or [], leave_out or [])
            shown = queue.veiling.seen(proposal)
            console().print(change_lines(changes(shown.args(), shown.hide(meant(shown, new)))))
            digest = digest or _typed(proposal)
            match_digest(proposal, digest)
            reviewer = prove(context, queue, token, token_file)
            made = edit(queue, proposal.id, reviewer, digest, new, others.decide(queue))
            said = (
                f"edited by {reviewer.name}: {made.id[:SHORT_ID]} takes its place, and waits for a decision of its own"
            )
            console().print(said)
            console().print(f"    because of the rule {made.rule}: checkvalve approvals show {made.id[:SHORT_ID]}")


def _typed(proposal: Proposal) -> str:
    console().print(f"digest {digest_hex(proposal)}")
    question = f"Type the first {MIN_DIGEST} characters of the digest to edit it so, nothing to leave it"
    digest = ask(question, instead="give --digest and --token-file FILE")
    if not digest:
        stop("nothing was changed", NO_DECISION)
    return digest


def _read(file: Path) -> dict[str, JSON]:
    try:
        found = parse_strict(file.read_bytes())
    except OSError as error:
        raise EditRefusedError(f"{file} cannot be read: {error.strerror}", remedy="give another file") from error
    except HostileInputError as error:
        raise EditRefusedError(f"{file} is not JSON [{error.code}]", remedy="give one JSON object") from error
    if not isinstance(found, dict):
        raise EditRefusedError(f"{file} holds no object", remedy="give all arguments as one JSON object")
    return found


def _changed(proposal: Proposal, change: Iterable[str], leave_out: Iterable[str]) -> dict[str, JSON]:
    """Return the arguments with some changed: each keeps its kind of value, and a new one is JSON, else a text."""
    args = proposal.args()
    for item in change:
        name, sign, text = item.partition("=")
        if not sign or not name:
            raise EditRefusedError("this is no change of an argument", remedy="write --set NAME=VALUE")
        args[name] = parse_as(args[name], text) if name in args else _new(text)
    for name in leave_out:
        if name not in args:
            raise EditRefusedError("there is no such argument to leave out", remedy="look at the call again")
        del args[name]
    return args


def _new(text: str) -> JSON:
    try:
        return parse_strict(text)
    except HostileInputError:
        return text


def _add_talk(app: typer.Typer, open_queue: Callable[[], Queue], others: Others) -> None:
    @app.command("ask")
    def ask_(
        context: typer.Context,
        proposal_id: Id,
        *,
        text: Words = "",
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Ask whoever asked for a call; its clock goes on."""
        with opened(open_queue) as queue:
            proposal = queue.find(proposal_id)
            said = _said(text, "Your question")
            reviewer = prove(context, queue, token, token_file)
            remarks.ask(queue, proposal.id, reviewer, said)
            until = to_the_second(proposal.decide_by)
            console().print(f"asked by {reviewer.name}; the call still has to be decided by {until}")

    @app.command()
    def answer(
        context: typer.Context,
        proposal_id: Id,
        *,
        text: Words = "",
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Answer what a reviewer asked, as whoever asked for the call; another reviewer adds a reply."""
        with opened(open_queue) as queue:
            proposal = queue.find(proposal_id)
            said = _said(text, "Your answer")
            who = _who(context, queue, others, token, token_file)
            if isinstance(who, Reviewer):
                made = remarks.reply(queue, proposal.id, who, said)
            else:
                made = remarks.answer(queue, proposal.id, said, means="client", name=who)
            console().print(Text(f"{made.kind} kept, as words of {made.by}; nothing is decided by it"))

    @app.command()
    def respond(
        context: typer.Context,
        proposal_id: Id,
        *,
        text: Words = "",
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """End a call with a text for its agent, instead of letting it run."""
        with opened(open_queue) as queue:
            proposal = queue.find(proposal_id)
            said = _said(text, "What the agent is told")
            reviewer = prove(context, queue, token, token_file)
            ended = responding.respond(queue, proposal.id, reviewer, said)
            console().print(f"{ended.state.value}: {reviewer.name} answered instead; the agent is told so")


def _add_leaving(app: typer.Typer, open_queue: Callable[[], Queue], others: Others) -> None:
    @app.command()
    def snooze(  # each is an option
        context: typer.Context,
        proposal_id: Id,
        *,
        lasts: Annotated[str, typer.Option("--for", help="For how long: 90m, 12h, 7d. A bare number: minutes.")] = "1h",
        until: Annotated[datetime | None, typer.Option(help="Until when instead, in UTC.")] = None,
        end: Annotated[bool, typer.Option("--end", help="Take it back into your own queue instead.")] = False,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Put a question off, for yourself alone: its clock goes on, and everybody else still sees it."""
        with opened(open_queue) as queue:
            proposal = queue.find(proposal_id)
            reviewer = prove(context, queue, token, token_file)
            if end:
                snoozes.wake(queue, proposal.id, reviewer)
                console().print(f"back in the queue of {reviewer.name}")
                return
            moment = queue.clock() + _span(lasts) if until is None else _micros(until)
            if snoozes.snooze(queue, proposal.id, reviewer, moment):
                console().print(f"out of the queue of {reviewer.name} until {to_the_second(moment)}")
            else:
                console().print("everybody who may say yes has put it off: so it stays in every queue")

    @app.command()
    def cancel(context: typer.Context, proposal_id: Id, *, token: Token = None, token_file: TokenFile = None) -> None:
        """Take back an open question, as whoever asked it."""
        with opened(open_queue) as queue:
            proposal = queue.find(proposal_id)
            who = _who(context, queue, others, token, token_file)
            if isinstance(who, Reviewer):
                responding.cancel_as(queue, proposal.id, who)
            else:
                responding.cancel(queue, proposal.id, means="client", name=who)
            console().print("taken back: the call does not run")

    @app.command()
    def revoke(
        context: typer.Context,
        proposal_id: Id,
        *,
        note: Note = "",
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Take the approval of a call back before it runs: as who may decide it, said yes to it, or asked for it."""
        with opened(open_queue) as queue:
            proposal = queue.find(proposal_id)
            who = _who(context, queue, others, token, token_file)
            if isinstance(who, Reviewer):
                revoking.revoke(queue, proposal.id, who, note, channel="cli")
            else:
                revoking.revoke_own(queue, proposal.id, who, note, channel="cli")
            console().print("revoked: the call does not run, and its agent is told so")


def _span(text: str) -> int:
    return span_of(f"{text}m" if text.strip().isascii() and text.strip().isdigit() else text)


def _micros(moment: datetime) -> int:
    return micros(moment.replace(tzinfo=None) - datetime(1970, 1, 1))  # noqa: DTZ001  # both are in UTC


def _said(text: str, question: str) -> str:
    said = text or ask(question, instead="give --note TEXT")
    if not said:
        stop("nothing was said", NO_DECISION)
    return said


def _who(context: typer.Context, queue: Queue, others: Others, token: str | None, file: Path | None) -> Reviewer | str:
    """Return the reviewer whose token was given, or in whose name an API token acts."""
    found = given_token(context, token, file, "Your token").strip()
    return queue.reviewers.authenticate(found) if found.startswith(_REVIEWER) else others.client(found)


__all__ = ["NOTHING", "Others", "add_answers"]
