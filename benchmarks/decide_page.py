"""What is published of the speed of a decision: tables, a chart, and a line of the README, from the results alone."""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "decide"
PLACES = {HERE.parent / "README.md": "line", HERE.parent / "docs" / "measuring.md": "tables"}
MEGABYTE = 1_000_000
IDLE = 0.3  # load of each core below which a machine counts as idle


def published(results: dict[str, Any]) -> dict[Path, str]:
    """Return every file that is made from the results, with what has to stand in it."""
    texts = {"line": line(results), "tables": tables(results)}
    found = {FOLDER / "table.md": f"{texts['tables']}\n", FOLDER / "growth.svg": chart(results)}
    for path, name in PLACES.items():
        text = path.read_text(encoding="utf-8")
        start, end = f"<!-- speed {name} -->", f"<!-- /speed {name} -->"
        if start in text and end in text:
            found[path] = f"{text.partition(start)[0]}{start}\n\n{texts[name]}\n\n{end}{text.partition(end)[2]}"
    return found


def line(results: dict[str, Any]) -> str:
    """Return what the README says: the 99th percentile with 1 MB read, beside the expressions."""
    row = next((row for row in results["sizes"] if row["bytes"] == MEGABYTE), results["sizes"][-1])
    ratio = row["expressions"]["p50"] / row["guard"]["p50"]
    text = (
        f"A decision with {in_bytes(row['bytes'])} of context read takes {row['guard']['p99']:.1f} ms at the 99th "
        f"percentile ({row['guard']['p50']:.1f} ms at the median, {ratio:.0f} times faster than fifty regular "
        f"expressions over the same call and context); evaluating the policy takes "
        f"{results['policy']['ours']['p99']:.2f} ms of it.{caveat(results['machine'])} How it is measured: "
        f"[measuring](docs/measuring.md#speed)."
    )
    return "\n".join(textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False))


def caveat(machine: dict[str, Any]) -> str:
    """Say in the README when the machine was not idle."""
    return "" if machine["load_per_core"] < IDLE else " The machine was busy with other work: an idle one is faster."


def tables(results: dict[str, Any]) -> str:
    """Return the tables of the documentation, and a line on the machine they were measured on."""
    machine, policy, session = results["machine"], results["policy"], results["session"]
    sizes = [
        [
            in_bytes(row["bytes"]),
            f"{row['fields']:,}",
            f"{row['build_s_per_mb']:.2f}",
            f"{sum(row['places']) / row['bytes']:.2f}",
            f"{row['index_mb'] * MEGABYTE / row['bytes']:.0f}" if row["index_mb"] else "",
            f"{row['look_up']['p99']:.2f}",
            *(f"{row['guard'][name]:.1f}" for name in ("p50", "p95", "p99")),
            f"{row['isolated']['p99']:.1f}",
            f"{row['after_result']['p99']:.0f}",
            f"{row['expressions']['p50']:.0f}",
        ]
        for row in results["sizes"]
    ]
    head = [
        "context",
        "fields",
        "build, s per MB",
        "places per byte",
        "index, MB per MB",
        "look-up p99",
        "decide p50",
        "p95",
        "p99",
        "isolated p99",
        "10 kB more and decide, p99",
        "50 expressions",
    ]
    largest = next((row for row in results["sizes"] if row["bytes"] == MEGABYTE), results["sizes"][-1])
    kinds = [
        [kind, f"{time_:.1f}", f"{largest['isolated_by_kind'][kind]:.1f}"] for kind, time_ in largest["by_kind"].items()
    ]
    parts = [
        [f"policy, {policy['rules']} rules and {policy['facts']} facts", *figures(policy["ours"])],
        ["Cedar alone on the same", *figures(policy["cedar"])],
        [f"`GuardSession.propose`, {in_bytes(session['bytes'])} of history", *figures(session["propose"])],
        ["the same, 10 kB more since the last call", *figures(session["after_result"])],
    ]
    note = (
        f"Milliseconds of the thread's CPU, where nothing else is said. Python {machine['python']}, "
        f"{machine['cores']} cores, {results['rounds']} rounds of seven calls. The machine was {busy(machine)}: a "
        f"fixed piece of work took {machine['slowdown']:.2f} times as long as its fastest run. Another process that "
        f"reopens the history of {in_bytes(session['bytes'])} needs {session['reopened_s']:.1f} s once."
    )
    return "\n\n".join(
        (
            markdown(head, sizes),
            markdown([f"call, {in_bytes(largest['bytes'])} read", "guard p99", "isolated p99"], kinds),
            markdown(["part", "p50", "p99", "wall p99"], parts),
            "\n".join(textwrap.wrap(note, 120)),
        )
    )


def busy(machine: dict[str, Any]) -> str:
    """Say in words whether other programs ran while it was measured."""
    return "idle" if machine["load_per_core"] < IDLE else "busy with other work"


def figures(times: dict[str, float]) -> list[str]:
    """Return median, 99th percentile, and that of the wall time."""
    return [f"{times[name]:.2f}" for name in ("p50", "p99", "wall_p99")]


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows))


def in_bytes(size: int) -> str:
    """Return a size as people say it."""
    return f"{size // MEGABYTE} MB" if size >= MEGABYTE else f"{size // 1000} kB"


def chart(results: dict[str, Any]) -> str:
    """Return the growth curves as SVG: both scales logarithmic, milliseconds over bytes."""
    rows = results["sizes"]
    curves = {
        "50 expressions, median": ("#b04a3a", [row["expressions"]["p50"] for row in rows]),
        "building the index": ("#8a8a8a", [row["build_s"] * 1000 for row in rows]),
        "decide, p99": ("#1f5f8b", [row["guard"]["p99"] for row in rows]),
        "decide, median": ("#5fa8d3", [row["guard"]["p50"] for row in rows]),
        "look-up, p99": ("#3f8f5f", [row["look_up"]["p99"] for row in rows]),
    }
    left, top, width, height = 70, 20, 520, 300
    low, high = math.log10(rows[0]["bytes"]), math.log10(rows[-1]["bytes"]) or 1

    def across(size: float) -> float:
        return left + width * (math.log10(size) - low) / max(1e-9, high - low)

    def down(value: float) -> float:
        return top + height * (1 - (math.log10(max(value, 0.01)) + 2) / 7)

    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 370" font-family="sans-serif" font-size="12">',
        '<rect width="820" height="370" fill="white"/>',
    ]
    for power in range(-2, 6):
        y = down(10**power)
        lines.append(f'<line x1="{left}" y1="{y:.0f}" x2="{left + width}" y2="{y:.0f}" stroke="#ddd"/>')
        lines.append(f'<text x="{left - 8}" y="{y + 4:.0f}" text-anchor="end">{10**power:g} ms</text>')
    lines += [
        f'<text x="{across(row["bytes"]):.0f}" y="345" text-anchor="middle">{in_bytes(row["bytes"])}</text>'
        for row in rows
    ]
    for number, (name, (colour, values)) in enumerate(curves.items()):
        points = " ".join(
            f"{across(row['bytes']):.0f},{down(value):.0f}" for row, value in zip(rows, values, strict=True)
        )
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines.append(f'<text x="{left + width + 12}" y="{40 + 20 * number}" fill="{colour}">{name}</text>')
    return "\n".join((*lines, "</svg>", ""))
