"""Parts of the pages of one call that a made-up one has in common with them: seal, bytes, what entered a run.

Guarantees: nothing here reads a call from the store, so what is shown is what was handed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Path
from fastapi.responses import Response

from checkvalve.approvals import snoozes
from checkvalve.approvals.argument_leaves import leaves
from checkvalve.approvals.content import HistoryItem
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.redaction import Veil
from checkvalve.approvals.seen import Seen, as_text
from checkvalve.approvals.seen_bytes import pieces, text_of, within
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.web_desk import Visit
from checkvalve.gateway.web_reveal_view import reveal_view
from checkvalve.gateway.web_text import Shown, hex_lines, line, shown

BYTES: Final = 4_096
"""Bytes on one page of raw bytes."""
Id: TypeAlias = Annotated[str, Path(pattern=r"^[0-9a-f-]{36}$")]


def shown_seal(visit: Visit, proposal: Proposal, at: int) -> str:
    """Return the proof that this session was shown exactly this record at this moment."""
    sealed = visit.session.seal("shown", proposal.id, proposal.digest, str(proposal.version), str(at))
    return f"{at}.{proposal.version}.{sealed}"


def now_ms(visit: Visit) -> int:
    """Return the time in milliseconds; servers that share a store have the same one."""
    return int(visit.desk.sessions.clock() * 1_000)


def hidden_from(visit: Visit) -> dict[str, int]:
    """Return what this person has put off, with when it comes back; see :mod:`snoozes`."""
    return snoozes.put_off_by(visit.desk.queue, visit.reviewer)


def show_bytes(visit: Visit, proposal: Seen, start: int) -> Response:
    """Return a page of the bytes of a call."""
    found = pieces(proposal)
    first = min(start, max(0, proposal.size - 1)) // BYTES * BYTES
    every = [None if piece.mark else byte for piece in found for byte in piece.data]
    part = every[first : first + BYTES]
    return visit.page(
        "bytes.html",
        id=proposal.id,
        tool=line(proposal.tool),
        digest=proposal.digest,
        size=proposal.size,
        first=first,
        last=first + len(part),
        step=BYTES,
        lines=hex_lines(part, first),
        text=shown(text_of(within(found, first, first + BYTES))),
        redacted=None in every,
        reveal=reveal_view(visit, proposal),
    )


@dataclass(frozen=True, slots=True)
class ItemView:
    """One thing that entered a run, with its label."""

    seq: int
    kind: str
    tool: Shown | None
    source: Shown
    trust: str
    authority: str
    readers: Shown
    fields: tuple[tuple[Shown | None, Shown], ...]


def item_view(item: HistoryItem, veil: Veil) -> ItemView:
    """Return one thing that entered a run, as it is shown."""
    value: Any = item.value if isinstance(item.value, dict) else {"value": item.value}
    tool = value.get("tool")
    label = item.label
    said = value.get("authority") if item.kind == "words" else ""
    trust = "authoritative" if said == "USER" else label.trust.name.lower()
    readers = "*" if label.readers.public else ", ".join(sorted(label.readers.names))
    return ItemView(
        seq=item.seq,
        kind=item.kind,
        tool=line(tool) if tool else None,
        source=line(veil.text(str(value.get("call") or value.get("source") or value.get("uri") or item.key))),
        trust=trust,
        authority=label.authority.name.lower(),
        readers=line(readers),
        fields=_fields(value.get("text", value.get("value", item.value)), trust, veil),
    )


def _fields(value: JSON, trust: str, veil: Veil) -> tuple[tuple[Shown | None, Shown], ...]:
    """Return every scalar under its path; what is itself a scalar has none."""
    rest = "" if trust == "authoritative" else trust
    if not isinstance(value, dict | list):
        return ((None, shown(veil.text(as_text(value)), rest=rest)),)
    every = ((path, veil.beneath(path, as_text(item))) for path, item in leaves(value))
    return tuple((line(veil.text(path)), shown(text, rest=rest)) for path, text in every)


__all__ = ["BYTES", "Id", "ItemView", "hidden_from", "item_view", "now_ms", "show_bytes", "shown_seal"]
