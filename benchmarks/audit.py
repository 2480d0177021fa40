"""Measure the audit log: appends, sealing, proofs and verification per second, on SQLite and PostgreSQL, in one run.

``python benchmarks/audit.py`` fills a log with 1,000 and with 100,000 events on each database, and writes
``audit/results.json`` and ``audit/table.md`` beside this file. PostgreSQL is started for it where it is installed.
Every figure is the median of its repetitions; the machine is named in the results. ``--events N`` measures one size.
"""

import argparse
import hashlib
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent))  # the tests' PostgreSQL server; last, so that no bare name hides another package

import sqlalchemy as sa  # noqa: E402

from checkvalve.approvals import audit  # noqa: E402
from checkvalve.approvals.bundles import export_bundle, read_bundle, verify_bundle  # noqa: E402
from checkvalve.approvals.judge import Outside  # noqa: E402
from checkvalve.approvals.lastsigned import read_signed  # noqa: E402
from checkvalve.approvals.logkeys import LogKey  # noqa: E402
from checkvalve.approvals.merkle import Frontier, leaf_hash  # noqa: E402
from checkvalve.approvals.receipts import make_receipt, verify_receipt  # noqa: E402
from checkvalve.approvals.sealer import Sealer  # noqa: E402
from checkvalve.approvals.store import Store  # noqa: E402
from checkvalve.approvals.tables import audit_head, events  # noqa: E402
from checkvalve.approvals.verify import verify  # noqa: E402
from tests.databases import running_server  # noqa: E402

FOLDER = HERE / "audit"
SIZES = (1_000, 100_000)
SINGLE = 200  # appends of one transaction each
GROUP = 500
RECEIPTS = 100
BODY = {"state": "approved", "digest": "sha256:" + "0" * 64, "by": "reviewer:ann", "mode": "enforce", "code": ""}


def seconds(work: Callable[[], Any], times: int = 1, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the median seconds of ``work``."""
    taken = []
    for _ in range(times):
        start = clock()
        work()
        taken.append(clock() - start)
    return statistics.median(taken)


def cpu(work: Callable[[], Any], times: int = 1) -> float:
    """Return the median seconds of this process's processor time, in which other programs do not count."""
    return seconds(work, times, time.process_time)


def append(store: Store, count: int) -> None:
    """Append events in one transaction."""
    with store.write() as connection:
        for number in range(count):
            audit.append(connection, at=number, kind="proposal.approved", subject=f"s{number % 97}", body=BODY)


def fill(store: Store, count: int) -> None:
    """Write events as ``append`` does, many in a statement: filling is not what is measured."""
    body = audit.canonical(BODY).decode()
    end = audit.head(store)
    seq, prev, rows = end.seq, end.hash, []
    for number in range(count):
        seq, salt = seq + 1, f"{number:064x}"
        kept = audit.commitment(salt, body)
        values = {"seq": seq, "at": number, "kind": "proposal.approved", "subject": f"s{number % 97}"}
        form = audit.event_form(prev, **values, hashed=kept, committed=True)
        new = "sha256:" + hashlib.sha256(form).hexdigest()
        rows.append({**values, "body": body, "prev": prev, "hash": new, "salt": salt, "commitment": kept})
        prev = new
    with store.write() as connection:
        for at in range(0, count, 1_000):
            connection.execute(sa.insert(events), rows[at : at + 1_000])
        connection.execute(sa.update(audit_head).values(seq=seq, hash=prev))


def measure(url: str, size: int, folder: Path) -> dict[str, float]:
    """Return events per second of each operation, and milliseconds where it says so."""
    key, signed = LogKey.new("bench.example/log"), folder / "signed"
    with Store.open(url) as store:
        sealer = Sealer(store, key, signed)
        single = SINGLE / seconds(lambda: [append(store, 1) for _ in range(SINGLE)])
        grouped = GROUP / seconds(lambda: append(store, GROUP))
        fill(store, size - SINGLE - GROUP)
        found = {"append, one a transaction": single, f"append, {GROUP} a transaction": grouped}
        found["seal all at once (CPU)"] = size / cpu(sealer.seal)
        append(store, 1)
        found["seal one more, ms"] = 1_000 * seconds(sealer.seal)
        found["verify the chain and the tables (CPU)"] = size / cpu(lambda: verify(store), 3)
        outside = [Outside("file", read_signed(signed) or "")]
        found["the same, with tree and signatures (CPU)"] = size / cpu(
            lambda: verify(store, keys=key.public, outside=outside), 3
        )
        with store.read() as connection:
            found["make a receipt, ms (CPU)"] = 1_000 * cpu(lambda: _receipt(connection, size // 2), RECEIPTS)
            receipt = _receipt(connection, size // 3)
            bundle = folder / "bundle.jsonl"
            found["export a bundle (CPU)"] = size / cpu(lambda: export_bundle(connection, bundle))
        found["verify a receipt, ms (CPU)"] = 1_000 * cpu(lambda: verify_receipt(receipt, key.public), 50)
        read = read_bundle(bundle)
        found["verify a bundle (CPU)"] = size / cpu(lambda: verify_bundle(read, key.public), 3)
    return found


def _receipt(connection: Any, seq: int) -> Any:
    return make_receipt(connection, list(audit.read_events(connection, after=seq - 1, limit=1)))


def tree(size: int) -> float:
    """Return leaves per second of the tree alone: hash and add."""
    data = b"x" * 300

    def grow() -> bytes:
        frontier = Frontier()
        for _ in range(size):
            frontier.add(leaf_hash(data))
        return frontier.root()

    return size / cpu(grow, 3)


@contextmanager
def databases() -> Iterator[dict[str, Callable[[Path], str]]]:
    """Give the databases that can be measured here, by name."""
    plain: dict[str, Callable[[Path], str]] = {"SQLite": lambda folder: f"sqlite:///{folder}/log.db"}
    server = running_server()
    try:
        running = server.__enter__()
    except BaseException as error:  # noqa: BLE001  # pytest's skip: PostgreSQL is not installed
        print(f"without PostgreSQL: {error}")
        yield plain
        return
    try:
        yield {**plain, "PostgreSQL": lambda _: running.url(running.empty())}
    finally:
        server.__exit__(None, None, None)


def table(results: dict[str, Any]) -> str:
    """Return the results as a table in Markdown."""
    columns = list(results["figures"])
    lines = [
        "| events per second, unless it says ms | " + " | ".join(columns) + " |",
        "| --- |" + " ---: |" * len(columns),
    ]
    for name in results["figures"][columns[0]]:
        cells = (_plain(results["figures"][column][name], name) for column in columns)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    chain, tree_too = "verify the chain and the tables (CPU)", "the same, with tree and signatures (CPU)"
    dearer = [results["figures"][column][chain] / results["figures"][column][tree_too] for column in columns]
    lines += ["", f"Tree and signatures make verifying {min(dearer):.2f} to {max(dearer):.2f} times as long."]
    lines += ["Rows marked CPU count this process's processor time; appends wait for the disk and count wall time."]
    lines += ["", f"The tree alone: {results['tree']:,.0f} leaves per second. {results['machine']}."]
    return "\n".join(lines) + "\n"


def _plain(value: float, name: str) -> str:
    return f"{value:,.1f}" if ", ms" in name else f"{value:,.0f}"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, help="one size only; nothing is written")
    one = parser.parse_args().events
    sizes = (one,) if one else SIZES
    results: dict[str, Any] = {"figures": {}, "tree": tree(100_000)}
    load = os.getloadavg()[0]
    results["machine"] = f"{os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f} at the start"
    with databases() as known:
        for name, url in known.items():
            for size in sizes:
                with tempfile.TemporaryDirectory() as folder:
                    results["figures"][f"{name}, {size:,}"] = measure(url(Path(folder)), size, Path(folder))
    print(table(results))
    if not one:
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (FOLDER / "table.md").write_text(table(results), encoding="utf-8")


if __name__ == "__main__":
    main()
