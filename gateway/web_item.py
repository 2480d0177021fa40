"""The pages of one call: its card, its bytes, and the whole context of its run.

Guarantees: these pages read; a card carries a seal over exactly what it shows (the call, its digest, its version, the
moment), without which no answer to it counts.
"""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query
from fastapi.responses import Response

from checkvalve.approvals import attention, pages_data
from checkvalve.approvals.batching import batch_of
from checkvalve.approvals.crash_shown import after_crash
from checkvalve.approvals.pins_shown import seen_pinned
from checkvalve.approvals.previews import seen_preview
from checkvalve.approvals.reach import asked
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.revoking import may_revoke
from checkvalve.approvals.roles import account_of
from checkvalve.approvals.seen import Seen, seen
from checkvalve.approvals.story import around_of
from checkvalve.gateway.web_card import view
from checkvalve.gateway.web_crash_view import crash_view
from checkvalve.gateway.web_desk import HOME, Looking, Visit
from checkvalve.gateway.web_glass_view import glass_view
from checkvalve.gateway.web_item_parts import Id, hidden_from, item_view, now_ms, show_bytes, shown_seal
from checkvalve.gateway.web_pin_view import pin_view
from checkvalve.gateway.web_preview_view import preview_view
from checkvalve.gateway.web_quorum_view import quorum_view
from checkvalve.gateway.web_reveal_view import reveal_view
from checkvalve.gateway.web_seed_items import open_seed, seed_bytes, seed_card, seed_in, seed_run
from checkvalve.gateway.web_standing_view import card_note
from checkvalve.gateway.web_talk_view import talk_view
from checkvalve.gateway.web_text import line
from checkvalve.gateway.web_undo_view import undo_view
from checkvalve.gateway.web_views import CardView

MAX_ITEMS: Final = 100
"""Items on one page of a run."""
_UNREAD: Final = frozenset({"delivered", "bits", "charge", "scan", "context"})
"""Kinds of history that hold no content: marks and accounts of our own."""

router: Final = APIRouter()


def card_of(visit: Visit, proposal: Proposal, *, compare: bool = True) -> CardView:
    """Return the card of a call with everything that is stored around it."""
    desk, veiling = visit.desk, visit.desk.queue.veiling
    now = proposal if isinstance(proposal, Seen) else veiling.seen(proposal)  # else somebody reveals it
    proposal = now.exact
    return view(
        now,
        items=desk.content.items(proposal.thread),
        outcome=desk.executor.look(proposal.id),
        events=pages_data.log_of(desk.queue.store, proposal.id),
        unpack=desk.unpack,
        story=around_of(desk.queue, now) if compare else None,
    )


def own_call(visit: Visit, proposal: Proposal) -> bool:
    """Say whether this person may not say yes, since they asked for it, or nobody knows who did; the queue decides."""
    with visit.desk.queue.store.read() as connection:
        return asked(connection, proposal.asked_by, account_of(connection, visit.reviewer.name))


@router.get("/items/{name}")
def card(visit: Looking, name: Id, done: str = "") -> Response:
    """Show one call, or an item that looks like one."""
    if (item := open_seed(visit, name)) is not None:
        return seed_card(visit, item)
    return show_card(visit, visit.desk.queue.get(name), notice=done)


def show_card(visit: Visit, proposal: Proposal, *, notice: str = "", status: int = 200, problem: str = "") -> Response:
    """Return the card of a call, with what was just done or what stood in the way."""
    store, now = visit.desk.queue.store, visit.desk.queue.clock()
    shown_row = proposal if isinstance(proposal, Seen) else visit.desk.queue.veiling.seen(proposal)
    proposal = shown_row.exact
    pending = proposal.state is State.PENDING
    if pending:
        whole = attention.shows_whole(shown_row)
        attention.note_shown(store, proposal.id, visit.reviewer.name, at=now, now=now, whole=whole)
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
        pinned=pin_view(seen_pinned(visit.desk.queue, shown_row)),
        crash=crash_view(after_crash(visit.desk.queue, shown_row.exact)),
        reveal=reveal_view(visit, shown_row),
        revocable=may_revoke(visit.desk.queue, proposal, visit.reviewer),
    )


@router.get("/items/{name}/bytes")
def raw(visit: Looking, name: Id, start: Annotated[int, Query(ge=0, le=1 << 40)] = 0) -> Response:
    """Show the canonical bytes that were decided on, some pages of them at a time; what is redacted keeps its place."""
    if (item := open_seed(visit, name)) is not None:
        return seed_bytes(visit, item, start)
    return show_bytes(visit, visit.desk.queue.veiling.seen(visit.desk.queue.get(name)), start)


@router.get("/run")
def run(visit: Looking, thread: Annotated[str, Query(min_length=1, max_length=2_000)], after: int = 0) -> Response:
    """Show everything that entered a task, in the order it came, and what was proposed in it."""
    if (item := seed_in(visit, thread)) is not None:
        return seed_run(visit, item)
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
