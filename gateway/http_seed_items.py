"""A seeded item over HTTP: shown to the one person it was made for like any other call, and revealed at once.

Guarantees: a client's token, and every other reviewer's, never gets one; nothing that comes before the answer says what
it is; nothing here calls the queue's decisions.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import Response

from checkvalve.approvals import seeds
from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.refusals import SeededError
from checkvalve.approvals.revisions import same_revision
from checkvalve.approvals.seed_cards import as_question, items_of, standing_of
from checkvalve.approvals.seeds import Seed
from checkvalve.approvals.story import Story, agent_words, said
from checkvalve.gateway.http_approval_views import Card, card
from checkvalve.gateway.http_callers import Caller
from checkvalve.gateway.http_deciding import digest_of, own_call, refused, require_digest
from checkvalve.gateway.http_runs import RunServer

_REVISION: Final = 1  # nothing is ever added to an item
_SAID: Final = {"approve": seeds.YES, "reject": seeds.NO}


def seed_of(server: RunServer, caller: Caller, name: str) -> Seed | None:
    """Return an item of the caller, open or answered by them, None where there is none with this id."""
    return None if caller.reviewer is None else seeds.find(server.gateway.queue, name, caller.reviewer)


def seed_card(server: RunServer, seed: Seed, response: Response) -> Card:
    """Return an item as the card of a call; an answered one says what it was."""
    response.headers["ETag"] = f'"{seed.body["digest"]}"'
    response.headers["Cache-Control"] = "no-store"
    return _revealed(server, seed) if seed.answer else _card(server, seed)


def decide_seed(  # each is a part of the request
    server: RunServer, caller: Caller, seed: Seed, answer: str, if_match: str, seen: int | None = None
) -> Card:
    """Take the answer to an item; the card that comes back says what it was, with ``state`` as ``revealed``."""
    try:
        row = as_question(seed)
        require_digest(row, digest_of(if_match))
        same_revision(row, _REVISION, seen)
        said = _SAID.get(answer, seeds.DOUBT)
        closed = seeds.answer(server.gateway.queue, seed.id, caller.must_decide(), said)
    except ApprovalError as error:
        raise refused(error) from error
    return _revealed(server, closed)


def to_act_on(server: RunServer, caller: Caller, name: str) -> Proposal:
    """Return a call about which the caller does something else than deciding it.

    Done to an item it is a doubt, which closes it: nothing that was sent is kept.

    Raises:
        Problem: there is no such call of theirs; or it is an item, open until now or answered before.
    """
    if seed_of(server, caller, name) is not None:
        try:
            seeds.answer(server.gateway.queue, name, caller.must_decide(), seeds.DOUBT)
            raise SeededError("this question was made up, and you have answered it", remedy="go on with the next one")
        except ApprovalError as error:
            raise refused(error) from error
    return own_call(server, caller, name)


def _revealed(server: RunServer, seed: Seed) -> Card:
    return _card(server, seed, state="revealed", seeded=seed.revealed())


def _card(server: RunServer, seed: Seed, **more: Any) -> Card:
    row = server.gateway.queue.veiling.seen(as_question(seed))
    items = items_of(seed)  # or what is made up would be told by what it lacks
    story = Story(said=said(items, row.veil), sender=row.requester, agent=agent_words(items, row.veil))
    return card(row, standing=standing_of(seed), story=story).model_copy(update=more)


__all__ = ["decide_seed", "seed_card", "seed_of", "to_act_on"]
