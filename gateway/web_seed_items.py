"""A seeded item as a page shows it: like any other question, to the one person it was made for.

1. The pages of a call look here first: an id that is an item's, open, and this person's, is shown as a card. 2. An
answer passes the same checks as any: seal, time to look, what has to be typed. 3. It is closed, and the next page says
that it was made up, and what was to be seen.

Guarantees: nobody else, and nobody who has not agreed, is ever shown one; nothing here calls the queue's decisions.
"""

from __future__ import annotations

from typing import Final

from fastapi.responses import Response

from checkvalve.approvals import pages_data, seeds
from checkvalve.approvals.audit import Event
from checkvalve.approvals.seed_cards import as_question, items_of, plan_of
from checkvalve.approvals.seeds import Seed
from checkvalve.approvals.story import Story
from checkvalve.gateway.web_card import view
from checkvalve.gateway.web_desk import Posted, Visit, back, link
from checkvalve.gateway.web_glass_view import GlassView
from checkvalve.gateway.web_item_parts import hidden_from, item_view, now_ms, show_bytes, shown_seal
from checkvalve.gateway.web_quorum_view import QuorumView
from checkvalve.gateway.web_reveal_view import reveal_view
from checkvalve.gateway.web_standing_view import card_note
from checkvalve.gateway.web_talk_view import SPANS, TalkView
from checkvalve.gateway.web_text import line
from checkvalve.gateway.web_views import CardView

_MINUTE: Final = 60_000_000  # microseconds


def open_seed(visit: Visit, name: str) -> Seed | None:
    """Return an item that waits for whoever is looking, None where there is none with this id."""
    found = seeds.find(visit.desk.queue, name, visit.reviewer)
    return found if found is not None and not found.answer else None


def seed_card(visit: Visit, seed: Seed) -> Response:
    """Return the card of an item."""
    queue = visit.desk.queue
    row, now = queue.veiling.seen(as_question(seed)), queue.clock()
    following = pages_data.waiting(queue.store, without=hidden_from(visit))[:1]
    plan = plan_of(seed)
    ways = tuple(tuple((need.count, need.role.value) for need in needs) for needs in plan.approve)
    spans = tuple((span, span * _MINUTE) for span in SPANS if now + span * _MINUTE < seed.expires_at)
    nothing = line("")
    return visit.page(
        "card.html",
        card=view(
            row,
            items=items_of(seed),
            events=_events(visit, seed),
            unpack=visit.desk.unpack,
            story=Story(sender=row.requester),
        ),
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
        pinned=None,
        crash=None,
        reveal=reveal_view(visit, row),
    )


def _events(visit: Visit, seed: Seed) -> list[Event]:
    """Return the history that any question has; the log itself says what this one is."""
    found = pages_data.log_of(visit.desk.queue.store, seed.id)[:1]
    return [Event(item.seq, item.at, "proposal.recorded", seed.id, "{}", "", "") for item in found]


def item_card(visit: Visit, seed: Seed) -> CardView:
    """Return an item as the card that stands beside a form."""
    return view(visit.desk.queue.veiling.seen(as_question(seed)), items=items_of(seed))


def seed_in(visit: Visit, thread: str) -> Seed | None:
    """Return the item that waits for whoever is looking in a task, None where there is none."""
    return next((one for one in seeds.open_for(visit.desk.queue, visit.reviewer) if one.body["thread"] == thread), None)


def seed_run(visit: Visit, seed: Seed) -> Response:
    """Return what was made up around an item, as the page of its run."""
    queue, thread = visit.desk.queue, str(seed.body["thread"])
    row = queue.veiling.seen(as_question(seed))
    return visit.page(
        "run.html",
        thread=line(thread),
        thread_name=thread,
        items=[item_view(item, row.veil) for item in items_of(seed)],
        more=0,
        after=0,
        calls=[view(row, items=items_of(seed))],
        flood=queue.flood(thread),
        now=queue.clock(),
    )


def seed_bytes(visit: Visit, seed: Seed, start: int) -> Response:
    """Return a page of the canonical bytes of an item."""
    return show_bytes(visit, visit.desk.queue.veiling.seen(as_question(seed)), start)


def closed(sent: Posted, name: str, said: str) -> Response:
    """Take the answer to an item, and go to the page that says what it was."""
    seeds.answer(sent.visit.desk.queue, name, sent.visit.reviewer, said)
    return back(link(f"/attention/{name}"))


def doubted(sent: Posted, name: str) -> Response | None:
    """Close an item about which somebody asked, or which they put off or passed on; None where it is none.

    Nothing that was typed is kept.
    """
    return None if open_seed(sent.visit, name) is None else closed(sent, name, seeds.DOUBT)


__all__ = ["closed", "doubted", "item_card", "open_seed", "seed_bytes", "seed_card", "seed_in", "seed_run"]
