"""``scan_inbound``: everything that enters is looked at here, stage by stage, under one budget.

0. Bounds. 1. The item is taken apart by its kind, each text with its channel. 2. Each text is freed of what is
invisible, and what that spells is a text of its own. 3. Role tokens and fences are found in it as it stands; the
patterns are matched against its canonical form; its encodings are undone, and those texts go through 2 and 3 again.
4. Earlier items are joined on. 5. Detectors of others look. 6. What was found is weighed by window, and the result is
made. Guarantees: total (whatever happens is a result, and what could not be looked at is ``unscanned``), pure, and the
original is never changed: a changed text is a copy with a map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from checkvalve.filters.inbound import decoding, detectors, invisible, roles, terminal
from checkvalve.filters.inbound.bounds import bounded, decoded
from checkvalve.filters.inbound.budget import DEADLINE, Budget, Clock, OutOfBudgetError
from checkvalve.filters.inbound.canonical import canonical
from checkvalve.filters.inbound.carry import Carry
from checkvalve.filters.inbound.files import Files
from checkvalve.filters.inbound.letters import foreign
from checkvalve.filters.inbound.neighbours import NOTE as NEIGHBOURS
from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.payloads import look_into, written_out
from checkvalve.filters.inbound.rules import ENOUGH, Hit, Looked, find, looked, scripts_of, weigh
from checkvalve.filters.inbound.structure import texts
from checkvalve.filters.inbound.views import Builder, View
from checkvalve.filters.outcomes import (
    Channel,
    ContentOutcome,
    Finding,
    ScanResult,
    Severity,
    Status,
    apply_edits,
    disjoint,
)
from checkvalve.filters.swift import settle

WINDOW: Final = 65_536
"""Characters that go through the stages at once."""
OVERLAP: Final = 2_000
"""Characters that two windows share: longer than anything that a pattern matches."""
MAX_EDITS: Final = 20_000
"""Edits up to which a changed text is looked at once more."""
MAX_LAYERS: Final = 3
"""Encodings inside encodings that are undone."""
WITHHELD: Final = "[content withheld by the gateway: {code}]"
"""What stands in for withheld content; it says nothing of what the content says."""

_ROLE_WEIGHT: Final = {"role-token": 2, "harness-tag": 1, "fake-boundary": 2, "fake-system-note": 2, "fake-turn": 2}
_SAME: Final = decoding.SAME | {NEIGHBOURS}
_CHANNELS: Final = (Channel.VISIBLE, Channel.HEADER, Channel.METADATA, Channel.DECODED, Channel.HIDDEN)


@dataclass(frozen=True, slots=True)
class InboundOptions:
    """What is done about findings. ``withhold_at`` withholds an item from this weight on; None never does."""

    sanitise: bool = True
    withhold_at: Severity | None = None
    withhold_unscanned: bool = False
    deadline: float = DEADLINE


@dataclass(slots=True)
class _Scan:
    """One item on its way through the stages."""

    budget: Budget
    notes: Notes
    tools: bool
    hits: list[tuple[int, int, str, int, Channel, str]] = field(default_factory=list)
    files: Files = field(default_factory=Files)
    main: list[View] = field(default_factory=list)

    def text(self, view: View, kind: str, layer: int = 0) -> None:
        """Do stages 2 and 3 for one text."""
        if not view.text:
            return
        if view.note == NEIGHBOURS:
            self.match(canonical(view), scripts_of(view.text))
            return
        roles.look(view, self.notes, kind=kind)
        for start in range(0, max(len(view.text) - OVERLAP, 1), WINDOW - OVERLAP):
            self.window(view if len(view.text) <= WINDOW else view.part(start, start + WINDOW), layer)

    def window(self, view: View, layer: int) -> None:
        """Look at one window of a text: the budget is checked between any two, and the end is seen like the start."""
        self.budget.spend(len(view.text))
        others = foreign(view.text)
        hidden = [*invisible.look(view, self.notes, others), *terminal.look(view, self.notes, others)]
        plain = canonical(view, others)
        scripts = scripts_of(view.text, others)
        seen = looked(plain.text, scripts, tools=self.tools)
        self.match(plain, scripts, seen=seen)
        if layer == 0 and view.channel is Channel.VISIBLE:
            self.main.append(plain)
        for part in hidden:
            self.text(part, "text", layer + 1)
        if layer < MAX_LAYERS:
            for reading in decoding.readings(view, plain, seen):
                if reading is None:
                    self.budget.spend(2 * len(plain.text) + 1)
                elif reading.note == decoding.EMPHASIS:
                    self.budget.spend(len(plain.text))
                    self.match(reading, ["latin"], seen=seen)
                else:
                    self.reading(reading, layer)

    def reading(self, view: View, layer: int) -> None:
        """Look at a further reading of a text: a decoded region is a text, a turned or mended whole is only matched."""
        if view.note in decoding.REGION_NAMES:
            self.text(view, "text", layer + 1)
        elif view.note == decoding.FILE:
            for part in written_out(view, self.notes):
                self.text(part, "text", layer + 1)
        else:
            self.budget.spend(len(view.text))
            self.match(view, ["latin"], least=ENOUGH if view.note in decoding.GUESSES else 1)

    def match(self, plain: View, scripts: Sequence[str], *, least: int = 1, seen: Looked | None = None) -> None:
        """Match the patterns against a canonical text."""
        self.budget.spend(len(plain.text))
        for hit in find(plain.text, scripts, tools=self.tools, least=least, seen=seen):
            first, last = plain.origin(hit.start, hit.end)
            if hit.weight >= least and not (plain.note in _SAME and self._known(hit.family, first, last)):
                self.files.note(plain.within(hit.start), hit.family, hit.weight, hit.end - hit.start, len(self.hits))
                self.hits.append((first, last, hit.family, hit.weight, plain.channel, plain.note))

    def _known(self, family: str, first: int, last: int) -> bool:
        """Say whether the text as it stands shows this here already."""
        return any(hit[2] == family and hit[0] < last and first < hit[1] for hit in self.hits)

    def weigh(self) -> None:
        """Do stage 6: turn what was found into findings."""
        for item in self.notes.findings:
            if item.code in _ROLE_WEIGHT:
                place, weight = self.notes.inside.get(item), _ROLE_WEIGHT[item.code]
                self.files.note(place, item.code, weight, 1, len(self.hits))
                self.hits.append((item.start, item.end, item.code, _ROLE_WEIGHT[item.code], item.channel, item.detail))
        if left := self.files.left_out():
            self.hits = [hit for number, hit in enumerate(self.hits) if number not in left]
        self.hits.sort(key=lambda hit: hit[:2])
        for window in weigh([Hit(family, weight, start, end) for start, end, family, weight, _, _ in self.hits]):
            inside = [hit for hit in self.hits if window.start <= hit[0] <= window.end]
            channel = max((hit[4] for hit in inside), key=_CHANNELS.index)
            severity = Severity.MEDIUM if channel in {Channel.VISIBLE, Channel.HEADER} else Severity.HIGH
            found = Finding("instruction", window.start, window.end, channel, severity, "+".join(window.families))
            self.notes.findings.append(found)


def scan_inbound(  # one function for every surface
    content: str | bytes,
    *,
    options: InboundOptions = InboundOptions(),  # frozen
    clock: Clock | None = None,
    carry: Carry | None = None,
    media: str = "",
    tools: bool = False,
    others: Sequence[detectors.InboundDetector] = (),
) -> ScanResult:
    """Look at one item that enters a model's context.

    Args:
        content: the item; bytes may be a file.
        options: what to do about findings.
        clock: seconds that never run backwards; without one only the work is bounded, and a scan repeats exactly.
        carry: what earlier items of the task left behind; it is brought up to date.
        media: ``text`` or ``code`` when the caller knows that there is no structure to take apart.
        tools: the item is a tool's description or schema.
        others: detectors of others.
    """
    root = View(decoded(content) if isinstance(content, bytes) else content)
    budget = Budget.for_text(len(content), clock, options.deadline)
    scan = _Scan(budget, Notes(budget), tools)
    try:
        _stages(scan, root, content, media)
        if carry is not None:
            _joined(scan, carry)
        for view in scan.main:
            detectors.run(others, view, scan.notes, scan.budget)
    except OutOfBudgetError:
        scan.notes.leave("out-of-time")
    except Exception:  # noqa: BLE001  # a filter that fails is a filter that has not looked; the error may quote content
        scan.notes.leave("scan-failed")
    _escape_what_appears(scan.notes, root)
    scan.weigh()
    result = _result(scan.notes, root, options, escaped=isinstance(content, bytes))
    settle()
    return result


def _stages(scan: _Scan, root: View, content: str | bytes, media: str) -> None:
    if isinstance(content, bytes) and not media and _is_file(content):
        for part in look_into(content, root, scan.notes):
            scan.text(part, "text")
        return
    for bound in bounded(root, scan.notes):
        for view, kind in texts(bound, scan.notes, scan.budget, media=media):
            scan.text(view, kind)
            if kind == "markup" and view.channel is Channel.VISIBLE:
                roles.look(bound, scan.notes, kind=kind)


def _escape_what_appears(notes: Notes, root: View) -> None:
    """Escape role tokens that are only there once what hides between their letters is out."""
    for _ in range(MAX_LAYERS):
        if not notes.edits or len(notes.edits) > MAX_EDITS:
            return
        shown, position = Builder(root), 0
        for edit in disjoint(notes.edits):
            shown.copy(position, edit.start)
            shown.put(edit.replacement, edit.start, edit.end)
            position = edit.end
        shown.copy(position, len(root.text))
        appeared = Notes()
        roles.look(shown.view(), appeared, kind="markup")
        tokens = [
            edit for edit in appeared.edits if edit.code in {"role-token", "harness-tag"} and edit not in notes.edits
        ]
        if not tokens:
            return
        notes.edits += tokens
        notes.findings += [item for item in appeared.findings if item.code in {"role-token", "harness-tag"}]


def _is_file(content: bytes) -> bool:
    return content[:4] in {b"PK\x03\x04", b"%PDF", b"RIFF", b"GIF8", b"\x89PNG"} or content[:3] == b"\xff\xd8\xff"


def _joined(scan: _Scan, carry: Carry) -> None:
    plain = "\n\n".join(view.text for view in scan.main)
    if families := carry.across(plain):
        view = scan.main[0]
        scan.notes.find("split-payload", view, 0, min(len(view.text), 300), Severity.MEDIUM, detail="+".join(families))
    carry.keep(plain)


def _result(notes: Notes, root: View, options: InboundOptions, *, escaped: bool) -> ScanResult:
    """Make the result: status, outcome, the text to show, and every place in bytes."""
    severity = max((item.severity for item in notes.findings), default=Severity.NOTE)
    status = Status.FLAGGED if severity >= Severity.MEDIUM else Status.CHANGED if notes.edits else Status.CLEAN
    if notes.unscanned:
        status = Status.UNSCANNED
    withheld = options.withhold_at is not None and severity >= options.withhold_at
    withheld = withheld or (options.withhold_unscanned and bool(notes.unscanned))
    places = _bytes_of(root.text, notes.findings, escaped=escaped) if notes.findings else {}
    findings = tuple(
        sorted(
            Finding(item.code, places[item.start], places[item.end], item.channel, item.severity, item.detail)
            for item in notes.findings
        )
    )
    if withheld:
        code = "flagged" if severity >= Severity.MEDIUM else notes.unscanned
        return ScanResult(status, ContentOutcome.WITHHOLD, WITHHELD.format(code=code), findings, (), code)
    if notes.edits and options.sanitise:
        text, spans = apply_edits(root.text, notes.edits, errors="surrogateescape" if escaped else "surrogatepass")
        if text != root.text:
            return ScanResult(status, ContentOutcome.SANITISE, text, findings, spans, notes.unscanned)
    return ScanResult(status, ContentOutcome.PASS, root.text, findings, (), notes.unscanned)


def _bytes_of(text: str, findings: Sequence[Finding], *, escaped: bool) -> dict[int, int]:
    """Return the byte place of every character place that findings name, in one pass over the text."""
    marks = sorted({0, *(place for item in findings for place in (item.start, item.end))})
    if text.isascii():
        return {mark: mark for mark in marks}
    errors = "surrogateescape" if escaped else "surrogatepass"
    places, size = {0: 0}, 0
    for first, last in pairwise(marks):
        size += len(text[first:last].encode("utf-8", errors))
        places[last] = size
    return places
