"""Does every channel and every hook that a step of escalation names stand in its file? Else nobody would hear of it."""

from __future__ import annotations

from pathlib import Path

from checkvalve.approvals.oncall import ONCALL, OnCall
from checkvalve.approvals.review_rules import ReviewRules
from checkvalve.approvals.rungs import CHANNEL
from checkvalve.gateway.channel_file import load_channels


def lost_channels(rules: ReviewRules, file: Path | None) -> list[str]:
    """Return the names of channels that some rule tells and that the file does not have; all, where there is no file.

    Raises:
        ChannelError: the file cannot be used.
    """
    named = _named(rules, CHANNEL)
    known = {channel.name for channel in load_channels(file).all()} if named and file is not None else set[str]()
    return sorted(named - known)


def lost_hooks(rules: ReviewRules, known: OnCall) -> list[str]:
    """Return the names after ``oncall:`` that some rule asks for, and that nothing answers for."""
    named = asked_for(rules)
    return sorted(named - known.names()) if named else []


def asked_for(rules: ReviewRules) -> frozenset[str]:
    """Return the names after ``oncall:`` that some rule asks for."""
    return _named(rules, ONCALL)


def _named(rules: ReviewRules, mark: str) -> frozenset[str]:
    steps = (step for _, plan, _ in rules.every() for step in plan.escalate)
    return frozenset(word.removeprefix(mark) for step in steps for word in step.to if word.startswith(mark))


__all__ = ["asked_for", "lost_channels", "lost_hooks"]
