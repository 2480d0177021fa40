"""What a card holds, as values for a template: content is in :class:`Shown` and nowhere else.

Guarantees: what a source wrote cannot leave its place, since templates get it in no other form; codes, states and
numbers are the record's own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from checkvalve.approvals.hand import TYPED
from checkvalve.approvals.queue import MIN_DIGEST
from checkvalve.approvals.records import State
from checkvalve.approvals.risk import Tier
from checkvalve.gateway import web_origins
from checkvalve.gateway.web_diff import Change
from checkvalve.gateway.web_origins import OriginView
from checkvalve.gateway.web_text import Shown
from checkvalve.gateway.web_titles import TitleView

AUTHORITY: Final = frozenset({"target", "selector", "command", "credential", "amount", "control"})
"""Roles that carry authority: what an outsider must not choose."""
GRAVE: Final = frozenset({Tier.CRITICAL, Tier.HIGH})
"""Tiers in which a yes takes the start of the digest, typed."""
_STANDING: Final = re.compile(r"rule:standing:([0-9a-f-]{36})")


@dataclass(frozen=True, slots=True)
class ArgumentView:
    """One argument: its value with marks, and every recorded origin."""

    path: Shown
    role: str
    kind: str
    value: Shown
    origins: tuple[OriginView, ...]
    more: int
    sufficient: bool
    covered_by: str
    redacted: bool = False

    @property
    def asked_about(self) -> bool:
        """Say whether this value is why somebody is asked."""
        return self.role in AUTHORITY and not self.sufficient

    @property
    def trust(self) -> str:
        """The recorded trust of its best origin."""
        return self.origins[0].trust if self.origins else web_origins.UNKNOWN


@dataclass(frozen=True, slots=True)
class OfferView:
    """What a yes accepts beside this call: a value, where it is from, as what, and for which tool."""

    value: Shown
    source: Shown
    tool_of_source: Shown
    made_up: bool
    role: str
    tool: Shown


@dataclass(frozen=True, slots=True)
class EventView:
    """One line of the record's own history."""

    seq: int
    at: int
    kind: str
    by: Shown
    code: Shown


@dataclass(frozen=True, slots=True)
class CardView:
    """Everything on a card. ``row`` is for codes, states and numbers only; its texts are in the other fields."""

    id: str
    state: State
    version: int
    tier: Tier
    effect: str
    tool: Shown
    title: TitleView
    rule: str
    rules: tuple[Shown, ...]
    remedy: Shown
    requester: Shown
    behind: tuple[tuple[Shown, str], ...]
    thread: Shown
    thread_name: str
    arguments: tuple[ArgumentView, ...]
    offers: tuple[OfferView, ...]
    mandate: Shown | None
    said: tuple[Shown, ...]
    sender: Shown
    through: tuple[Shown, ...]
    agent: Shown | None
    facts: tuple[str, ...]
    digest: str
    size: int
    created_at: int
    decide_by: int
    execute_by: int | None
    updated_at: int
    decided_by: Shown
    code: Shown
    note: Shown
    result: Shown | None
    events: tuple[EventView, ...]
    observed: bool
    self_approved: bool
    reversible: bool
    before: tuple[str, tuple[Change, ...]] | None
    usual: tuple[str, tuple[Change, ...]] | None

    @property
    def redacted(self) -> bool:
        """Say whether something on the card stands behind a mark."""
        around = (*self.said, self.agent, self.result, self.note, self.mandate, *(item.value for item in self.offers))
        passages = [place.passage for item in self.arguments for place in item.origins]
        near = (text for item in passages if item is not None for text in (item.before, item.value, item.after))
        texts = (*(item.path for item in self.arguments), *around, *near)
        return any(item.redacted for item in self.arguments) or any(text.redacted for text in texts if text)

    @property
    def asked(self) -> tuple[ArgumentView, ...]:
        """The arguments that the question is about, those that the rule names first."""
        found = (item for item in self.arguments if item.asked_about)
        return tuple(sorted(found, key=lambda item: item.role != self.rule.removeprefix("untrusted-")))

    @property
    def target(self) -> ArgumentView | None:
        """The argument that says to whom or what: what a list names a call by."""
        targets = [item for item in self.arguments if item.role == "target"]
        chosen = [*(item for item in self.asked if item.role == "target"), *targets, *self.asked]
        return chosen[0] if chosen else None

    @property
    def amounts(self) -> tuple[ArgumentView, ...]:
        """The arguments that say how much."""
        return tuple(item for item in self.arguments if item.role == "amount")

    @property
    def standing_id(self) -> str:
        """The id of the standing rule that let the call through; empty where a person or the policy decided it."""
        found = _STANDING.fullmatch(self.decided_by.plain)
        return found[1] if found else ""

    @property
    def why(self) -> str:
        """The key of the sentence that says why somebody is asked; empty for a rule of somebody's own policy."""
        about = self.asked[0] if self.rule.startswith("untrusted-") and self.asked else None
        if about is not None and (not about.origins or about.trust == TYPED):
            return "why.typed" if about.origins else "why.nowhere"
        return f"why.{self.rule}"

    @property
    def grave(self) -> bool:
        """Say whether a yes takes the start of the digest."""
        return self.tier in GRAVE

    @property
    def digest_start(self) -> str:
        """What is typed for a grave one."""
        return self.digest[:MIN_DIGEST]


__all__ = ["GRAVE", "ArgumentView", "CardView", "EventView", "OfferView"]
