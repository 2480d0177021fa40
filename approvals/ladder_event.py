"""What the event of a rung says, whether its time has come or it is told early: to whom, and who is on call. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkvalve.approvals.ladder_steps import Scene, Step, cannot
from checkvalve.approvals.oncall import ONCALL, OnDuty
from checkvalve.approvals.records import State
from checkvalve.approvals.rungs import Rung, who_should_look
from checkvalve.filters.strictjson import JSON

CLOCK: Final = "clock"


@dataclass(frozen=True, slots=True)
class Saying:
    """Who should look, who of those on call cannot decide, with reasons, and the event's body."""

    who: tuple[str, ...]
    cannot: Mapping[str, str]
    body: dict[str, JSON]


def saying(rung: Rung, scene: Scene, answers: Mapping[str, OnDuty] | None) -> Saying:
    """Return what a rung says; ``answers`` is what the hooks said, None where it was told before and none is asked."""
    who = who_should_look(
        rung,
        scene.staff,
        scene.plan,
        scene.question,
        requester=scene.requester,
        voted=scene.voted,
        oncall=answers or {},
    )
    body: dict[str, JSON] = {"state": State.PENDING.value, "by": CLOCK, "percent": rung.percent, "who": [*who]}
    body |= {"to": [*rung.to]} if rung.to else {}
    if answers is None:
        return Saying(who, {}, body)
    return Saying(who, cannot(Step(rung.to, answers), scene), body | oncall_body(rung.to, answers, scene))


def oncall_body(to: Sequence[str], answers: Mapping[str, OnDuty], scene: Scene) -> dict[str, JSON]:
    """Return what an event says of those on call: what each hook answered, and who cannot decide."""
    named = sorted({word.removeprefix(ONCALL) for word in to if word.startswith(ONCALL)})
    if not named:
        return {}
    found: dict[str, JSON] = {"oncall": {name: answers[name].to_json() for name in named if name in answers}}
    reasons = cannot(Step(tuple(to), answers), scene)
    return {**found, "cannot": {**reasons}} if reasons else found


__all__ = ["CLOCK", "Saying", "oncall_body", "saying"]
