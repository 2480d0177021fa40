"""Saying loudly, at the start of a server, that the people who are there cannot keep the review rules."""

from __future__ import annotations

from pathlib import Path

import typer

from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.rules_check import check
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.step_channels import lost_channels, lost_hooks


def say_rules(queue: Queue, channels: Path | None = None) -> None:
    """Say what is wrong with the review rules: nothing is relaxed, so such questions would wait until they expire.

    Raises:
        OnCallError: the file of on-call schedules cannot be used.
    """
    queue.oncall.load()
    accounts = queue.reviewers.accounts()
    for item in check(queue.rules, accounts) if accounts else ():  # before the first reviewer the link says it all
        log = get_logger()
        tell = log.error if item.level == "error" else log.info
        tell("review rules", where=item.where, problem=item.text)
        if item.level == "error":
            typer.echo(neutralise(f"REVIEW RULES: {item.where}: {item.text}"), err=True)
    for name in lost_channels(queue.rules, channels):
        get_logger().error("a step of escalation tells a channel that is not there", channel=name)
        typer.echo(neutralise(f"REVIEW RULES: channel:{name} is to be told, and is in no file of channels"), err=True)
    for name in lost_hooks(queue.rules, queue.oncall):
        get_logger().error("a step of escalation asks who is on call where nothing answers", where=name)
        typer.echo(neutralise(f"REVIEW RULES: oncall:{name} is to be asked, and nothing answers for it"), err=True)


__all__ = ["say_rules"]
