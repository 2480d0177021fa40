"""Erasing what a call was about does not let its effect happen a second time without a question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.erasure import erase_call
from checkvalve.approvals.records import State
from checkvalve.approvals.store import Store
from checkvalve.graphs.calls import Call
from checkvalve.graphs.session import GuardSession
from tests.undo_world import Office

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield Office(store, tmp_path)


def repeated(office: Office, tool: str, **args: Any) -> Any:
    """Return whether a further call of the task counts as done before."""
    session = GuardSession(office.services, "task", "bob")
    return session.decision(Call(tool, args, "c9@t9", turn="t9")).facts["repeated"]


def test_after_erasing_every_further_effect_of_the_tool_counts_as_the_same(office: Office) -> None:
    sent: dict[str, Any] = {"to": "ann@corp.example", "id": "n1"}
    done = office.act("send_note", **sent)
    assert done.state is State.SUCCEEDED
    assert repeated(office, "send_note", **sent)
    assert not repeated(office, "send_note", to="ben@corp.example", id="n1")
    with office.store.write() as connection:
        erase_call(connection, done.proposal.id, at=office.clock(), by="ann", reason="asked for")
    assert repeated(office, "send_note", **sent)
    assert repeated(office, "send_note", to="ben@corp.example", id="n1")  # nobody can tell any more what it was
    assert not repeated(office, "delete_note", id="n1")


def test_an_erased_call_that_did_nothing_stands_for_no_effect(office: Office) -> None:
    sent: dict[str, Any] = {"to": "ann@corp.example", "id": "n1"}
    asked = office.act("send_note", approve=False, **sent).proposal
    office.queue.reject(asked.id, office.person())
    with office.store.write() as connection:
        erase_call(connection, asked.id, at=office.clock(), by="ann", reason="asked for")
    assert not repeated(office, "send_note", **sent)
