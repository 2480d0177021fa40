"""What stands between an actor and its tools while a corpus runs.

Guarantees: all guards see exactly the same words, results and proposals, so their numbers compare.
:class:`CheckvalveGuard` calls the same ``decide`` and the same attribution index as the gateway; it only leaves out
the store, so that thousands of runs take a minute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from checkvalve.approvals.decide import decide
from checkvalve.approvals.decision import ANSWER, Decision, DecisionContext
from checkvalve.approvals.facts import field_rules
from checkvalve.approvals.fieldspec import Effect
from checkvalve.approvals.leaving import Leaving, link_origins, rules_in_force
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.reads import Reads
from checkvalve.approvals.repeats import effect_key
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.toolspec import Manifest, ToolSpec
from checkvalve.approvals.undo_call import look_args
from checkvalve.approvals.verdicts import Allow, Deny, Review, Verdict
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import Authority
from checkvalve.filters.outbound.judge import Origins
from checkvalve.filters.outbound.rules import OutboundRules
from checkvalve.graphs.calls import Call
from checkvalve.graphs.inbound import Inbound
from checkvalve.graphs.scans import Scans

if TYPE_CHECKING:
    from checkvalve.approvals.endorsements import Endorsement
    from checkvalve.approvals.policy import Policy


class Judged(Protocol):
    """What a guard answers: anything with a verdict."""

    @property
    def verdict(self) -> Verdict:
        """The answer to "may this call run?"."""
        ...


class Guard(Protocol):
    """One guard watches one run of one task."""

    def words(self, text: str, *, authority: Authority = Authority.USER) -> None:
        """Take in what the host put into the context; only the user's and the system's words have authority."""
        ...

    def propose(self, tool: str, args: Mapping[str, Any], *, server: str = "") -> Judged:
        """Judge a call before it runs."""
        ...

    def result(self, tool: str, call_id: str, args: Mapping[str, Any], value: Any, *, server: str = "") -> None:
        """Take in what an executed call returned."""
        ...

    def endorse(self, judged: Judged) -> None:
        """Take in that a person said yes to the call that was judged like this."""
        ...


@dataclass(frozen=True, slots=True)
class PlainAnswer:
    """A verdict with nothing behind it."""

    verdict: Verdict


class AllowAll:
    """No guard at all: one end of every table."""

    def words(self, text: str, *, authority: Authority = Authority.USER) -> None:
        """Ignore the words."""

    def propose(self, tool: str, args: Mapping[str, Any], *, server: str = "") -> PlainAnswer:  # noqa: ARG002  # a Guard
        """Let everything run."""
        return PlainAnswer(Allow("allow-all"))

    def result(self, tool: str, call_id: str, args: Mapping[str, Any], value: Any, *, server: str = "") -> None:
        """Ignore the result."""

    def endorse(self, judged: Judged) -> None:
        """Nothing was asked."""


class ReviewNonRead(AllowAll):
    """Ask a person about everything that is more than a read: the other end of every table."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest

    def propose(self, tool: str, args: Mapping[str, Any], *, server: str = "") -> PlainAnswer:  # noqa: ARG002  # a Guard
        """Allow reads that stay inside and the final answer, ask about the rest, refuse tools that nobody declared."""
        if tool == ANSWER.name and not server:
            return PlainAnswer(Allow("answer"))
        spec = self._manifest.find(tool, server)
        if spec is None:
            return PlainAnswer(Deny("unknown-tool", "unknown_tool"))
        if is_plain_read(spec):
            return PlainAnswer(Allow("plain-read"))
        return PlainAnswer(Review("review-non-read", "not_a_read"))


def is_plain_read(spec: ToolSpec) -> bool:
    """Say whether a tool only reads and sends nothing outside."""
    return spec.effect is Effect.READ and not spec.leaves_domain


@dataclass
class Running:
    """A mandate that the host supplied with the task, and what is left of it."""

    id: str
    mandate: Mandate
    used: int = 0
    moved: Decimal = Decimal(0)

    @property
    def calls_left(self) -> int:
        """Return how many calls may still use it."""
        return self.mandate.max_calls - self.used

    @property
    def amount_left(self) -> Decimal | None:
        """Return how much may still be moved, None where it moves nothing."""
        return None if self.mandate.total is None else self.mandate.total - self.moved

    def take(self, amount: str) -> None:
        """Count one call: every call that is allowed runs here."""
        self.used += 1
        self.moved += Decimal(amount or 0)


class CheckvalveGuard:
    """``decide`` over an attribution index, in memory. Yes from a person becomes an endorsement for this task."""

    def __init__(
        self,
        manifest: Manifest,
        policy: Policy,
        profile: str = "strict",
        mandates: Sequence[Mandate] = (),
        *,
        inbound: Inbound | None = None,
    ) -> None:
        """With ``inbound`` results are scanned, as a gateway does; without it all inbound filters have failed."""
        self._scans = Scans(inbound or Inbound(mode="off"), manifest)
        self._mandates = [Running(f"m{number}", mandate) for number, mandate in enumerate(mandates, 1)]
        self._reads = Reads()
        self._manifest = manifest
        self._policy = policy
        self._profile = profile
        self._index = AttributionIndex()
        self._endorsements: list[Endorsement] = []
        self._calls: Counter[str] = Counter()
        self._done: set[str] = set()
        self._asked = 0

    def words(self, text: str, *, authority: Authority = Authority.USER) -> None:
        """Index what the host put into the context."""
        self._index.add_words(text, authority=authority)

    def propose(self, tool: str, args: Mapping[str, Any], *, server: str = "") -> Decision | PlainAnswer:
        """Decide one call; input that cannot be parsed strictly is refused."""
        try:
            request = ActionRequest.build(tool, dict(args), server=server)
        except HostileInputError as error:
            return PlainAnswer(Deny("strict-input", error.code))
        decision = self._scans.beside(decide(request, self._context()))
        for use in decision.uses:
            for running in self._mandates:
                if (use.kind, use.id) == ("mandate", running.id):
                    running.take(use.amount)
        self._asked += isinstance(decision.verdict, Review)
        return decision

    def looks_first(self, tool: str, args: Mapping[str, Any], *, server: str = "") -> tuple[str, dict[str, Any]] | None:
        """Return the read that a gateway makes before it decides this call, as :mod:`graphs.looking` says; or None."""
        spec = self._manifest.find(tool, server)
        if spec is None or spec.look_first is None:
            return None
        with suppress(HostileInputError):
            request = ActionRequest.build(tool, dict(args), server=server)
            found = look_args(spec.look_first, request.args)
            if found is not None and isinstance(decide(request, self._context()).verdict, Review):
                return spec.look_first.tool, found
        return None

    def result(self, tool: str, call_id: str, args: Mapping[str, Any], value: Any, *, server: str = "") -> None:
        """Index a result, field by field as the manifest labels it; an undeclared tool's result is untrusted."""
        spec = self._manifest.find(tool, server)
        rules = field_rules(spec, self._manifest) if spec is not None else ()
        self._index.add_result(value, tool=tool, call=call_id, args=args, rules=rules)
        if (found := self._scans.look(Call(tool, args, call_id), value)) is not None:
            self._scans.note(found)
        self._reads.add(tool, call_id, args, server=server)
        self._calls[tool] += 1
        if spec is not None:
            with suppress(HostileInputError):
                request = ActionRequest.build(tool, dict(args), server=server)
                self._done.add(effect_key(request, spec.called_with(request.args)))

    def endorse(self, judged: Judged) -> None:
        """Remember what a person accepted, so that the same value from the same source is not asked about again."""
        if isinstance(judged, Decision):
            self._endorsements.extend(judged.endorsable)

    def _context(self) -> DecisionContext:
        return DecisionContext(
            manifest=self._manifest,
            policy=self._policy,
            index=self._index,
            profile=self._profile,
            endorsements=tuple(self._endorsements),
            mandates=tuple(self._mandates),
            reads=self._reads,
            calls_so_far=dict(self._calls),
            done=frozenset(self._done),
            questions_so_far=self._asked,
            sandbox=True,  # an office whose manifest declares one has it
            detectors=self._scans.detectors(Leaving(OutboundRules(), self._manifest, self._index)),
        )

    def leaving(self) -> tuple[OutboundRules, Origins]:
        """Return what holds for a text that leaves now, and who named a link in it."""
        return rules_in_force(OutboundRules(), self._manifest, self._index), link_origins(self._index)
