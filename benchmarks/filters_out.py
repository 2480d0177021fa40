"""Measure what the look at a text that leaves costs, beside LangChain's PIIMiddleware and Presidio as it comes.

``python benchmarks/filters_out.py`` measures ordinary texts of 2 kB and 50 kB and hostile ones, all in one run, and
writes ``filters_out/results.json`` and the table into ``docs/filters-outbound.md``; ``--write`` writes the table anew
from the results, ``--check`` says whether it is up to date. Times are CPU times of the thread, the best of several
runs, since neighbours only add to them. The columns do not do the same work: each row of the table says what is looked
for. Presidio's defaults run with the engine that needs no download, as here; a hostile text that takes it longer than
``PATIENCE`` seconds is stopped.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import platform
import sys
import textwrap
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from langchain.agents.middleware import PIIMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import NlpEngineProvider

from checkvalve.filters.outbound.hosts import HostRules
from checkvalve.filters.outbound.judge import LinkRules
from checkvalve.filters.outbound.prompts import PromptText
from checkvalve.filters.outbound.rules import OutboundRules
from checkvalve.filters.outbound.scan import scan_outbound
from checkvalve.filters.outbound.stream import OutboundStream
from checkvalve.filters.pii.detect import find_pii
from checkvalve.filters.secrets.registered import Registered
from checkvalve.filters.secrets.scan import find_secrets

HERE = Path(__file__).resolve().parent / "filters_out"
PAGE = HERE.parents[1] / "docs" / "filters-outbound.md"
BEGIN, END = "<!-- measured: filters_out -->", "<!-- /measured -->"
SIZES = {"2 kB": 2_000, "50 kB": 50_000}
PATIENCE = 10.0
RUNS = 9
DEADLINE = 1.0  # seconds of CPU time that a hostile text of 50 kB may take
PROSE = (
    "Hello Ann, the budget of the third quarter is 4.1M, see https://corp.example/budget and [the minutes]"
    "(https://corp.example/minutes). Invoice 2024-118 over 1,250.00 EUR is due on 2026-12-01; order 4000-1234.\n"
    "The release notes name three changes: the parser no longer drops the last line, the cache has a limit, and "
    "reviewers see where an argument came from. Ask bob@corp.example or call +49 30 901820 if anything is unclear.\n"
)
HOSTILE = {
    "a.": "a.", "a.b/": "a.b/", "http://": "http://", "www.": "www.", "![": "![", "closing brackets": "](",
    "[a](": "[a](", "[]:": "[]:", "<a ": "<a ", "<x '\"": "<x '\"", "url(": "url(", "src=": "src=", "&#104;": "&#104;",
    "zero width": "\u200b", "a@": "a@", "123 456 ": "123 456 ", "1.1.": "1.1.", "::1 ": "::1 ", "eyJ": "eyJ",
    "key = ": "key = ", "-----BEGIN": "-----BEGIN PRIVATE KEY-----", "QUFB": "QUFB", "a": "a",
    "value": "horse-battery-",
}  # fmt: skip
RULES = OutboundRules(
    links=LinkRules(HostRules.of(["corp.example"]), source="keep"),
    registered=Registered([("registered-value", f"horse-battery-{number}") for number in range(100, 110)]),
    prompts=PromptText(
        ["You are the assistant of the company. Never tell anybody about the merger in May, or the price."]
    ),
)
MASKED = OutboundRules(RULES.links, RULES.registered, RULES.prompts, pii=frozenset({"email", "card", "iban", "phone"}))


def streamed(text: str) -> None:
    """Send a text through the stream filter in chunks of four characters, as models write."""
    stream = OutboundStream(RULES)
    for start in range(0, len(text), 4):
        stream.text(text[start : start + 4])
    stream.close()


def langchain() -> Callable[[str], object]:
    """Return LangChain's five kinds of personal data, as its middleware applies them to an answer."""
    kinds = ("email", "credit_card", "ip", "mac_address", "url")
    guards = [PIIMiddleware(kind, strategy="redact", apply_to_output=True) for kind in kinds]

    def run(text: str) -> object:
        state: Any = {"messages": [HumanMessage("hi"), AIMessage(text)]}
        return [guard.after_model(state, None) for guard in guards]  # type: ignore[arg-type]

    return run


def presidio() -> Callable[[str], object]:
    """Return Presidio with its default recognisers, and the engine that downloads nothing."""
    for name in ("presidio-analyzer", "tldextract"):  # it asks the network for a list, and goes on without it
        logging.getLogger(name).setLevel(logging.CRITICAL)
    models = [{"lang_code": "en", "model_name": "no_op"}]
    engine = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "no_op", "models": models}).create_engine()
    registry = RecognizerRegistry(supported_languages=["en"])
    registry.load_predefined_recognizers(languages=["en"], nlp_engine=engine)
    analyzer = AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])
    return lambda text: analyzer.analyze(text, language="en")


def subjects() -> dict[str, Callable[[str], object]]:
    """Return everything that is measured, by name."""
    return {
        "outbound: links, values, keys, prompt": lambda text: scan_outbound(text, RULES),
        "outbound, as a stream": streamed,
        "outbound with personal data": lambda text: scan_outbound(text, MASKED),
        "keys and passwords alone": find_secrets,
        "personal data alone": find_pii,
        "LangChain PIIMiddleware, 5 kinds": langchain(),
        "Presidio, default recognisers": presidio(),
    }


def timed(call: Callable[[str], object], text: str, runs: int) -> float:
    """Return the best of the CPU seconds that ``call`` takes for ``text``."""
    taken = []
    for _ in range(runs):
        started = time.thread_time()
        call(text)
        taken.append(time.thread_time() - started)
    return min(taken)


def _child(name: str, text: str, queue: Any) -> None:
    call = subjects()[name]
    call("warm up: bob@corp.example, +49 30 901820")
    queue.put("ready")
    queue.put(timed(call, text, 1))


def patient(name: str, text: str) -> float | None:
    """Return the seconds for a hostile text, or None where it was stopped after :data:`PATIENCE`."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=_child, args=(name, text, queue))
    child.start()
    queue.get()
    child.join(PATIENCE)
    if child.is_alive():
        child.kill()
        child.join()
        return None
    return float(queue.get())


def measured() -> dict[str, Any]:
    """Run everything."""
    known = subjects()
    ordinary: dict[str, dict[str, float]] = {}
    for name, call in known.items():
        call(PROSE)
        ordinary[name] = {}
        for label, size in SIZES.items():
            text = (PROSE * (size // len(PROSE) + 1))[:size]
            ordinary[name][label] = timed(call, text, RUNS)
            print(f"{name}, {label}: {ordinary[name][label] * 1000:.2f} ms", file=sys.stderr)
    hostile: dict[str, dict[str, float | None]] = {}
    for label, piece in HOSTILE.items():
        text = piece * (50_000 // len(piece))
        hostile[label] = {
            "ours": timed(known["outbound with personal data"], text, 1),
            "langchain": timed(known["LangChain PIIMiddleware, 5 kinds"], text, 1),
        }
        print(f"{label}: {hostile[label]}", file=sys.stderr)
    for label in ("a.", "1.1.", "123 456 "):
        piece = HOSTILE[label]
        hostile[label]["presidio"] = patient("Presidio, default recognisers", piece * (50_000 // len(piece)))
    names = ("langchain", "presidio-analyzer")
    return {
        "machine": f"{platform.processor() or platform.machine()}, Python {platform.python_version()}",
        "versions": {name: version(name) for name in names},
        "ordinary": ordinary,
        "hostile": hostile,
    }


def table(results: dict[str, Any]) -> str:
    """Return the tables as Markdown."""
    rows = ["| what | 2 kB | 50 kB | against LangChain, 50 kB |", "| --- | ---: | ---: | ---: |"]
    base = results["ordinary"]["LangChain PIIMiddleware, 5 kinds"]["50 kB"]
    for name, times in results["ordinary"].items():
        ratio = times["50 kB"] / base
        rows.append(f"| {name} | {times['2 kB'] * 1000:.1f} ms | {times['50 kB'] * 1000:.0f} ms | {ratio:.1f} x |")
    hostile = results["hostile"]
    worst = max(hostile, key=lambda label: hostile[label]["ours"])
    other = max(hostile, key=lambda label: hostile[label]["langchain"])
    rows += [
        "",
        f"Of {len(hostile)} hostile texts of 50 kB the slowest takes {hostile[worst]['ours']:.2f} s here (`{worst}`), "
        f"and {hostile[other]['langchain']:.2f} s in LangChain (`{other}`). Presidio as it comes takes "
        + ", ".join(_said(label, one["presidio"]) for label, one in hostile.items() if "presidio" in one)
        + ".",
    ]
    return textwrap.fill(rows.pop(), 118).join(["\n".join(rows) + "\n", "\n"])


def _said(label: str, seconds: float | None) -> str:
    return f"more than {PATIENCE:.0f} s for `{label}`" if seconds is None else f"{seconds:.1f} s for `{label}`"


def main() -> int:
    """Measure, write, or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="write the table anew from the results")
    parser.add_argument("--check", action="store_true", help="say whether the table is up to date")
    options = parser.parse_args()
    HERE.mkdir(exist_ok=True)
    results = HERE / "results.json"
    if not (options.write or options.check):
        results.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
    made = table(json.loads(results.read_text(encoding="utf-8")))
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    new = f"{before}{BEGIN}\n\n{made}\n{END}{rest.split(END)[1]}"
    if options.check:
        return int(new != page)
    PAGE.write_text(new, encoding="utf-8")
    print(made)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
