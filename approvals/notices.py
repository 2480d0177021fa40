"""What channels may be told: one notice for each event of the log that somebody outside has a reason to hear of.

Guarantees: pure; a notice is made of an event and of columns that never change, so it reads the same at every try; its
id follows from the event's hash, so a receiver recognises one that comes twice. A notice decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from checkvalve.approvals.attention import REACHED
from checkvalve.approvals.audit import Event
from checkvalve.approvals.handed import BROKEN, DUE
from checkvalve.approvals.moves import OBSERVE
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.risk import Tier, tier_of
from checkvalve.approvals.talked import ANSWERED, CALLED
from checkvalve.approvals.talked import ASKED as ASKED_BACK
from checkvalve.filters.strictjson import JSON

_MOVE: Final = "proposal."
_SETTLED: Final = frozenset({State.CONFIRMED_DONE, State.CONFIRMED_NOT_DONE})
_SILENT: Final = frozenset({State.PENDING, State.EXECUTING, *_SETTLED})  # named otherwise, or of no interest outside
_PLAIN: Final[Mapping[str, str]] = {
    "task.paused": "paused",
    "task.resumed": "resumed",
    REACHED: "budget",
    ASKED_BACK: "question",
    ANSWERED: "answer",
    DUE: "afterlook",
}
TALK: Final = ("question", "answer")
ASKED: Final = "asked"
REMINDER: Final = "reminder"
ESCALATED: Final = "escalated"
UNREACHABLE: Final = "unreachable"
GLASS: Final = "glass_broken"
KINDS: Final = (
    ASKED,
    *(state.value for state in State if state not in _SILENT),
    "settled",
    *_PLAIN.values(),
    REMINDER,
    ESCALATED,
    UNREACHABLE,
    GLASS,
)
"""Every kind of notice. ``asked``: a call waits for a person. ``settled``: a person said how an unknown outcome ended.

``paused`` and ``resumed`` are about a task that asked too much, ``budget`` about a person who said yes too often.
``reminder`` and ``escalated``: a call still waits, and who should look now. ``unreachable``: nobody can decide it.
``question``: a reviewer asked something about a call, ``answer``: the requester answered; neither tells the words.
``glass_broken``: one person alone let a call run in an emergency; every channel is told of it. ``afterlook``:
nobody has looked at that for a day.
"""
FOR_PEOPLE: Final = (
    ASKED,
    "expired",
    "unknown",
    "paused",
    "budget",
    *TALK,
    REMINDER,
    ESCALATED,
    UNREACHABLE,
    GLASS,
    "afterlook",
)
"""The kinds after which a person has something to do."""
_LADDER: Final[Mapping[str, str]] = {"reminded": REMINDER, "escalated": ESCALATED, "unreachable": UNREACHABLE}
CHANNEL: Final = "channel:"
"""Before the name of a channel that a step of escalation goes to."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing to tell.

    ``proposal`` is the call that it is about, None where it is about a task or a person, or where the call cannot be
    read: then all channels hear of it.
    """

    seq: int
    id: str
    at: int
    kind: str
    subject: str
    body: dict[str, JSON] = field(repr=False)
    proposal: Proposal | None = field(repr=False)

    @property
    def tier(self) -> Tier | None:
        """How grave the call is."""
        if self.proposal is None:
            return None
        return tier_of(str(self.proposal.decision.get("action") or ""), self.proposal.rule)

    @property
    def state(self) -> str:
        """The state that the event put the call into."""
        return str(self.body.get("state") or "")

    @property
    def who(self) -> tuple[str, ...]:
        """Who should look now, as far as somebody was named."""
        found = self.body.get("who")
        return tuple(str(name) for name in found) if isinstance(found, list) else ()

    def is_for(self, channel: str) -> bool:
        """Say whether this has to reach a channel whatever its filters say."""
        named = self.body.get("to")
        return self.kind == GLASS or (isinstance(named, list) and CHANNEL + channel in named)


_MOVES: Final = frozenset(state.value for state in State if state not in _SILENT)


def kind_of(kind: str, body: str) -> str:
    """Return the kind of notice that an event is told as; empty where nobody is told."""
    if not kind.startswith(_MOVE):
        return ESCALATED if kind == CALLED else _PLAIN.get(kind, "")
    word = kind.removeprefix(_MOVE)
    if word == "recorded":
        return _recorded(_body(body))
    if word in _SETTLED:
        return "settled"
    if word == State.APPROVED and _body(body).get("code") == BROKEN:
        return GLASS
    if word in _LADDER:
        return "" if _body(body).get("missed") is True else _LADDER[word]  # a newer reminder tells people
    return word if word in _MOVES else ""


def _recorded(body: Mapping[str, JSON]) -> str:
    if body.get("mode") == OBSERVE:
        return ""
    state = body.get("state")
    if state == State.PENDING:
        return ASKED
    return "denied" if state == State.DENIED else ""  # what a rule allows is no news


def notice_of(event: Event, proposal: Proposal | None) -> Notice | None:
    """Return what is told of an event, None where nobody is told, or where its content was erased."""
    kind = kind_of(event.kind, event.body)
    if not kind or not event.body:
        return None
    return Notice(event.seq, name_of(event.hash), event.at, kind, event.subject, _body(event.body), proposal)


def name_of(event_hash: str) -> str:
    """Return the id of the notice of an event, so that who gets it twice sees that it is one."""
    return "msg_" + event_hash.removeprefix("sha256:")[:32]


def _body(text: str) -> dict[str, JSON]:
    found = json.loads(text) if text else {}
    return found if isinstance(found, dict) else {}


__all__ = [
    "ASKED", "CHANNEL", "ESCALATED", "FOR_PEOPLE", "GLASS", "KINDS", "REMINDER", "UNREACHABLE", "Notice", "kind_of",
    "name_of", "notice_of",
]  # fmt: skip
