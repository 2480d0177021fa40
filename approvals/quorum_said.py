"""What the events say of the plan and the votes of one question, or of the roles of one account: a part of ``said``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

QUORUM_KINDS: Final = ("vote.cast", "plan.linked", "reviewer.roles")
"""The kinds that are taken in here; none of them moves a call."""
PLAIN: Final = ("vote", "via", "means", "digest", "endorse", "code", "note")
"""Columns of a vote that its event has as they are."""


@dataclass(slots=True)
class QuorumTold:
    """What the events of one subject say. ``roles`` are what an account's row holds: roles, and whose it is."""

    plan: str = ""  # the digest of the plan; empty where an older version recorded the question, or nobody was asked
    linked: tuple[str, str] = ("", "")
    votes: dict[str, dict[str, Any]] = field(default_factory=dict)  # by person
    roles: tuple[str, str] | None = None

    def note(self, kind: str, body: Mapping[str, Any], at: int) -> None:
        """Take in one event of :data:`QUORUM_KINDS`."""
        if kind == "vote.cast":
            told = {name: body.get(name) for name in PLAIN}
            by = str(body.get("by")).removeprefix("reviewer:")
            self.votes[str(body.get("person"))] = {**told, "roles": body.get("roles"), "reviewer": by, "at": at}
        elif kind == "plan.linked":
            self.linked = (str(body.get("parent")), str(body.get("edited_by")))
        elif kind == "reviewer.roles":
            self.roles = (str(body.get("roles")), str(body.get("person")))


__all__ = ["PLAIN", "QUORUM_KINDS", "QuorumTold"]
