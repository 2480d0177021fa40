"""What the terminal commands share: options, output that interprets nothing, and the proof of who decides."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from checkvalve.approvals import attention
from checkvalve.approvals.causes import Present
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.errors import ApprovalError, CredentialError, QueueError
from checkvalve.approvals.lists import asked_about, queue_table, titles_table
from checkvalve.approvals.pages_data import tier
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.so_far import SoFar
from checkvalve.approvals.titled import in_words
from checkvalve.filters.strictjson import JSON

TOKEN_VARIABLE: Final = "CHECKVALVE_REVIEWER_TOKEN"  # noqa: S105  # the name, not a token
REFUSED: Final = 1  # a clear no
NO_DECISION: Final = 2  # nothing was done: the call, a file or the database is wrong
NOBODY: Final = "nobody is a reviewer yet: checkvalve approvals reviewer add NAME"

Id = Annotated[str, typer.Argument(help="The proposal's id, or its first characters.")]
Token = Annotated[str | None, typer.Option("--token", envvar=TOKEN_VARIABLE, show_envvar=True, hidden=True)]
TokenFile = Annotated[
    Path | None, typer.Option(help=f"File with your token; else {TOKEN_VARIABLE}, else you are asked.")
]
_AS_JSON: Final[ContextVar[bool]] = ContextVar("as_json", default=False)


def _noted(value: bool) -> bool:  # noqa: FBT001  # typer calls it so
    """Keep for :func:`opened` whether the command that begins was given ``--json``."""
    _AS_JSON.set(value)
    return value


SignerKey = Annotated[
    str,
    typer.Option("--signer-key", help="The label of a key that `audit_signer` has already; else it makes one."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.", callback=_noted)]
Note = Annotated[str, typer.Option(help="Your own words, kept with the decision.")]


def console(*, stderr: bool = False) -> Console:
    """Return a console that never interprets what it prints."""
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def stop(message: str, code: int) -> NoReturn:
    """Say why on standard error, and end."""
    console(stderr=True).print(Text(neutralise(message)), soft_wrap=True)
    raise typer.Exit(code)


@contextmanager
def opened(open_queue: Callable[[], Queue]) -> Iterator[Queue]:
    """Give the queue, close its store, and turn every error into its message and its exit code."""
    as_json = _AS_JSON.get()
    _AS_JSON.set(False)  # the next command may know no such option
    try:
        queue = open_queue()
        try:
            yield queue
        finally:
            queue.store.close()
    except ApprovalError as error:
        if as_json:
            typer.echo(json.dumps(refusal(error), indent=2))
            raise typer.Exit(exit_code(error)) from None
        stop(f"error: {error}", exit_code(error))


def refusal(error: ApprovalError) -> dict[str, JSON]:
    """Return a refusal for programs: its cause, and how what was asked about stands now; as over HTTP."""
    told: dict[str, JSON] = {"cause": error.cause.value, "detail": error.message, "remedy": error.remedy}
    return told | (error.present or Present()).to_json()


def exit_code(error: ApprovalError) -> int:
    """Say whether the queue or a credential said no, or nothing could be done at all."""
    return REFUSED if isinstance(error, QueueError | CredentialError) else NO_DECISION


def at_terminal() -> bool:
    """Say whether somebody can be asked."""
    return sys.stdin.isatty()


def ask(question: str, *, instead: str, hide: bool = False) -> str:
    """Ask the person at the terminal. No terminal, end of input or an interrupt are no decision.

    ``instead`` says what to give where nobody can be asked.
    """
    if not at_terminal():
        stop(f"no decision: there is no terminal to ask at; {instead}", NO_DECISION)
    try:
        return str(typer.prompt(question, hide_input=hide, default="", show_default=False)).strip()
    except (typer.Abort, EOFError, KeyboardInterrupt):
        stop("no decision", NO_DECISION)


def prove(context: typer.Context, queue: Queue, token: str | None, file: Path | None) -> Reviewer:
    """Return the reviewer whose credential was given; without one there is no decision."""
    need_reviewer(queue)
    return queue.reviewers.authenticate(given_token(context, token, file, "Your reviewer token"))


def given_token(context: typer.Context, token: str | None, file: Path | None, question: str) -> str:
    """Return the token that was given in a file, in the environment or at the terminal, and nowhere else."""
    source = context.get_parameter_source("token")
    if token is not None and source is not None and source.name == "COMMANDLINE":
        stop("no decision: a token on the command line can be read by every process; use --token-file", NO_DECISION)
    if file is not None:
        try:
            token = file.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or "it is no text"
            stop(f"no decision: the token file {file} cannot be read ({why})", NO_DECISION)
        if not token.strip():
            stop(f"no decision: the token file {file} is empty", NO_DECISION)
    if not token:
        token = ask(question, instead=f"give --token-file FILE or set {TOKEN_VARIABLE}", hide=True)
    if not token:
        stop("no decision: no credential was given", NO_DECISION)
    return token


def need_reviewer(queue: Queue) -> None:
    """Stop where nobody could decide, whatever is typed."""
    if not queue.reviewers.list():
        stop(f"no decision: {NOBODY}", NO_DECISION)


def print_all(
    found: list[Seen], now: int, *, as_json: bool, empty: str, verdicts: bool = False, said: SoFar | None = None
) -> None:
    """Print proposals as a table, as JSON, or say that there are none."""
    if as_json:
        told = [{**row.to_json(), "tier": tier(row).value, "title": in_words(row)} for row in found]
        typer.echo(json.dumps(told, indent=2))
    elif found:
        console().print(queue_table(found, now, verdicts=verdicts, said=said))
        for table in (titles_table(found), asked_about(found)):
            if table is not None:
                console().print(table)
    else:
        console().print(Text(neutralise(empty)), soft_wrap=True)


def say_paused(queue: Queue, *, as_json: bool) -> None:
    """Say which tasks were paused because they asked too much; beside JSON that goes to standard error."""
    for item in queue.paused():
        since = to_the_second(item.paused_at or 0)
        said = f"task {item.thread} is paused since {since}: {item.why}, and only reads now"
        console(stderr=as_json).print(Text(neutralise(said), style="bold red"), soft_wrap=True)
        look = f"checkvalve approvals list --all --thread {item.thread}"
        after = f"    look at what it did: {look}\n    then let it go on: checkvalve approvals resume {item.thread}"
        for line in after.split("\n"):
            console(stderr=as_json).print(Text(neutralise(line)), soft_wrap=True)


def say_spent(queue: Queue, *, as_json: bool) -> None:
    """Say who has said yes so often within the hour that further questions wait for somebody else."""
    names = [entry.name for entry in queue.reviewers.list() if entry.disabled_at is None] if queue.budget else []
    for name, until in attention.spent(queue.store, names, queue.budget, queue.clock()).items():
        said = f"{name} has said yes {queue.budget} times within the hour; what waits is for others until "
        console(stderr=as_json).print(Text(neutralise(said + to_the_second(until)), style="bold"), soft_wrap=True)


def say_unconfirmed(queue: Queue, *, as_json: bool) -> None:
    """Say how many standing rules and changes of the rules wait for a second person."""
    if count := queue.standing_rules.waiting():
        said = f"standing rules that wait for a second person: {count} (checkvalve approvals standing list)"
        console(stderr=as_json).print(Text(said, style="bold"), soft_wrap=True)
    if count := queue.rule_changes.waiting():
        said = f"changes of the rules that wait for a second person: {count} (checkvalve rules list)"
        console(stderr=as_json).print(Text(said, style="bold"), soft_wrap=True)
