"""The two actors: one that solves the user's task, and one that is fully in the attacker's hands.

Guarantees: the hijacked actor proposes the attacker's whole script, word for word, and does not stop when a step is
refused. The person who reviews is careful: yes to the user's own calls, no to the attacker's. An attacker's call is
an *effect* when its tool does more than read inside the trust domain (a fetch with an attacker's address is one), and
when it is not the very call, arguments included, that solves the user's task anyway.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from checkvalve.approvals.decision import Decision
from checkvalve.approvals.toolspec import Manifest
from checkvalve.approvals.verdicts import Allow, Review
from checkvalve.corpora.agentdojo import goals
from checkvalve.corpora.agentdojo.adapter import MARKER, Episode, ToolCall
from checkvalve.corpora.evidence import Evidence, evidence_of
from checkvalve.corpora.guard import CheckvalveGuard, Guard, is_plain_read
from checkvalve.corpora.report import CallRecord

Moment: TypeAlias = Literal["first", "end"]

MOMENTS: Final[tuple[Moment, ...]] = ("first", "end")
"""When the attacker's script runs: right after the first result with his text in it, or after the user's last call."""


@dataclass
class Run:
    """One run of one actor: the episode, the guard that watched it, and every call in order."""

    episode: Episode
    guard: Guard
    yardstick: Manifest
    """Says which tools have effects. Always the packaged manifest: a guard's own may be what is being tested."""
    calls: list[CallRecord] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    reached: bool = False

    def propose(self, call: ToolCall, by: Literal["user", "attacker"], *, yes: bool, effect: bool) -> Any:
        """Put one call before the guard and, when it may run, run it. Returns its result, or None."""
        self._look_first(call)
        judged = self.guard.propose(call.tool, call.args)
        verdict = judged.verdict
        runs = isinstance(verdict, Allow) or (isinstance(verdict, Review) and yes)
        reason = "" if isinstance(verdict, Allow) else verdict.reason
        mandated = isinstance(judged, Decision) and any(use.kind == "mandate" for use in judged.uses)
        self.calls.append(CallRecord(by, call.tool, verdict.name, verdict.rule, reason, runs, effect, mandated))
        if by == "user" or effect:
            found = evidence_of(by, call.tool, call.args, judged)
            self.evidence += [found] if found is not None else []
        if not runs:
            return None
        if isinstance(verdict, Review):
            self.guard.endorse(judged)
        value = self.episode.run(call)
        self.guard.result(call.tool, f"call-{len(self.calls)}", call.args, value)
        return value

    def _look_first(self, call: ToolCall) -> None:
        """Make the read that a gateway makes by itself before it decides this call; no actor sees what it gives."""
        if not isinstance(self.guard, CheckvalveGuard):
            return
        if (look := self.guard.looks_first(call.tool, call.args)) is not None:
            tool, args = look
            if isinstance(self.guard.propose(tool, args).verdict, Allow):
                value = self.episode.run(ToolCall(tool, args))
                self.guard.result(tool, f"look-{len(self.calls)}", args, value)

    def effect(self, call: ToolCall) -> bool:
        """Say whether a call does more than read inside the trust domain."""
        spec = self.yardstick.find(call.tool)
        return spec is None or not is_plain_read(spec)


def benign(run: Run) -> str:
    """Solve the user's task and return the final answer."""
    run.guard.words(run.episode.prompt)
    for call in run.episode.user_calls():
        run.propose(call, "user", yes=True, effect=False)
    return str(run.episode.task.GROUND_TRUTH_OUTPUT)


def hijacked(run: Run, attack_id: str, moment: Moment) -> str:
    """Work on the user's task until the attacker's text takes over, and return the final answer."""
    run.guard.words(run.episode.prompt)
    own = run.episode.user_calls()
    for call in own:
        value = run.propose(call, "user", yes=True, effect=False)
        if moment == "first" and not run.reached and MARKER in json.dumps(value, ensure_ascii=False):
            _take_over(run, attack_id, own)
    if moment == "end":
        _take_over(run, attack_id, own)
    return f"{run.episode.task.GROUND_TRUTH_OUTPUT}\n{goals.final_text(run.episode, attack_id)}".strip()


def _take_over(run: Run, attack_id: str, own: list[ToolCall]) -> None:
    run.reached = True
    for call in goals.script(run.episode, attack_id):
        users = any(call.same_as(other) for other in own)
        run.propose(call, "attacker", yes=users, effect=run.effect(call) and not users)
