"""The published numbers: the tables are those of the results, and the results show no effect of an attacker."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks" / "agentdojo"


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def test_the_tables_are_those_of_the_results() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/agentdojo.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


def test_no_row_of_ours_shows_an_effect_and_both_ends_are_there() -> None:
    rows = read("results.json")["rows"]
    assert list(rows) == [
        "allow-all",
        "review-non-read",
        "checkvalve",
        "checkvalve, contacts",
        "checkvalve, mandates",
        "checkvalve, drafted",
        "pipeline, hijacked reader",
        "pipeline, hijacked reader and actor",
    ]
    effects = {name: row["total"]["attacks"]["executed"] for name, row in rows.items()}
    assert effects.pop("allow-all") == 929
    assert set(effects.values()) == {0}


def test_the_threat_model_names_every_kind_that_was_steered() -> None:
    page = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    section = page.split("## What a hijacked reader can still steer")[1].split("\n## ")[0]
    named = {
        "option": "which option",
        "amount": "| amount",
        "date": "| date",
        "record": "which record",
        "destination": "which destination",
        "text": "content text",
    }
    steered = {item["kind"] for row in read("steering.json").values() for item in row}
    assert steered <= named.keys()
    assert all(named[kind] in section for kind in steered)
