"""At the terminal: the reason that a yes may take, and what a question still waits for after a voice."""

from __future__ import annotations

import json

import typer
from rich.text import Text

from checkvalve.approvals import plans
from checkvalve.approvals.card import digest_hex, named
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.lists import SHORT_DIGEST
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.terminal import ask, console


def ask_reason_if_needed(queue: Queue, proposal: Proposal) -> str:
    """Ask for a reason in words where the plan of the question takes one; empty where it does not.

    Nothing typed is no reason: the queue then refuses and says so.
    """
    with queue.store.read() as connection:
        wanted = plans.read(connection, proposal.id).note_required
    return ask("A yes to this call takes a reason. Why is it right?", instead="give --note TEXT") if wanted else ""


def say_outcome(queue: Queue, proposal: Proposal, reviewer: str, *, said: str = "yes", as_json: bool = False) -> None:
    """Say what became of a call after somebody's answer: approved, rejected, or still waiting, and for whom."""
    if as_json:
        say_present(proposal)
        return
    if proposal.state is State.PENDING:
        standing = queue.standing(proposal.id)
        noes = standing.plan.deny - len(standing.tally.no)
        ends = f"; noes that end it: {noes} more" if standing.tally.no else ""
        text = f"{reviewer} said {said}; the call still waits for: {standing.tally.in_words()}{ends}"
        console().print(Text(neutralise(text)), soft_wrap=True)
        return
    if proposal.state is not State.APPROVED:
        console().print(f"rejected by {reviewer}")
        return
    until = to_the_second(proposal.execute_by or 0)
    what = f"{named(proposal)} ({digest_hex(proposal)[:SHORT_DIGEST]})"
    said = f"approved by {reviewer}: {what} may run once until {until}"
    console().print(Text(neutralise(said)), soft_wrap=True)
    if proposal.self_approved:
        console().print("this is self-approval, and the record says so")


def say_present(proposal: Proposal) -> None:
    """Print how a call stands, for programs."""
    typer.echo(json.dumps({"id": proposal.id, **proposal.present.to_json()}, indent=2))


__all__ = ["ask_reason_if_needed", "say_outcome", "say_present"]
