"""What is read at every visit and for every call is read within indexes: it costs what is there, not all there was."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from checkvalve.approvals import pages_data
from checkvalve.approvals.store import Store
from checkvalve.approvals.subjectrows import read


def plan(store: Store, statement: str, parameters: tuple[Any, ...]) -> list[str]:
    with store.read() as connection:
        cursor = connection.connection.cursor()
        cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
        return [str(row[-1]) for row in cursor.fetchall()]


def statements(store: Store, step: str) -> list[tuple[str, Any]]:
    found = list[tuple[str, Any]]()

    def note(*call: object) -> None:
        found.append((str(call[2]), call[3]))

    sa.event.listen(store._engine, "before_cursor_execute", note)
    if step == "load":
        pages_data.load(store, 1, reviewer="ann")
    else:
        with store.read() as connection:
            read(connection, "0" * 36)
    sa.event.remove(store._engine, "before_cursor_execute", note)
    return [(text, given) for text, given in found if text.startswith("SELECT")]


def scans(steps: list[str]) -> list[str]:
    return [
        step for step in steps if step.startswith("SCAN ") and "CONSTANT ROW" not in step and "SCAN asked" not in step
    ]


def test_the_load_of_the_queue(store: Store) -> None:
    (lately,) = [one for one in statements(store, "load") if "votes" in one[0]]
    steps = plan(store, *lately)
    assert scans(steps) == []
    assert any("ix_votes_reviewer" in step for step in steps)


def test_the_rows_of_one_call(store: Store) -> None:
    (whole,) = statements(store, "rows")
    assert scans(plan(store, *whole)) == []
