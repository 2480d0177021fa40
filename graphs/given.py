"""What a call of one session may rely on beside the user's words, at the moment it is decided.

Guarantees: a mandate means only results that came through the gateway and that no model wrote; a call that is looked at
again may rely only on what it had used up when it was allowed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from checkvalve.approvals import flood
from checkvalve.approvals.asked_by import Behind
from checkvalve.approvals.decision import ANSWER, Decision
from checkvalve.approvals.edits import current
from checkvalve.approvals.erased_words import GONE
from checkvalve.approvals.fieldspec import Effect
from checkvalve.approvals.mandate_entry import MandateEntry
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.reads import Read, Reads
from checkvalve.approvals.records import USED, Proposal, State
from checkvalve.approvals.repeats import effect_key, erased_key
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.snapshot import Earlier, Snapshot
from checkvalve.approvals.standing_entry import StandingEntry
from checkvalve.approvals.toolspec import Idempotency, Manifest, ToolSpec
from checkvalve.approvals.verdicts import Deny
from checkvalve.filters.fields import source_of
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.calls import Call, turn_suffix

TRIES: Final = 5
"""Times that a call is decided anew when another one was faster to use what was left of a mandate."""
SPENT: Final = Deny("mandate-spent", "mandate_spent", "propose the call again")
"""The verdict on a call that lost the race for the last of a mandate, again and again."""


_OPEN: Final = frozenset({State.PENDING, State.APPROVED})
_ASKED: Final = frozenset({*_OPEN, State.SUPERSEDED})
Effects = dict[tuple[str, str, str], str]
"""What a call of a tool, a server and a digest did, see :func:`effect_key`."""


@dataclass
class Results:
    """The results that entered a session, by source: with which arguments they were read."""

    _calls: dict[str, tuple[str, str, str, Mapping[str, JSON]]] = field(default_factory=dict)

    def note(self, value: Mapping[str, JSON]) -> None:
        """Note one stored result; what did not come through the gateway, or a model wrote, is nobody's record."""
        if not value.get("declared") or value.get("written"):
            return
        tool, server, call, args = (value.get(name) for name in ("tool", "server", "call", "args"))
        known = args if isinstance(args, dict) else {}
        self._calls.setdefault(source_of(str(tool), str(call)), (str(tool), str(server), str(call), known))

    def reads(self, rows: Sequence[Earlier], *, whole: bool = True) -> Reads:
        """Return the reads in the order of the record; ``whole``, and everything that was passed to tools."""
        ended = {row.call_id: row.updated_at for row in rows}
        found = {
            source: Read(tool, server, args, ended.get(call, sys.maxsize))
            for source, (tool, server, call, args) in self._calls.items()
        }
        passed: list[tuple[int, Mapping[str, JSON]]] = []
        passed += [(row.created_at, row.args()) for row in rows if whole and row.state in USED]
        return Reads(found, passed)


def asked_before(queue: Queue, stands: Snapshot, request: ActionRequest, *, mode: str) -> Proposal | None:
    """Return the open or approved question about exactly this call from an earlier turn: nobody is asked twice.

    Its approval permits one attempt, whichever turn makes it; right before that everything is checked again.
    """
    turn = turn_suffix(request.call_id)
    for row in stands.calls:
        if row.state not in _ASKED or row.digest != request.digest or row.verdict_name != "review":
            continue
        if turn and (earlier := turn_suffix(row.call_id)) and turn != earlier:
            if not row.mode == mode == "enforce":
                return None
            found = current(queue, row.id)  # a person may have made another call of it
            if found.state in _OPEN:
                return found
            if row.state in _OPEN:
                return None
    return None


def behind(queue: Queue, thread: str, requester: str, *, by_hand: bool = False) -> tuple[Behind, ...]:
    """Return who asked for the calls of a task beside its requester; what a person asks for by hand has no agent."""
    return queue.owners.behind(thread, requester, by_agent=not by_hand)


def mandates_of(queue: Queue, thread: str, requester: str, own: Earlier | None) -> list[MandateEntry]:
    """Return the mandates for a call; ``own`` is its record, where it was decided before."""
    if own is None:
        return queue.mandates.in_force(thread, requester)
    return queue.mandates.in_force(thread, requester, without=own.id, only_used=own.verdict_name == "allow")


def standing_of(queue: Queue, tool: str, stands: Snapshot, own: Earlier | None) -> Sequence[StandingEntry]:
    """Return the standing rules for a call, none in a task that is paused; ``own`` as in :func:`mandates_of`."""
    if stands.flood.paused:
        return ()
    if own is None:
        return queue.standing_rules.in_force(tool)
    return queue.standing_rules.in_force(tool, without=own.id, only_used=own.verdict_name == "allow")


def held_back(decision: Decision, spec: ToolSpec | None, held: Deny = flood.PAUSED) -> Decision:
    """Return the decision in a task that is paused: ``held``, unless the call only reads inside, or answers."""
    harmless = spec is None or (spec.effect is Effect.READ and not spec.leaves_domain)
    return decision if harmless or isinstance(decision.verdict, Deny) else refused(decision, held)


def refused(decision: Decision, verdict: Deny) -> Decision:
    """Return the decision with another verdict, which a surface has reached; nothing is offered or used then."""
    rules = (verdict.rule, *decision.rules)
    return replace(decision, verdict=verdict, rules=rules, endorsable=(), uses=(), mandate=None)


def tools_used(rows: Iterable[Earlier]) -> list[str]:
    """Return the tool of each call that had its effect, or may still have it."""
    return [row.tool for row in rows if row.state in USED]


def effects(rows: Iterable[Earlier], manifest: Manifest, known: Effects) -> Iterator[str]:
    """Yield what each effect that happened, or may still happen, was: the user asked for it once.

    ``known`` keeps what was worked out before; the stored bytes are checked every time.
    """
    for row in rows:
        spec = manifest.find(row.tool, row.server)
        if spec is None or row.state not in USED:
            continue
        row.check()
        if row.call_id == GONE:
            yield erased_key(row.tool, row.server)
            continue
        call = row.tool, row.server, row.digest
        if call not in known:
            request = ActionRequest.build(row.tool, row.args(), server=row.server)
            known[call] = effect_key(request, spec.called_with(request.args))
        yield known[call]


def idempotency(spec: ToolSpec | None, call: Call) -> Idempotency:
    """Return what may happen after a crash in the middle of a call."""
    if spec is None and call.tool == ANSWER.name and not call.server:
        return Idempotency.READ  # handing the same text out again does nothing new
    return spec.idempotency if spec else Idempotency.NONE


__all__ = [
    "SPENT",
    "TRIES",
    "Effects",
    "Results",
    "asked_before",
    "behind",
    "effects",
    "held_back",
    "idempotency",
    "mandates_of",
    "refused",
    "standing_of",
    "tools_used",
]
