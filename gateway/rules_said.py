"""Saying loudly, at the start of a server, that the people who are there cannot keep the review rules."""

from __future__ import annotations

import typer

from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.rules_check import check
from checkvalve.gateway.logs import get_logger


def say_rules(queue: Queue) -> None:
    """Say what is wrong with the review rules: nothing is relaxed, so such questions would wait until they expire."""
    for item in check(queue.rules, queue.reviewers.accounts()):
        log = get_logger()
        tell = log.error if item.level == "error" else log.info
        tell("review rules", where=item.where, problem=item.text)
        if item.level == "error":
            typer.echo(neutralise(f"REVIEW RULES: {item.where}: {item.text}"), err=True)


__all__ = ["say_rules"]
