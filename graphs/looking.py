"""Reading the record that a call is about, before the call is decided, where the agent has not read it.

1. Decide the call without recording anything. Only a question that somebody would have to answer is worth a look. 2.
The read that the manifest names is made once for the call: through the same gate as any read, with a verdict of its own
in the record. 3. What it gave is taken in like any other result, with the labels that the manifest declares, and then
the call is decided and recorded.

Guarantees: a look asks nobody, and one that is refused, missing or broken changes nothing; no model is shown what it
gave, a person is: it is an origin of the call's values, and says what they were before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.undo_call import look_args
from checkvalve.approvals.undos import FIRST, beside
from checkvalve.approvals.verdicts import Review
from checkvalve.filters.errors import HostileInputError
from checkvalve.graphs.calls import Call
from checkvalve.graphs.keeping import Look, Reading, look_call
from checkvalve.graphs.services import Services
from checkvalve.graphs.session import GuardSession
from checkvalve.graphs.stored_results import NOTHING


def look_first(services: Services, session: GuardSession, call: Call, find: Callable[[str], Any]) -> None:
    """Do steps 1 to 3; ``find`` gives the agent's tools by name."""
    wanted = _wanted(services, session, call, find)
    if wanted is not None:
        _take_in(session, wanted[0], Reading(services, session).read(*wanted))


async def alook_first(services: Services, session: GuardSession, call: Call, find: Callable[[str], Any]) -> None:
    """Do what :func:`look_first` does, for tools that are awaited."""
    wanted = await asyncio.to_thread(_wanted, services, session, call, find)
    if wanted is not None:
        found = await Reading(services, session).aread(*wanted)
        await asyncio.to_thread(_take_in, session, wanted[0], found)


def _wanted(
    services: Services, session: GuardSession, call: Call, find: Callable[[str], Any]
) -> tuple[Call, Any] | None:
    """Do step 1: return the read to make and its tool, or nothing."""
    spec = services.manifest.find_called(call.tool, call.server, call.args)
    look = None if spec is None else spec.look_first
    if look is None or services.mode != "enforce":
        return None
    try:
        request = session.request(call)
        args, name = look_args(look, request.args), beside(call.id, FIRST)
        if args is None or not isinstance(session.decision(call).verdict, Review):
            return None
    except (HostileInputError, ApprovalError):
        return None  # the call itself is decided next, and says what is wrong
    tool = find(look.tool)
    return look_call(services, (look.tool, call.server, args), tool, name=name), tool


def _take_in(session: GuardSession, call: Call, found: Look) -> None:
    """Do step 3."""
    if found.value is not NOTHING:
        session.result(call, found.value, key=call.id)


__all__ = ["FIRST", "alook_first", "look_first"]
