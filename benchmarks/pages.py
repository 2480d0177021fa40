"""Measure the review pages with 10,000 open questions: what a page weighs, and how long the first card takes.

``python benchmarks/pages.py`` fills a database with questions that were really decided, serves the pages from this
process, and asks for each page over the loopback address, as a browser does that has nothing cached. It writes
``pages/results.json`` and ``pages/table.md`` beside this file and puts the table into ``docs/review-pages.md``.
``--write`` only writes the tables anew from the results, ``--check`` says whether they are up to date. Times are wall
times of whole responses; the first card is queue and card in a row, with style sheet and script, after a change.
"""

import argparse
import gzip
import json
import os
import platform
import re
import socket
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import uvicorn

from checkvalve.approvals.records import proposal_id, record_digest
from checkvalve.approvals.tables import proposals
from checkvalve.gateway.app import Gateway, build
from checkvalve.gateway.settings import Settings
from checkvalve.gateway.web_pages import Site, create_pages, open_desk
from checkvalve.graphs.session import Call

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "pages"
PAGE = HERE.parent / "docs" / "review-pages.md"
START, END = "<!-- pages table -->", "<!-- /pages table -->"
OPEN = 10_000
TIMES = 15
MANIFEST = """
version: 1
name: benchmark
principal: {owner: [me@corp.example], domain: [corp.example]}
tools:
  read_mail: {effect: read, idempotency: read, result: [{path: "**", readers: owner}]}
  send_mail:
    effect: send
    asks: [send, mail]
    args: {to: {role: target, kind: email}, body: {role: content}}
  pay:
    effect: pay
    asks: [pay]
    args: {to: {role: target, kind: account}, amount: {role: amount, kind: number}}
"""


def fill(gateway: Gateway, count: int) -> None:
    """Decide two calls, and keep ``count`` copies of their records under names of their own.

    Copies have no events, so nobody may decide them; looking at them costs what it costs for any record.
    """
    session = gateway.session("run 0", "me@corp.example")
    session.user_words("Read my mail, pay the bill and send mail about it", key="u")
    text = "Pay 60.00 EUR to DE89370400440532013000 and write to billing@power.example. " + "More of the letter. " * 40
    session.result(Call("read_mail", {}, "r@a", turn="a"), [{"text": text}], key="r")
    sent = Call("send_mail", {"to": "billing@power.example", "body": "Paid"}, "s@b", turn="b")
    paid = Call("pay", {"to": "DE89370400440532013000", "amount": 60.0}, "p@b", turn="b")
    made = [session.propose(call).id for call in (sent, paid)]
    with gateway.store.write() as connection:
        found = connection.execute(sa.select(proposals).where(proposals.c.id.in_(made))).mappings().all()
        rows: list[dict[str, Any]] = []
        for number in range(count - len(made)):
            row = dict(found[number % len(found)])
            row |= {"thread": f"run {number // 20}", "call_id": f"c{number}", "created_at": row["created_at"] - number}
            row["id"] = proposal_id(row["thread"], row["call_id"], row["digest"])
            rows.append(row)
        connection.execute(sa.insert(proposals), rows)
    assert record_digest(rows[0])


class Browser:
    """Asks for pages over the loopback address."""

    def __init__(self, port: int) -> None:
        self.origin = f"http://127.0.0.1:{port}"
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def get(self, path: str, data: dict[str, str] | None = None) -> bytes:
        """Return the body of a page."""
        sent = None if data is None else urllib.parse.urlencode(data).encode()
        with self.opener.open(self.origin + path, sent, timeout=120) as response:
            found: bytes = response.read()
            return found


def measure() -> dict[str, Any]:
    """Return what was measured."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tools.yaml").write_text(MANIFEST)
        settings = Settings(
            manifest=folder / "tools.yaml", database_url=f"sqlite:///{folder / 'gate.db'}", log_level="error"
        )
        with build(settings) as gateway:
            fill(gateway, OPEN)
            token = gateway.queue.reviewers.add("boss")
            app = Site(create_pages(open_desk(gateway.queue, settings), settings))
            with socket.create_server(("127.0.0.1", 0)) as listener:
                server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
                thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
                thread.start()
                try:
                    return _asked(Browser(listener.getsockname()[1]), token, lambda: change(gateway))
                finally:
                    server.should_exit = True
                    thread.join(20)


def change(gateway: Gateway) -> None:
    """Let one more call be recorded, so that no page may answer from what it knew before."""
    session = gateway.session(f"change {time.monotonic_ns()}", "me@corp.example")
    session.user_words("Read my mail", key="u")
    session.propose(Call("read_mail", {}, "r@a", turn="a"))


def _asked(browser: Browser, token: str, change: Callable[[], None]) -> dict[str, Any]:
    door = browser.get("/review/signin").decode()
    seal = re.search(r'name="seal" value="([^"]+)"', door)
    assert seal
    queue = browser.get("/review/signin", {"seal": seal[1], "token": token, "next": "/review"}).decode()
    item = re.search(r'href="(/review/items/[^"]+)"', queue)
    equal = re.search(r'href="(/review/equal/[^"]+)"', queue)
    assert item
    assert equal
    pages = {
        "queue": "/review", "queue, page 150": "/review?page=150", "card": item[1], "equal questions": equal[1],
        "history": "/review/history", "search": "/review/history?q=billing", "run": "/review/run?thread=run+0",
        "changes": "/review/changes", "style sheet": "/review/static/review.css", "script": "/review/static/review.js",
    }  # fmt: skip
    rows = {name: _timed(browser, path) for name, path in pages.items()}
    changed = _timed(browser, pages["queue"], change)
    rows = {"queue": rows["queue"], "queue, after a change": changed, **rows}
    first = []
    for _ in range(TIMES):
        change()
        start = time.perf_counter()
        for name in ("queue", "style sheet", "script", "card"):
            browser.get(pages[name])
        first.append(time.perf_counter() - start)
    return {
        "open": OPEN,
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
        "cores": os.cpu_count(),
        "pages": rows,
        "first_card_ms": {"median": _ms(first, 0.5), "slowest": _ms(first, 1.0)},
    }


def _timed(browser: Browser, path: str, before: Callable[[], None] = lambda: None) -> dict[str, float]:
    body, times = browser.get(path), []
    for _ in range(TIMES):
        before()
        start = time.perf_counter()
        browser.get(path)
        times.append(time.perf_counter() - start)
    weight = len(body) / 1_000
    return {"kB": round(weight, 1), "kB_gzip": round(len(gzip.compress(body)) / 1_000, 1), "ms": _ms(times, 0.5)}


def _ms(times: list[float], part: float) -> float:
    ordered = sorted(times)
    return round(ordered[min(len(ordered) - 1, int(part * len(ordered)))] * 1_000, 1)


def table(results: dict[str, Any]) -> str:
    """Return the table in Markdown."""
    lines = ["| page | kB | kB compressed | ms (median) |", "| --- | ---: | ---: | ---: |"]
    for name, row in results["pages"].items():
        lines.append(f"| {name} | {row['kB']} | {row['kB_gzip']} | {row['ms']} |")
    first = results["first_card_ms"]
    lines += [
        "",
        f"With {results['open']:,} open questions the first card stands {first['median']} ms after the queue was",
    ]
    lines += [f"asked for (slowest of {TIMES}: {first['slowest']} ms), queue, style sheet and script included."]
    lines += [
        f"The load of the machine was {results['load']} on {results['cores']} cores: compare with the style sheet."
    ]
    return "\n".join(lines)


def main() -> int:
    """Measure, write, or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / "results.json"
    if not (given.write or given.check):
        file.write_text(json.dumps(measure(), indent=1) + "\n")
    text = table(json.loads(file.read_text()))
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(START)
    wanted = f"{head}{START}\n\n{text}\n\n{END}{rest.split(END)[1]}"
    if given.check:
        return int(wanted != page)
    PAGE.write_text(wanted, encoding="utf-8")
    (FOLDER / "table.md").write_text(text + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
