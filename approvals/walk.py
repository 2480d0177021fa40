"""Walking a log from event to event, and the report of what is wrong with it: for a database and for a bundle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from checkvalve.approvals.audit import Event, Head
from checkvalve.approvals.errors import LogTamperedError
from checkvalve.approvals.judge import Gone, Watch
from checkvalve.approvals.merkle import leaf_hash
from checkvalve.approvals.said import Seen
from checkvalve.approvals.tablecheck import body_of
from checkvalve.approvals.witnessed import Witnessed
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON

MAX_FINDINGS: Final = 100
"""More than this many findings are counted, not listed: after the first, everything is suspect."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it was written. ``seq`` is the event it is at, 0 when it is about a table."""

    code: str
    text: str
    seq: int = 0

    def to_json(self) -> dict[str, JSON]:
        """Return the finding for programs."""
        return {"code": self.code, "text": self.text, "seq": self.seq}


@dataclass(slots=True)
class VerifyReport:
    """What was found. No finding at all is the only good answer."""

    events: int = 0
    head: Head = field(default_factory=lambda: Head(0, ""))
    findings: list[Finding] = field(default_factory=list)
    more: int = 0
    compared: list[str] = field(default_factory=list)  # what was kept outside, and agrees
    notes: list[str] = field(default_factory=list)  # what a person should know, and nothing is wrong with
    signed: dict[str, JSON] | None = None  # the newest checkpoint, when its signatures were checked
    closed: list[dict[str, JSON]] = field(default_factory=list)  # the logs that were closed before, oldest first
    witnessed: Witnessed | None = None  # how far a policy of witnesses is met, where one was given

    @property
    def ok(self) -> bool:
        """Say whether everything agrees."""
        return not self.findings

    @property
    def is_judged(self) -> bool:
        """Say whether something outside was compared: without it a cut at the end, or another history, is not seen.

        Where a policy asks for witnesses, a quorum of them stands behind the newest checkpoint, too.
        """
        return bool(self.compared) and (self.witnessed is None or self.witnessed.is_met)

    def hear(self, witnessed: Witnessed) -> None:
        """Take in what witnesses say."""
        self.witnessed = witnessed
        for text in witnessed.forged:
            self.add("bad_cosignature", text)
        self.notes += witnessed.notes

    def add(self, code: str, text: str, seq: int = 0) -> None:
        """Remember a finding, or count it when there are too many."""
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(code, text, seq))
        else:
            self.more += 1

    def to_json(self) -> dict[str, JSON]:
        """Return the report for programs."""
        return {
            "ok": self.ok,
            "events": self.events,
            "head": {"seq": self.head.seq, "hash": self.head.hash},
            "findings": [finding.to_json() for finding in self.findings],
            "more": self.more,
            "compared": list(self.compared),
            "notes": list(self.notes),
            "signed": self.signed,
            "closed": [*self.closed],
            "witnesses": None if self.witnessed is None else self.witnessed.to_json(),
        }


class Takes(Protocol):
    """Whoever wants the leaf hashes of a log, one after the other."""

    def take(self, leaf: bytes) -> None:
        """Take in the next one."""
        ...


class Walk:
    """Walks the chain. ``leaf_at`` gives the leaf hash of an event that was removed, by its index."""

    def __init__(
        self,
        report: VerifyReport,
        gone: Gone,
        judge: Takes | None,
        leaf_at: Callable[[int], bytes],
        saved: Head | None = None,
        *,
        base: int = 0,
        seen: dict[str, Seen] | None = None,
    ) -> None:
        """Begin before the first event, which has the number ``base + 1``; findings go into ``report``."""
        self.last = Head(base, "")
        self.seen: dict[str, Seen] = {} if seen is None else seen
        self._base = base
        self.watch = Watch()
        self._report = report
        self._gone = gone
        self._judge = judge
        self._leaf_at = leaf_at
        self._saved = saved

    def take(self, event: Event) -> None:
        """Take in the next event."""
        report, last, saved = self._report, self.last, self._saved
        report.events += 1
        if event.seq != last.seq + 1:
            self.skip(event.seq)
        elif event.prev != last.hash:
            report.add("broken_link", f"event {event.seq} does not follow the one before it", event.seq)
        if not event.is_whole:
            report.add("changed", f"event {event.seq} is not what was written", event.seq)
        elif event.is_erased and not self._gone.is_erased(event.seq):
            report.add("emptied", f"the content of event {event.seq} is gone, and no event says why", event.seq)
        if saved is not None and event.seq == saved.seq and event.hash != saved.hash:
            report.add("replaced", f"event {event.seq} is another one than when the head was saved", event.seq)
        if self._judge is not None:
            self._judge.take(leaf_of(event))
        self.watch.take(event)
        said = self.seen.setdefault(str(event.subject), Seen())
        said.note(str(event.kind), body_of(event.body), event.at)
        self.last = Head(event.seq, event.hash)

    def skip(self, seq: int) -> None:
        """Take the hashes of what is missing before event ``seq`` from the tree; a finding if no event says why."""
        first, last = self.last.seq + 1, seq - 1
        if not self._gone.is_removed(first, last):
            text = f"events between {self.last.seq} and {seq} are missing"
            self._report.add("missing", text, seq)
            return
        self.watch.skip()
        if self._judge is not None:
            try:
                for number in range(first, last + 1):
                    self._judge.take(self._leaf_at(number - 1 - self._base))
            except LogTamperedError as error:
                self._report.add("missing", error.message, seq)


def leaf_of(event: Event) -> bytes:
    """Return the leaf hash of an event; what is no event has one that no tree was signed with."""
    try:
        return leaf_hash(event.form)
    except (HostileInputError, TypeError, ValueError, AttributeError):
        return b""  # never a hash: the root will differ


__all__ = ["MAX_FINDINGS", "Finding", "Takes", "VerifyReport", "Walk", "leaf_of"]
