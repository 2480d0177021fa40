"""How a question stands, in words for people: whom it takes, who said what, what is missing. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from checkvalve.approvals.plans import CHANNELS, Plan
from checkvalve.approvals.rules_check import in_words
from checkvalve.approvals.votes import Vote

if TYPE_CHECKING:
    from checkvalve.approvals.counting import Standing

NOBODY: Final = (
    "NOBODY CAN APPROVE THIS: too few enabled reviewers have the roles that it takes. It waits until it expires. First "
    "add somebody (checkvalve approvals reviewer add NAME) or give roles (checkvalve approvals reviewer roles NAME)"
)
"""What a question says that the people who are there cannot answer."""


def quorum_rows(standing: Standing, *, pending: bool) -> list[tuple[str, str]]:
    """Return names and lines for a card; only those that say something."""
    plan, tally = standing.plan, standing.tally
    rows = [("takes", taken(plan)), *((f"said {'yes' if vote.yes else 'no'}", said(vote)) for vote in standing.votes)]
    if pending:
        rows.append(("missing", tally.in_words()))
    if pending and not standing.reachable:
        rows.append(("warning", NOBODY))
    if plan.edited_by:
        rows.append(("edited by", plan.edited_by))
    return [row for row in rows if row[1]]


def taken(plan: Plan) -> str:
    """Return whom a question takes, and what goes with it."""
    conditions = [
        f"{plan.deny} noes end it" if plan.deny > 1 else "",
        "a reason" if plan.note_required else "",
        "a fresh proof of who it is" if plan.step_up else "",
        f"only by {', '.join(plan.channels)}" if set(plan.channels) != set(CHANNELS) else "",
        f"rule {plan.rule}" if plan.rule else "",
    ]
    return "; ".join([in_words(plan), *(text for text in conditions if text)])


def said(vote: Vote) -> str:
    """Return one vote: who, for whom, as what."""
    roles = ", ".join(sorted(role.value for role in vote.roles))
    whose = f" for {vote.via}" if vote.via else ""
    why = f": {vote.note or vote.code}" if vote.note or vote.code else ""
    means = f", with a {vote.means}" if vote.means == "token" else ""
    return f"{vote.reviewer}{whose} ({roles or 'who asked for it'}{means}){why}"


__all__ = ["NOBODY", "quorum_rows", "said", "taken"]
