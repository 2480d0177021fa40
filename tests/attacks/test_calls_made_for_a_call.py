"""Attack: what a call said is taken from a call that was made for it: a preview, a read, a probe, an undoing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa

from checkvalve.approvals import pins, previews, probes, undos
from checkvalve.approvals.asides import ASIDES, made_for, threads_of
from checkvalve.approvals.erasure import erase_call, erase_thread
from checkvalve.approvals.records import State
from checkvalve.approvals.tables import attempts, events, proposals
from checkvalve.approvals.verify import verify
from tests.gateway.probe_world import MANIFEST, PAY, Bank

SECRET: Final = "canary-7731-secret-words"
MEMO: Final = "memo: {role: content, optional: true}"
KEPT: Final = (proposals, attempts, events)


def everything(bank: Bank) -> str:
    """Return what is stored of calls: their rows and events."""
    with bank.queue.store.read() as connection:
        return "\n".join(str(row) for table in KEPT for row in connection.execute(sa.select(table)))


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    assert MEMO in MANIFEST
    found = Bank(tmp_path, MANIFEST.replace(MEMO, MEMO.replace("}", ", redact: true}")))
    yield found
    found.end()


@pytest.mark.claim("C5")
@pytest.mark.parametrize("whole", [False, True], ids=["call", "task"])
def test_an_erased_call_leaves_nothing_in_the_reads_that_looked_for_it(bank: Bank, *, whole: bool) -> None:
    bank.lost(says=lambda: {"state": "booked", "memo": SECRET})
    row = bank.row()
    assert row.state is State.CONFIRMED_DONE
    assert SECRET in everything(bank)
    with bank.queue.store.write() as connection:
        if whole:
            erase_thread(connection, "t", at=bank.hand(), by="ann", reason="asked to")
        else:
            erase_call(connection, row.id, at=bank.hand(), by="ann", reason="asked to")
    left = everything(bank)
    assert SECRET not in left
    assert str(PAY[1]["to"]) not in left
    assert verify(bank.queue.store).ok


@pytest.mark.claim("C8")
@pytest.mark.parametrize("start", ASIDES)
def test_a_secret_of_a_call_is_shown_with_no_call_that_was_made_for_it(bank: Bank, start: str) -> None:
    bank.ask(bank.agent(("pay", {**PAY[1], "memo": SECRET})))
    veiling = bank.queue.veiling
    shown = veiling.veil("t").text(f"is {SECRET}")
    assert SECRET not in shown
    assert veiling.veil(f"{start}{bank.waiting().id}").text(f"is {SECRET}") == shown


@pytest.mark.claim("C5", "C8")
def test_every_kind_of_such_a_call_is_known() -> None:
    found = {module.THREAD for module in (pins, previews, probes, undos)}
    assert found == set(ASIDES)
    assert {made_for(f"{start}x") for start in ASIDES} == {"x"} == {made_for(undos.thread_for("x", 2))}
    assert set(threads_of("x")) == {module.thread_for("x") for module in (pins, previews, probes)}
    assert made_for("t") == ""
