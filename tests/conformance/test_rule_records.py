"""Changes of the rules against their events: what is edited, planted or removed puts nothing into force; everywhere."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals.doubts import doubt
from checkvalve.approvals.errors import ApprovalError, NotAdoptedError, NotAllowedError, StoreCorruptError
from checkvalve.approvals.review_tables import rule_changes, rule_texts
from tests.approvals.made import Desk
from tests.approvals.rules_world import Hall, adopted, draft

CLAIMED = pytest.mark.claim("C4")


@pytest.fixture
def hall(desk: Desk) -> Hall:
    return Hall(desk)


EDITS: dict[str, dict[str, Any]] = {
    "adopted_by_hand": {"state": "adopted", "decided_by": "ben", "decided_at": 5},
    "other_parts": {"parts": "{}"},
    "other_digest": {"digest": "sha256:" + "0" * 64},
    "other_base": {"base": ""},
    "other_author": {"proposed_by": "ben"},
    "other_impact": {"impact": '{"calls":1}'},
    "other_reason": {"note": "harmless"},
    "later": {"expires_at": 4_000_000_000_000_000},
    "longer": {"overlap": 86_400},
    "alone": {"alone": "first"},
    "other_tenant": {"tenant": "two"},
    "version": {"version": 7},
}


@pytest.mark.claim("C5")
@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_row_is_found_and_confirms_nothing(hall: Hall, edit: str) -> None:
    adopted(hall.known, hall.ann, hall.ben)
    made = hall.known.propose(draft(hall.known, policy="x\n"), hall.ann)
    with hall.store.write() as connection:
        mine = sa.update(rule_changes).where(rule_changes.c.id == made.id)
        connection.execute(mine.values(**EDITS[edit]))
    assert {"row_differs", "row_missing"} & set(hall.findings())
    with pytest.raises(StoreCorruptError):
        hall.known.confirm(made.id, hall.ben, made.digest)
    with pytest.raises(StoreCorruptError):
        hall.require(hall.guard())


@pytest.mark.claim("C5")
@pytest.mark.parametrize("what", ["planted", "removed", "all_removed", "text_edited", "text_removed", "not_replaced"])
def test_what_was_planted_or_removed_beside_the_log_puts_nothing_into_force(hall: Hall, what: str) -> None:
    first = adopted(hall.known, hall.ann, hall.ben)
    second = adopted(hall.known, hall.ann, hall.ben, policy="x\n")
    running = hall.guard(policy="x\n")
    hall.require(running)
    with hall.store.write() as connection:
        row = dict(connection.execute(sa.select(rule_changes).where(rule_changes.c.id == second.id)).mappings().one())
        texts = rule_texts.c
        match what:
            case "planted":
                planted = {**row, "id": "00000000-0000-4000-8000-000000000000", "digest": first.digest}
                connection.execute(sa.insert(rule_changes).values(planted))
            case "removed":
                connection.execute(sa.delete(rule_changes).where(rule_changes.c.id == second.id))
            case "all_removed":
                connection.execute(sa.delete(rule_changes))
            case "text_edited":
                edited = sa.update(rule_texts).where(texts.digest == second.parts["policy"])
                connection.execute(edited.values(text="permit everything\n"))
            case "text_removed":
                connection.execute(sa.delete(rule_texts).where(texts.digest == second.parts["policy"]))
            case _:
                back = sa.update(rule_changes).where(rule_changes.c.id == first.id)
                connection.execute(back.values(until=None))
    assert {"row_differs", "row_missing"} & set(hall.findings())
    with pytest.raises(StoreCorruptError):  # a process that starts
        hall.require(hall.guard(policy="x\n"))
    if not what.startswith("text"):
        with pytest.raises(StoreCorruptError):  # and one that runs
            hall.require(running)
    with pytest.raises(ApprovalError):
        hall.known.texts(hall.known.current())


@CLAIMED
def test_after_a_log_was_closed_in_doubt_nothing_counts_and_one_of_several_administrators_adopts_nothing(
    hall: Hall,
) -> None:
    adopted(hall.known, hall.ann, hall.ben)
    guard = hall.guard()
    hall.require(guard)
    with hall.store.write() as connection:  # what closing a log does with rules that are in doubt
        connection.execute(sa.delete(rule_changes))
        connection.execute(sa.delete(rule_texts))
        doubt(connection, "rules:", at=hall.clock(), body={"code": "log_restarted"}, rows=False)
    assert hall.findings() == []
    for process in (guard, hall.guard()):
        with pytest.raises(NotAdoptedError, match="in doubt"):
            hall.require(process)
    made = hall.known.propose(draft(hall.known), hall.ann)
    assert made.state == "waiting"
    with pytest.raises(NotAllowedError, match="yourself"):
        hall.known.confirm(made.id, hall.ann, made.digest)
    hall.people.disable("ben", by=hall.ann)
    assert hall.known.confirm(made.id, hall.ann, made.digest).alone == "first"
    hall.require(guard)
    assert hall.findings() == []


def test_a_planted_text_is_found(hall: Hall) -> None:
    adopted(hall.known, hall.ann, hall.ben)
    with hall.store.write() as connection:
        connection.execute(sa.insert(rule_texts).values(digest="sha256:" + "1" * 64, text="x"))
    assert hall.findings() == ["row_differs"]


def test_texts_come_back_byte_for_byte(hall: Hall) -> None:
    odd = "\ufeffa\r\nb\x00c\ud7ff\ufdd0\ufdd1\u2028 \u202e\tno end"
    made = adopted(hall.known, hall.ann, hall.ben, policy=odd)
    assert hall.known.texts(made)["policy"] == odd
    assert hall.findings() == []
