"""What a step of escalation says of itself in English: who is on call, who cannot approve, and why it came early. Pure.

Names of people are content of somebody else's answers: whoever shows these lines makes them inert.
"""

from __future__ import annotations

from collections.abc import Mapping

from checkvalve.approvals.handed import EARLY as EARLY_KEY
from checkvalve.approvals.handed import LADDER, REACHING
from checkvalve.approvals.ladder_steps import REASONS
from checkvalve.filters.strictjson import JSON

EARLY = "told before its time, since"
CANNOT = "CANNOT APPROVE"
LOST = "nobody can be reached"
ON_CALL = "on call"


def reason(code: str) -> str:
    """Return a reason in words; another word, such as ``status_500``, says that a request failed."""
    return REASONS.get(code, f"the request failed: {code}")


def listed(reasons: Mapping[str, str]) -> str:
    """Return names with their reasons."""
    return "; ".join(f"{name}: {reason(code)}" for name, code in reasons.items())


def said(why: Mapping[str, str], cannot: Mapping[str, str]) -> list[str]:
    """Return a line for why a step was told early, and one for who of those on call cannot approve."""
    pairs = ((EARLY, why), (CANNOT, cannot))
    return [f"{name} {listed(reasons)}" for name, reasons in pairs if reasons]


def pairs_in(body: Mapping[str, JSON], *, early: str) -> list[tuple[str, str]]:
    """Return what the event of a step says, as pairs; ``early`` is the key of the reasons for coming early."""
    found = [(ON_CALL, text) for text in _on_call(body.get("oncall"))]
    for name, key in ((CANNOT, "cannot"), (EARLY, early), (LOST, "why")):
        reasons = body.get(key)
        if isinstance(reasons, dict) and reasons:
            found.append((name, listed({who: str(code) for who, code in reasons.items()})))
    return found


def history(kind: str, body: Mapping[str, JSON]) -> str:
    """Return what the event of a rung says beside its kind, on one line; empty for every other event."""
    if kind not in {*LADDER, *REACHING}:
        return ""
    who, to = (_joined(body.get(name)) for name in ("who", "to"))
    missed = "no message, a newer one or an earlier one told it" if body.get("missed") is True else ""
    found = [f"who should look: {who}" if who else "", f"step: {to}" if to else "", missed]
    found += [f"{name}: {text}" for name, text in pairs_in(body, early=EARLY_KEY)]
    return "; ".join(part for part in found if part)


def _joined(told: JSON) -> str:
    return ", ".join(str(one) for one in told) if isinstance(told, list) else ""


def _on_call(told: JSON) -> list[str]:
    found: list[str] = []
    for name, duty in told.items() if isinstance(told, dict) else ():
        people = duty.get("people") if isinstance(duty, dict) else None
        if isinstance(people, list):
            found.append(f"{name}: {', '.join(str(one) for one in people)}")
        elif isinstance(duty, dict):
            found.append(f"{name}: not known, {reason(str(duty.get('failed')))}")
    return found


__all__ = ["CANNOT", "EARLY", "LOST", "ON_CALL", "history", "listed", "pairs_in", "reason", "said"]
