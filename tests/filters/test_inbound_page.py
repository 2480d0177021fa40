"""The page on what enters: its table is the measured one, and it counts the techniques as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from checkvalve.corpora.texts.measure import techniques

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "filters-inbound.md").read_text(encoding="utf-8")


def test_the_table_is_the_measured_one() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/filters_in.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stderr}\nrun `python benchmarks/filters_in.py --write`"


def test_the_page_counts_the_techniques_as_they_are() -> None:
    pytest.importorskip("pypdf", reason="the extra `documents` is not installed")
    found = techniques()
    flagged = [item for item in found if item.status == "flagged"]
    assert [item.technique for item in found if item not in flagged] == ["fake tool result"]
    said = PAGE.replace("\n", " ")
    assert f"Of {len(found)} ways to bring in our own attack" in said
    assert f"{len(flagged)} are flagged and the last one, a fake tool result, is made harmless" in said
    twins = [item.twin for item in found if item.twin != "-"]
    assert f"Of {len(twins)} harmless twins in the same disguises {twins.count('flagged')} are flagged" in said
