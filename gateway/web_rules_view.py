"""What the pages show of the gateway's rules: every line of a difference in pieces, nothing of it cut. Reads only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checkvalve.approvals.render import neutralise
from checkvalve.approvals.ruleset_store import RuleChange
from checkvalve.approvals.rulesets import PARTS, Line, RuleText, counted
from checkvalve.gateway.web_text import Piece, Shown, line, pieces, shown


@dataclass(frozen=True, slots=True)
class LineView:
    """One line of a difference; ``count`` lines that stay are left out."""

    kind: str
    pieces: tuple[Piece, ...]
    count: int = 0
    unended: bool = False


@dataclass(frozen=True, slots=True)
class PartView:
    """One part that differs: how many lines come and go, and all of them."""

    part: str
    new: int
    gone: int
    lines: tuple[LineView, ...]


@dataclass(frozen=True, slots=True)
class CallView:
    """One recorded call that would have been decided or asked otherwise."""

    id: str
    tool: Shown
    before: str
    before_rule: Shown
    after: str
    after_rule: Shown
    laxer: bool = False


@dataclass(frozen=True, slots=True)
class ImpactView:
    """What a change would have changed of the recorded calls."""

    since: str
    calls: int
    left_out: int
    changed: int
    laxer: int
    rows: tuple[CallView, ...]
    asked: int
    questions: tuple[CallView, ...]
    findings: tuple[tuple[str, Shown], ...]


@dataclass(frozen=True, slots=True)
class ChangeView:
    """One change as it stands."""

    id: str
    state: str
    digest: str
    note: Shown
    proposed_by: Shown
    proposed_at: int
    expires_at: int
    decided_by: Shown
    decided_at: int | None
    answer: Shown
    alone: str
    until: int | None
    overlap: int
    parts: tuple[tuple[str, str], ...]
    waits: bool


@dataclass(frozen=True, slots=True)
class FileView:
    """A file of this server that is not what was adopted."""

    part: str
    file: Shown
    digest: str


def change_view(item: RuleChange) -> ChangeView:
    """Return a change for a page."""
    return ChangeView(
        id=item.id,
        state=item.state,
        digest=item.digest,
        note=shown(item.note),
        proposed_by=line(item.proposed_by),
        proposed_at=item.proposed_at,
        expires_at=item.expires_at,
        decided_by=line(item.decided_by),
        decided_at=item.decided_at,
        answer=line(item.answer),
        alone=item.alone,
        until=item.until,
        overlap=item.overlap,
        parts=tuple((part, item.parts[part]) for part in PARTS if part in item.parts),
        waits=item.state == "waiting",
    )


def parts_view(found: Mapping[str, Sequence[Line]]) -> list[PartView]:
    """Return the differences for a page."""
    return [
        PartView(
            part, *counted(lines), tuple(LineView(one.kind, _pieces(one.text), one.count, one.unended) for one in lines)
        )
        for part, lines in found.items()
    ]


def text_view(text: str) -> list[tuple[Piece, ...]]:
    """Return a text line by line."""
    return [_pieces(one) for one in text.split("\n")]


def files_view(found: Sequence[RuleText]) -> list[FileView]:
    """Return the files that differ."""
    return [FileView(one.part, line(one.file), one.digest) for one in found]


def impact_view(impact: Mapping[str, Any]) -> ImpactView:
    """Return what a change would have changed; the stored form is our own."""
    changed: Mapping[str, int] = impact.get("changed", {})
    return ImpactView(
        since=str(impact.get("since", ""))[:10],
        calls=int(impact.get("calls", 0)),
        left_out=int(impact.get("left_out", 0)),
        changed=sum(changed.values()),
        laxer=int(impact.get("laxer", 0)),
        rows=tuple(_decision(item) for item in impact.get("decisions", ())),
        asked=int(impact.get("asked_otherwise", 0)),
        questions=tuple(_question(item) for item in impact.get("questions", ())),
        findings=tuple(
            (str(one["level"]), line(f"{one['where']}: {one['text']}")) for one in impact.get("findings", ())
        ),
    )


def _decision(item: Mapping[str, Any]) -> CallView:
    was, now = item["before"], item["after"]
    return CallView(
        str(item["id"]),
        line(item["tool"]),
        str(was["verdict"]),
        line(was["rule"]),
        str(now["verdict"]),
        line(now["rule"]),
        bool(item["laxer"]),
    )


def _question(item: Mapping[str, Any]) -> CallView:
    same = item["before"] == item["after"]
    now = ", ".join(map(str, item["fields"])) if same else str(item["after"])
    return CallView(str(item["id"]), line(item["tool"]), "", line(item["before"]), "", line(now))


def _pieces(text: str) -> tuple[Piece, ...]:
    return pieces(neutralise(text))


__all__ = [
    "ChangeView", "FileView", "ImpactView", "PartView", "change_view", "files_view", "impact_view", "parts_view",
    "text_view",
]  # fmt: skip
