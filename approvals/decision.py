"""What a decision depends on, and what it is: the values that go into :func:`decide` and come out of it.

Guarantees: frozen values; nothing in them reads a clock or a store, but ``standing``, which is asked for rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from checkvalve.approvals.detectors import BUILT_IN, Detector
from checkvalve.approvals.endorsements import Endorsement, Mandate, Use
from checkvalve.approvals.fieldspec import ArgumentSpec, Effect, Role
from checkvalve.approvals.mandated import Granted
from checkvalve.approvals.policy import Policy
from checkvalve.approvals.reads import Reads
from checkvalve.approvals.standing_entry import StandingEntry
from checkvalve.approvals.toolspec import Manifest, ToolSpec
from checkvalve.approvals.verdicts import Allow, Verdict
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.origins import Field

MAX_QUESTIONS: Final = 20
"""Questions one task may put to people; beyond it a flood is denied, so that the queue stays readable."""

ANSWER: Final = ToolSpec(name="answer", effect=Effect.SEND, args={"text": ArgumentSpec(role=Role.CONTENT)})
"""The built-in tool of final answers: its only destination is the user."""


@dataclass(frozen=True)
class DecisionContext:
    """Everything a decision depends on, besides the request.

    ``done`` holds the :func:`effect_key` of every effect this task has had or may still have; ``protected`` adds the
    gateway's own paths and hosts; ``references`` are the stored fields that were put in for references, by dotted
    path; ``reads`` are the calls that a mandate's source is compared with; ``isolated`` says that the model that
    proposes sees references and no content; ``written`` names the sources that are answers of a model, such as a
    sub-agent's; ``sandbox`` says that one is configured for code; ``standing`` reads the standing rules in force, and
    is asked only when the policy would ask a person.
    """

    manifest: Manifest
    policy: Policy
    index: AttributionIndex
    profile: str = "strict"
    endorsements: Sequence[Endorsement] = ()
    mandates: Sequence[Mandate | Granted] = ()
    reads: Reads | None = None
    requester: str = ""
    calls_so_far: Mapping[str, int] = field(default_factory=dict)
    questions_so_far: int = 0
    max_questions: int = MAX_QUESTIONS
    done: Collection[str] = ()
    isolated: bool = False
    written: Collection[str] = ()
    sandbox: bool = False
    observed_schema_digest: str | None = None
    protected: Sequence[str] = ()
    detectors: Sequence[Detector] = BUILT_IN
    references: Mapping[str, Sequence[Field]] = field(default_factory=dict)
    standing: Callable[[], Sequence[StandingEntry]] = tuple


@dataclass(frozen=True, slots=True)
class ArgumentReport:
    """What is known of one argument: for the record, for the reviewer, and for ``checkvalve decide``."""

    path: str
    role: str
    kind: str
    sufficient: bool
    origins: tuple[dict[str, object], ...]
    covered_by: str = ""
    redact: bool = False  # whether the manifest says that people are not shown it

    def to_json(self) -> dict[str, object]:
        """Return the published form."""
        return {
            "path": self.path,
            "role": self.role,
            "kind": self.kind,
            "sufficient": self.sufficient,
            "origins": list(self.origins),
            **({"redact": True} if self.redact else {}),
        }


@dataclass(frozen=True)
class Decision:
    """A verdict with everything it rests on. ``action`` is what the policy was asked about, or nothing.

    ``endorsable`` is what a person would accept by saying yes; ``uses`` are the endorsements and mandates that an
    ``allow`` relies on; ``mandate`` is one that would have made the question unnecessary, where the user's words named
    the source; ``tool_digest`` is of what the manifest said of a tool that was asked about; ``standing`` names the
    standing rule that answered, and what was asked, or the one that no longer does, and why. ``redact`` names the
    arguments that are declared as secret, where a call was refused before any argument was looked at. ``title`` is the
    manifest's sentence for such a call; people are shown it, and nothing decides by it. ``pins`` names what has to be
    the same when the call runs as when a person was asked (:mod:`pins`).
    """

    verdict: Verdict
    rules: tuple[str, ...] = ()
    arguments: tuple[ArgumentReport, ...] = ()
    facts: Mapping[str, bool | str] = field(default_factory=dict)
    policy_digest: str = ""
    manifest_digest: str = ""
    schema_digest: str | None = None
    profile: str = "strict"
    action: str = ""
    endorsable: tuple[Endorsement, ...] = ()
    uses: tuple[Use, ...] = ()
    mandate: Mandate | None = None
    tool_digest: str = ""
    standing: Mapping[str, str] = field(default_factory=dict)
    redact: tuple[str, ...] = ()
    title: str = ""
    pins: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the published form: verdict, rule, reason, remedy, arguments, and the evidence behind them."""
        verdict = self.verdict
        return {
            "verdict": verdict.name,
            "rule": verdict.rule,
            "reason": "" if isinstance(verdict, Allow) else verdict.reason,
            "remedy": "" if isinstance(verdict, Allow) else verdict.remedy,
            "arguments": [item.to_json() for item in self.arguments],
            "rules": list(self.rules),
            "facts": dict(self.facts),
            "policy_digest": self.policy_digest,
            "manifest_digest": self.manifest_digest,
            "schema_digest": self.schema_digest,
            "profile": self.profile,
            **({"action": self.action} if self.action else {}),
            **({"mandate": self.mandate.to_json()} if self.mandate else {}),
            **({"tool_digest": self.tool_digest} if self.tool_digest else {}),
            **({"standing": dict(self.standing)} if self.standing else {}),
            **({"redact": [*self.redact]} if self.redact else {}),
            **({"title": self.title} if self.title else {}),
            **({"pins": [*self.pins]} if self.pins else {}),
        }
