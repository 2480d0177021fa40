"""Looking for the effect of a call whose end nobody knows, with the read that its tool's manifest entry names.

1. Only an unknown call of a tool with ``idempotency: probe``, whose ``probe_with`` is sound by the manifest of now.
2. The read takes its arguments from the record, and the key from there, too. It goes through the gate like any read,
with a verdict of its own, in a thread of its own, within the time of the manifest. 3. Its answer settles the call, or
says nothing, and then the call waits for a person as ever (:mod:`checkvalve.approvals.probe_record`).

Guarantees: nobody is asked for the read; nothing that it says reaches a session or a model; what goes wrong settles
nothing and holds nothing up; the call itself is not run again, whatever the probe says.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from checkvalve.approvals import probe_record
from checkvalve.approvals.canonical import digest
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.probe_declared import probe_problem
from checkvalve.approvals.probes import CALL, Answer, judge, probe_args, thread_for
from checkvalve.approvals.probespec import ProbeSpec
from checkvalve.approvals.records import Proposal, idempotency_key
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, check_value
from checkvalve.graphs.calls import Call
from checkvalve.graphs.keeping import TOO_LATE, Look, Reading, look_call
from checkvalve.graphs.services import Services
from checkvalve.graphs.session import GuardSession
from checkvalve.graphs.stored_results import NOTHING

Find = Callable[[str], Any]
"""Gives a tool of the call's server by its name, or nothing."""
_WHY: Final = {
    "before_tool_missing": "tool_missing",
    "before_not_allowed": "not_allowed",
    TOO_LATE: "too_late",
}


@dataclass(frozen=True)
class _Asking:
    """One probe that is to be made, and when it was begun."""

    proposal: Proposal
    spec: ProbeSpec
    call: Call
    reading: Reading
    at: int


class Probing:
    """Makes probes with the services of one process."""

    def __init__(self, services: Services) -> None:
        """Decide, record and read as every surface does."""
        self._services = services
        self._queue = services.queue

    def after(self, outcome: Outcome, find: Find) -> Outcome:
        """Look for the effect of a call that the executor gave back as unknown; any other is returned as it is."""
        if not probe_record.is_open(outcome.proposal):
            return outcome
        try:
            asking = self._begin(outcome.proposal, find)
            if isinstance(asking, _Asking):
                asking = self._answer(asking, asking.reading.read(asking.call, find(asking.spec.tool)))
            return self._settled(outcome, asking)
        except Exception:  # noqa: BLE001  # whatever it is, it settles nothing, and how the call stands is known
            return outcome

    async def aafter(self, outcome: Outcome, find: Find) -> Outcome:
        """Do what :meth:`after` does, for tools that are awaited."""
        if not probe_record.is_open(outcome.proposal):
            return outcome
        try:
            asking = await asyncio.to_thread(self._begin, outcome.proposal, find)
            if isinstance(asking, _Asking):
                asking = self._answer(asking, await asking.reading.aread(asking.call, find(asking.spec.tool)))
            return await asyncio.to_thread(self._settled, outcome, asking)
        except Exception:  # noqa: BLE001  # whatever it is, it settles nothing, and how the call stands is known
            return outcome

    def _begin(self, proposal: Proposal, find: Find) -> _Asking | Answer:
        """Do step 1, and what is to be read for step 2; or say why nothing can be."""
        manifest, args = self._services.manifest, proposal.args()
        spec = manifest.find(proposal.tool, proposal.server)
        probe = None if spec is None or probe_problem(spec, manifest) is not None else spec.probe_with
        if probe is None:
            return Answer(why="not_declared")
        taken = probe_args(probe, args, idempotency_key(proposal.id))
        if taken is None:
            return Answer(probe.tool, why="no_such_argument")
        name = f"{CALL}-{secrets.token_hex(8)}"  # each read is one of its own: a recorded result would be the old one
        call = look_call(self._services, (probe.tool, proposal.server, taken), find(probe.tool), name=name)
        session = GuardSession(self._services, thread_for(proposal.id), proposal.requester)
        return _Asking(proposal, probe, call, Reading(self._services, session, probe.seconds), self._queue.clock())

    @staticmethod
    def _answer(asking: _Asking, look: Look) -> Answer:
        """Do the first half of step 3: return what the read says."""
        tool = asking.spec.tool
        if look.value is NOTHING:
            return Answer(tool, why=_WHY.get(look.why, "failed"))
        try:
            record: JSON = check_value(look.value)
        except HostileInputError:
            return Answer(tool, why="failed")
        done, why = judge(asking.spec, record, asking.proposal.args())
        return Answer(tool, done, why, digest(record), look.proposal, asking.at)

    def _settled(self, outcome: Outcome, answer: Answer) -> Outcome:
        settled = probe_record.settle(self._queue, outcome.proposal, answer)
        return outcome if settled == outcome.proposal else self._services.executor.look(settled.id)


__all__ = ["Find", "Probing"]
