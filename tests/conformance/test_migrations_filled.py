"""From every version with something in every table to the present one: nothing is lost, and it opens and verifies.

1. Rows are made by the type of each column, in every table that a version has. So a revision that is added later is
   tried as well, and a column of a type that nobody thought of makes the test fail.
2. ``data/filled_N.json`` is what the program of version N had written; what it wrote has to verify. A revision that is
   added later needs the file of the one before.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from checkvalve.approvals import audit, schema
from checkvalve.approvals.audit import commitment, event_form
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.sealer import Sealer
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import SCHEMA_REVISION, metadata, reviewers
from checkvalve.approvals.verify import verify
from tests.approvals.made import Desk, HandClock, fill
from tests.approvals.sealed import QUICK_KEY
from tests.conformance.test_migrations import made_by, restore
from tests.databases import Databases

DATA = Path(__file__).resolve().parent / "data"
VERSIONS = Path(schema.__file__).resolve().parent / "migrations" / "versions"
REVISIONS = sorted(path.name[:4] for path in VERSIONS.glob("[0-9]*.py"))
ROWS = 3
STRANGE = "'\"\\ü字 \u202e\n"
_CHAIN = frozenset({"events", "audit_head"})
_KEPT = _CHAIN | {"alembic_version"}

Row = dict[str, Any]


@pytest.fixture
def empty(databases: Databases) -> str:
    return databases.make()


def value(column: sa.Column[Any], number: int) -> Any:
    """Return a value for a column: another one for each row, and for a reference that of the row it refers to."""
    for key in column.foreign_keys:
        return value(key.column, number)
    if column.nullable and number == ROWS - 1:
        return None
    if isinstance(column.type, sa.Boolean):
        return bool(number % 2)
    if isinstance(column.type, sa.Integer):
        return (1_800_000_000_000_000 if isinstance(column.type, sa.BigInteger) else 7) + number
    if isinstance(column.type, sa.LargeBinary):
        return bytes([number]) + b"\x00\xff" + column.name.encode()
    if isinstance(column.type, sa.String):
        text = f"{number}{column.name}" + (STRANGE if column.type.length is None else "ü")
        return text[: column.type.length]
    raise AssertionError(f"{column.table.name}.{column.name}: say how a value of {column.type!r} is made")


def chain(*, committed: bool) -> list[Row]:
    """Return events as a version wrote them: bodies in the hashes, or commitments to them."""
    made, prev = list[Row](), ""
    for seq in range(1, ROWS + 1):
        body, salt = f'{{"n":{seq}}}', f"{seq:064x}"
        hashed = commitment(salt, body) if committed else body
        form = event_form(prev, seq=seq, at=seq, kind="test", subject="s", hashed=hashed, committed=committed)
        new = "sha256:" + hashlib.sha256(form).hexdigest()
        more = {"salt": salt, "commitment": hashed} if committed else {}
        event = {"seq": seq, "at": seq, "kind": "test", "subject": "s", "body": body, "prev": prev, "hash": new}
        made.append(event | more)
        prev = new
    return made


def filled(connection: sa.Connection) -> dict[str, list[Row]]:
    """Write rows into every table that there is, and return them."""
    tables = sa.MetaData()
    tables.reflect(connection)
    written = {"events": chain(committed="commitment" in tables.tables["events"].c)}
    connection.execute(sa.insert(tables.tables["events"]), written["events"])
    end = written["events"][-1]
    connection.execute(sa.update(tables.tables["audit_head"]).values(seq=end["seq"], hash=end["hash"]))
    for table in tables.sorted_tables:
        if table.name not in _KEPT:
            rows = [{column.name: value(column, number) for column in table.c} for number in range(ROWS)]
            connection.execute(sa.insert(table), rows)
            written[table.name] = rows
    return written


def found(connection: sa.Connection, name: str, names: list[str]) -> list[Row]:
    table = sa.Table(name, sa.MetaData(), autoload_with=connection)
    rows = connection.execute(sa.select(*(table.c[one] for one in names))).mappings()
    return [{one: _plain(cell) for one, cell in row.items()} for row in rows]


def _plain(cell: Any) -> Any:
    return bytes(cell) if isinstance(cell, memoryview) else cell


def differing(connection: sa.Connection, written: dict[str, list[Row]]) -> list[str]:
    """Return the tables that do not hold exactly what was written, in the columns that there were."""
    kept = {name: found(connection, name, list(rows[0])) for name, rows in written.items()}
    return sorted(name for name, rows in written.items() if in_order(kept[name]) != in_order(rows))


def in_order(rows: list[Row]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


@pytest.mark.claim("C5")
@pytest.mark.parametrize("revision", REVISIONS)
def test_nothing_of_any_table_is_lost(empty: str, revision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with made_by(revision, empty, monkeypatch) as old, old.write() as connection:
        written = filled(connection)
    assert len(written) >= 7
    with Store.open(empty, create=False) as store:
        with store.read() as connection:
            assert schema.revision(connection) == SCHEMA_REVISION
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
            assert differing(connection, written) == []
        report = verify(store)
        assert {finding.seq for finding in report.findings} <= {0}, "the chain is as it was; no event tells of the rows"
        assert (report.events, audit.head(store).seq) == (ROWS, ROWS)


@pytest.mark.claim("C5")
@pytest.mark.parametrize("revision", REVISIONS)
def test_what_the_program_of_any_version_wrote_verifies_and_goes_on(
    empty: str, revision: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if revision == REVISIONS[-1]:
        with Store.open(empty) as store:
            fill(store)
    else:
        with made_by(revision, empty, monkeypatch) as old:
            restore(old, DATA / f"filled_{max(revision, '0002')}.json")  # version 2 added a table that it left empty
    with Store.open(empty, create=False) as store:
        assert verify(store).ok
        Sealer(store, QUICK_KEY, tmp_path / "signed").seal()
        with store.read() as connection:
            ann = connection.execute(sa.select(reviewers).where(reviewers.c.name == "ann")).one()
        clock = HandClock()
        Desk.over(Queue(store, clock), clock, Reviewer(ann.name, ann.selector)).grant()
        Sealer(store, QUICK_KEY, tmp_path / "signed").seal()
        report = verify(store, keys=QUICK_KEY.public)
        assert (report.ok, report.signed is not None) == (True, True), report.findings


def test_a_lost_row_and_a_changed_cell_would_be_noticed(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the comparison is one."""
    with made_by("0001", empty, monkeypatch) as old, old.write() as connection:
        written = filled(connection)
    with Store.open(empty, create=False) as store, store.write() as connection:
        connection.exec_driver_sql("DELETE FROM attempts WHERE fence = 8")
        connection.exec_driver_sql("UPDATE grants SET issued_by = 'other' WHERE used_at IS NULL")
        assert differing(connection, written) == ["attempts", "grants"]
