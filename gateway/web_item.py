"""The pages of one call: its card, its bytes, and the whole context of its run.

Guarantees: these pages read; a card carries a seal over exactly what it shows (the call, its digest, its version, the
moment), without which no answer to it counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from checkvalve.approvals import attention, pages_data, snoozes
from checkvalve.approvals.argument_leaves import leaves
from checkvalve.approvals.batching import batch_of
from checkvalve.approvals.content import HistoryItem
from checkvalve.approvals.editing import EDITED
from checkvalve.approvals.edits import is_edit_of
from checkvalve.approvals.previews import seen_preview
from checkvalve.approvals.reach import asked
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.redaction import Veil
from checkvalve.approvals.roles import account_of
from checkvalve.approvals.seen import Seen, as_text, seen
from checkvalve.approvals.seen_bytes import pieces, text_of, within
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.web_card import view
from checkvalve.gateway.web_desk import HOME, Looking, Visit
from checkvalve.gateway.web_glass_view import glass_view
from checkvalve.gateway.web_preview_view import preview_view
from checkvalve.gateway.web_quorum_view import quorum_view
from checkvalve.gateway.web_reveal_view import reveal_view
from checkvalve.gateway.web_standing_view import card_note
from checkvalve.gateway.web_talk_view import talk_view
from checkvalve.gateway.web_text import Shown, hex_lines, line, shown
from checkvalve.gateway.web_undo_view import undo_view
from checkvalve.gateway.web_views import CardView

BYTES: Final = 4_096
"""Bytes on one page of raw bytes."""
MAX_ITEMS: Final = 100
"""Items on one page of a run."""
_UNREAD: Final = frozenset({"delivered", "bits", "charge", "scan", "context"})
"""Kinds of history that hold no content: marks and accounts of our own."""

Id: TypeAlias = Annotated[str, Path(pattern=r"^[0-9a-f-]{36}$")]
router: Final = APIRouter()


def shown_seal(visit: Visit, proposal: Proposal, at: int) -> str:
    """Return the proof that this session was shown exactly this record at this moment."""
    sealed = visit.session.seal("shown", proposal.id, proposal.digest, str(proposal.version), str(at))
    return f"{at}.{proposal.version}.{sealed}"


def now_ms(visit: Visit) -> int:
    """Return the time in milliseconds; servers that share a store have the same one."""
    return int(visit.desk.sessions.clock() * 1_000)


def card_of(visit: Visit, proposal: Proposal, *, compare: bool = True) -> CardView:
    """Return the card of a call with everything that is stored around it."""
    desk, veiling = visit.desk, visit.desk.queue.veiling
    now = proposal if isinstance(proposal, Seen) else veiling.seen(proposal)  # else somebody reveals it
    proposal = now.exact
    before, usual = pages_data.earlier(desk.queue.store, proposal) if compare else (None, None)
    if before is not None and usual is not None and before.id == usual.id:
        usual = None
    if before is not None and before.code == EDITED and is_edit_of(desk.queue, proposal, before):
        before = None  # what the edit changed stands above
    return view(
        now,
        items=desk.content.items(proposal.thread),
        outcome=desk.executor.look(proposal.id),
        events=pages_data.log_of(desk.queue.store, proposal.id),
        unpack=desk.unpack,
        before=None if before is None else veiling.beside(now, before),
        usual=None if usual is None else veiling.beside(now, usual),
    )


def hidden_from(visit: Visit) -> dict[str, int]:
    """Return what this person has put off, with when it comes back; see :mod:`snoozes`."""
    return snoozes.put_off_by(visit.desk.queue, visit.reviewer)


def own_call(visit: Visit, proposal: Proposal) -> bool:
    """Say whether this person may not say yes, since they asked for it, or nobody knows who did; the queue decides."""
    with visit.desk.queue.store.read() as connection:
        return asked(connection, proposal.requester, account_of(connection, visit.reviewer.name))


@router.get("/items/{name}")
def card(visit: Looking, name: Id, done: str = "") -> Response:
    """Show one call."""
    return show_card(visit, visit.desk.queue.get(name), notice=done)


def show_card(visit: Visit, proposal: Proposal, *, notice: str = "", status: int = 200, problem: str = "") -> Response:
    """Return the card of a call, with what was just done or what stood in the way."""
    store, now = visit.desk.queue.store, visit.desk.queue.clock()
    shown_row = proposal if isinstance(proposal, Seen) else visit.desk.queue.veiling.seen(proposal)
    proposal = shown_row.exact
    pending = proposal.state is State.PENDING
    if pending:
        attention.note_shown(store, proposal.id, visit.reviewer.name, at=now, now=now)
    away = hidden_from(visit)
    following = [row for row in pages_data.waiting(store, without=away) if row.id != proposal.id][:1]
    return visit.page(
        "card.html",
        status,
        card=card_of(visit, shown_row),
        own=own_call(visit, proposal),
        single_user=visit.desk.single_user,
        shown_seal=shown_seal(visit, proposal, now_ms(visit)),
        undoable=visit.desk.undo is not None and visit.desk.undo.declares(proposal),
        undo=undo_view(visit.desk.undo, shown_row),
        glass=glass_view(visit, proposal),
        quorum=quorum_view(visit, shown_row),
        talk=talk_view(visit, shown_row),
        equal=len(batch_of(store, proposal).rows) if pending else 1,
        flood=visit.desk.queue.flood(proposal.thread),
        next_item=following[0].id if following else "",
        now=now,
        notice=notice,
        problem=problem,
        standing=card_note(proposal),
        preview=preview_view(seen_preview(visit.desk.queue, shown_row)),
        reveal=reveal_view(visit, shown_row),
    )


@router.get("/items/{name}/bytes")
def raw(visit: Looking, name: Id, start: Annotated[int, Query(ge=0, le=1 << 40)] = 0) -> Response:
    """Show the canonical bytes that were decided on, some pages of them at a time; what is redacted keeps its place."""
    return show_bytes(visit, visit.desk.queue.veiling.seen(visit.desk.queue.get(name)), start)


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


@router.get("/run")
def run(visit: Looking, thread: Annotated[str, Query(min_length=1, max_length=2_000)], after: int = 0) -> Response:
    """Show everything that entered a task, in the order it came, and what was proposed in it."""
    desk = visit.desk
    everything = desk.content.items(thread)
    found = [item for item in everything if item.seq > after and item.kind not in _UNREAD]
    veil = desk.queue.veiling.veil(thread)
    return visit.page(
        "run.html",
        thread=line(thread),
        thread_name=thread,
        items=[item_view(item, veil) for item in found[:MAX_ITEMS]],
        more=len(found) - MAX_ITEMS,
        after=found[MAX_ITEMS - 1].seq if len(found) > MAX_ITEMS else 0,
        calls=[view(seen(row, veil), items=everything) for row in pages_data.of_thread(desk.queue.store, thread)],
        flood=desk.queue.flood(thread),
        now=desk.queue.clock(),
    )


__all__ = [
    "HOME", "Id", "card_of", "hidden_from", "item_view", "now_ms", "own_call", "router", "show_card", "shown_seal",
]  # fmt: skip
