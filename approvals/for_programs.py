"""What a program may know of its own calls: one rule for the card that its token gets, its receipt and its stream.

1. How the call moved, who let it run, and its grants. 2. Of people's words those that are for its agent: a question to
whoever asked, what was answered in that name, and the text that a call was answered with. What people write to each
other (notes, replies, votes) it does not get. 3. How the call is to be answered, and when its time is over. Whom it is
brought to, when somebody is reminded, and where people are told it does not get.

Guarantees: pure; what is not named here is not for a program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from checkvalve.approvals.notices import ASKED, GLASS, TALK, UNREACHABLE
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.remarks import ANSWER, QUESTION
from checkvalve.approvals.responding import response_of
from checkvalve.filters.strictjson import JSON

_GRANTS: Final = "grant."
_MOVES: Final = frozenset({"proposal.recorded", *(f"proposal.{state.value}" for state in State)})
_PLAN: Final = frozenset(
    {
        "tier",
        "rule",
        "decide_within",
        "execute_within",
        "approve",
        "deny",
        "step_up",
        "note_required",
        "tenant",
        "amount",
    }
)
_TALK: Final = frozenset({QUESTION, ANSWER})
_TOLD: Final = frozenset({ASKED, *(state.value for state in State), "settled", *TALK, UNREACHABLE, GLASS})


def event_is_for_programs(kind: str, body: Mapping[str, JSON]) -> bool:
    """Say whether an event is a move that tells of no person but who made it, and holds no words of theirs."""
    return (kind in _MOVES or kind.startswith(_GRANTS)) and not body.get("note")


def notice_is_for_programs(kind: str) -> bool:
    """Say whether a notice is of how a call moved, or of talk with whoever asked; not of whom people call, and when."""
    return kind in _TOLD


def note_for_programs(row: Proposal) -> str:
    """Return the words beside a decision that are for the agent; empty where they are for people."""
    return response_of(row)


def remark_is_for_programs(kind: str) -> bool:
    """Say whether a remark was asked of whoever asked for the call, or answered in that name."""
    return kind in _TALK


def plan_for_programs(plan: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the published form of a plan without whom it is brought to, and without who edited the call."""
    return {name: item for name, item in plan.items() if name in _PLAN}


__all__ = [
    "event_is_for_programs", "note_for_programs", "notice_is_for_programs", "plan_for_programs",
    "remark_is_for_programs",
]  # fmt: skip
