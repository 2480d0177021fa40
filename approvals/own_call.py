"""Why somebody does not count where others have to agree: they asked for the call, in one of the ways there are.

Guarantees: what is said names the rule that refuses, and nobody but the person it is said to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkvalve.approvals import reach
from checkvalve.approvals.asked_by import AGENT, FOR, TOKEN
from checkvalve.approvals.errors import NotAllowedError
from checkvalve.approvals.people import is_usable
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.refusals import OwnCallError, RequesterUnknownError
from checkvalve.approvals.roles import Account, People, accounts

_YOU: Final = "you asked for this call yourself"
_PROGRAM: Final = "you own the program that asked for this call"
_WHY: Final = {
    FOR: "this call was asked for in your name, by a program",
    TOKEN: "you own the API token that asked for this call",
    AGENT: "you own the agent that asked for this call",
}


def own_call(people: People, proposal: Proposal, account: Account, *, remedy: str) -> NotAllowedError:
    """Return the error for somebody of whom ``reach.asked`` says that they asked for a call."""
    if any(not is_usable(name) for name in proposal.asked_by):
        return RequesterUnknownError("nobody knows who asked for this call", remedy=remedy)
    person = next((one for one in accounts(people, everyone=True) if one.name == account.name), account)
    return OwnCallError(next(_reasons(people, proposal, person), _YOU), remedy=remedy)


def _reasons(people: People, proposal: Proposal, account: Account) -> Iterator[str]:
    """Yield what this person has to do with the call, the nearest first."""
    known = accounts(people, everyone=True)
    mine = [one for one in known if one.person == account.person and not one.program] or [account]

    def is_mine(name: str) -> bool:
        return any(reach.is_requester(name, one) for one in mine)

    if is_mine(proposal.requester):
        yield _YOU
    yield from (_WHY.get(one.why, _YOU) for one in proposal.behind if is_mine(one.name))
    if account.person in reach.requesters(proposal.asked_by, known):
        yield _PROGRAM


__all__ = ["own_call"]
