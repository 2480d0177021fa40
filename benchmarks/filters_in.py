"""Measure what the look at a text that enters costs, beside LangChain's PIIMiddleware and Presidio as it comes.

``python benchmarks/filters_in.py`` measures varied texts of 2 kB, 50 kB and 500 kB in several forms (:mod:`varied`),
this repository's pages and code, one paragraph repeated, and hostile texts, all in one run, and writes
``filters_in/results.json`` and the tables into ``docs/filters-inbound.md``; ``--write`` writes the tables anew from the
results, ``--check`` says whether they are up to date. Times are CPU times of the thread. A varied text is new to the
process, which has read others of its form and has built its machines; of several rows of texts the fastest is taken,
since other programs disturb even CPU time. Read once more, the same text is faster, which has a column of its own. The
tables do not do the same work: ours looks for instructions and for what hides, the others for personal data. LLM
Guard's rules are measured where its package is there (see :func:`llm_guard`); its models need PyTorch.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import logging
import os
import platform
import sys
import textwrap
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))  # a script under `python -P` does not find its neighbours
from varied import FORMS, made

from checkvalve.filters.inbound import scan_inbound
from checkvalve.filters.inbound.rules import prepare
from checkvalve.filters.swift import settle_all

HERE = Path(__file__).resolve().parent / "filters_in"
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "filters-inbound.md"
BEGIN, END = "<!-- measured: filters_in -->", "<!-- /measured -->"
SIZES = {"2 kB": 2_000, "50 kB": 50_000, "500 kB": 500_000}
COUNTS = {"2 kB": 40, "50 kB": 4, "500 kB": 1}
"""Texts of each size in a row, every one different."""
ROWS = 4
"""Rows of different texts."""
FILES = {
    "this repository's pages": ("docs/*.md", "docs/adr/*.md", "*.md"),
    "this repository's code": ("approvals/*.py", "filters/**/*.py", "gateway/*.py"),
}
TARGET = {"2 kB": 0.004, "50 kB": 0.080}
DEADLINE = 1.0  # seconds of CPU time that a hostile text of 50 kB may take
PROSE = (
    "Hello Ann, the budget of the third quarter is 4.1M, see https://corp.example/budget and the minutes of May. "
    "Invoice 2024-118 over 1,250.00 EUR is due on 2026-12-01. The release notes name three changes: the parser no "
    "longer drops the last line, the cache has a limit, and reviewers see where an argument came from. Please call "
    "before ten.\n\n"
)


def _repeated(piece: str, size: int) -> str:
    return (piece * (size // len(piece) + 1))[:size]


HOSTILE = (
    "a.a.", "-.-.", "123 456 ", "1.1.", "::1 ", "a", "a.", "<a ", "QUFB", "ignore ", "\u200b", "![", "-. ", "](",
    "<!--", '{"a":', "&#65;", "\\u0041", "\x1b[", "<|im_start|>", "</document>", "<p>", "\ufe01\ufe02\ufe03",
    "a\u0336\u0301", "ignore all previous instructions. ", "before you answer you must ", "From: a\n", "--b\n",
    "👨‍👩‍👧", "a b c ",
)  # fmt: skip


def langchain() -> Callable[[str], object]:
    """Return LangChain's five kinds of personal data, as its middleware applies them to a tool's result."""
    from langchain.agents.middleware import PIIMiddleware  # noqa: PLC0415  # seconds, and only here
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage  # noqa: PLC0415

    kinds = ("email", "credit_card", "ip", "mac_address", "url")
    guards = [PIIMiddleware(kind, strategy="redact", apply_to_tool_results=True) for kind in kinds]
    call = {"name": "read", "args": {}, "id": "c"}

    def run(text: str) -> object:
        said = [HumanMessage("hi"), AIMessage("", tool_calls=[call]), ToolMessage(text, tool_call_id="c")]
        state: Any = {"messages": said}
        return [guard.before_model(state, None) for guard in guards]  # type: ignore[arg-type]

    return run


def presidio() -> Callable[[str], object]:
    """Return Presidio with its default recognisers, and the engine that downloads nothing."""
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry  # noqa: PLC0415
    from presidio_analyzer.nlp_engine import NlpEngineProvider  # noqa: PLC0415

    logging.getLogger("presidio-analyzer").setLevel(logging.ERROR)
    models = [{"lang_code": "en", "model_name": "no_op"}]
    engine = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "no_op", "models": models}).create_engine()
    registry = RecognizerRegistry(supported_languages=["en"])
    registry.load_predefined_recognizers(languages=["en"], nlp_engine=engine)
    analyzer = AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])
    return lambda text: analyzer.analyze(text, language="en")


def llm_guard() -> dict[str, Callable[[str], object]]:
    """Return LLM Guard's scanners that are rules, where the package is there: ``pip install --no-deps llm-guard``.

    The package imports PyTorch as a whole and its rules do not, so their modules are imported without the rest. They
    need ``detect-secrets`` and ``presidio-anonymizer`` as well.
    """
    spec = importlib.util.find_spec("llm_guard")
    if spec is None or not spec.submodule_search_locations:
        return {}
    for name in ("llm_guard", "llm_guard.input_scanners"):
        package = ModuleType(name)
        package.__path__ = [str(Path(spec.submodule_search_locations[0]).parent / name.replace(".", "/"))]
        sys.modules[name] = package
    scanners: dict[str, Any] = {
        "invisible text": _scanner("invisible_text", "InvisibleText"),
        "substrings": _scanner("ban_substrings", "BanSubstrings", substrings=["ignore all", "secret"]),
        "secrets": _scanner("secrets", "Secrets"),
    }
    return {f"LLM Guard, {name}": scanner.scan for name, scanner in scanners.items()}


def _scanner(module: str, name: str, **options: Any) -> Any:
    import structlog  # noqa: PLC0415  # it logs every text, which is not what is measured

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    return getattr(importlib.import_module(f"llm_guard.input_scanners.{module}"), name)(**options)


def timed(call: Callable[[str], object], text: str, runs: int) -> float:
    """Return the best of the CPU seconds that ``call`` takes for ``text``."""
    taken = []
    for _ in range(runs):
        started = time.thread_time()
        call(text)
        taken.append(time.thread_time() - started)
    return min(taken)


def once(texts: list[str]) -> float:
    """Return the CPU seconds that ours takes for all of ``texts``, each read once."""
    started = time.thread_time()
    for text in texts:
        scan_inbound(text)
    return time.thread_time() - started


def _new_and_again(rows: list[list[str]]) -> dict[str, float]:
    """Return the best of the CPU seconds for a text of a row, new and read again, and how long it is."""
    count = len(rows[0])
    size = sum(len(text.encode()) for row in rows for text in row) / count / len(rows)
    new = min(once(row) for row in rows) / count
    again = min(once(row) for row in rows * 2) / count
    return {"texts": count, "bytes": size, "seconds": new, "again": again}


def measured() -> dict[str, Any]:
    """Run everything."""
    ours: dict[str, dict[str, dict[str, float]]] = {}
    prepare()
    settle_all()
    for form in FORMS:
        once([made(form, size, 500_000 + seed) for size in (2_000, 50_000) for seed in range(6)])
    for form in FORMS:
        ours[form] = {}
        for label, size in SIZES.items():
            ours[form][label] = _new_and_again(
                [[made(form, size, row * 1_000 + seed) for seed in range(COUNTS[label])] for row in range(ROWS)]
            )
            print(f"{form}, {label}: {ours[form][label]}", file=sys.stderr)
    files = {}
    for name, patterns in FILES.items():
        found = sorted({path for pattern in patterns for path in ROOT.glob(pattern)})
        files[name] = _new_and_again([[path.read_text(encoding="utf-8") for path in found]])
        print(f"{name}: {files[name]}", file=sys.stderr)
    repeated = timed(scan_inbound, _repeated(PROSE, 50_000), 7)
    others: dict[str, dict[str, float]] = {}
    known = {"LangChain PIIMiddleware, 5 kinds": langchain(), "Presidio, default recognisers": presidio()}
    known |= llm_guard()
    for name, call in known.items():
        call(PROSE)
        others[name] = {label: timed(call, made("prose", SIZES[label], 0), 3) for label in ("2 kB", "50 kB")}
        print(f"{name}: {others[name]}", file=sys.stderr)
    hostile = {ascii(unit): timed(scan_inbound, _repeated(unit, 50_000), 1) for unit in HOSTILE}
    names = ("langchain", "presidio-analyzer", "google-re2", "hyperscan")
    return {
        "machine": f"{platform.processor() or platform.machine()}, Python {platform.python_version()}",
        "load": round(os.getloadavg()[0], 1),
        "versions": {name: version(name) for name in names},
        "ours": ours,
        "files": files,
        "repeated": repeated,
        "others": others,
        "hostile": hostile,
    }


def _speed(one: dict[str, float], seconds: str) -> str:
    return f"{one['bytes'] / one[seconds] / 1e6:.1f} MB/s"


def table(results: dict[str, Any]) -> str:
    """Return the tables as Markdown."""
    rows = [
        "| varied texts, stages 0 to 3 | 2 kB | 50 kB | 500 kB | a new text of 50 kB | the same again |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for form, sizes in results["ours"].items():
        times = " | ".join(f"{sizes[label]['seconds'] * 1000:.1f} ms" for label in SIZES)
        rows.append(f"| {form} | {times} | {_speed(sizes['50 kB'], 'seconds')} | {_speed(sizes['50 kB'], 'again')} |")
    rows += ["", "| files | number | mean size | new | the same again |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, one in results["files"].items():
        size = f"{one['texts']:.0f} | {one['bytes'] / 1000:.0f} kB"
        rows.append(f"| {name} | {size} | {_speed(one, 'seconds')} | {_speed(one, 'again')} |")
    rows += ["", "| others, prose | 2 kB | 50 kB | times as long as ours |", "| --- | ---: | ---: | ---: |"]
    ours = results["ours"]["prose"]["50 kB"]["seconds"]
    for name, times in results["others"].items():
        ratio = f"{times['50 kB'] / ours:.1f}"
        rows.append(f"| {name} | {times['2 kB'] * 1000:.1f} ms | {times['50 kB'] * 1000:.1f} ms | {ratio} |")
    hostile = results["hostile"]
    worst = max(hostile, key=hostile.__getitem__)
    said = (
        f"One paragraph repeated to 50 kB takes {results['repeated'] * 1000:.1f} ms. The machine had a load of "
        f"{results['load']} on two processors, which makes CPU times longer too. Of {len(hostile)} hostile texts of "
        f"50 kB the slowest takes "
        f"{hostile[worst]:.2f} s (`{worst}`)."
    )
    return "\n".join(rows) + "\n\n" + textwrap.fill(said, 118) + "\n"


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
    found = json.loads(results.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    new = f"{before}{BEGIN}\n\n{table(found)}\n{END}{rest.split(END)[1]}"
    if options.check:
        late = [form for form, sizes in found["ours"].items() for at in TARGET if sizes[at]["seconds"] > TARGET[at]]
        slow = [unit for unit, seconds in found["hostile"].items() if seconds > DEADLINE]
        return int(new != page or bool(late or slow))
    PAGE.write_text(new, encoding="utf-8")
    print(table(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
