"""The three answers to "may this call run?". A verdict is a value with a reason, never a bool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run once, permitted by ``rule``."""

    rule: str
    name: str = "allow"


@dataclass(frozen=True, slots=True)
class Review:
    """A person has to look first. ``reason`` is a stable code, ``remedy`` says what would make it unnecessary."""

    rule: str
    reason: str
    remedy: str = ""
    name: str = "review"


@dataclass(frozen=True, slots=True)
class Deny:
    """The call does not run. ``reason`` is a stable code without any text from the content."""

    rule: str
    reason: str
    remedy: str = ""
    name: str = "deny"


Verdict: TypeAlias = Allow | Review | Deny

_STRICTNESS = {Allow: 0, Review: 1, Deny: 2}


def strictest(first: Verdict, second: Verdict) -> Verdict:
    """Return the stricter of two verdicts; the first one when they are equally strict."""
    return second if _STRICTNESS[type(second)] > _STRICTNESS[type(first)] else first
