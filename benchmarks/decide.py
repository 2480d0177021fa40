"""Measure how long one decision takes, and how that grows with what an agent has read.

``python benchmarks/decide.py`` builds contexts from 10 kB to 10 MB of mixed results, decides seven kinds of calls over
each, and measures beside it Cedar alone and fifty expressions over call and context, all in one run. It writes
``decide/results.json``, ``decide/table.md`` and ``decide/growth.svg`` beside this file, and puts the figures into the
README and ``docs/measuring.md``. ``--write`` only writes tables and chart anew from the results, ``--check`` says
whether they are up to date. Times are CPU times of the thread, so that another program on the machine does not count;
the wall time stands beside it in the results.
"""

import argparse
import gc
import json
import os
import platform
import random
import re
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cedarpy

from checkvalve.approvals.decide import decide
from checkvalve.approvals.decision import Decision, DecisionContext
from checkvalve.approvals.facts import field_rules
from checkvalve.approvals.manifest import load_manifest
from checkvalve.approvals.policy import load_policy
from checkvalve.approvals.requests import ActionRequest
from checkvalve.corpora.mixed import Result, mixed_results
from checkvalve.filters import analysis
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import Authority
from checkvalve.filters.origins import Field
from checkvalve.gateway.app import build
from checkvalve.gateway.settings import Settings
from checkvalve.graphs.session import Call, GuardSession

sys.path.insert(0, str(Path(__file__).resolve().parent))  # a script under `python -P` does not find its neighbours
from decide_page import FOLDER, MEGABYTE, in_bytes, published  # only now

del sys.path[0]  # other neighbours are called like packages

SIZES = (10_000, 100_000, 1_000_000, 3_000_000, 10_000_000)
MANIFEST = load_manifest(FOLDER / "tools.yaml")
POLICY = load_policy()
RULES = [
    re.compile(line, re.IGNORECASE)
    for line in (FOLDER / "rules.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
WORDS = (
    "Please send the numbers of the budget to anna.17@budget.example and a copy to bruno.5@audit.example. "
    "Pay the 120.50 EUR of the invoice to DE12 3456 7890 1234 5678 90. Share the file release-12.pdf with "
    "anna.17@budget.example, and look at https://survey.example/form for the open points."
)


@dataclass(frozen=True)
class Proposed:
    """One call of the mix, with the stored fields that were put in for references."""

    kind: str
    tool: str
    args: dict[str, Any]
    references: dict[str, list[Field]] = field(default_factory=dict)

    def request(self) -> ActionRequest:
        """Return the checked request."""
        return ActionRequest.build(self.tool, self.args)


@dataclass
class Clock:
    """Times of one kind of work, in milliseconds: of the thread's CPU, and on the wall."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def run(self, work: Callable[[], Any]) -> Any:
        """Do ``work`` and note how long it took."""
        wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
        found = work()
        self.cpu.append((time.thread_time_ns() - cpu) / 1e6)
        self.wall.append((time.perf_counter_ns() - wall) / 1e6)
        return found

    def shares(self) -> dict[str, float]:
        """Return the 50th, 95th and 99th percentile of the CPU time, and of the wall time the 50th and 99th."""
        return {
            "p50": share(self.cpu, 50),
            "p95": share(self.cpu, 95),
            "p99": share(self.cpu, 99),
            "wall_p50": share(self.wall, 50),
            "wall_p99": share(self.wall, 99),
        }


def share(times: Sequence[float], percent: int) -> float:
    """Return a percentile: the smallest time that so many of all times do not exceed."""
    ordered = sorted(times)
    return round(ordered[max(0, -(-len(ordered) * percent // 100) - 1)], 4)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and publish, or only write or check what is published; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=60, help="decisions per kind of call and size (default 60)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="bytes of the largest context")
    parser.add_argument("--write", action="store_true", help="write tables and chart from the results that are there")
    parser.add_argument("--check", action="store_true", help="say whether tables and chart are those of the results")
    asked = parser.parse_args(arguments)
    file = FOLDER / "results.json"
    if not asked.write and not asked.check:
        results = measure([size for size in SIZES if size <= asked.largest], asked.rounds)
        file.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    wanted = published(json.loads(file.read_text(encoding="utf-8")))
    if asked.check:
        stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
        print("\n".join(f"{path.name} is not what the results say: run benchmarks/decide.py --write" for path in stale))
        return 1 if stale else 0
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    print((FOLDER / "table.md").read_text(encoding="utf-8"))
    return 0


# ------------------------------------------------------------------------------------------------- measuring


def measure(sizes: Sequence[int], rounds: int) -> dict[str, Any]:
    """Measure everything in one run."""
    cores = os.cpu_count() or 1
    loads, work = [os.getloadavg()[0] / cores], Clock()
    machine: dict[str, Any] = {"python": platform.python_version(), "cores": cores}
    found: dict[str, Any] = {"machine": machine, "rounds": rounds, "sizes": []}
    for size in sizes:
        for _ in range(10):
            work.run(fixed_work)
        found["sizes"].append(at_size(size, rounds))
        loads.append(os.getloadavg()[0] / cores)
        print(f"{in_bytes(size)}: {found['sizes'][-1]['guard']}", file=sys.stderr)
    found["policy"] = policy_alone(rounds * 20)
    found["session"] = session_level(min(MEGABYTE, sizes[-1]), rounds)
    machine["load_per_core"] = round(max(loads), 2)
    machine["slowdown"] = round(sum(work.cpu) / len(work.cpu) / min(work.cpu), 2)
    return found


def fixed_work() -> int:
    """Do the same as every time: how much its time differs shows how much other programs disturb."""
    return sum(len(str(number)) for number in range(50_000))


def at_size(size: int, rounds: int) -> dict[str, Any]:
    """Measure one size of context: building the index, looking up, deciding in both modes, and the expressions."""
    results = list(mixed_results(size))
    analysis.forget()
    clock = Clock()
    index = clock.run(lambda: indexed(results))
    row: dict[str, Any] = {
        "bytes": size,
        "fields": len(index.fields),
        "places": list(index.sizes()),
        "build_s": round(clock.cpu[0] / 1000, 3),
        "build_s_per_mb": round(clock.cpu[0] / 1000 / size * MEGABYTE, 3),
        "index_mb": round(weighed(results) / MEGABYTE, 2) if size <= MEGABYTE else None,  # it takes long
        "look_up": look_ups(index, rounds),
    }
    calls = list(proposals(index, rounds))
    for mode in ("guard", "isolated"):
        total, kinds = decisions(index, calls, isolated=mode == "isolated")
        row[mode] = total.shares()
        row["by_kind" if mode == "guard" else "isolated_by_kind"] = {
            kind: one.shares()["p99"] for kind, one in kinds.items()
        }
    row["after_result"] = after_result(index, calls, rounds)
    row["expressions"] = expressions(results, calls[: 3 if size > MEGABYTE else 7])
    return row


def indexed(results: Sequence[Result], index: AttributionIndex | None = None) -> AttributionIndex:
    """Return the index over the user's words and these results, or add these results to one."""
    if index is None:
        index = AttributionIndex()
        index.add_words(WORDS, authority=Authority.USER)
    for number, result in enumerate(results):
        spec = MANIFEST.find(result.tool)
        rules = field_rules(spec, MANIFEST) if spec else ()
        index.add_result(result.value, tool=result.tool, call=f"c{number}", args=result.args, rules=rules)
    return index


def weighed(results: Sequence[Result]) -> int:
    """Return the bytes that an index over ``results`` keeps, without what is only remembered for a while."""
    analysis.forget()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        index = indexed(results)
        analysis.forget()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before if index.fields else 0
    finally:
        tracemalloc.stop()


def look_ups(index: AttributionIndex, rounds: int) -> dict[str, float]:
    """Return the time of one look-up of a value that stands somewhere, or of one that does not."""
    draw, clock = random.Random(2), Clock()
    for turn in range(rounds * 7):
        known = draw.choice(index.fields)
        value = known.text[:200] if turn % 3 else f"{draw.getrandbits(40):x}"
        kind = draw.choice(("text", "name", "email", "url", "number", known.kind))
        clock.run(lambda value=value, kind=kind: index.attribute(value, kind))
    return clock.shares()


def decisions(index: AttributionIndex, calls: Sequence[Proposed], *, isolated: bool) -> tuple[Clock, dict[str, Clock]]:
    """Decide every call once, in turn, and return the times: of all, and by kind."""
    total, kinds = Clock(), {call.kind: Clock() for call in calls}
    for call in calls:
        one = Clock()
        one.run(lambda call=call: decided(index, call, isolated=isolated))
        for clock in (total, kinds[call.kind]):
            clock.cpu += one.cpu
            clock.wall += one.wall
    return total, kinds


def decided(index: AttributionIndex, call: Proposed, *, isolated: bool = False) -> Decision:
    """Decide one call, from its arguments to the verdict."""
    context = DecisionContext(
        manifest=MANIFEST, policy=POLICY, index=index, references=call.references, isolated=isolated
    )
    return decide(call.request(), context)


def after_result(index: AttributionIndex, calls: Sequence[Proposed], rounds: int) -> dict[str, float]:
    """Return the time from a new result of about ten kilobytes to the decision on the next call."""
    clock = Clock()
    fresh = list(mixed_results(rounds * 10_000, seed=77))[:rounds]

    def step(result: Result, call: Proposed) -> None:
        indexed([result], index)
        decided(index, call)

    for result, call in zip(fresh, calls, strict=False):
        clock.run(lambda result=result, call=call: step(result, call))
    return clock.shares()


def expressions(results: Sequence[Result], calls: Sequence[Proposed]) -> dict[str, float]:
    """Return the time of fifty expressions over a call and everything that was read."""
    context = "\n".join(json.dumps(result.value, ensure_ascii=False) for result in results)
    clock = Clock()
    for call in calls:
        text = json.dumps({"tool": call.tool, "args": call.args}, ensure_ascii=False) + "\n" + context
        clock.run(lambda text=text: [bool(rule.search(text)) for rule in RULES])
    return clock.shares()


def proposals(index: AttributionIndex, rounds: int) -> Iterator[Proposed]:
    """Yield the mix of calls, every time with other values: what is known from the call before does not help."""
    draw = random.Random(3)
    people = [one.text for one in index.fields if one.kind == "email"] or ["anna.17@budget.example"]
    files = [one.text for one in index.fields if one.kind == "id:file"] or ["f1-1"]
    bodies = [one for one in index.fields if len(one.text) > 300] or index.fields  # noqa: PLR2004 - a paragraph
    texts = [one.text for one in bodies]
    for turn in range(rounds):
        named = draw.choice(("anna.17@budget.example", "bruno.5@audit.example", draw.choice(people)))
        said = (
            " ".join(draw.sample(draw.choice(texts).split(), k=min(20, len(draw.choice(texts).split()))) or ["x"])
            if texts
            else ""
        )
        yield Proposed(
            "mail", "send_mail", {"to": [named], "subject": f"Budget {turn}", "body": f"Hello,\n{said}\nRegards"}
        )
        yield Proposed(
            "payment",
            "pay",
            {
                "account": "DE12 3456 7890 1234 5678 90",
                "amount": draw.choice((120.5, 99, 1200)),
                "note": f"invoice {turn}",
            },
        )
        yield Proposed(
            "share",
            "share_file",
            {"id": draw.choice(files), "with": named, "permission": draw.choice(("read", "write"))},
        )
        query = "&".join(f"k{number}={draw.getrandbits(60):x}%20{draw.choice(people)}" for number in range(32))
        yield Proposed("fetch", "fetch_page", {"url": f"https://survey.example/form?turn={turn}&{query}"[:1500]})
        long = "\n\n".join(draw.choice(texts) for _ in range(60))[:10_000]
        yield Proposed("long text", "send_mail", {"to": [named], "subject": f"All of it, {turn}", "body": long})
        crowd = [draw.choice(people) for _ in range(50)]
        yield Proposed("50 people", "send_mail", {"to": crowd, "subject": "Budget", "body": f"The numbers, {turn}"})
        held = draw.choice(bodies)
        yield Proposed(
            "reference", "send_mail", {"to": [named], "subject": "As asked", "body": held.text}, {"body": [held]}
        )


def policy_alone(rounds: int) -> dict[str, Any]:
    """Return the times of our evaluation of the policy, and of Cedar alone on the same policy and facts."""
    index = indexed(list(mixed_results(10_000)))
    calls = [call for call in proposals(index, 1) if call.kind in {"mail", "payment", "share", "fetch"}]
    facts = [(MANIFEST.tools[call.tool].effect.value, dict(decided(index, call).facts)) for call in calls]
    package = Path(sys.modules[load_policy.__module__].__file__ or "").parent
    schema = cedarpy.Schema.from_str((package / "default.cedarschema").read_text(encoding="utf-8"))
    rules = cedarpy.PolicySet.from_str((package / "default.cedar").read_text(encoding="utf-8"))
    nobody = cedarpy.Entities.from_json_str("[]", schema)
    ours, alone = Clock(), Clock()
    for turn in range(rounds):
        effect, known = facts[turn % len(facts)]
        request = {
            "principal": {"type": "Agent", "id": "agent"},
            "action": {"type": "Action", "id": effect},
            "resource": {"type": "Tool", "id": "tool"},
            "context": known,
        }
        ours.run(lambda effect=effect, known=known: POLICY.evaluate(effect, known))
        alone.run(lambda request=request: cedarpy.is_authorized(request, rules, nobody, schema))
    return {"rules": len(POLICY.rules), "facts": len(facts[0][1]), "ours": ours.shares(), "cedar": alone.shares()}


def session_level(size: int, rounds: int) -> dict[str, Any]:
    """Return what a guarded agent waits for: the whole of ``GuardSession.propose``, with the record in SQLite."""
    results = list(mixed_results(size))
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(manifest=FOLDER / "tools.yaml", database_url=f"sqlite:///{folder}/speed.db")
        gateway = build(settings)
        services = gateway.services
        session = GuardSession(services, "speed", "me@corp.example")
        session.user_words(WORDS, key="task")
        for number, result in enumerate(results):
            call = Call(result.tool, result.args, f"r{number}", turn=f"t{number}")
            session.result(call, result.value, key=f"r{number}")
        reopened, same, fresh = Clock(), Clock(), Clock()
        again = GuardSession(services, "speed", "me@corp.example")
        reopened.run(lambda: again.load(""))
        index = indexed(results)
        calls = list(proposals(index, max(1, rounds // 7)))[:rounds]
        for number, call in enumerate(calls):
            wanted = Call(call.tool, call.args, f"p{number}", turn=f"p{number}")
            same.run(lambda wanted=wanted: again.propose(wanted))
        for number, result in enumerate(mixed_results(min(20, rounds) * 10_000, seed=78)):
            made = Call(result.tool, result.args, f"n{number}", turn=f"n{number}")
            again.result(made, result.value, key=f"n{number}")
            wanted = Call(
                calls[number % len(calls)].tool, calls[number % len(calls)].args, f"q{number}", turn=f"q{number}"
            )
            fresh.run(lambda wanted=wanted: again.propose(wanted))
    return {
        "bytes": size,
        "reopened_s": round(reopened.cpu[0] / 1000, 3),
        "propose": same.shares(),
        "after_result": fresh.shares(),
    }


if __name__ == "__main__":
    raise SystemExit(main())
