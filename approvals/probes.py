"""What the answer of a probe says of a call whose end nobody knows.

1. One condition of the manifest is met, and the other is not: that is how the call ended. 2. Both, or none: it says
nothing. 3. That the effect is *not* there counts only where the read was begun after the lease of whoever ran the call
was over and :data:`PAUSE` more had gone by: until then its request may still be on the way. And it does not count
against a result that came late.

Pure: who reads, and what is written, is elsewhere. An answer is data from a tool: it meets a condition or does not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from checkvalve.approvals.asides import PROBE
from checkvalve.approvals.probespec import ProbeSpec, ProbeWhen
from checkvalve.approvals.undo_call import at
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, check_value

THREAD: Final = PROBE
"""How the thread of the reads begins that are made for a call; the call's id follows."""
CALL: Final = "probe"
BY: Final = "probe"
"""Who settled a call, in its record."""
DONE, NOT_DONE = "probe_done", "probe_not_done"
"""Codes of a call that a probe settled."""
UNDECIDED: Final = "probe.undecided"
"""The event of a probe that settled nothing."""
PAUSE: Final = timedelta(minutes=5)
"""After the lease of a dead owner, before "not there" is believed: a request on its way has arrived by then."""

WHY: Final[Mapping[str, str]] = {
    "neither": "its answer says neither that the effect happened nor that it did not",
    "both": "its answer says both that the effect happened and that it did not",
    "too_early": "it did not find the effect, and the request may still have been on its way",
    "came_late": "it did not find the effect, and a result of the call came late",
    "no_such_argument": "the call was made without an argument that it needs",
    "not_declared": "the manifest declares no sound probe of this tool any more",
    "tool_missing": "the tool that reads was not at hand",
    "not_allowed": "a rule did not let it be made",
    "too_late": "it took longer than the manifest allows",
    "failed": "the tool that reads failed",
}
"""Why a probe settled nothing, in words."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a probe gave: ``done`` or not, or nothing with a word of :data:`WHY`.

    ``digest`` is of the whole answer, ``call`` the recorded read, ``asked`` when it was begun, in microseconds.
    """

    tool: str = ""
    done: bool | None = None
    why: str = ""
    digest: str = ""
    call: str = ""
    asked: int = 0

    def to_json(self) -> dict[str, JSON]:
        """Return what the event says; no word of the answer itself."""
        told: dict[str, JSON] = {"tool": self.tool, "why": self.why, "answer_digest": self.digest, "call": self.call}
        return {name: value for name, value in told.items() if value != ""}


def thread_for(proposal_id: str) -> str:
    """Return the thread of the reads that are made for a call."""
    return f"{THREAD}{proposal_id}"


def probe_args(spec: ProbeSpec, args: Mapping[str, JSON], key: str) -> dict[str, JSON] | None:
    """Return the arguments of the read, from those of the record; nothing where the call had left one out."""
    found: dict[str, JSON] = {}
    for name, item in spec.args.items():
        if item.argument is not None and item.argument not in args:
            return None
        found[name] = key if item.key else item.value if item.argument is None else args[item.argument]
    return found


def judge(spec: ProbeSpec, record: object, args: Mapping[str, JSON]) -> tuple[bool | None, str]:
    """Do steps 1 and 2: return whether it happened, or nothing and why."""
    done = _is_met(spec.done_when, record, args)
    not_done = spec.not_done_when is not None and _is_met(spec.not_done_when, record, args)
    if done == not_done:
        return None, "both" if done else "neither"
    return done, "done_when" if done else "not_done_when"


def _is_met(condition: ProbeWhen, record: object, args: Mapping[str, JSON]) -> bool:
    try:
        found: JSON = check_value(at(record, condition.path))
    except HostileInputError:  # it is not there, or no JSON
        return False
    if condition.there:
        return found is not None
    if condition.argument is not None:  # an empty field fits whatever was left empty, and says nothing
        return found is not None and condition.argument in args and _text(found) == _text(args[condition.argument])
    return any(_text(found) == _text(value) for value in condition.values)


def _text(value: JSON) -> str:
    return json.dumps(value, sort_keys=True)


__all__ = [
    "BY", "CALL", "DONE", "NOT_DONE", "PAUSE", "THREAD", "UNDECIDED", "WHY", "Answer", "judge", "probe_args",
    "thread_for",
]  # fmt: skip
