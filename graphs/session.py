"""One thread of a guarded agent: everything that entered its context, and the decision on each call it proposes.

Guarantees: whatever entered is stored before it counts, so another process rebuilds the same index; a result counts
for the calls of later turns only, because the calls of one turn were all written before any of them ran; text without
a declared author has no authority.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import TypeVar

from checkvalve.approvals.decide import decide
from checkvalve.approvals.decision import Decision, DecisionContext
from checkvalve.approvals.errors import MandateSpentError
from checkvalve.approvals.facts import field_rules, reader_rules
from checkvalve.approvals.leaving import Leaving
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.snapshot import Snapshot
from checkvalve.approvals.verdicts import Deny, Verdict
from checkvalve.filters.fields import source_of
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import CLEAN, UNKNOWN, Authority, Label, Readers, Source, Trust
from checkvalve.filters.origins import Field, FieldRule
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs import given
from checkvalve.graphs.calls import EXTRACTION, Call, refusal, turn_suffix
from checkvalve.graphs.labelling import label_of, speaker
from checkvalve.graphs.readings import MAX_CHUNK, checked_arguments, chunks, clean, readable
from checkvalve.graphs.scans import SCAN, Scans
from checkvalve.graphs.services import Services

_Seen = TypeVar("_Seen")


class GuardSession:
    """The guard of one thread. Safe to use from several threads of a process; the store serves several processes."""

    def __init__(
        self, services: Services, thread: str, requester: str = "", *, isolated: bool = False, by_hand: bool = False
    ) -> None:
        """Guard ``thread``; ``isolated``: its model sees references alone; ``by_hand``: a person proposes, no agent."""
        self.thread = thread
        self._isolated, self._by_hand = isolated, by_hand
        self._services = services
        self._requester = requester
        self._lock = threading.RLock()
        self._index = AttributionIndex()
        self._floor = 0  # everything up to this number of the history was taken in
        self._above: set[int] = set()  # and these later ones, while a result of the present turn waits between them
        self._label = CLEAN
        self._known: set[str] = set()
        self._delivered: set[str] = set()
        self._written: set[str] = set()  # the sources that are answers of a model
        self._results = given.Results()
        self._effects: given.Effects = {}
        self._scans = Scans(services.inbound, services.manifest)
        self._granted: set[Mandate] = set()

    def grant(self, mandates: Iterable[Mandate]) -> None:
        """Take in mandates that the host declares as the user's; one that was taken back stays so.

        Raises:
            MandateError: the deadline of one is over or too far away.
        """
        new = [item for item in mandates if item not in self._granted]
        if new:
            who, granted = self._requester, self._services.queue.mandates
            granted.grant(new, thread=self.thread, requester=who, by=f"host:{who}")
            self._granted.update(new)

    def user_words(self, text: str, *, key: str, uri: str = "") -> None:
        """Take in words that the host declares as the user's own. Quoted and pasted parts lose their authority."""
        self._words(text, Authority.USER, key, uri)

    def system_words(self, text: str, *, key: str) -> None:
        """Take in the instructions of the deployer."""
        self._words(text, Authority.SYSTEM, key, "")

    def content(self, text: str, *, key: str, uri: str = "") -> None:
        """Take in text whose author nobody declared: it instructs nobody."""
        self._words(text, Authority.NONE, key, uri)

    def model_text(self, text: str, *, key: str) -> None:
        """Keep what the model wrote, under the join of all it had read. It is no origin of anything."""
        self._store(key, "model", {"text": clean(text)[:MAX_CHUNK]}, self._label)

    def knows(self, key: str) -> bool:
        """Say whether this process has taken in ``key``; the store would take it only once anyway."""
        return key in self._known

    def learn(self, key: str) -> None:
        """Remember that ``key`` was taken in."""
        self._known.add(key)

    def deliver(self, mark: str) -> None:
        """Remember that the gateway itself handed out the message with this mark: when it comes back it is not new."""
        self._store(f"delivered:{mark}", "delivered", {"mark": mark}, CLEAN)
        self._delivered.add(mark)

    def delivered(self, mark: str) -> bool:
        """Say whether the message with this mark came from the gateway, in this process or another."""
        return mark in self._delivered

    def load(self, turn: str) -> None:
        """Take in what other processes have stored, without the results of ``turn``."""
        self.look(turn, lambda *_: None)

    def look(self, turn: str, at: Callable[[AttributionIndex, Collection[str]], _Seen]) -> _Seen:
        """Return what ``at`` makes of all that was taken in before ``turn``, and of the sources that models wrote."""
        with self._lock:
            self._refresh(turn)
            return at(self._index, self._written)

    def result(self, call: Call, value: object, *, key: str, declared: bool = True, written: bool = False) -> None:
        """Take in what a call returned, one value at a time.

        Args:
            call: the call that was made, with the arguments that ran.
            value: text or JSON; text that is one object or array is read as that, unless the manifest calls it text.
            key: names this value in the thread; the same key and value are taken in once.
            declared: false for a result that did not come through the gateway: no field of it is trusted.
            written: true for a result that a model wrote: it is content, and no source of links.
        """
        spec = self._services.manifest.find(call.tool, call.server) if declared else None
        for number, part in enumerate(readable(value, spec)):
            item: dict[str, JSON] = {
                "tool": call.tool,
                "server": call.server,
                "call": call.id,
                "turn": call.turn,
                "args": checked_arguments(call.args),
                "declared": declared,
                "value": part,
                **({"written": True} if written else {}),
            }
            self._store(f"{key}/{number}", "result", item, label_of(spec, self._services.manifest))
            if (found := self._scans.look(call, part)) is not None:
                self._store(f"{SCAN}:{key}/{number}", SCAN, found, CLEAN)

    def extraction(self, key: str, values: JSON, source: str, readers: Readers) -> None:
        """Take in what the reader made of content from ``source``: untrusted, and for the readers of that content."""
        label = Label(Trust.UNTRUSTED, Authority.NONE, readers, frozenset({Source("model", source)}))
        self._store(key, "extraction", {"source": source, "value": values}, label)

    def propose(self, call: Call, refuse: Deny | None = None) -> Proposal:
        """Decide ``call`` and record the verdict; ``refuse`` is a verdict that the surface has already reached.

        Raises:
            HostileInputError: the call cannot be parsed; there is nothing to record, and nothing may run.
            ApprovalError: the store failed; nothing may run.
        """
        request = self.request(call)
        with self._lock:
            stands = self._stands(call)
            services = self._services
            if refuse is None and (asked := given.asked_before(services.queue, stands, request, mode=services.mode)):
                return asked
            for _ in range(given.TRIES):
                with suppress(MandateSpentError):  # another call was faster: what is left decides
                    return self._record(request, self._decided(request, call, refuse, stands), call)
                stands = self._stands(call)
            return self._record(request, given.refused(self._decide(request, call, stands), given.SPENT), call)

    def _stands(self, call: Call) -> Snapshot:
        """Take in what is new, and return how the thread stands in the queue."""
        self._refresh(call.turn)
        return self._services.standing(self._services.queue, self.thread)

    def _decided(self, request: ActionRequest, call: Call, refuse: Deny | None, stands: Snapshot) -> Decision:
        decision = self._decide(request, call, stands)
        if refuse is not None:
            return given.refused(decision, refuse)
        spec = self._services.manifest.find_called(call.tool, call.server, request.args)
        return given.held_back(decision, spec, stands.flood.verdict) if stands.flood.paused else decision

    def _record(self, request: ActionRequest, decision: Decision, call: Call) -> Proposal:
        spec = self._services.manifest.find(call.tool, call.server)
        mode, repeats = self._services.mode, given.idempotency(spec, call)
        return self._services.queue.propose(request, decision, mode=mode, idempotency=repeats)

    def held(self, field: Field, turn: str) -> Field:
        """Return a stored field with what the whole session knows of it; see :meth:`AttributionIndex.held`."""
        return self.look(turn, lambda index, _: index.held(field))

    def revalidation(self, call: Call) -> Callable[[], Verdict]:
        """Return the check to run right before the effect: the same decision, over what is known then."""
        return lambda: self.decision(call).verdict

    def decision(self, call: Call) -> Decision:
        """Return the decision on ``call`` as it would be now, recording nothing."""
        with self._lock:
            return self._decide(self.request(call), call, self._stands(call))

    def request(self, call: Call) -> ActionRequest:
        """Return the checked request for a call of this thread.

        Raises:
            HostileInputError: the call cannot be parsed.
        """
        names = {"server": call.server, "thread": self.thread, "call_id": call.id, "requester": self._requester}
        behind = given.behind(self._services.queue, self.thread, self._requester, by_hand=self._by_hand)
        return ActionRequest.build(call.tool, dict(call.args), **names, behind=behind)

    def _decide(self, request: ActionRequest, call: Call, stands: Snapshot) -> Decision:
        services = self._services
        rows = [row for row in stands.calls if row.call_id != call.id]
        own = next((row for row in stands.calls if (row.call_id, row.digest) == (call.id, request.digest)), None)
        mandates = given.mandates_of(services.queue, self.thread, self._requester, own)
        context = DecisionContext(
            manifest=services.manifest,
            policy=services.policy,
            index=self._index,
            profile=services.profile,
            endorsements=stands.endorsements,
            requester=self._requester,
            mandates=mandates,
            reads=self._results.reads(rows, whole=bool(mandates)),
            calls_so_far=Counter(given.tools_used(rows)),
            done=frozenset(given.effects(rows, services.manifest, self._effects)),
            questions_so_far=sum(row.verdict_name == "review" for row in rows),
            max_questions=services.max_questions + stands.flood.more,
            observed_schema_digest=call.schema_digest,
            protected=services.protected,
            references=call.references,
            isolated=self._isolated,
            written=self._written,
            sandbox=services.sandbox and call.sandboxed,
            detectors=self._scans.detectors(Leaving(services.outbound, services.manifest, self._index)),
            standing=lambda: given.standing_of(services.queue, call.tool, stands, own),
        )
        return self._scans.beside(decide(request, context))

    def _words(self, text: str, authority: Authority, key: str, uri: str) -> None:
        if key in self._known:
            return
        text = clean(text)
        if len(text) > MAX_CHUNK:
            authority = Authority.NONE  # nobody types this much: it was pasted or assembled
        label = UNKNOWN if authority is Authority.NONE else speaker(authority, uri)
        for number, part in enumerate(chunks(text)):
            item: dict[str, JSON] = {"text": part, "authority": authority.name, "uri": uri}
            self._store(f"{key}/{number}", "words", item, label)
        self._known.add(key)

    def _store(self, key: str, kind: str, value: dict[str, JSON], label: Label) -> None:
        self._services.content.append_item(self.thread, key, kind, value, label)

    def _refresh(self, turn: str) -> None:
        """Bring the index up to what the store holds, without the results of the turn that is being decided."""
        waiting = False
        for item in self._services.content.items(self.thread, after=self._floor):
            value = item.value if isinstance(item.value, dict) else {}
            if item.seq not in self._above and item.kind == "result" and turn and value.get("turn") == turn:
                waiting = True
                continue
            if item.seq not in self._above:
                self._known.add(item.key.rpartition("/")[0] or item.key)
                self._apply(item.key, item.kind, value, item.label)
                if item.kind != "delivered":
                    self._label = self._label.join(item.label)
            if waiting:
                self._above.add(item.seq)
            else:
                self._floor = item.seq
                self._above.discard(item.seq)

    def _apply(self, key: str, kind: str, value: Mapping[str, JSON], label: Label) -> None:
        if kind == "words":
            authority = Authority[str(value["authority"])]
            self._index.add_words(str(value["text"]), authority=authority, uri=str(value["uri"]), message=True)
        elif kind == SCAN:
            self._scans.note(value)
        elif kind == "delivered":
            self._delivered.add(str(value["mark"]))
        elif kind == "extraction":
            rules = [FieldRule("**", readers=label.readers)]
            self._index.add_result(value["value"], tool=EXTRACTION, call=key, args={}, rules=rules)
        elif kind == "result":
            manifest, tool, call = self._services.manifest, str(value["tool"]), str(value["call"])
            spec = manifest.find(tool, str(value["server"])) if value["declared"] else None
            args = value["args"] if isinstance(value["args"], dict) else {}
            self._results.note(value)
            if value.get("written"):
                self._written.add(source_of(tool, call))
            fields = field_rules(spec, manifest) if spec else reader_rules(tool, manifest)
            self._index.add_result(value["value"], tool=tool, call=call, args=args, rules=fields)


__all__ = ["EXTRACTION", "Call", "GuardSession", "refusal", "turn_suffix"]
