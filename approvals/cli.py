"""The terminal's review surface: ``checkvalve approvals``. Looking is free, deciding takes a reviewer's credential.

Exit codes: 0 done; 1 refused, with the reason; 2 nothing was done (no terminal, end of input, interrupted, no store).
Only adding a reviewer may create the database: whoever looks at the wrong place is told so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

import typer

from checkvalve.approvals.answer_command import NOTHING, Others, add_answers
from checkvalve.approvals.attention import note_shown, shows_whole
from checkvalve.approvals.attention_command import attention_app
from checkvalve.approvals.calling_command import add_calling
from checkvalve.approvals.card import as_text
from checkvalve.approvals.causes import Cause
from checkvalve.approvals.damaged import list_readable, say_damaged
from checkvalve.approvals.delegate_command import delegate_app
from checkvalve.approvals.errors import DigestError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.flood import MAX_MORE
from checkvalve.approvals.glass_command import add_emergency, say_urgent
from checkvalve.approvals.matching import MIN_DIGEST, match_digest
from checkvalve.approvals.moves import OBSERVE, conflict
from checkvalve.approvals.pages_data import tier
from checkvalve.approvals.people import folded
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.quorum_terminal import ask_reason_if_needed, say_outcome, say_present
from checkvalve.approvals.records import State
from checkvalve.approvals.report_command import add_report
from checkvalve.approvals.reveal_command import Full, Raw, add_reveal, print_seen, revealed
from checkvalve.approvals.reviewer_command import reviewer_app
from checkvalve.approvals.risk import Tier
from checkvalve.approvals.rules_command import rules_app
from checkvalve.approvals.showing import print_card
from checkvalve.approvals.snoozes import hidden_from
from checkvalve.approvals.so_far import so_far
from checkvalve.approvals.standing_command import standing_app
from checkvalve.approvals.step_terminal import step_up_if_needed
from checkvalve.approvals.terminal import (
    NO_DECISION,
    AsJson,
    Id,
    Note,
    Token,
    TokenFile,
    ask,
    console,
    need_reviewer,
    opened,
    print_all,
    prove,
    say_paused,
    say_spent,
    say_unconfirmed,
    stop,
)
from checkvalve.filters.strictjson import JSON

_STATES: Final = ", ".join(state.value for state in State)


def approvals_app(
    open_queue: Callable[[], Queue],
    make_queue: Callable[[], Queue] | None = None,
    *,
    unpack: Callable[[JSON], str] = as_text,
    others: Others = NOTHING,
    pages: Callable[[], str] = str,
) -> typer.Typer:
    """Return the commands over the queue that ``open_queue`` opens; they close it again.

    ``make_queue`` opens it too, and creates it where it is missing: for the first reviewer.
    ``unpack`` gives the text of a stored result; ``others`` are for editing, and for the tokens of programs.
    ``pages`` gives the address of the review pages, for links.
    """
    app = typer.Typer(help="See and decide the calls that wait for a person.", no_args_is_help=True)
    _add_looking(app, open_queue, unpack)
    _add_deciding(app, open_queue, unpack)
    _add_settling(app, open_queue)
    add_reveal(app, open_queue, unpack)
    add_answers(app, open_queue, others)
    add_calling(app, open_queue)
    _add_going_on(app, open_queue)
    add_report(app, open_queue)
    app.add_typer(attention_app(open_queue), name="attention")
    app.add_typer(standing_app(open_queue), name="standing")
    add_emergency(app, open_queue, lambda queue, row: print_card(queue, queue.veiling.seen(row), unpack, full=False))
    app.add_typer(delegate_app(open_queue), name="delegate")
    app.add_typer(rules_app(open_queue), name="rules")
    app.add_typer(reviewer_app(open_queue, make_queue or open_queue, pages), name="reviewer")
    return app


def _add_looking(app: typer.Typer, open_queue: Callable[[], Queue], unpack: Callable[[JSON], str]) -> None:
    @app.command("list")
    def list_(
        *,
        state: Annotated[
            list[State] | None,
            typer.Option(metavar="STATE", help=f"A state to list, pending by default. One of: {_STATES}."),
        ] = None,
        everything: Annotated[bool, typer.Option("--all", help="List every state.")] = False,
        observed: Annotated[
            bool, typer.Option("--observed", help="List what observe mode let run although the verdict was not allow.")
        ] = False,
        thread: Annotated[str, typer.Option(help="Only this thread.")] = "",
        risk: Annotated[list[Tier] | None, typer.Option(help="Only calls of this risk; several times.")] = None,
        reviewer: Annotated[str, typer.Option(metavar="NAME", help="Without what this reviewer has put off.")] = "",
        as_json: AsJson = False,
    ) -> None:
        """List the calls that wait for a decision, oldest first."""
        states = None if everything or (observed and not state) else state or [State.PENDING]
        with opened(open_queue) as queue:
            listed = list_readable(queue, states, thread=thread)
            found = [row for row in listed.rows if not risk or tier(row) in risk]
            if observed:
                found = [row for row in found if row.mode == OBSERVE and row.verdict_name != "allow"]
            if reviewer:
                with queue.store.read() as connection:
                    away = hidden_from(connection, queue, folded(reviewer), queue.clock())
                found = [row for row in found if row.id not in away]
            what = "nothing waits" if states == [State.PENDING] else "there is no such call"
            where = f"{what} in {queue.store.address} (another one: --config or CHECKVALVE_DATABASE_URL)"
            every, said = everything or observed, so_far(queue, found)
            shown = queue.veiling.all(found)
            print_all(shown, queue.clock(), as_json=as_json, empty=where, verdicts=every, said=said)
            say_damaged(listed.damaged)
            say_paused(queue, as_json=as_json)
            say_spent(queue, as_json=as_json)
            say_unconfirmed(queue, as_json=as_json)
            say_urgent(queue, as_json=as_json)

    @app.command()
    def unknown(*, as_json: AsJson = False) -> None:
        """List the calls whose outcome nobody knows; look at their effect, then settle them."""
        with opened(open_queue) as queue:
            damaged = list[str]()
            Executor(queue).recover(damaged=damaged)  # a call whose process died a moment ago is one of them
            listed = list_readable(queue, [State.UNKNOWN])
            shown = queue.veiling.all(listed.rows)
            print_all(shown, queue.clock(), as_json=as_json, empty="no outcome is unknown")
            say_damaged([*damaged, *listed.damaged])

    @app.command()
    def show(
        context: typer.Context,
        proposal_id: Id,
        *,
        full: Full = False,
        raw: Raw = False,
        reveal: Annotated[bool, typer.Option("--reveal", help="With what is redacted; recorded before.")] = False,
        as_json: AsJson = False,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Show one call: arguments with their origins, rule, reason, digest, history."""
        with opened(open_queue) as queue:
            if reveal:
                found = revealed(context, queue, proposal_id, token, token_file)
            else:
                found = queue.veiling.seen(queue.find(proposal_id))
            print_seen(queue, found, unpack, full=full, raw=raw, as_json=as_json)

    @app.command()
    def recover(*, as_json: AsJson = False) -> None:
        """Find calls whose process died while they ran, and mark their outcome as unknown."""
        with opened(open_queue) as queue:
            damaged = list[str]()
            lost = queue.veiling.all(Executor(queue).recover(damaged=damaged))
            print_all(lost, queue.clock(), as_json=as_json, empty="no call was left behind")
            say_damaged(damaged)


def _add_deciding(app: typer.Typer, open_queue: Callable[[], Queue], unpack: Callable[[JSON], str]) -> None:
    @app.command()
    def approve(
        context: typer.Context,
        proposal_id: Id,
        *,
        digest: Annotated[
            str,
            typer.Option(help=f"At least {MIN_DIGEST} characters of the digest you were shown; else you are asked."),
        ] = "",
        endorse: Annotated[bool, typer.Option(help="Also accept the shown values for the rest of the task.")] = True,
        note: Note = "",
        token: Token = None,
        token_file: TokenFile = None,
        as_json: AsJson = False,
    ) -> None:
        """Let exactly the call that you were shown run, once."""
        with opened(open_queue) as queue:
            proposal = queue.find(proposal_id)
            if proposal.state is not State.PENDING:
                raise conflict(proposal)
            shown_at, asked = queue.clock(), False
            _require_given(digest, as_json=as_json)
            if not digest:
                print_card(queue, queue.veiling.seen(proposal), unpack, full=False)
                need_reviewer(queue)
                question = f"Type the first {MIN_DIGEST} characters of the digest to approve, nothing to leave it"
                digest = ask(question, instead="give --digest (shown above) and --token-file FILE")
                if not digest:
                    stop("no decision", NO_DECISION)
                asked = True
            match_digest(proposal, digest)  # before anybody types a token; the queue checks it again
            reviewer = prove(context, queue, token, token_file)
            if asked:
                whole = shows_whole(queue.veiling.seen(proposal))
                note_shown(queue.store, proposal.id, reviewer.name, at=shown_at, now=queue.clock(), whole=whole)
            proof = step_up_if_needed(queue, proposal, reviewer)
            note = note or ask_reason_if_needed(queue, proposal)
            approved = queue.approve(
                proposal.id, reviewer, digest, endorse=endorse, note=note, channel="cli", step_up=proof
            )
            say_outcome(queue, approved, reviewer.name, as_json=as_json)

    @app.command()
    def reject(
        context: typer.Context,
        proposal_id: Id,
        *,
        code: Annotated[str, typer.Option(help="A stable word for programs.")] = "rejected",
        note: Note = "",
        token: Token = None,
        token_file: TokenFile = None,
        as_json: AsJson = False,
    ) -> None:
        """Refuse a call."""
        with opened(open_queue) as queue:
            proposal = queue.find(proposal_id)
            reviewer = prove(context, queue, token, token_file)
            rejected = queue.reject(proposal.id, reviewer, code, note, channel="cli")
            say_outcome(queue, rejected, reviewer.name, said="no", as_json=as_json)


def _require_given(digest: str, *, as_json: bool) -> None:
    """Make sure that a program says which call it means; a person is shown it, and asked."""
    if as_json and not digest:
        text = "a decision names the call that was looked at"
        raise DigestError(text, remedy="give --digest", cause=Cause.DIGEST_NEEDED)


def _add_settling(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    @app.command()
    def settle(
        context: typer.Context,
        proposal_id: Id,
        *,
        done: Annotated[bool | None, typer.Option("--done/--not-done", help="Whether the effect happened.")] = None,
        note: Note = "",
        token: Token = None,
        token_file: TokenFile = None,
        as_json: AsJson = False,
    ) -> None:
        """Say how an unknown outcome really ended, after looking."""
        if done is None:
            stop("no decision: say how it ended, with --done or --not-done", NO_DECISION)
        with opened(open_queue) as queue:
            proposal = queue.find(proposal_id)
            reviewer = prove(context, queue, token, token_file)
            settled = queue.settle(proposal.id, reviewer, done=done, note=note)
            if as_json:
                say_present(settled)
            else:
                console().print(f"{settled.state.value} by {reviewer.name}")


def _add_going_on(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    @app.command("resume")
    def resume(
        context: typer.Context,
        thread: Annotated[str, typer.Argument(help="The thread of the paused task.")],
        *,
        more: Annotated[int, typer.Option(help="How many further questions it may ask.", min=0, max=MAX_MORE)] = 5,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Let a task go on that was paused because it asked too many questions."""
        with opened(open_queue) as queue:
            reviewer = prove(context, queue, token, token_file)
            queue.let_go_on(thread, reviewer, more=more)
            console().print(f"the task goes on, and may ask {more} more questions; so says {reviewer.name}")
