"""A seeded item over HTTP: shown to the one person it was made for like any other call, and revealed at once.

1. Until it is answered it is told in the same words as a real call that waits: card, result, undoing, place in a list.
2. What would be refused of a real call is refused of it in the same words, and leaves it open: who sends that to every
question learns nothing. 3. What a real call would take counts as an answer.

Guarantees: a client's token, and every other reviewer's, never gets one; nothing that comes before the answer says what
it is; nothing here calls the queue's decisions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fastapi import Response

from checkvalve.approvals import seeds
from checkvalve.approvals.errors import ApprovalError, NoteNeededError
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.refusals import SeededError
from checkvalve.approvals.revisions import same_revision
from checkvalve.approvals.said_where import require_channel
from checkvalve.approvals.seed_cards import as_question, items_of, plan_of, standing_of
from checkvalve.approvals.seeds import Seed
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.spoken import says_something
from checkvalve.approvals.story import Story, agent_words, said
from checkvalve.gateway.http_approval_views import Answer, Card, card
from checkvalve.gateway.http_callers import Caller
from checkvalve.gateway.http_deciding import Wanted, own_call, refused
from checkvalve.gateway.http_runs import RunServer

_REVISION: Final = 1  # nothing is ever added to an item
_SAID: Final = {"approve": seeds.YES, "reject": seeds.NO}


def seed_of(server: RunServer, caller: Caller, name: str) -> Seed | None:
    """Return an item of the caller, open or answered by them, None where there is none with this id."""
    return None if caller.reviewer is None else seeds.find(server.gateway.queue, name, caller.reviewer)


def open_seed(server: RunServer, caller: Caller, name: str) -> Seed | None:
    """Return an item that waits for the caller, None where there is none with this id."""
    found = seed_of(server, caller, name)
    return None if found is None or found.answer else found


def seed_card(server: RunServer, seed: Seed, response: Response) -> Card:
    """Return an item as the card of a call; an answered one says what it was."""
    response.headers["ETag"] = f'"{seed.body["digest"]}"'
    response.headers["Cache-Control"] = "no-store"
    return _revealed(server, seed) if seed.answer else _card(server, seed)


def outcome_of(server: RunServer, caller: Caller, name: str) -> Outcome | None:
    """Return how an item stands that waits for the caller: like any call that nobody has decided."""
    found = open_seed(server, caller, name)
    return None if found is None else Outcome(as_question(found))


def decide_seed(  # each is a part of the request
    server: RunServer, caller: Caller, seed: Seed, body: Answer, wanted: Wanted, usable: Callable[[Seen], None]
) -> Card:
    """Take the answer to an item; the card that comes back says what it was, with ``state`` as ``revealed``.

    ``usable`` raises what an answer of this form would meet at any call.
    """
    queue = server.gateway.queue
    try:
        row = as_question(seed)
        if not seed.answer:
            same_revision(row, _REVISION, wanted.seen)
            usable(queue.veiling.seen(row))
            if body.type == "approve":
                _require_yes(seed, body.message)
        wanted.require_digest(row)
        closed = seeds.answer(queue, seed.id, caller.must_decide(), _SAID.get(body.type, seeds.DOUBT))
    except ApprovalError as error:
        raise refused(error) from error
    return _revealed(server, closed)


def _require_yes(seed: Seed, note: str) -> None:
    """Make sure that a yes would be taken here and in this form, as :mod:`checkvalve.approvals.deciding` does."""
    plan = plan_of(seed)
    require_channel(plan, "rest")
    if plan.note_required and not says_something(note):
        raise NoteNeededError("a yes to this call takes a reason in words", remedy="say why it is right: a note")


def to_act_on(
    server: RunServer,
    caller: Caller,
    name: str,
    *,
    wanted: Wanted | None = None,
    refusing: Callable[[Proposal], object] | None = None,
) -> Proposal:
    """Return a call about which the caller does something else than deciding it.

    Done to an item it is a doubt, which closes it: nothing that was sent is kept. What ``refusing`` raises, and another
    digest or revision than ``wanted``, leave it open.

    Raises:
        Problem: there is no such call of theirs; or it is an item, open until now or answered before.
    """
    if (found := seed_of(server, caller, name)) is None:
        return own_call(server, caller, name)
    try:
        row = as_question(found)
        if not found.answer:
            if wanted is not None:
                wanted.require_digest(row)
                same_revision(row, _REVISION, wanted.seen)
            if refusing is not None:
                refusing(row)
        seeds.answer(server.gateway.queue, name, caller.must_decide(), seeds.DOUBT)
        raise SeededError("this question was made up, and you have answered it", remedy="go on with the next one")
    except ApprovalError as error:
        raise refused(error) from error


def _revealed(server: RunServer, seed: Seed) -> Card:
    return _card(server, seed, state="revealed", seeded=seed.revealed())


def _card(server: RunServer, seed: Seed, **more: Any) -> Card:
    row = server.gateway.queue.veiling.seen(as_question(seed))
    items = items_of(seed)  # or what is made up would be told by what it lacks
    story = Story(said=said(items, row.veil), sender=row.requester, agent=agent_words(items, row.veil))
    return card(row, standing=standing_of(seed), story=story).model_copy(update=more)


__all__ = ["decide_seed", "open_seed", "outcome_of", "seed_card", "seed_of", "to_act_on"]
