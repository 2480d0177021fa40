"""Saying loudly, at the start of a server, that the people who are there cannot keep the review rules.

1. A file that nobody adopted, with a quorum of more people than there have ever been accounts for, is a mistake: the
gateway does not start, unless that is wanted. 2. Where people have left or were disabled, it starts and says so: the
others go on deciding, say no, and let somebody in. Rules that were adopted were looked at then.
"""

from __future__ import annotations

from pathlib import Path

import typer

from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.rule_reach import never_reachable
from checkvalve.approvals.rules_check import check
from checkvalve.gateway.errors import SettingsError
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


def require_ever_kept(queue: Queue) -> None:
    """Do step 1; where nobody has an account yet, the link to the first one comes first.

    Raises:
        SettingsError: a quorum of a file that nobody adopted takes more people than ever had an account.
    """
    if queue.rule_changes.current() is not None:
        return
    if lost := never_reachable(queue.rules, queue.reviewers.accounts()):
        raise SettingsError(
            f"the review rules cannot be kept: {lost[0].where}: {lost[0].text}",
            "let people in: checkvalve approvals reviewer add NAME, or on the pages of checkvalve serve --review-only; "
            "or take a smaller quorum; or say --allow-unreachable, and such questions wait until they expire",
        )


__all__ = ["require_ever_kept", "say_rules"]
