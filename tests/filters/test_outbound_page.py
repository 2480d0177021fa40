"""The page on what leaves: its examples run, its table is the measured one, and it names every code and limit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from checkvalve.approvals.reasons import REMEDIES
from checkvalve.filters.outbound.units import HARD

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "filters-outbound.md").read_text(encoding="utf-8")


def test_the_examples_run_as_one_program() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 4
    names: dict[str, Any] = {}
    for block in blocks:
        assert "assert " in block
        exec(compile(block, "filters-outbound.md", "exec"), names)


def test_the_table_is_the_measured_one() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/filters_out.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stderr}\nrun `python benchmarks/filters_out.py --write`"


def test_every_code_of_the_filter_is_explained() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "filters" / "outbound").glob("*.py"))
    codes = set(re.findall(r'Ruling\("\w+", "([\w-]+)"\)', source))
    assert codes >= {"auto-fetch", "composed-link", "foreign-link"}
    assert not {code for code in codes if f"`{code}`" not in PAGE}
    denied = ("registered-value", "secret", "prompt-text", "canary", "extended-link")
    assert all(f"`{code}`" in PAGE and code in REMEDIES for code in denied)
    assert f"at most {HARD} characters" in PAGE
