"""How many statements each step of a call sends to its database: an upper bound that a careless change would break.

Time is not asserted, since it depends on the machine; what one step costs on any machine follows from these numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from checkvalve.approvals.executor import Executor
from checkvalve.approvals.store import Store
from tests.approvals.made import ALLOW, Desk


@contextmanager
def sent(store: Store) -> Iterator[list[str]]:
    """Give the statements that are sent while the block runs, the beginning of a transaction included."""
    found = list[str]()

    def note(*call: object) -> None:
        found.append(str(call[2]))

    sa.event.listen(store._engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        sa.event.remove(store._engine, "before_cursor_execute", note)


def most(store: Store, bound: int, step: Callable[[], object]) -> None:
    with sent(store) as found:
        step()
    assert len(found) <= bound, "\n".join(" ".join(one.split())[:160] for one in found)


def test_a_question_from_its_proposal_to_its_end(store: Store, desk: Desk) -> None:
    desk.approve(desk.propose())  # connections are there
    request = desk.request(thread="counted")
    most(store, 8, lambda: desk.propose(request=request))
    proposal = desk.propose(request=request)
    most(store, 4, lambda: desk.propose(request=request))
    most(store, 14, lambda: desk.queue.approve(proposal.id, desk.reviewer, proposal.digest, endorse=False))
    # two of them count the rights of who said yes once more: everybody's accounts, and the events of that one
    most(store, 22, lambda: Executor(desk.queue).run(proposal.id, lambda _args, _key: "sent"))
    most(store, 5, lambda: Executor(desk.queue).look(proposal.id))


def test_a_call_that_a_rule_allows(store: Store, desk: Desk) -> None:
    desk.propose(ALLOW)
    request = desk.request(thread="allowed")
    most(store, 8, lambda: desk.propose(ALLOW, request=request))
    proposal = desk.propose(ALLOW, request=request)
    most(store, 19, lambda: Executor(desk.queue).run(proposal.id, lambda _args, _key: "sent"))


def test_a_yes_that_accepts_data(store: Store, desk: Desk) -> None:
    proposal = desk.propose()
    most(store, 17, lambda: desk.approve(proposal))


def test_a_no(store: Store, desk: Desk) -> None:
    proposal = desk.propose()
    most(store, 10, lambda: desk.queue.reject(proposal.id, desk.reviewer, "no"))
