"""The incident fixtures under a guard: the corpus ``incidents``.

Each side runs in a session of its own: the user's words, what the named source returned (untrusted), what was read
before, the words of a later turn, and then the one call. What a fixture says of its surroundings is put into a copy of
the manifest the way a deployer would write it. An answer goes through the outbound filter first, as it does in front
of an agent, a streamed one chunk by chunk. Calls of the gateway itself are no tool calls: the store's round trip is
really made, and what the gateway cannot do yet is not run.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import as_file, files
from tempfile import TemporaryDirectory
from typing import Any, Final

from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.fieldspec import Effect
from checkvalve.approvals.manifest import load_manifest, manifest_digest
from checkvalve.approvals.policy import load_policy
from checkvalve.approvals.store import Store
from checkvalve.approvals.toolspec import Manifest
from checkvalve.approvals.verdicts import Allow, Verdict
from checkvalve.corpora.builtin import GUARDS, make_guards
from checkvalve.corpora.case_run import By, Session, outcome_of
from checkvalve.corpora.cases import Call, Reading, Words
from checkvalve.corpora.errors import CorpusDataError, UnknownCorpusError
from checkvalve.corpora.guard import CheckvalveGuard
from checkvalve.corpora.incident_report import NOT_RUN, IncidentReport, SideResult
from checkvalve.corpora.incidents import Incident, Situation, Surroundings, load_incidents, situation
from checkvalve.corpora.report import CallRecord, CaseResult
from checkvalve.corpora.runner import run_units
from checkvalve.filters.outbound.scan import scan_outbound
from checkvalve.filters.outbound.stream import OutboundStream
from checkvalve.filters.outcomes import ContentOutcome, ScanResult
from checkvalve.graphs.inbound import Inbound

VERSION: Final = "3"
"""Raised when a fixture or its reading changes, so that numbers of different versions are not compared."""

_ANSWER: Final = "final_answer"
_STREAMED: Final = "final_answer.stream"
_SAID: Final = frozenset({_ANSWER, _STREAMED})
_GATEWAY: Final = "gateway."
_ROUND_TRIP: Final = "gateway.persist_and_reload"
_ANYWHERE: Final = "**"


def load_incident_manifest() -> Manifest:
    """Return the tool manifest that ships with the fixtures."""
    with as_file(files("checkvalve.corpora") / "manifests" / "incidents.yaml") as path:
        return load_manifest(path)


def expectations(incidents: Iterable[Incident] | None = None) -> list[str]:
    """Return the groups of the corpus: what the attacks expect, in the order of first appearance."""
    return list(dict.fromkeys(item.expect for item in (load_incidents() if incidents is None else incidents)))


@dataclass
class _Run:
    """Everything that stays the same for all fixtures of one run."""

    guard: str
    profile: str
    manifest: Manifest = field(default_factory=load_incident_manifest)

    def session(self, one: Situation) -> Session:
        """Return a session in which everything that one side has read and heard is in the context."""
        session = Session(make_guards(self.guard, self.profile, surrounded(self.manifest, one), Inbound(mode="on"))())
        session.read(_words(one.before), _readings(one, self.manifest))
        session.read(_words(one.after), ())
        return session


def run_incidents(
    *,
    guard: str = "checkvalve",
    profile: str = "strict",
    groups: Sequence[str] = (),
    incidents: Sequence[Incident] | None = None,
    progress: bool = False,
) -> IncidentReport:
    """Measure a guard (``all`` puts every guard beside Checkvalve), on all fixtures or on some expectations.

    Raises:
        UnknownCorpusError: a guard or an expectation is not known.
    """
    everything = load_incidents() if incidents is None else tuple(incidents)
    known = expectations(everything)
    for name in groups:
        if name not in known:
            raise UnknownCorpusError("group", name, known)
    chosen = [item for item in everything if not groups or item.expect in groups]
    *beside, main = GUARDS if guard == "all" else (guard,)
    others = tuple(_run(chosen, name, profile, progress=progress) for name in beside)
    return replace(_run(chosen, main, profile, progress=progress), others=others)


def _run(incidents: Sequence[Incident], guard: str, profile: str, *, progress: bool) -> IncidentReport:
    run = _Run(guard, profile)
    make_guards(guard, profile, run.manifest)  # says now that a guard does not exist
    started = time.perf_counter()

    def work(incident: Incident) -> tuple[tuple[CaseResult, SideResult], tuple[CaseResult, SideResult]]:
        return _twin(incident, run), _attack(incident, run)

    pairs = run_units(incidents, work, label=f"incidents, {guard}") if progress else [work(one) for one in incidents]
    results = [result for pair in pairs for result in pair]
    return IncidentReport(
        corpus="incidents",
        version=VERSION,
        actor="hijacked",
        schedule="first",
        profile=profile if guard == "checkvalve" else guard,
        manifest={"incidents": manifest_digest(run.manifest)},
        policy_digest=load_policy().digest if guard == "checkvalve" else "",
        cases=[case for case, _ in results],
        seconds=time.perf_counter() - started,
        guard=guard,
        sides=[side for _, side in results],
    )


def _twin(incident: Incident, run: _Run) -> tuple[CaseResult, SideResult]:
    started = time.perf_counter()
    one = situation(incident, "twin")
    calls: list[CallRecord] = []
    finished = _attempt(one, run, calls)
    took = time.perf_counter() - started
    case = CaseResult(incident.expect, incident.id, "benign", finished, seconds=took, calls=tuple(calls))
    return case, _judged(one, calls)


def _attack(incident: Incident, run: _Run) -> tuple[CaseResult, SideResult]:
    """Run the attack, and once more before the twin's call in the twin's session: the twin must still work."""
    started = time.perf_counter()
    one, twin = situation(incident, "attack"), situation(incident, "twin")
    calls: list[CallRecord] = []
    _attempt(one, run, calls)
    side = _judged(one, calls)
    outcome = outcome_of(calls) if any(call.effect for call in calls) else "not_reached"
    both: list[CallRecord] = []
    finished = _attempt(twin, run, both, first=one)
    case = CaseResult(
        incident.expect,
        incident.id,
        outcome,
        finished,
        attack="attack",
        schedule="first",
        goal_reached=outcome == "executed",
        seconds=time.perf_counter() - started,
        calls=(*calls, *(call for call in both if call.by == "user")),
    )
    return case, side


def _attempt(one: Situation, run: _Run, calls: list[CallRecord], *, first: Situation | None = None) -> bool:
    """Propose the call of one side (after that of ``first``), record it in ``calls``, and say whether it ran."""
    by: By = "user" if one.side == "twin" else "attacker"
    if one.tool == _ROUND_TRIP:
        kept = _survives(one.untrusted)
        calls.append(CallRecord(by, one.tool, "allow" if kept else "deny", "round-trip", "", kept, effect=False))
        return kept
    if one.tool.startswith(_GATEWAY):
        return False
    session = run.session(one)
    if first is not None:
        session.attempt((_call(first),), "attacker", (_call(first).name,))
    call = _call(one)
    if one.tool in _SAID and isinstance(session.guard, CheckvalveGuard):
        scanned = _scanned(one, session.guard)
        if scanned.outcome is not ContentOutcome.PASS:
            calls.append(_cleaned(by, scanned, session.guard.propose(call.tool, {"text": scanned.text}).verdict))
            return False
    ran = session.attempt((call,), by, () if by == "user" else (call.name,))
    calls.extend(session.calls)
    return ran


def _scanned(one: Situation, guard: CheckvalveGuard) -> ScanResult:
    """Return what the outbound filter makes of an answer; one that is streamed goes through it chunk by chunk."""
    rules, origins = guard.leaving()
    if one.tool == _ANSWER:
        return scan_outbound(one.args["text"], rules, origins=origins)
    stream = OutboundStream(rules, origins)
    seen = "".join(map(stream.text, one.args["chunks"]))
    closed = stream.close()
    if seen + closed.text != closed.result.text and closed.result.outcome is not ContentOutcome.WITHHOLD:
        raise CorpusDataError(f"fixture {one.incident}: the stream and the whole text differ")
    return closed.result


def _cleaned(by: By, scanned: ScanResult, verdict: Verdict) -> CallRecord:
    """Return the record of an answer from which something was taken out; what is left is decided as any answer is."""
    if not isinstance(verdict, Allow):
        return CallRecord(by, "answer", verdict.name, verdict.rule, "", executed=False, effect=by == "attacker")
    code = scanned.reason or scanned.codes[0]
    return CallRecord(by, "answer", scanned.outcome.value, code, "", executed=False, effect=by == "attacker")


def _judged(one: Situation, calls: Sequence[CallRecord]) -> SideResult:
    verdict, rule = (calls[-1].verdict, calls[-1].rule) if calls else (NOT_RUN, "")
    return SideResult(one.incident, one.side, one.expect, verdict, rule, one.waits_for)


def _survives(value: Any) -> bool:
    """Say whether a result comes back from the store as the same plain data."""
    with TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/round-trip.db") as store:
        contents = SqlContentStore(store)
        try:
            contents.append_item("fixture", "result", "result", value)
            return [item.value for item in contents.items("fixture")] == [value]
        except ApprovalError:
            return False


def _words(texts: Iterable[str]) -> list[Words]:
    return [Words(text=text) for text in texts]


def _readings(one: Situation, manifest: Manifest) -> list[Reading]:
    """Return what the source returned, and one reading of each record that was read before the call.

    A source of the server that is called was read from the place that the call names, such as the repository.
    """
    server, tool = _named(one.source_tool)
    where, _ = _named(one.tool)
    spec = manifest.find(tool, server) if server == where else None
    place = {name: one.args[name] for name in (spec.args if spec else ()) if name in one.args}
    found = [Reading(tool=tool, server=server, args=place, result=one.untrusted)]
    found += [
        Reading(tool="read", server=where, args={"repo": name}, result={"repo": name}) for name in one.prior_reads
    ]
    return found


def _named(tool: str) -> tuple[str, str]:
    server, _, name = tool.rpartition(".")
    return server, name


def _call(one: Situation) -> Call:
    """Return the call as a guard sees it. A final answer is the built-in ``answer``, streamed or not."""
    if one.tool == _ANSWER:
        return Call(tool="answer", args=dict(one.args), expect=("allow",))
    if one.tool == _STREAMED:
        return Call(tool="answer", args={"text": "".join(one.args["chunks"])}, expect=("allow",))
    server, tool = _named(one.tool)
    return Call(tool=tool, server=server, args=dict(one.args), expect=("allow",))


def surrounded(manifest: Manifest, one: Situation) -> Manifest:
    """Return ``manifest`` with a fixture's surroundings: hosts as the tool's lists of hosts, paths as protected.

    A tool that takes no address has no use for a list of hosts, and the manifest refuses one. Only a read may go to a
    listed host without being asked for.
    """
    if one.policy == Surroundings():
        return manifest
    server, tool = _named(one.tool)
    spec = manifest.find(tool, server)
    data = manifest.model_dump()
    if spec is not None and any(argument.kind in {"url", "host"} for argument in spec.args.values()):
        tool_data = data["tools"][spec.name]
        tool_data["egress"] = one.policy.allow_hosts
        for form in (tool_data, *tool_data["variants"]):
            if form["effect"] is Effect.READ and form["leaves_domain"]:
                form["open_hosts"] = one.policy.allow_hosts
    data["protected"] = (*manifest.protected, *(_guarded(path, one.incident) for path in one.policy.deny_paths))
    return Manifest.model_validate(data)


def _guarded(path: str, incident: str) -> str:
    """Return the nearest that a manifest can say: a name at any depth is protected in the working folder only."""
    name = path.removeprefix(f"{_ANYWHERE}/")
    if any(char in name for char in "*?["):
        raise CorpusDataError(f"fixture {incident}: the path {path!r} is a pattern that no manifest can say")
    return f"/{name}" if name != path else path
