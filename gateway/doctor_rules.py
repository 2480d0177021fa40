"""Do the files here count as rules: whether any were adopted, whether these are those, and who could change them."""

from __future__ import annotations

from collections.abc import Iterator

from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.roles import Role
from checkvalve.approvals.rulesets import NAMES
from checkvalve.gateway.doctor import Finding, ok, problem, warning
from checkvalve.gateway.rule_impact import Place
from checkvalve.gateway.rule_proposals import differing
from checkvalve.gateway.settings import LoadedSettings

_PROPOSE = "checkvalve rules propose"


def adoption(queue: Queue, found: LoadedSettings) -> Iterator[Finding]:
    """Say whether a gateway would start with these files, and whether one person alone can change the rules."""
    known = queue.rule_changes
    current = known.current()
    if current is None:
        tell = problem if found.settings.require_adoption else warning
        why = (
            "nothing runs before that"
            if found.settings.require_adoption
            else "whoever writes a file changes them alone"
        )
        yield tell("rules", f"no rules were adopted: {why}", _PROPOSE)
        return
    for one in differing(Place(queue, found.settings, found.file), current):
        said = f"{NAMES[one.part]} {one.file}: not what was adopted, so a gateway does not start with it"
        yield problem("rules", said, f"{_PROPOSE}, or put back what was adopted: checkvalve rules text {one.part}")
    how = "by one person alone" if current.alone else "by two people"
    yield ok("rules", f"adopted {how}, {to_the_second(current.decided_at or current.proposed_at)}")
    if count := known.waiting():
        yield warning("rules", f"changes that wait for a second person: {count}", "checkvalve rules list")
    people = {one.person for one in queue.reviewers.accounts() if not one.disabled and one.has(Role.ADMINISTRATOR)}
    if len(people) < 2:  # noqa: PLR2004  # who proposes, and who confirms
        yield warning("rules", "there is one administrator: nobody could confirm a change that this person proposes",
                      "let a second person be one")  # fmt: skip


__all__ = ["adoption"]
