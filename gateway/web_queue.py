"""The lists of calls: what waits, by risk; equal questions as one table; what was decided, and search in it.

Guarantees: these pages read; a row shows why somebody is asked and where the value is from, in the words of the card.
"""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query
from fastapi.responses import Response

from checkvalve.approvals import pages_data, searching
from checkvalve.approvals.batching import Batch, batch_of
from checkvalve.approvals.equal import Equals, equals
from checkvalve.approvals.errors import NotFoundError, StoreCorruptError
from checkvalve.approvals.pages_data import PAGE
from checkvalve.approvals.previews import seen_preview
from checkvalve.approvals.records import State
from checkvalve.approvals.so_far import so_far
from checkvalve.gateway.web_card import view
from checkvalve.gateway.web_desk import Looking, Visit, link
from checkvalve.gateway.web_glass_view import urgent_view
from checkvalve.gateway.web_item import Id, card_of, hidden_from, now_ms, own_call, shown_seal
from checkvalve.gateway.web_preview_view import preview_view
from checkvalve.gateway.web_seed_rows import with_seeds
from checkvalve.gateway.web_text import Shown, line, shown
from checkvalve.gateway.web_views import CardView

MAX_GROUPS: Final = 10
"""Groups of equal questions that the queue names."""
_MAX_PAGES: Final = 1_000_000
PageNumber = Annotated[int, Query(ge=0, le=_MAX_PAGES)]
router: Final = APIRouter()


@router.get("")
def queue(visit: Looking, page: PageNumber = 0, done: str = "") -> Response:
    """Show what waits: the gravest first, and of equally grave ones the oldest."""
    desk = visit.desk
    desk.queue.sweep()
    store, now, veiling = desk.queue.store, desk.queue.clock(), desk.queue.veiling
    load, away = pages_data.load(store, now, reviewer=visit.reviewer.name), hidden_from(visit)
    rows = pages_data.waiting(store, page=page, without=away)
    views, damaged = _views(visit, rows)
    views, counted = with_seeds(visit, views, load, page=page)
    lost, unreadable = _views(visit, pages_data.unknown(store)) if page == 0 and load.unknown else ([], [])
    return visit.page(
        "queue.html",
        rows=views,
        damaged=[*damaged, *unreadable],
        so_far=so_far(desk.queue, rows),
        put_off=[(view(veiling.seen(desk.queue.get(name))), until) for name, until in away.items()]
        if page == 0
        else [],
        load=counted,
        equals=_equals(visit) if page == 0 else [],
        unknown=lost,
        paused=[(item.thread, line(item.thread)) for item in desk.queue.paused()],
        page=page,
        last=(page + 1) * PAGE >= load.open - len(away),
        first_number=page * PAGE + 1,
        mark=pages_data.mark(store),
        urgent=urgent_view(visit),
        unconfirmed=desk.queue.standing_rules.waiting() if page == 0 else 0,
        now=now,
        notice=done,
    )


def _equals(visit: Visit) -> list[tuple[Equals, Shown, list[Shown]]]:
    """Return the groups of equal questions, each with its tool and the values that it asks about."""
    found = equals(visit.desk.queue.store, limit=MAX_GROUPS)
    seen = visit.desk.queue.veiling.all([item.first for item in found])
    return [
        (item, line(row.tool), [line(str(offer["value"])) for offer in row.endorsable])
        for item, row in zip(found, seen, strict=True)
    ]


def _views(visit: Visit, rows: pages_data.Rows, *, items: bool = True) -> tuple[list[CardView], list[str]]:
    """Return rows as cards, each task's history read once, and the ids of those that were changed beside the log.

    One of these must not keep people from the others, and none is left out in silence.
    """
    threads = {row.thread for row in rows} if items else set()
    known = {thread: visit.desk.content.items(thread) for thread in threads}
    found, damaged = [], list(rows.damaged)
    for row in visit.desk.queue.veiling.all(rows):
        try:
            found.append(view(row, items=known.get(row.thread, ())))
        except StoreCorruptError:
            damaged.append(row.id)
    return found, damaged


@router.get("/history")
def history(
    visit: Looking, q: Annotated[str, Query(max_length=2_000)] = "", state: str = "", page: PageNumber = 0
) -> Response:
    """Show what became of calls, newest first."""
    chosen = State(state) if state in set(State) else None
    found = searching.history(visit.desk.queue, words=q, state=chosen, page=page)
    views, damaged = _views(visit, found, items=False)
    return visit.page(
        "history.html",
        rows=views,
        damaged=damaged,
        searched=q,
        state=state if chosen else "",
        states=[item.value for item in State],
        page=page,
        last=len(found) + len(found.damaged) < PAGE,
        now=visit.desk.queue.clock(),
    )


@router.get("/equal/{name}")
def equal(visit: Looking, name: Id) -> Response:
    """Show the calls that ask the same as this one in one table: what they share, and every difference."""
    return show_batch(visit, name)


def show_batch(visit: Visit, name: str, *, outcomes: dict[str, str] | None = None, status: int = 200) -> Response:
    """Return the table of equal questions, with what became of each after an answer."""
    first = visit.desk.queue.get(name)
    batch = batch_of(visit.desk.queue.store, first) if first.state is State.PENDING else Batch()
    rows = list(batch.rows)
    if outcomes:
        rows = [*(visit.desk.queue.get(item) for item in outcomes), *(row for row in rows if row.id not in outcomes)]
    if not rows:
        raise NotFoundError("nothing asks the same any more")
    first, threads = rows[0], {row.thread for row in rows}
    words = {thread: visit.desk.content.items(thread) for thread in threads} if len(threads) > 1 else {}
    veiling = visit.desk.queue.veiling
    shown_rows = veiling.together(rows)
    views = [view(row, items=words.get(row.thread, ())) for row in shown_rows]
    texts = [{item.path.plain: item for item in card.arguments} for card in views]
    plain = [{path: repr(item.value) for path, item in row.items()} for row in texts]
    differ = pages_data.differing(plain)
    at = now_ms(visit)
    return visit.page(
        "batch.html",
        status,
        card=card_of(visit, first, compare=False),
        rows=list(zip(views, texts, [shown_seal(visit, row, at) for row in rows], strict=True)),
        previews={row.id: preview_view(seen_preview(visit.desk.queue, row)) for row in shown_rows},
        differ=differ,
        tasks=len(threads),
        missing=shown(""),
        own=own_call(visit, first) and not visit.desk.single_user,
        outcomes=outcomes or {},
        here=link(f"/equal/{name}"),
        odd=[view(row) for row in veiling.together(batch.odd)],
        now=visit.desk.queue.clock(),
    )


__all__ = ["router", "show_batch"]
