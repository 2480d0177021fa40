"""Refusing review rules that the people who are there cannot keep, where rules are adopted or first counted.

1. Adopting: where the review rules change, each quorum has to be within reach of the enabled accounts, as
:mod:`rules_check` counts them. Rules that stay as they are pass: who has left since must not keep others from changing
something else. 2. Starting: a quorum that takes more people than there have ever been accounts for was never within
reach, so it is a mistake in a file and no absence.

Guarantees: pure but for the reading of texts; nothing is relaxed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from checkvalve.approvals.errors import ConflictError
from checkvalve.approvals.review_rules import ReviewRules, parse_review_rules
from checkvalve.approvals.roles import Account, Role
from checkvalve.approvals.rules_check import Finding, check, in_words
from checkvalve.approvals.votes import reachable

_REMEDY: Final = (
    "let people in first: checkvalve approvals reviewer add NAME; or take a quorum that those there can fill"
)


def require_reachable(before: str, after: str, known: Iterable[Account]) -> None:
    """Make sure that review rules which are to replace others can be kept.

    Args:
        before: the text that is in force, empty where there is none.
        after: the text that is to count.
        known: all accounts.

    Raises:
        ConflictError: a question could come that nobody there could approve.
        ConfigError: the text is no file of review rules.
    """
    if after == before:
        return
    lost = [item for item in check(parse_review_rules(after, "review rules"), known) if item.level == "error"]
    if lost:
        text = f"these review rules cannot be kept: {lost[0].where}: {lost[0].text}"
        raise ConflictError(text, remedy=_REMEDY)


def never_reachable(rules: ReviewRules, known: Iterable[Account]) -> list[Finding]:
    """Return the quorums that all who ever had an account could not fill, whatever roles they were given."""
    people = {one.person: frozenset(Role) for one in known if not one.program}
    return [
        Finding("error", where, f"it takes {in_words(plan)}, and there are accounts of {len(people)} people")
        for where, plan, _ in rules.every()
        if people and not reachable(plan, people)
    ]


__all__ = ["never_reachable", "require_reachable"]
