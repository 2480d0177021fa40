"""How many statements it costs to know who somebody is: each request pays it, so it is bounded like a step of a call.

Nothing of it is kept from one request to the next: an account that was edited, or ended, counts from then on.
"""

from __future__ import annotations

from datetime import timedelta

from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.sessions import Sessions
from checkvalve.approvals.store import Store
from tests.approvals.made import Desk
from tests.conformance.test_statement_counts import most


def test_whose_token_this_is(store: Store, desk: Desk) -> None:
    """The account by its selector; then its events, which say what its row has to be."""
    most(store, 4, lambda: desk.queue.reviewers.authenticate(desk.token))


def test_whose_session_this_is(store: Store, desk: Desk) -> None:
    """The session, the account and its events, and the events of the session."""
    day = timedelta(days=1).total_seconds()
    held = Sessions(store, desk.clock, idle=day, absolute=day)
    name = held.start(Proof(desk.reviewer, "token", desk.clock()))
    most(store, 5, lambda: held.find(name))
