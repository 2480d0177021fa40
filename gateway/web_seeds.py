"""Seeded items on the pages: shown to the one person they were made for like any other question, and revealed at once.

1. An address of an item that is this person's, and open, shows it as a card; every other goes where it always went. 2.
An answer passes the same checks as any: seal, time to look, what has to be typed. 3. It is closed, and the next page
says that it was made up, and what was to be seen.

Guarantees: nobody else, and nobody who has not agreed, is ever shown one; nothing here calls the queue's decisions.
"""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from checkvalve.approvals import pages_data, seed_figures, seeds
from checkvalve.approvals.audit import Event
from checkvalve.approvals.errors import NotFoundError
from checkvalve.approvals.seed_cards import as_question, items_of, plan_of
from checkvalve.approvals.seeds import Seed
from checkvalve.approvals.spoken import says_something
from checkvalve.gateway import web_answers, web_item, web_talk
from checkvalve.gateway.web_answers import MAX_NOTE, REASONS, proven_row, typed
from checkvalve.gateway.web_card import view
from checkvalve.gateway.web_desk import HOME, Looking, Posted, Sent, Stop, Visit, back, link
from checkvalve.gateway.web_glass_view import GlassView
from checkvalve.gateway.web_item import Id, now_ms, shown_seal
from checkvalve.gateway.web_quorum_view import QuorumView
from checkvalve.gateway.web_reveal_view import reveal_view
from checkvalve.gateway.web_standing_view import card_note
from checkvalve.gateway.web_talk_view import SPANS, TalkView
from checkvalve.gateway.web_text import line
from checkvalve.gateway.web_views import GRAVE

_MINUTE: Final = 60_000_000  # microseconds
router: Final = APIRouter()


def open_seed(visit: Visit, name: str) -> Seed | None:
    """Return an item that waits for whoever is looking, None where there is none with this id."""
    found = seeds.find(visit.desk.queue, name, visit.reviewer)
    return found if found is not None and not found.answer else None


@router.get("/items/{name}")
def card(visit: Looking, name: Id, done: str = "") -> Response:
    """Show one call, or an item that looks like one."""
    found = open_seed(visit, name)
    return web_item.card(visit, name, done) if found is None else _card(visit, found)


def _card(visit: Visit, seed: Seed) -> Response:
    queue = visit.desk.queue
    row, now = queue.veiling.seen(as_question(seed)), queue.clock()
    following = pages_data.waiting(queue.store, without=web_item.hidden_from(visit))[:1]
    plan = plan_of(seed)
    ways = tuple(tuple((need.count, need.role.value) for need in needs) for needs in plan.approve)
    spans = tuple((span, span * _MINUTE) for span in SPANS if now + span * _MINUTE < seed.expires_at)
    nothing = line("")
    return visit.page(
        "card.html",
        card=view(row, items=items_of(seed), events=_events(visit, seed), unpack=visit.desk.unpack),
        own=False,
        single_user=visit.desk.single_user,
        shown_seal=shown_seal(visit, row, now_ms(visit)),
        undoable=visit.desk.undo is not None and visit.desk.undo.declares(row.exact),
        undo=None,
        glass=GlassView(may=False, broken=False, look=None),
        quorum=QuorumView(
            ways=ways,
            missing=ways,
            so_far=(),
            votes=(),
            plain=True,
            nobody=False,
            alone=False,
            somebody_else=False,
            deny=plan.deny,
            note_required=plan.note_required,
            rule=line(plan.rule),
            edited_by=nothing,
            refusal=nothing,
            no=nothing,
            voted=False,
        ),
        talk=TalkView(spans=spans),
        equal=1,
        flood=queue.flood(row.thread),
        next_item=following[0].id if following else "",
        now=now,
        notice="",
        problem="",
        standing=card_note(row),
        preview=None,
        reveal=reveal_view(visit, row),
    )


def _events(visit: Visit, seed: Seed) -> list[Event]:
    """Return the history that any question has; the log itself says what this one is."""
    found = pages_data.log_of(visit.desk.queue.store, seed.id)[:1]
    return [Event(item.seq, item.at, "proposal.recorded", seed.id, "{}", "", "") for item in found]


@router.get("/run")
def run(visit: Looking, thread: Annotated[str, Query(min_length=1, max_length=2_000)], after: int = 0) -> Response:
    """Show what entered a task; of an item, what was made up around it."""
    queue = visit.desk.queue
    found = next((one for one in seeds.open_for(queue, visit.reviewer) if one.body["thread"] == thread), None)
    if found is None:
        return web_item.run(visit, thread, after)
    row = queue.veiling.seen(as_question(found))
    return visit.page(
        "run.html",
        thread=line(thread),
        thread_name=thread,
        items=[web_item.item_view(item, row.veil) for item in items_of(found)],
        more=0,
        after=0,
        calls=[view(row, items=items_of(found))],
        flood=queue.flood(thread),
        now=queue.clock(),
    )


@router.get("/items/{name}/bytes")
def raw(visit: Looking, name: Id, start: int = 0) -> Response:
    """Show the canonical bytes of a call or an item."""
    found = open_seed(visit, name)
    if found is None:
        return web_item.raw(visit, name, start)
    return web_item.show_bytes(visit, visit.desk.queue.veiling.seen(as_question(found)), max(0, start))


@router.post("/items/{name}/yes")
def yes(request: Request, sent: Sent, name: Id) -> Response:
    """Say yes to a call or an item."""
    found = open_seed(sent.visit, name)
    if found is None:
        return web_answers.yes(request, sent, name)
    row = proven_row(sent, as_question(found), sent.get("shown"))
    where = link(f"/items/{name}")
    if pages_data.tier(row) in GRAVE:
        typed(row, sent, where)
    if plan_of(found).note_required and not says_something(sent.get("note")[:MAX_NOTE]):
        raise Stop(422, "reason", back=where)
    return _closed(sent, name, seeds.YES)


@router.post("/items/{name}/no")
def no(sent: Sent, name: Id) -> Response:
    """Say no to a call or an item."""
    found = open_seed(sent.visit, name)
    if found is None:
        return web_answers.no(sent, name)
    proven_row(sent, as_question(found), sent.get("shown"))
    if sent.get("code") not in REASONS:
        raise Stop(422, "code", back=link(f"/items/{name}"))
    return _closed(sent, name, seeds.NO)


_OTHERS: Final = {
    "ask": web_talk.ask,
    "respond": web_talk.respond,
    "escalate": web_talk.escalate,
    "snooze": web_talk.snooze,
}


@router.post("/items/{name}/ask")
@router.post("/items/{name}/respond")
@router.post("/items/{name}/escalate")
@router.post("/items/{name}/snooze")
def other(request: Request, sent: Sent, name: Id) -> Response:
    """Do anything else: to an item that is a doubt, and closes it; nothing that was typed is kept."""
    what = request.url.path.rpartition("/")[2]
    found = open_seed(sent.visit, name)
    return _OTHERS[what](sent, name) if found is None else _closed(sent, name, seeds.DOUBT)


def _closed(sent: Posted, name: str, said: str) -> Response:
    seeds.answer(sent.visit.desk.queue, name, sent.visit.reviewer, said)
    return back(link(f"/attention/{name}"))


@router.get("/attention/{name}")
def revealed(visit: Looking, name: Id) -> Response:
    """Say what an item was that this person has answered."""
    found = seeds.find(visit.desk.queue, name, visit.reviewer)
    if found is None or not found.answer:
        raise NotFoundError("there is no such item")
    told = found.revealed()
    shown = {key: line(str(told[key])) for key in ("tool", "path", "good", "bad")}
    return visit.page("revealed.html", caught=bool(told["caught"]), flaw=found.flaw, shown=shown, answer=found.answer)


@router.get("/attention")
def attention(visit: Looking, done: str = "") -> Response:
    """Show what seeded items are, whether one has agreed, one's own figures, and those of the team."""
    queue = visit.desk.queue
    mine = next((item for item in seeds.consents(queue) if item.reviewer == visit.reviewer.name), None)
    return visit.page(
        "attention.html",
        per_week=visit.desk.seeded_items,
        agreed=mine.agreed_at if mine is not None and mine.holds else None,
        own=seed_figures.own(queue.store, visit.reviewer),
        team=seed_figures.team(queue.store),
        least=seed_figures.MIN_PEOPLE,
        notice=done,
    )


@router.post("/attention/agree")
def agree(sent: Sent) -> Response:
    """Agree to be shown seeded items."""
    seeds.agree(sent.visit.desk.queue, sent.visit.reviewer)
    return back(f"{HOME}/attention?done=attention.agreed")


@router.post("/attention/withdraw")
def withdraw(sent: Sent) -> Response:
    """Take that back."""
    seeds.withdraw(sent.visit.desk.queue, sent.visit.reviewer)
    return back(f"{HOME}/attention?done=attention.withdrawn")


__all__ = ["open_seed", "router"]
