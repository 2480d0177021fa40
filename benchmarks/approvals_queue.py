"""Measure the review queue: create, decide, claim and complete, with 1, 8 and 32 clients, on SQLite and PostgreSQL.

``python benchmarks/approvals_queue.py`` starts a PostgreSQL server that syncs its disk, where one is installed, and
writes ``approvals_queue/results.json`` and ``table.md``, and the table into ``docs/measuring.md``. ``--write`` only
writes the tables anew from the results, ``--check`` says whether they are up to date, ``--items N`` is a short
look that writes nothing.

Every client is a process of its own with connections of its own. Beside each figure stands the same work as bare SQL:
the very rows that the product wrote, by plain INSERT and UPDATE through the driver, in the same transactions, in the
same run. What the product does more is in the ratio: checks, canonical forms, the hash chain, one order of all events.
How many statements it sends for each step, the beginning of a transaction included, depends on no machine.
"""

import argparse
import json
import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent))  # the tests' PostgreSQL server; last, so that no bare name hides another package

import sqlalchemy as sa  # noqa: E402

from checkvalve.approvals.errors import StoreBusyError  # noqa: E402
from checkvalve.approvals.executor import Executor  # noqa: E402
from checkvalve.approvals.queue import Queue  # noqa: E402
from checkvalve.approvals.requests import ActionRequest  # noqa: E402
from checkvalve.approvals.reviewers import Reviewer  # noqa: E402
from checkvalve.approvals.store import Store  # noqa: E402
from checkvalve.approvals.tables import metadata  # noqa: E402
from tests.approvals.made import REVIEW, decided, people  # noqa: E402
from tests.databases import running_server  # noqa: E402

FOLDER, PAGE = HERE / "approvals_queue", HERE.parent / "docs" / "measuring.md"
START, END = "<!-- queue table -->", "<!-- /queue table -->"
CLIENTS = (1, 8, 32)
ITEMS = 192  # of each kind of work and number of clients
WORKS = ("create", "decide", "claim and complete")
DURABLE = ("shared_buffers=128MB", "max_connections=200")  # fsync and synchronous_commit are on by default
REFERENCE = {  # transactions per second by number of clients; pgbench and server on two cores, docs/measuring.md
    ("PostgreSQL", "create"): {1: 820, 8: 2630, 32: 4500},
    ("PostgreSQL", "decide"): {8: 700, 32: 650},  # with a hash chain in the transaction, as here
    ("PostgreSQL", "claim and complete"): {1: 209, 8: 1790, 32: 2230},
    ("SQLite", "create"): {1: 573},  # a chained append at FULL
}
Rows = dict[str, list[dict[str, Any]]]
Times = list[tuple[float, float]]
_FORK = get_context("fork")


def request(thread: str, number: int) -> ActionRequest:
    """Return a call like many: a mail to one person."""
    args = {"to": "ann@corp.example", "subject": f"Report {number}", "body": "As you asked. " * 20}
    return ActionRequest.build("send_mail", args, thread=thread, call_id="c", requester="bob")


def together(clients: int, work: Callable[[int], Times]) -> dict[str, float]:
    """Let ``clients`` processes do ``work`` at once; returns operations per second, and latencies in ms."""
    barrier, answers = _FORK.Barrier(clients), _FORK.SimpleQueue()

    def run(client: int) -> None:
        try:
            times = _timed(client, barrier, work)
            answers.put(times)
        except BaseException as error:  # noqa: BLE001  # told below
            answers.put(repr(error))

    started = [_FORK.Process(target=run, args=(client,)) for client in range(clients)]
    for process in started:
        process.start()
    found = [answers.get() for _ in started]
    for process in started:
        process.join()
    if failed := [item for item in found if isinstance(item, str)]:
        raise RuntimeError(failed[0])
    taken = sorted(time for _, _, times in found for time, _ in times)
    span = max(end for _, end, _ in found) - min(begin for begin, _, _ in found)
    return {
        "per_second": round(len(taken) / span, 1),
        "cpu": round(sum(cpu for _, _, times in found for _, cpu in times) / len(taken) * 1_000, 2),
        "p50": round(taken[len(taken) // 2] * 1_000, 2),
        "p99": round(taken[min(len(taken) - 1, len(taken) * 99 // 100)] * 1_000, 2),
    }


def _timed(client: int, barrier: Any, work: Callable[[int], Times]) -> tuple[float, float, Times]:
    barrier.wait(120)
    begin = time.perf_counter()
    times = work(client)
    return begin, time.perf_counter(), times


def timed(steps: Iterator[Callable[[], Any]]) -> Times:
    """Return how long each step took, and how much of it this process was at work, in seconds."""
    times = []
    for step in steps:
        start, cpu = time.perf_counter(), time.process_time()
        step()
        times.append((time.perf_counter() - start, time.process_time() - cpu))
    return times


def patiently(step: Callable[[int], Any], number: int) -> None:
    """Do it, and again where the store was busy for longer than it waits; the whole time counts."""
    for _ in range(20):
        try:
            step(number)
        except StoreBusyError:
            continue
        return
    step(number)


# ---------------------------------------------------------------------------------------------- the product


def product(url: str, clients: int, items: int, reviewer: Reviewer) -> dict[str, dict[str, float]]:
    """Measure the queue itself."""
    each = items // clients
    mine = {client: [request(f"{clients}-{client}-{n}", n) for n in range(each)] for client in range(clients)}
    ids: dict[int, list[tuple[str, str]]] = {}

    def work(name: str) -> Callable[[int], Times]:
        def run(client: int) -> list[float]:
            with Store.open(url, create=False) as store:
                queue = Queue(store)
                people(queue)
                steps: dict[str, Callable[[int], Any]] = {
                    "create": lambda n: queue.propose(mine[client][n], decided(REVIEW)),
                    "decide": lambda n: queue.approve(ids[client][n][0], reviewer, ids[client][n][1]),
                    "claim and complete": lambda n: Executor(queue).run(ids[client][n][0], lambda _, __: "sent"),
                }
                queue.paused()  # the connection is there
                return timed((lambda n=n: patiently(steps[name], n)) for n in range(each))

        return run

    found = {"create": together(clients, work("create"))}
    with Store.open(url) as store:
        rows = {(row.thread): (row.id, row.digest) for row in Queue(store).list()}
    ids |= {client: [rows[one.thread] for one in requests] for client, requests in mine.items()}
    return found | {name: together(clients, work(name)) for name in WORKS[1:]}


# ---------------------------------------------------------------------------------------------- bare SQL


def rows_of(store: Store, name: str) -> Rows:
    """Return every row that belongs to one call."""
    found: Rows = {}
    with store.read() as connection:
        for table in metadata.sorted_tables:
            column = table.c.get("proposal_id", table.c.get("subject"))
            column = table.c.id if table.name == "proposals" else column
            if column is not None:
                query = sa.select(table).where(column == name)
                found[table.name] = [dict(row) for row in connection.execute(query).mappings()]
    return found


def sample(url: str, reviewer: Reviewer) -> tuple[str, list[tuple[Rows, Rows]]]:
    """Do one call from its proposal to its end, and return what each transaction wrote: new rows, and changed ones."""
    with Store.open(url) as store:
        queue = Queue(store)
        people(queue)
        row = queue.propose(request("sample", 0), decided(REVIEW))
        states: list[Rows] = [{}, rows_of(store, row.id)]
        queue.approve(row.id, reviewer, row.digest)
        states.append(rows_of(store, row.id))
        Executor(queue).run(row.id, lambda _, __: states.append(rows_of(store, row.id)))
        states.append(rows_of(store, row.id))
    return row.id, [_written(before, after) for before, after in pairwise(states)]


def counted(url: str, reviewer: Reviewer) -> dict[str, int]:
    """Return how many statements each kind of work sends, on connections that are there."""
    found: dict[str, int] = {}
    with Store.open(url) as store:
        queue = Queue(store)
        people(queue)
        queue.paused()
        sent = list[str]()
        sa.event.listen(store._engine, "before_cursor_execute", lambda *call: sent.append(call[2]))  # noqa: SLF001
        row = queue.propose(request("counted", 0), decided(REVIEW))
        found["create"] = len(sent)
        queue.approve(row.id, reviewer, row.digest)
        found["decide"] = len(sent) - sum(found.values())
        Executor(queue).run(row.id, lambda _, __: "sent")
        found["claim and complete"] = len(sent) - sum(found.values())
    return found


def _written(before: Rows, after: Rows) -> tuple[Rows, Rows]:
    new: Rows = {}
    changed: Rows = {}
    for name, rows in after.items():
        keys = [column.name for column in metadata.tables[name].primary_key]
        known = {tuple(row[key] for key in keys): row for row in before.get(name, [])}
        for row in rows:
            old = known.get(tuple(row[key] for key in keys))
            if old is None:
                new.setdefault(name, []).append(row)
            elif old != row:
                changed.setdefault(name, []).append(row)
    return new, changed


class Bare:
    """Writes the rows of a sample again and again, for calls of other names, as bare SQL."""

    def __init__(self, connection: Any, mark: str, name: str, written: list[tuple[Rows, Rows]], seq: int) -> None:
        self.connection, self.mark, self.name, self.written = connection, mark, name, written
        self.seq = seq

    def write(self, number: int, *transactions: int) -> None:
        """Do what these transactions of the sample did, for call ``number``."""
        for transaction in transactions:
            new, changed = self.written[transaction]
            with self.connection.cursor() if self.mark == "%s" else _cursor(self.connection) as cursor:
                cursor.execute("BEGIN" if self.mark == "%s" else "BEGIN IMMEDIATE")
                for name, rows in new.items():
                    for row in rows:
                        self._insert(cursor, name, row, number)
                for name, rows in changed.items():
                    for row in rows:
                        self._update(cursor, name, row, number)
                cursor.execute("COMMIT")

    def _values(self, table: str, row: dict[str, Any], number: int) -> dict[str, Any]:
        values = {key: f"{number:036d}" if value == self.name else value for key, value in row.items()}
        if table == "events":
            self.seq += 1
            values["seq"] = self.seq
        elif table == "endorsements":
            del values["id"]
        return values

    def _insert(self, cursor: Any, table: str, row: dict[str, Any], number: int) -> None:
        values = self._values(table, row, number)
        marks = ", ".join([self.mark] * len(values))
        cursor.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", list(values.values()))

    def _update(self, cursor: Any, table: str, row: dict[str, Any], number: int) -> None:
        values = self._values(table, row, number)
        keys = [column.name for column in metadata.tables[table].primary_key]
        told = {name: value for name, value in values.items() if name not in keys}
        sets, wheres = (" = {0}, ".join(told), " = {0} AND ".join(keys))
        statement = f"UPDATE {table} SET {sets} = {{0}} WHERE {wheres} = {{0}}".format(self.mark)
        cursor.execute(statement, [*told.values(), *(values[key] for key in keys)])


@contextmanager
def _cursor(connection: sqlite3.Connection) -> Iterator[sqlite3.Cursor]:
    cursor = connection.cursor()
    try:
        yield cursor
    finally:
        cursor.close()


def bare(
    url: str, clients: int, items: int, sampled: tuple[str, list[tuple[Rows, Rows]]]
) -> dict[str, dict[str, float]]:
    """Measure the same rows as bare SQL."""
    each, (name, written) = items // clients, sampled
    transactions = {"create": (0,), "decide": (1,), "claim and complete": (2, 3)}

    def work(what: str) -> Callable[[int], Times]:
        def run(client: int) -> list[float]:
            connection, mark = connected(url)
            first = (clients * 1_000 + client) * 100_000
            place = Bare(connection, mark, name, written, first * 1_000 + WORKS.index(what) * 10**7)
            return timed((lambda n=n: place.write(first + n, *transactions[what])) for n in range(each))

        return run

    return {what: together(clients, work(what)) for what in WORKS}


def connected(url: str) -> tuple[Any, str]:
    """Return a connection of the driver, durable as the store's, and how it marks values."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=60, isolation_level=None)
        connection.execute("PRAGMA synchronous=FULL")
        return connection, "?"
    import psycopg  # noqa: PLC0415  # an extra

    return psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://", 1), autocommit=True), "%s"


# ---------------------------------------------------------------------------------------------- the run


def measure(url: str, items: int) -> list[dict[str, Any]]:
    """Return the figures of one database."""
    with Store.open(url) as store:
        queue = Queue(store)
        people(queue)
        reviewer = queue.reviewers.authenticate(queue.reviewers.add("ann"))
    sampled, statements = sample(url, reviewer), counted(url, reviewer)
    rows = []
    for clients in CLIENTS:
        ours = product(url, clients, items, reviewer)
        theirs = bare(url, clients, items, sampled)
        rows += [
            {"work": work, "clients": clients, "ours": ours[work], "bare": theirs[work], "statements": statements[work]}
            for work in WORKS
        ]
        print(json.dumps(rows[-3:]), flush=True)
    return rows


@contextmanager
def databases(folder: Path) -> Iterator[dict[str, str]]:
    """Give one empty database of each kind that can be measured here."""
    found = {"SQLite": f"sqlite:///{folder}/gate.db"}
    server = running_server(settings=DURABLE)
    try:
        running = server.__enter__()
    except BaseException as error:  # noqa: BLE001  # pytest's skip: PostgreSQL is not installed
        print(f"without PostgreSQL: {error}")
        yield found
        return
    try:
        yield {**found, "PostgreSQL": running.url(running.empty())}
    finally:
        server.__exit__(None, None, None)


def table(results: dict[str, Any]) -> str:
    """Return the results as a table in Markdown."""
    lines = [
        "| database | work | statements | clients | CPU ms | per s | p50 ms | p99 ms | bare SQL | share | reference |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, rows in results["figures"].items():
        for row in sorted(rows, key=lambda row: (WORKS.index(row["work"]), row["clients"])):
            ours, theirs = row["ours"], row["bare"]
            told = REFERENCE.get((name, row["work"]), {}).get(row["clients"])
            share = f"{ours['per_second'] / theirs['per_second']:.0%}"
            numbers = f"{ours['cpu']:.1f} | {ours['per_second']:,.0f} | {ours['p50']:,.1f} | {ours['p99']:,.1f}"
            numbers += f" | {theirs['per_second']:,.0f}"
            known = f"{told:,}" if told else ""
            work = f"{row['work']} | {row['statements']}"
            lines.append(f"| {name} | {work} | {row['clients']} | {numbers} | {share} | {known} |")
    lines += ["", f"{results['items']} calls for each row. {results['machine']}. A busy machine is in every figure,"]
    lines += ["least in the statements, in the CPU time and in the shares."]
    return "\n".join(lines)


def main() -> int:
    """Measure, write, or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--items", type=int, help="a short look; nothing is written")
    given = parser.parse_args()
    file = FOLDER / "results.json"
    if not (given.write or given.check):
        load, items = os.getloadavg()[0], given.items or ITEMS
        results: dict[str, Any] = {"figures": {}, "items": items}
        results["machine"] = f"{os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f} at the start"
        with tempfile.TemporaryDirectory() as folder, databases(Path(folder)) as known:
            for name, url in known.items():
                results["figures"][name] = measure(url, items)
        if given.items:
            print(table(results))
            return 0
        FOLDER.mkdir(exist_ok=True)
        file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    text = table(json.loads(file.read_text(encoding="utf-8")))
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(START)
    wanted = f"{head}{START}\n\n{text}\n\n{END}{rest.split(END)[1]}"
    if given.check:
        return int(wanted != page)
    PAGE.write_text(wanted, encoding="utf-8")
    (FOLDER / "table.md").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
